//! How far the load of a table is, and what changes brought it since.

use serde::{Deserialize, Serialize};

use crate::timestamp::Timestamp;

/// Progress of one table's snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableLoad {
    /// Table at the destination.
    pub table_name: String,
    /// Table at the source.
    pub source_table: String,
    /// When its first partition began.
    pub start_time: Option<Timestamp>,
    /// Partitions that are durable.
    pub num_partitions_completed: u32,
    /// Partitions planned; 0 before the plan.
    pub num_partitions_total: u32,
    /// Rows of the durable partitions.
    pub num_rows_synced: u64,
    /// Mean time of a durable partition.
    pub avg_time_per_partition_ms: u64,
    /// Whether every row was read.
    pub fetch_completed: bool,
    /// Whether every row is in place at the destination.
    pub consolidate_completed: bool,
    /// The mirror.
    pub mirror_name: String,
}

/// Rows that changes brought, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RowCounts {
    /// All of them.
    pub total_count: u64,
    /// New rows.
    pub inserts_count: u64,
    /// Changed rows.
    pub updates_count: u64,
    /// Deleted rows.
    pub deletes_count: u64,
}
