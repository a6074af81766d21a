//! tarn-bench
