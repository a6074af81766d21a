//! tarn-replication
