//! tarn-bundle
