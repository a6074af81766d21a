//! tarn-catalog
