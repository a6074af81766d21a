//! Where records come from.

use std::future::Future;

use bytes::Bytes;
use tarn_model::{Failure, Position};

use crate::batch::{Batch, Limits};

/// One answer of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// Changed columns of tables: a batch that describes them. It takes effect before the rows of `batch`.
    pub schema: Option<Bytes>,
    /// Rows in commit order; `None` when there were none in time (a heartbeat).
    pub batch: Option<Batch>,
    /// Everything delivered so far, this answer included, is before this position.
    pub position: Position,
    /// The position as a number that never shrinks, for people and for the catalog's guard.
    pub sequence: u64,
}

/// The stream of one source instance.
///
/// A call is never dropped halfway while its instance is to live on, and no two calls of one instance
/// run at a time.
pub trait Source: Send + 'static {
    /// Starts the stream at a position this kind of source made before.
    fn open(&mut self, start: &Position) -> impl Future<Output = Result<(), Failure>> + Send;

    /// The next changes, within `limits`.
    fn read(&mut self, limits: Limits) -> impl Future<Output = Result<Changes, Failure>> + Send;

    /// Everything before `position` is durable: the source may forget it. Repeatable.
    fn confirm(&mut self, position: &Position) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// A point in the source's history at which all workers of one snapshot read. Whoever holds it open
/// (an instance of the source) lives outside of this crate and longer than the snapshot's run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldSnapshot {
    /// What instances need to read at the point.
    pub token: String,
    /// Tells rows that changed since from those that did not, once the point is lost.
    pub horizon: String,
    /// Counts the points held for this load, from 1. A greater generation wins over a smaller one.
    pub generation: u32,
    /// Where the stream that goes with the load starts: every row of the snapshot is older.
    pub start: Position,
}

/// A partition to read at a held point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionRead {
    /// See [`HeldSnapshot::token`].
    pub token: String,
    /// Opaque text made by `plan_snapshot` or `plan_catch_up`.
    pub partition: String,
    /// See [`HeldSnapshot::start`].
    pub start: Position,
    /// See [`HeldSnapshot::generation`].
    pub generation: u32,
}

/// What one worker of a snapshot reads with. The same rules as for [`Source`].
pub trait SnapshotSource: Send + 'static {
    /// Cuts a table into partitions of about `rows` rows, at least `parallel` where it is large enough.
    fn plan_snapshot(
        &mut self,
        table: &str,
        rows: u64,
        parallel: u32,
    ) -> impl Future<Output = Result<Vec<String>, Failure>> + Send;

    /// The partition that brings `partition`, read completely at `horizon`, up to a later point.
    fn plan_catch_up(
        &mut self,
        partition: &str,
        horizon: &str,
    ) -> impl Future<Output = Result<String, Failure>> + Send;

    /// Starts to read a partition. One that was open before is given up.
    fn open_snapshot(&mut self, read: &PartitionRead) -> impl Future<Output = Result<(), Failure>> + Send;

    /// The next rows of the open partition; `None` at its end.
    fn read_snapshot(
        &mut self,
        limits: Limits,
    ) -> impl Future<Output = Result<Option<Batch>, Failure>> + Send;
}
