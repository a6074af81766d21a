//! Where records go.

use std::future::Future;

use bytes::Bytes;
use tarn_model::Failure;

use crate::batch::Batch;

/// What a write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Rows taken.
    pub rows: u64,
    /// Bytes sent to the store.
    pub bytes: u64,
    /// Whether everything written so far survives a crash of the store. Where it does not, the loop
    /// calls [`Destination::flush`] before it remembers a position.
    pub durable: bool,
}

/// One instance of a destination.
///
/// A call is never dropped halfway while its instance is to live on, and no two calls of one instance
/// run at a time.
pub trait Destination: Send + 'static {
    /// Writes batches in order. A row is identified by its table, key and version: one that was
    /// written before changes nothing, so a write whose outcome is unknown may be repeated.
    fn write(&mut self, batches: Vec<Batch>) -> impl Future<Output = Result<Ack, Failure>> + Send;

    /// Makes everything written so far durable.
    fn flush(&mut self) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Takes changed columns (a batch that describes tables) before the rows that have them. Repeatable.
    fn evolve(&mut self, schema: Bytes) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Begins a part of a load, whose name is the same however often it is begun. A destination that takes rows again
    /// without a change need not be told.
    fn begin_part(&mut self, _part: &str) -> impl Future<Output = Result<PartState, Failure>> + Send {
        async { Ok(PartState::Untold) }
    }

    /// Ends the part that was begun: its rows are durable, and it is known to have ended.
    fn end_part(&mut self) -> impl Future<Output = Result<(), Failure>> + Send {
        self.flush()
    }
}

/// Whether a part of a load is at the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartState {
    /// The destination keeps no parts: its rows are written, and made durable.
    Untold,
    /// It is to be written, and ended.
    Missing,
    /// All its rows are there.
    Ended,
}
