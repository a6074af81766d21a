//! Names and values in SQL text. Nothing else puts a name or a value into a statement.

pub mod clickhouse;
pub mod postgres;
