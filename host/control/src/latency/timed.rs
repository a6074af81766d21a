//! A source whose deliveries, and a stage whose entries, are noted with the time of their commits.

use std::sync::Arc;

use tarn_batch::Batch as Rows;
use tarn_model::{Failure, Position};
use tarn_replication::{Batch, Changes, Limits, OpenStage, Source, Stage, Staged, Ticket};

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
        let first = changes.batch.as_ref().and_then(first_commit);
        if let Some(commit_us) = first {
            self.latency.read(changes.sequence, commit_us);
        }
        Ok(changes)
    }

    async fn confirm(&mut self, position: &Position) -> Result<(), Failure> {
        self.source.confirm(position).await
    }
}

/// When the first change of a batch was committed, if it says so.
fn first_commit(batch: &Batch) -> Option<i64> {
    let rows = Rows::parse(&batch.bytes).ok()?;
    let first = rows.rows().next()?.ok()?;
    Some(first.header().commit_time_us).filter(|commit_us| *commit_us > 0)
}

/// A stage with what waits in it from earlier lives, and where its age is noted.
pub(crate) struct Aged<G> {
    stage: G,
    latency: Arc<MirrorLatency>,
    /// What came before this life: the number of its last entry, and up to where it goes.
    last: Option<u64>,
    until: u64,
}

impl<G: Stage> Aged<G> {
    /// Looks at the first entry with rows: nothing else says how old they are. What was read and put aside goes up to
    /// `until`.
    pub(crate) async fn open(open: OpenStage<G>, latency: Arc<MirrorLatency>, until: u64) -> OpenStage<Self> {
        let OpenStage { stage, waiting, bytes_max } = open;
        let last = waiting.last().map(|ticket| ticket.number);
        let mut aged = Self { stage, latency, last, until };
        for Ticket { number, .. } in &waiting {
            // What cannot be read now is told of when it is to be delivered.
            if !matches!(aged.get(*number).await, Ok(Staged::Schema(_))) {
                break;
            }
        }
        OpenStage { stage: aged, waiting, bytes_max }
    }
}

impl<G: Stage> Stage for Aged<G> {
    async fn put(&mut self, ticket: Ticket, staged: &Staged) -> Result<(), Failure> {
        self.stage.put(ticket, staged).await
    }

    async fn get(&mut self, number: u64) -> Result<Staged, Failure> {
        let staged = self.stage.get(number).await?;
        if let Staged::Rows(batches) = &staged
            && Some(number) <= self.last
            && let Some(commit_us) = batches.iter().find_map(first_commit)
        {
            self.latency.waits_since(self.until, commit_us);
        }
        Ok(staged)
    }

    async fn remove(&mut self, number: u64) -> Result<(), Failure> {
        self.stage.remove(number).await
    }
}
