//! The ears of one mirror: what its loop and its guests say becomes lines of its log and progress.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tarn_model::{Failure, LogLevel};
use tarn_replication::{Notice, Observer, Standing};
use tarn_wasm::{Level, LogSink};

use crate::config::{LEFT_OUT_LOG_INTERVAL, LEFT_OUT_LOG_LINES};
use crate::journal::{Entry, Journal};
use crate::latency::MirrorLatency;
use crate::progress::Progress;
use crate::retries::MirrorRetries;

/// Watches the runs of one mirror.
#[derive(Debug)]
pub(crate) struct Watch {
    mirror: i64,
    name: Arc<str>,
    journal: Journal,
    progress: Progress,
    left_out: Mutex<Rate>,
    retries: Arc<MirrorRetries>,
    streaming: Mutex<Streaming>,
    latency: Option<Arc<MirrorLatency>>,
}

/// What is said of a stream once it is open.
#[derive(Debug, Default)]
struct Streaming {
    /// How it works, if it is to be opened.
    due: String,
    /// What was said of it last: it is opened again after each failure.
    said: String,
}

/// Tells of a few of many.
#[derive(Debug, Default)]
struct Rate {
    /// When this minute began, and how many of it were told of.
    minute: Option<(Instant, u32)>,
    /// How many were not told of since the last that was.
    untold: u64,
}

impl Rate {
    /// Whether to tell of one more, and how many before it were not told of.
    fn tell(&mut self, now: Instant) -> Option<u64> {
        let (began, told) =
            self.minute.filter(|(began, _)| now < *began + LEFT_OUT_LOG_INTERVAL).unwrap_or((now, 0));
        if told >= LEFT_OUT_LOG_LINES {
            self.untold += 1;
            return None;
        }
        self.minute = Some((began, told + 1));
        Some(std::mem::take(&mut self.untold))
    }
}

impl Watch {
    pub(crate) fn new(mirror: i64, name: &str, journal: Journal, progress: Progress) -> Self {
        Self {
            mirror,
            name: name.into(),
            journal,
            progress,
            left_out: Mutex::default(),
            retries: Arc::default(),
            streaming: Mutex::default(),
            latency: None,
        }
    }

    /// The same that notes what the destination has.
    pub(crate) fn with_latency(self, latency: Arc<MirrorLatency>) -> Self {
        Self { latency: Some(latency), ..self }
    }

    /// The same whose retries others see.
    pub(crate) fn with_retries(self, retries: Arc<MirrorRetries>) -> Self {
        Self { retries, ..self }
    }

    /// Says so once the stream is open, unless it was said before.
    pub(crate) fn say_when_open(&self, line: String) {
        self.streaming.lock().unwrap_or_else(PoisonError::into_inner).due = line;
    }

    fn opened(&self) {
        let mut streaming = self.streaming.lock().unwrap_or_else(PoisonError::into_inner);
        let due = std::mem::take(&mut streaming.due);
        if !due.is_empty() && due != streaming.said {
            self.info(due.clone());
            streaming.said = due;
        }
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

    /// Waits until the log has what was said.
    pub(crate) async fn settled(&self) {
        self.journal.settled().await;
    }
}

impl Observer for Watch {
    fn notice(&self, notice: Notice<'_>) {
        match notice {
            Notice::Progress { delivered, staged_bytes, .. } => {
                if let Some(latency) = &self.latency {
                    latency.has(delivered);
                    latency.waits(staged_bytes);
                }
            }
            Notice::Staging(Standing::Engaged) => {
                self.warn("changes wait in the stage until the destination takes them; the source can drop its log");
            }
            Notice::Staging(Standing::Emptied) => self.info("the destination has everything that waited in the stage"),
            Notice::Staging(Standing::Full { bytes, bytes_max }) => self.warn(format!(
                "the stage is full ({} of {} MiB): changes wait at the source, whose log grows; mend the destination, \
                 or give stage_mib_max more",
                bytes.div_ceil(1 << 20),
                bytes_max >> 20
            )),
            Notice::Staging(Standing::NoRoom { bytes }) => self.warn(format!(
                "the data folder has no room for more of the stage ({} MiB wait in it): changes wait at the source, whose log \
                 grows, until the destination takes them; make room, or set stage_mib_max to 0",
                bytes.div_ceil(1 << 20)
            )),
            Notice::RowsRead { .. } | Notice::RowsDropped { .. } => {}
            Notice::BatchBegun { number, first_sequence } => {
                self.journal.put(Entry::BatchBegun { mirror: self.mirror, number, start: first_sequence });
            }
            // The checkpoint stored it.
            Notice::BatchEnded(_) => {}
            Notice::RecordLeftOut(rejection) => {
                let told = self.left_out.lock().unwrap_or_else(PoisonError::into_inner).tell(Instant::now());
                match told {
                    Some(0) => {
                        self.warn(format!("went on without a record of {}: {rejection}", rejection.table))
                    }
                    Some(untold) => self.warn(format!(
                        "went on without a record of {}, and {untold} before it: {rejection}",
                        rejection.table
                    )),
                    None => {}
                }
            }
            // The first description of a table comes by this way, too, and changes nothing: a destination that changes
            // tables logs what it does.
            Notice::SchemaEvolved => {}
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
            Notice::StreamOpened => self.opened(),
            Notice::Retrying { of, failure, attempt, delay } => {
                if self.retries.note(of, failure, attempt, delay) {
                    let seconds = delay.as_secs_f64();
                    self.warn(format!("{failure}; attempt {attempt} failed, the next is in {seconds:.1} s"));
                } else {
                    tracing::debug!(mirror = &*self.name, attempt, %failure, "failed again");
                }
            }
            Notice::Recovered { of, attempts } => {
                self.retries.end(of);
                self.info(format!("went on after {attempts} failed attempts"));
            }
            Notice::GivenUp { of } => self.retries.end(of),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_of_many_are_told_of_and_the_others_counted() {
        let (mut rate, begun) = (Rate::default(), Instant::now());
        let told: Vec<_> = (0..LEFT_OUT_LOG_LINES + 5).map(|_| rate.tell(begun)).collect();
        assert_eq!(told.iter().filter(|told| **told == Some(0)).count() as u32, LEFT_OUT_LOG_LINES);
        assert_eq!(rate.tell(begun + LEFT_OUT_LOG_INTERVAL), Some(5));
        assert_eq!(rate.tell(begun + LEFT_OUT_LOG_INTERVAL), Some(0));
    }
}
