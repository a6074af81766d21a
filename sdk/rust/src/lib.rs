//! tarn-sdk
