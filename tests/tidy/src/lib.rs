//! tarn-tidy
