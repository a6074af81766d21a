//! tarn-harness
