//! A record batch as the loop sees it: bytes with a row count.

use std::time::Duration;

use bytes::Bytes;

/// Records in the form `wit/BATCH.md` describes. The loop never looks inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The encoded batch. Shared, never copied on its way.
    pub bytes: Bytes,
    /// How many rows `bytes` holds.
    pub rows: u32,
}

impl Batch {
    /// The size that counts against the window.
    pub fn len_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }
}

/// Bounds of one read: it returns when the first is reached. A row larger than `bytes_max` comes alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rows at most.
    pub rows_max: u32,
    /// Bytes at most, as encoded.
    pub bytes_max: u32,
    /// How long to wait for a first row. A read that saw rows does not wait on.
    pub wait: Duration,
}
