//! The models of what the catalog keeps.

use std::collections::BTreeMap;
use std::sync::Arc;

use tarn_model::Position;
use tarn_replication::{BatchRecord, PartitionState, Resume, TableProgress};

use crate::database::Point;
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
    /// The latest point that rows were read at: until the stream has passed it, the destination may lack
    /// rows that the stream changes.
    pub load_point: u64,
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
    /// The points held so far, by generation.
    pub points: BTreeMap<u32, Arc<Point>>,
    /// How many partitions were read at each generation.
    pub reads: BTreeMap<u32, u32>,
}

impl LedgerMemory {
    /// Each table with the latest point that one of its partitions was read at.
    pub fn latest_points(&self) -> Vec<(String, Arc<Point>)> {
        let latest = |table: &TableProgress| {
            let states = table.partitions.iter().flatten().map(|partition| &partition.state);
            let generation = states.filter_map(|state| match state {
                PartitionState::Pending => None,
                PartitionState::Done { generation, .. } => Some(*generation),
            });
            let point = self.points.get(&generation.max()?)?;
            Some((table.table.clone(), Arc::clone(point)))
        };
        self.tables.iter().filter_map(latest).collect()
    }
}
