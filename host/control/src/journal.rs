//! What runs say, on its way into the catalog.
//!
//! The loop and the guests speak without waiting; one owned task stores what they said, in order and many
//! entries a transaction. When it cannot keep up, entries are left out and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tarn_catalog::{Catalog, CatalogError};
use tarn_model::LogLevel;
use tokio::sync::mpsc;

use crate::config::{JOURNAL_BATCH_MAX, JOURNAL_ENTRIES_MAX};

/// Something to store.
#[derive(Debug)]
pub(crate) enum Entry {
    /// A line of a mirror's log.
    Line { mirror: Arc<str>, level: LogLevel, message: String },
    /// A batch got its first row.
    BatchBegun { mirror: i64, number: u64, start: u64 },
    /// A worker starts on a partition.
    PartitionBegun { mirror: i64, table: String, number: u32 },
}

/// The writing end. Clones share the queue.
#[derive(Clone, Debug)]
pub struct Journal {
    queue: mpsc::Sender<Entry>,
    left_out: Arc<AtomicU64>,
}

/// The task that stores.
pub struct JournalWriter {
    queue: mpsc::Receiver<Entry>,
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
        if self.queue.try_send(entry).is_err() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl JournalWriter {
    /// Stores until every [`Journal`] is gone and the queue is empty.
    pub async fn run(mut self) {
        let mut entries = Vec::with_capacity(JOURNAL_BATCH_MAX);
        while self.queue.recv_many(&mut entries, JOURNAL_BATCH_MAX).await > 0 {
            if let Err(error) = self.store(&mut entries).await {
                tracing::warn!(%error, "entries of the mirrors' logs could not be stored");
                entries.clear();
            }
            let left_out = self.left_out.swap(0, Ordering::Relaxed);
            if left_out > 0 {
                tracing::warn!(left_out, "the mirrors said more than could be stored");
            }
        }
    }

    /// Stores entries in order; lines of one mirror that follow each other go together.
    async fn store(&self, entries: &mut Vec<Entry>) -> Result<(), CatalogError> {
        let mut lines: Vec<(LogLevel, String)> = Vec::new();
        let mut of: Option<Arc<str>> = None;
        for entry in entries.drain(..) {
            if let Entry::Line { mirror, level, message } = entry {
                if of.as_ref().is_some_and(|of| *of != mirror) {
                    self.store_lines(&mut of, &mut lines).await?;
                }
                of = Some(mirror);
                lines.push((level, message));
                continue;
            }
            self.store_lines(&mut of, &mut lines).await?;
            match entry {
                Entry::BatchBegun { mirror, number, start } => {
                    self.catalog.begin_batch(mirror, number, start).await?;
                }
                Entry::PartitionBegun { mirror, table, number } => {
                    self.catalog.begin_partition(mirror, &table, number).await?;
                }
                Entry::Line { .. } => unreachable!("handled above"),
            }
        }
        self.store_lines(&mut of, &mut lines).await
    }

    async fn store_lines(
        &self,
        of: &mut Option<Arc<str>>,
        lines: &mut Vec<(LogLevel, String)>,
    ) -> Result<(), CatalogError> {
        if let Some(mirror) = of.take() {
            self.catalog.log(&mirror, lines).await?;
            lines.clear();
        }
        Ok(())
    }
}
