//! What happens to records on their way.

use std::future::Future;

use tarn_model::Failure;

use crate::batch::Batch;

/// A record that a transform could not take. Holds nothing of the row beyond its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Which row of the batch, from 0.
    pub row: u32,
    /// `schema.name` of the source table.
    pub table: String,
    /// The row's key as text, for people.
    pub key: String,
    /// The line in the script, 0 when unknown.
    pub line: u32,
    /// What went wrong.
    pub message: String,
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transformed {
    /// The rows that go on, in the order of the rows they came from; possibly none.
    pub batch: Batch,
    /// Rows dropped on purpose.
    pub dropped: u32,
    /// Rows that are in neither.
    pub rejected: Vec<Rejection>,
}

/// A transform of batches, in order.
pub trait Transform: Send + 'static {
    /// Transforms one batch.
    fn apply(&mut self, batch: Batch) -> impl Future<Output = Result<Transformed, Failure>> + Send;
}
