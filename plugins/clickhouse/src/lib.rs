//! tarn-plugin-clickhouse
