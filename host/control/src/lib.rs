//! tarn-control
