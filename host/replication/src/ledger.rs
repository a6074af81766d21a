//! What of a snapshot is done.

use std::future::Future;

use tarn_model::Failure;

/// How far one partition is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionState {
    /// Not read, or read in part: it is read whole.
    Pending,
    /// Read completely and durable.
    Done {
        /// The generation of the point it was read at.
        generation: u32,
        /// The horizon of that point.
        horizon: String,
    },
}

/// One partition of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionProgress {
    /// Its place in the table's plan, from 0.
    pub number: u32,
    /// The plan's opaque text.
    pub partition: String,
    /// How far it is.
    pub state: PartitionState,
}

/// One table of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableProgress {
    /// `schema.name` at the source.
    pub table: String,
    /// Its partitions, `None` before it was planned. A table without rows may have none.
    pub partitions: Option<Vec<PartitionProgress>>,
}

impl TableProgress {
    /// Whether the table needs no further read: it was planned, and all its partitions are done at one and
    /// the same generation. Partitions done at different ones must first be brought to one point: a row
    /// that moved between them in the meantime may be in neither.
    pub fn is_complete(&self) -> bool {
        let generation = |partition: &PartitionProgress| match partition.state {
            PartitionState::Pending => None,
            PartitionState::Done { generation, .. } => Some(generation),
        };
        let Some(partitions) = &self.partitions else { return false };
        match partitions.first().map(generation) {
            None => true,
            Some(None) => false,
            Some(first) => partitions.iter().all(|partition| generation(partition) == first),
        }
    }
}

/// A partition that was read completely and is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionDone {
    /// `schema.name` at the source.
    pub table: String,
    /// See [`PartitionProgress::number`].
    pub number: u32,
    /// The generation of the point it was read at.
    pub generation: u32,
    /// The horizon of that point.
    pub horizon: String,
    /// Rows written in this read.
    pub rows: u64,
}

/// Where the progress of a mirror's snapshot is kept. Workers share it.
pub trait SnapshotLedger: Send + Sync + 'static {
    /// All tables of the load, in the order they should load in.
    fn load(&self) -> impl Future<Output = Result<Vec<TableProgress>, Failure>> + Send;

    /// Stores a table's plan, once. Durable when it returns.
    fn planned(&self, table: &str, partitions: &[String])
    -> impl Future<Output = Result<(), Failure>> + Send;

    /// Stores that a partition is done. Durable when it returns; repeatable; refuses a smaller generation
    /// than the stored one.
    fn done(&self, done: &PartitionDone) -> impl Future<Output = Result<(), Failure>> + Send;
}
