//! What happens to records on their way.

use std::future::Future;

use tarn_model::{Failure, FailureClass};

use crate::batch::Batch;
use crate::observer::{Notice, Observer};

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

/// What becomes of a record that the script cannot take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordPolicy {
    /// The mirror fails, naming script, line, table and key.
    Stop {
        /// The script's name, for the failure.
        script: String,
    },
    /// The record is left out, counted and told to the observer.
    Skip,
}

impl RecordPolicy {
    /// Decides over a transform's answer: the batch that goes on, or the failure that ends the run.
    pub(crate) fn judge(&self, answer: Transformed, observer: &dyn Observer) -> Result<Batch, Failure> {
        if let (Self::Stop { script }, Some(first)) = (self, answer.rejected.first()) {
            return Err(first.failure(script));
        }
        for rejection in &answer.rejected {
            observer.notice(Notice::RecordSkipped(rejection));
        }
        if answer.dropped > 0 {
            observer.notice(Notice::RowsDropped { rows: u64::from(answer.dropped) });
        }
        Ok(answer.batch)
    }
}

impl Rejection {
    fn failure(&self, script: &str) -> Failure {
        let Self { key, line, message, .. } = self;
        let line = if *line == 0 { String::new() } else { format!(", line {line}") };
        Failure::new(
            FailureClass::Record,
            "record_rejected",
            format!("script {script}{line} could not transform the record with key {key}: {message}"),
        )
        .with_table(self.table.clone())
        .with_hint("correct the script, then resume the mirror: it goes on with this record")
    }
}
