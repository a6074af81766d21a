//! A source whose deliveries are noted with the time of their commits.

use std::sync::Arc;

use tarn_batch::Batch as Rows;
use tarn_model::{Failure, Position};
use tarn_replication::{Changes, Limits, Source};

use super::MirrorLatency;

/// A source, and where its deliveries are noted.
pub(crate) struct Timed<S> {
    source: S,
    latency: Arc<MirrorLatency>,
}

impl<S> Timed<S> {
    pub(crate) fn new(source: S, latency: Arc<MirrorLatency>) -> Self {
        Self { source, latency }
    }
}

impl<S: Source> Source for Timed<S> {
    async fn open(&mut self, start: &Position) -> Result<(), Failure> {
        self.source.open(start).await
    }

    async fn read(&mut self, limits: Limits) -> Result<Changes, Failure> {
        let changes = self.source.read(limits).await?;
        let first = changes.batch.as_ref().and_then(|batch| {
            let rows = Rows::parse(&batch.bytes).ok()?;
            let first = rows.rows().next()?.ok()?;
            Some(first.header().commit_time_us).filter(|commit_us| *commit_us > 0)
        });
        if let Some(commit_us) = first {
            self.latency.read(changes.sequence, commit_us);
        }
        Ok(changes)
    }

    async fn confirm(&mut self, position: &Position) -> Result<(), Failure> {
        self.source.confirm(position).await
    }
}
