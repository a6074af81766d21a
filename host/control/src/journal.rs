//! What runs say, on its way into the catalog.
//!
//! The loop and the guests speak without waiting; one owned task stores what they said, in order and many
//! entries a transaction. When it cannot keep up, entries are left out and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tarn_catalog::{Catalog, CatalogError};
use tarn_model::{LogLevel, RowCounts};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::config::{JOURNAL_BATCH_MAX, JOURNAL_ENTRIES_MAX, JOURNAL_WAIT_MAX};

/// Something to store.
#[derive(Debug)]
pub(crate) enum Entry {
    /// A line of a mirror's log.
    Line { mirror: Arc<str>, level: LogLevel, message: String },
    /// A batch got its first row.
    BatchBegun { mirror: i64, number: u64, start: u64 },
    /// A worker starts on a partition.
    PartitionBegun { mirror: i64, table: String, number: u32 },
    /// The destination took rows of tables, by its own names.
    RowsWritten { mirror: i64, counts: Vec<(String, RowCounts)> },
}

/// What goes through the queue.
#[derive(Debug)]
enum Item {
    Entry(Entry),
    /// Dropped when all before it is stored.
    Mark(oneshot::Sender<()>),
}

/// The writing end. Clones share the queue.
#[derive(Clone, Debug)]
pub struct Journal {
    queue: mpsc::Sender<Item>,
    left_out: Arc<AtomicU64>,
}

/// The task that stores.
pub struct JournalWriter {
    queue: mpsc::Receiver<Item>,
    left_out: Arc<AtomicU64>,
    catalog: Catalog,
}

impl Journal {
    /// Both ends.
    pub fn new(catalog: Catalog) -> (Self, JournalWriter) {
        let (sender, receiver) = mpsc::channel(JOURNAL_ENTRIES_MAX);
        let left_out = Arc::new(AtomicU64::new(0));
        let journal = Self { queue: sender, left_out: Arc::clone(&left_out) };
        (journal, JournalWriter { queue: receiver, left_out, catalog })
    }

    /// Adds a line to a mirror's log, and to the process' own.
    pub(crate) fn line(&self, mirror: &Arc<str>, level: LogLevel, message: impl Into<String>) {
        let message = message.into();
        match level {
            LogLevel::Info => tracing::info!(mirror = &**mirror, "{message}"),
            LogLevel::Warn => tracing::warn!(mirror = &**mirror, "{message}"),
            LogLevel::Error => tracing::error!(mirror = &**mirror, "{message}"),
        }
        self.put(Entry::Line { mirror: Arc::clone(mirror), level, message });
    }

    pub(crate) fn put(&self, entry: Entry) {
        if self.queue.try_send(Item::Entry(entry)).is_err() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until what was said is stored: whoever sees a state that came of it is to find it in the log. A catalog
    /// that does not store holds up nobody for longer than [`JOURNAL_WAIT_MAX`].
    pub(crate) async fn settled(&self) {
        let (mark, stored) = oneshot::channel();
        let both = async {
            if self.queue.send(Item::Mark(mark)).await.is_ok() {
                // The mark says nothing: it is dropped.
                let _ = stored.await;
            }
        };
        if timeout(JOURNAL_WAIT_MAX, both).await.is_err() {
            tracing::warn!("what the mirrors said is not stored yet");
        }
    }
}

impl JournalWriter {
    /// Stores until every [`Journal`] is gone and the queue is empty.
    pub async fn run(mut self) {
        let mut items = Vec::with_capacity(JOURNAL_BATCH_MAX);
        while self.queue.recv_many(&mut items, JOURNAL_BATCH_MAX).await > 0 {
            let (mut entries, mut marks) = (Vec::with_capacity(items.len()), Vec::new());
            for item in items.drain(..) {
                match item {
                    Item::Entry(entry) => entries.push(entry),
                    Item::Mark(mark) => marks.push(mark),
                }
            }
            for part in parts(entries.into_iter()) {
                // What one mirror says must not be lost for what another one could not store.
                if let Err(error) = self.store(&part).await {
                    tracing::warn!(error = error.chain(), "an entry of a mirror's log could not be stored");
                }
            }
            drop(marks);
            let left_out = self.left_out.swap(0, Ordering::Relaxed);
            if left_out > 0 {
                tracing::warn!(left_out, "the mirrors said more than could be stored");
            }
        }
    }

    async fn store(&self, part: &Part) -> Result<(), CatalogError> {
        match part {
            Part::Lines { mirror, lines } => self.catalog.log(mirror, lines).await,
            Part::BatchBegun { mirror, number, start } => {
                self.catalog.begin_batch(*mirror, *number, *start).await
            }
            Part::PartitionBegun { mirror, table, number } => {
                self.catalog.begin_partition(*mirror, table, *number).await
            }
            Part::RowsWritten { mirror, counts } => self.catalog.count_rows(*mirror, counts).await,
        }
    }
}

/// What is stored by one transaction.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Lines { mirror: Arc<str>, lines: Vec<(LogLevel, String)> },
    BatchBegun { mirror: i64, number: u64, start: u64 },
    PartitionBegun { mirror: i64, table: String, number: u32 },
    RowsWritten { mirror: i64, counts: Vec<(String, RowCounts)> },
}

/// Entries in order; lines of one mirror that follow each other go together.
fn parts(entries: impl Iterator<Item = Entry>) -> Vec<Part> {
    let mut parts = Vec::new();
    for entry in entries {
        match entry {
            Entry::Line { mirror, level, message } => match parts.last_mut() {
                Some(Part::Lines { mirror: last, lines }) if *last == mirror => lines.push((level, message)),
                _ => parts.push(Part::Lines { mirror, lines: vec![(level, message)] }),
            },
            Entry::BatchBegun { mirror, number, start } => {
                parts.push(Part::BatchBegun { mirror, number, start });
            }
            Entry::PartitionBegun { mirror, table, number } => {
                parts.push(Part::PartitionBegun { mirror, table, number });
            }
            Entry::RowsWritten { mirror, counts } => parts.push(Part::RowsWritten { mirror, counts }),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use tarn_catalog::{CatalogOptions, LogQuery};

    use super::*;

    fn line(mirror: &str, message: &str) -> Entry {
        Entry::Line { mirror: mirror.into(), level: LogLevel::Info, message: message.into() }
    }

    fn lines(mirror: &str, messages: &[&str]) -> Part {
        let lines = messages.iter().map(|message| (LogLevel::Info, (*message).to_owned())).collect();
        Part::Lines { mirror: mirror.into(), lines }
    }

    #[tokio::test]
    async fn what_was_said_is_stored_once_it_is_settled() {
        let home = tempfile::tempdir().expect("a folder");
        let options = CatalogOptions { data_dir: home.path().into(), ..CatalogOptions::default() };
        let catalog = Catalog::open(&options).await.expect("a fresh catalog");
        let (journal, writer) = Journal::new(catalog.clone());
        let writer = tokio::spawn(writer.run());
        for number in 0..=JOURNAL_BATCH_MAX {
            journal.line(&"items".into(), LogLevel::Info, format!("line {number}"));
        }
        journal.settled().await;
        let stored = catalog.logs(&LogQuery::default()).await.expect("the log").total;
        assert_eq!(stored, JOURNAL_BATCH_MAX as u64 + 1);
        drop(journal);
        writer.await.expect("the writer ends with the journal");
    }

    #[test]
    fn lines_of_one_mirror_go_together_and_the_order_stays() {
        let begun = Entry::BatchBegun { mirror: 1, number: 2, start: 3 };
        let entries = [line("a", "1"), line("a", "2"), line("b", "3"), begun, line("b", "4")];
        assert_eq!(
            parts(entries.into_iter()),
            [
                lines("a", &["1", "2"]),
                lines("b", &["3"]),
                Part::BatchBegun { mirror: 1, number: 2, start: 3 },
                lines("b", &["4"])
            ]
        );
    }
}
