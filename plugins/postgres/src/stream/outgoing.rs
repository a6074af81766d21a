//! The batch that a read of the stream makes.

use tarn_batch::{BatchWriter, TableIndex};
use tarn_sdk::{Description, Limits};

/// What one read makes.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// Tells this batch from others: tables are added to each anew.
    pub(super) generation: u64,
    pub(super) writer: BatchWriter,
    pub(super) schema: Vec<Description>,
    /// Where messages of the log are put.
    pub(super) log: Option<TableIndex>,
    pub(super) limits: Limits,
}

impl Outgoing {
    pub(super) fn is_full(&self) -> bool {
        // One row goes into every batch, however small the limits are.
        self.writer.rows() > 0
            && (self.writer.rows() >= self.limits.rows_max
                || self.writer.bytes() >= self.limits.bytes_max as usize)
    }
}
