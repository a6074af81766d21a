//! tarn-clickhouse
