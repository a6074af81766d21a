//! What happens to records on their way.

use std::fmt;
use std::future::Future;

use tarn_model::{Failure, FailureClass, RecordStage};

use crate::batch::Batch;

/// A record that a transform, or the destination, could not take. Holds nothing of the row beyond its key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// Who could not take it.
    pub stage: RecordStage,
    /// The script that could not take it; empty where it was none.
    pub script: String,
    /// Which version of the script, 0 when unknown.
    pub script_version: u32,
    /// The function in the script, empty when unknown.
    pub function: String,
    /// What the script logged last, oldest first.
    pub log_lines: Vec<String>,
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

impl Rejection {
    /// The failure of a mirror that stops at this record.
    pub fn failure(&self) -> Failure {
        let failure = Failure::new(FailureClass::Record, "record_rejected", self.to_string())
            .with_table(self.table.clone());
        match self.stage {
            RecordStage::Destination => failure.with_hint(
                "correct the row at the source, or what the destination's column takes, then resume: the mirror \
                 goes on with this record",
            ),
            RecordStage::Script => failure.with_hint("correct the script, then resume the mirror: it goes on with this record"),
        }
    }
}

/// What people call a record: a table may have no key, and a message in the source's log has no table.
fn named(table: &str, key: &str) -> String {
    match (table, key) {
        ("" | ".", "") => "message in the source's log".to_owned(),
        (_, "") => "record, which has no key".to_owned(),
        (_, key) => format!("record with key {key}"),
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, key, script, script_version, line, function, message, log_lines, .. } = self;
        if script.is_empty() {
            write!(f, "the {} could not be taken: {message}", named(table, key))?;
        } else {
            write!(f, "script {script}")?;
            if *script_version > 0 {
                write!(f, " version {script_version}")?;
            }
            if *line > 0 {
                write!(f, ", line {line}")?;
            }
            if !function.is_empty() {
                write!(f, ", function {function}")?;
            }
            write!(f, " could not transform the {}: {message}", named(table, key))?;
        }
        if !log_lines.is_empty() {
            write!(f, "; its last log lines: {}", log_lines.join(" | "))?;
        }
        Ok(())
    }
}
