//! The position a mirror restarts from, and the record of the batch that reached it.

use std::future::Future;
use std::time::SystemTime;

use tarn_model::{Failure, Position};

/// One destination write of the stream, as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchRecord {
    /// Counts the batches of a mirror from 1; never used twice for batches that ended.
    pub number: u64,
    /// Rows written.
    pub rows: u64,
    /// Sequence of the source before the first row.
    pub first_sequence: u64,
    /// Sequence of the source after the last row.
    pub last_sequence: u64,
    /// When the first row arrived.
    pub started: SystemTime,
    /// When all rows were durable.
    pub ended: SystemTime,
}

/// Everything before `position` is durable at the destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Where the source restarts.
    pub position: Position,
    /// The position as a number; see [`crate::Changes::sequence`].
    pub sequence: u64,
    /// The batches that ended since the last checkpoint, oldest first; none when only time passed.
    /// They become visible in the same transaction as the position.
    pub batches: Vec<BatchRecord>,
}

/// What a run of the stream goes on from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resume {
    /// The last checkpoint's position, or where the source's setup said the stream starts.
    pub position: Position,
    /// The last checkpoint's sequence, 0 when there is none.
    pub sequence: u64,
    /// Number of the last batch that ended, 0 when there is none.
    pub batch: u64,
}

/// Where checkpoints are kept.
pub trait Checkpoints: Send + 'static {
    /// Stores a checkpoint; it is durable when this returns. Refuses, with a permanent failure, one
    /// whose sequence is smaller than the stored one's or whose batch numbers are not new: a second
    /// run of the same mirror must never move it back. Equal sequences are fine (positions inside one
    /// transaction share theirs).
    fn save(&mut self, checkpoint: &Checkpoint) -> impl Future<Output = Result<(), Failure>> + Send;
}
