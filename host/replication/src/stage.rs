//! Where rows wait, durably, for a destination that cannot take them.
//!
//! A stage is engaged only while the destination fails, and until what waited is delivered: a stream whose destination
//! is well never touches it. What is in a stage counts as durable, so that the source may forget it. Entries leave in
//! the order they came in, and nothing passes them: while one waits, later rows wait behind it.

use std::future::Future;

use bytes::Bytes;
use tarn_model::Failure;

use crate::batch::Batch;

/// The code of a [put](Stage::put) that found no room where the stage is kept. Rows wait at the source then, and what is in the
/// stage is delivered all the same; any other failure of a stage ends the run.
pub const STAGE_FULL: &str = "stage_full";

/// What waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Staged {
    /// Changed columns, before the rows that have them.
    Schema(Bytes),
    /// The rows of one write.
    Rows(Vec<Batch>),
}

impl Staged {
    /// What counts against the stage's budget.
    pub fn len_bytes(&self) -> u64 {
        match self {
            Self::Schema(schema) => schema.len() as u64,
            Self::Rows(batches) => batches.iter().map(Batch::len_bytes).sum(),
        }
    }
}

/// An entry of a stage, without what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// Its place: entries are delivered by it.
    pub number: u64,
    /// Its size.
    pub bytes: u64,
    /// Everything up to this sequence of the source came before it.
    pub after: u64,
}

/// Keeps entries over crashes. The same rules as for a source: one call at a time.
pub trait Stage: Send + 'static {
    /// Keeps an entry; it is durable when this returns. One of the same number is replaced.
    fn put(&mut self, ticket: Ticket, staged: &Staged) -> impl Future<Output = Result<(), Failure>> + Send;

    /// The entry of a number.
    fn get(&mut self, number: u64) -> impl Future<Output = Result<Staged, Failure>> + Send;

    /// Forgets the entry of a number, which is delivered. Repeatable.
    fn remove(&mut self, number: u64) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// A stage at the start of a run.
#[derive(Debug)]
pub struct OpenStage<G> {
    /// It.
    pub stage: G,
    /// What waits in it from earlier runs, in order.
    pub waiting: Vec<Ticket>,
    /// Bytes that may wait. Beyond, rows wait at the source.
    pub bytes_max: u64,
}

/// The stage of a run that has none. It has no values.
#[derive(Debug)]
pub enum NoStage {}

impl Stage for NoStage {
    async fn put(&mut self, _ticket: Ticket, _staged: &Staged) -> Result<(), Failure> {
        match *self {}
    }

    async fn get(&mut self, _number: u64) -> Result<Staged, Failure> {
        match *self {}
    }

    async fn remove(&mut self, _number: u64) -> Result<(), Failure> {
        match *self {}
    }
}
