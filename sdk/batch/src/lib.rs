//! tarn-batch
