//! The ears of one mirror: what its loop and its guests say becomes lines of its log and progress.

use std::sync::Arc;

use tarn_model::{Failure, LogLevel};
use tarn_replication::{Notice, Observer};
use tarn_wasm::{Level, LogSink};

use crate::journal::{Entry, Journal};
use crate::progress::Progress;

/// Watches the runs of one mirror.
#[derive(Debug)]
pub(crate) struct Watch {
    mirror: i64,
    name: Arc<str>,
    journal: Journal,
    progress: Progress,
}

impl Watch {
    pub(crate) fn new(mirror: i64, name: &str, journal: Journal, progress: Progress) -> Self {
        Self { mirror, name: name.into(), journal, progress }
    }

    pub(crate) fn info(&self, message: impl Into<String>) {
        self.journal.line(&self.name, LogLevel::Info, message);
    }

    pub(crate) fn warn(&self, message: impl Into<String>) {
        self.journal.line(&self.name, LogLevel::Warn, message);
    }

    pub(crate) fn failed(&self, failure: &Failure) {
        self.journal.line(&self.name, LogLevel::Error, failure.to_string());
    }
}

impl Observer for Watch {
    fn notice(&self, notice: Notice<'_>) {
        match notice {
            Notice::Progress { .. } | Notice::RowsRead { .. } | Notice::RowsDropped { .. } => {}
            Notice::BatchBegun { number, first_sequence } => {
                self.journal.put(Entry::BatchBegun { mirror: self.mirror, number, start: first_sequence });
            }
            // The checkpoint stored it.
            Notice::BatchEnded(_) => {}
            Notice::RecordSkipped(rejection) => self.warn(format!(
                "skipped a record of {} with key {}: {} (line {})",
                rejection.table, rejection.key, rejection.message, rejection.line
            )),
            Notice::SchemaEvolved => self.info("the destination took changed columns"),
            Notice::TablePlanned { table, partitions } => {
                self.info(format!("table {table} loads in {partitions} partitions"));
            }
            Notice::PartitionBegun { table, number } => {
                self.progress.forget_partition(self.mirror, table, number);
                let table = table.to_owned();
                self.journal.put(Entry::PartitionBegun { mirror: self.mirror, table, number });
            }
            Notice::PartitionRows { table, number, rows } => {
                self.progress.add(self.mirror, table, number, rows);
            }
            Notice::PartitionEnded(done) => {
                self.progress.forget_partition(self.mirror, &done.table, done.number);
            }
            // A store that is away for hours fails every half minute: the first lines tell it all.
            Notice::Retrying { failure, attempt, delay } if attempt.is_power_of_two() => {
                let seconds = delay.as_secs_f64();
                self.warn(format!("{failure}; attempt {attempt} failed, the next is in {seconds:.1} s"));
            }
            Notice::Retrying { failure, attempt, .. } => {
                tracing::debug!(mirror = &*self.name, attempt, %failure, "failed again");
            }
            Notice::Recovered { attempts } => self.info(format!("went on after {attempts} failed attempts")),
        }
    }
}

impl LogSink for Watch {
    fn write(&self, level: Level, line: &str) {
        let level = match level {
            Level::Debug => {
                tracing::debug!(mirror = &*self.name, "{line}");
                return;
            }
            Level::Info => LogLevel::Info,
            Level::Warn => LogLevel::Warn,
            Level::Error => LogLevel::Error,
        };
        self.journal.line(&self.name, level, line);
    }
}
