//! The models of what the catalog keeps.

use std::collections::BTreeMap;

use tarn_model::Position;
use tarn_replication::{BatchRecord, Resume, TableProgress};

use crate::source::Place;

/// The stored checkpoint.
#[derive(Debug, Default)]
pub struct CheckpointMemory {
    /// The position, once setup made one.
    pub position: Option<Position>,
    /// Its sequence.
    pub sequence: u64,
    /// The batches that ended.
    pub batches: Vec<BatchRecord>,
}

impl CheckpointMemory {
    /// What the next run goes on from.
    pub fn resume(&self) -> Resume {
        Resume {
            position: self.position.clone().expect("setup came first"),
            sequence: self.sequence,
            batch: self.batches.last().map_or(0, |batch| batch.number),
        }
    }

    /// Where the stored position is.
    pub fn place(&self) -> Place {
        Place::of(self.position.as_ref().expect("setup came first"))
    }
}

/// The stored progress of a load.
#[derive(Debug, Default)]
pub struct LedgerMemory {
    /// Tables in order.
    pub tables: Vec<TableProgress>,
    /// The points held so far.
    pub generation: u32,
    /// Where the stream that goes with the load starts.
    pub start: Option<Position>,
    /// Whether the load ended.
    pub loaded: bool,
    /// How many partitions were read at each generation.
    pub reads: BTreeMap<u32, u32>,
}
