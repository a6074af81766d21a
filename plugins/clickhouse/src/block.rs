//! Rows that wait for one insert.

use tarn_sdk::Failure;

use crate::client::Client;
use crate::config::{BLOCK_BYTES_MAX, BLOCK_BYTES_SLACK, BLOCK_ROWS_MAX};
use crate::failure::of_insert_error;
use crate::plan::Plan;

/// Rows of one target in RowBinary, behind their header.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) bytes: Vec<u8>,
    pub(crate) rows: u32,
}

impl Block {
    /// A block for rows that take about so many bytes: a guest's memory never shrinks, so a block that
    /// grew by doubling would cost twice.
    pub(crate) fn with_room(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes.min(BLOCK_BYTES_MAX) + BLOCK_BYTES_SLACK), rows: 0 }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() >= BLOCK_BYTES_MAX || self.rows >= BLOCK_ROWS_MAX
    }

    /// Inserts the rows and empties the block. Returns how many bytes were sent.
    pub(crate) fn insert(&mut self, client: &mut impl Client, plan: &Plan) -> Result<u64, Failure> {
        if self.rows == 0 {
            return Ok(0);
        }
        client.insert(&plan.insert_sql, &plan.settings, &self.bytes).map_err(|error| {
            of_insert_error(error, &format!("writing to table {}", plan.target))
                .with_table(plan.table.qualified_name())
        })?;
        let sent = self.bytes.len() as u64;
        *self = Self::default();
        Ok(sent)
    }
}
