//! tarn-api
