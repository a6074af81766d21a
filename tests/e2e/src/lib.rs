//! tarn-e2e
