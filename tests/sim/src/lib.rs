//! tarn-sim
