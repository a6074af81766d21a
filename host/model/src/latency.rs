//! How long changes take from their commit until they can be queried.

use serde::{Deserialize, Serialize};

/// Of a mirror's stream, measured by the server itself. Quantiles are of the last five to ten minutes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct StreamLatency {
    /// How old the oldest change is that the source delivered and the destination does not show yet, in
    /// milliseconds; 0 where it shows all of them.
    pub lag_ms: u64,
    /// By how much the source's clock was seen to be ahead of the server's, in milliseconds; times below are
    /// corrected by it. A source's clock that is behind cannot be told from a slow stream.
    pub source_clock_ahead_ms: u64,
    /// Bytes of changes that wait in the stage until the destination takes them.
    pub staged_bytes: u64,
    /// Changes that were measured.
    pub changes: u64,
    /// Half of them took no longer, in milliseconds.
    pub p50_ms: u64,
    /// Of a hundred of them, one took longer, in milliseconds.
    pub p99_ms: u64,
    /// Table by table, at most 1,000; changes of further ones are in the mirror's numbers only.
    pub tables: Vec<TableLatency>,
}

/// Of the changes of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct TableLatency {
    /// Table at the destination.
    pub table_name: String,
    /// Changes that were measured.
    pub changes: u64,
    /// Half of them took no longer, in milliseconds.
    pub p50_ms: u64,
    /// Of a hundred of them, one took longer, in milliseconds.
    pub p99_ms: u64,
}
