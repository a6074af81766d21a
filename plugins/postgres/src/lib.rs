//! tarn-plugin-postgres
