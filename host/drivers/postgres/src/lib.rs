//! tarn-postgres
