//! Rows that wait to be sent.

use crate::config::{BLOCK_BYTES_MAX, PIECE_BYTES, PIECE_BYTES_SLACK};

/// Rows of one target in RowBinary.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) bytes: Vec<u8>,
    pub(crate) rows: u32,
}

impl Block {
    /// A block for rows that take about so many bytes: a guest's memory never shrinks, so a block that
    /// grew by doubling would cost twice.
    pub(crate) fn with_room(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes.min(PIECE_BYTES) + PIECE_BYTES_SLACK), rows: 0 }
    }

    /// Makes room for a large row before it is written, and for no more than that.
    pub(crate) fn make_room(&mut self, row_bytes: usize) {
        if row_bytes > PIECE_BYTES_SLACK {
            self.bytes.reserve_exact(row_bytes + PIECE_BYTES_SLACK);
        }
    }

    /// Whether it is worth a call of the host.
    pub(crate) fn is_a_piece(&self) -> bool {
        self.bytes.len() >= PIECE_BYTES
    }

    /// Whether it may hold no more, for whatever its rows wait.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() >= BLOCK_BYTES_MAX
    }

    /// Makes it empty.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.rows = 0;
    }
}
