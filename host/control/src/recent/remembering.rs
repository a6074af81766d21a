//! A source whose records are remembered on their way.

use std::sync::Arc;

use tarn_model::{Failure, Position};
use tarn_replication::{Batch, Changes, Instances, Limits, PartitionRead, SnapshotSource, Source};

use super::Ring;

/// A source, and where its records are kept; nowhere where nobody asked for it.
pub(crate) struct Remembering<S> {
    source: S,
    ring: Option<Arc<Ring>>,
}

impl<S> Remembering<S> {
    pub(crate) fn new(source: S, ring: Option<Arc<Ring>>) -> Self {
        Self { source, ring }
    }

    fn remember(&self, batch: Option<&Batch>) {
        if let (Some(ring), Some(batch)) = (&self.ring, batch) {
            ring.remember(&batch.bytes);
        }
    }
}

impl<S: Source> Source for Remembering<S> {
    async fn open(&mut self, start: &Position) -> Result<(), Failure> {
        self.source.open(start).await
    }

    async fn read(&mut self, limits: Limits) -> Result<Changes, Failure> {
        let changes = self.source.read(limits).await?;
        self.remember(changes.batch.as_ref());
        Ok(changes)
    }

    async fn confirm(&mut self, position: &Position) -> Result<(), Failure> {
        self.source.confirm(position).await
    }
}

impl<S: SnapshotSource> SnapshotSource for Remembering<S> {
    async fn plan_snapshot(&mut self, table: &str, rows: u64, parallel: u32) -> Result<Vec<String>, Failure> {
        self.source.plan_snapshot(table, rows, parallel).await
    }

    async fn plan_catch_up(&mut self, partition: &str, horizon: &str) -> Result<String, Failure> {
        self.source.plan_catch_up(partition, horizon).await
    }

    async fn open_snapshot(&mut self, read: &PartitionRead) -> Result<(), Failure> {
        self.source.open_snapshot(read).await
    }

    async fn read_snapshot(&mut self, limits: Limits) -> Result<Option<Batch>, Failure> {
        let batch = self.source.read_snapshot(limits).await?;
        self.remember(batch.as_ref());
        Ok(batch)
    }
}

/// Instances whose sources' records are remembered.
pub(crate) struct RememberingInstances<I> {
    instances: Arc<I>,
    ring: Option<Arc<Ring>>,
}

impl<I> RememberingInstances<I> {
    pub(crate) fn new(instances: &Arc<I>, ring: Option<Arc<Ring>>) -> Arc<Self> {
        Arc::new(Self { instances: Arc::clone(instances), ring })
    }
}

impl<I: Instances> Instances for RememberingInstances<I> {
    type Source = Remembering<I::Source>;
    type Transform = I::Transform;
    type Destination = I::Destination;

    async fn source(&self) -> Result<Self::Source, Failure> {
        Ok(Remembering::new(self.instances.source().await?, self.ring.clone()))
    }

    async fn transform(&self) -> Result<Option<Self::Transform>, Failure> {
        self.instances.transform().await
    }

    async fn destination(&self) -> Result<Self::Destination, Failure> {
        self.instances.destination().await
    }
}
