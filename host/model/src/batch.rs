//! Batches: the destination writes of a mirror's stream, as people see them.

use serde::Serialize;

use crate::timestamp::Timestamp;

/// One batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct CdcBatch {
    /// Counts the batches of a mirror from 1.
    pub batch_id: u64,
    /// Sequence of the source before its first row.
    pub start_lsn: u64,
    /// Sequence of the source after its last row.
    pub end_lsn: u64,
    /// Rows written.
    pub num_rows: u64,
    /// When its first row arrived.
    pub start_time: Timestamp,
    /// When all its rows were durable; `None` while it is under way.
    pub end_time: Option<Timestamp>,
}
