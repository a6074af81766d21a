//! Streaming changes.

use std::sync::Arc;
use std::time::Duration;

use tarn_model::Failure;
use tarn_replication::{
    Instances as _, OpenStage, Reopening, Resume, Run, StreamBounds, StreamParts, StreamSettings, stream,
};
use tarn_wasm::{DestinationInstance, SourceInstance};

use super::MirrorRun;
use crate::counting::Counting;
use crate::instances::MirrorInstances;
use crate::latency::{Aged, MirrorLatency, Timed};
use crate::recent::Remembering;
use crate::records::sieve::Sieve;
use crate::schema_gate::Gated;
use crate::stage::MirrorStage;

impl MirrorRun {
    /// Streams every table alike, from the last checkpoint until asked to stop.
    ///
    /// A load that read at a later point than the stream is at saw rows gone, or under another key, that
    /// the stream still changes. Until it has passed the point, the source completes such changes by
    /// itself, at a point of its own. That point is recorded before the first change is read: should the
    /// run end before it is passed, the next one holds a new point.
    pub(super) async fn stream_all(&self, instances: &Arc<MirrorInstances>, run: Run) -> Result<(), Failure> {
        let catalog = &self.workshop.catalog;
        let resume = self.resume().await?;
        let source = if resume.sequence < catalog.load_point(self.mirror.id).await? {
            let tables: Vec<_> = self.mirror.spec.tables.iter().map(|table| table.source.clone()).collect();
            let held = run.stop.run_until_cancelled(async {
                let mut source = instances.source_beside(&tables).await?;
                let point = source.hold_snapshot().await?;
                catalog.set_load_point(self.mirror.id, point.sequence).await?;
                Ok::<_, Failure>(source)
            });
            let Some(source) = held.await.transpose()? else { return Ok(()) };
            source
        } else {
            instances.source().await?
        };
        self.stream(instances, source, resume, run).await
    }

    /// Where the stream goes on.
    pub(super) async fn resume(&self) -> Result<Resume, Failure> {
        let resume = self.workshop.catalog.resume(self.mirror.id).await?;
        resume.ok_or_else(|| Failure::retry("start_missing", "the mirror has no start of its stream"))
    }

    /// The destination of a stream, which is opened at the first write, and anew after each failure.
    pub(super) fn destination(
        &self,
        instances: &Arc<MirrorInstances>,
        latency: Arc<MirrorLatency>,
    ) -> Reopening<Gated<Sieve<Counting<DestinationInstance>>>> {
        let (id, spec, journal) = (self.mirror.id, self.mirror.spec.clone(), self.workshop.journal.clone());
        let instances = Arc::clone(instances);
        Reopening::new(move || {
            let (instances, spec) = (Arc::clone(&instances), spec.clone());
            let (journal, latency) = (journal.clone(), Arc::clone(&latency));
            Box::pin(async move {
                let counting = Counting::new(instances.store().await?, id, &spec, journal, latency);
                let sieve = Sieve::new(counting, instances.sieve());
                Ok(Gated::new(sieve, instances.gate(), instances.column_changes()))
            })
        })
    }

    pub(super) async fn open_stage(&self) -> Result<Option<OpenStage<MirrorStage>>, Failure> {
        let destination = &self.mirror.spec.destination_peer;
        self.workshop.stages.open(&self.workshop.catalog, self.mirror.id, destination).await
    }

    /// Streams what `source` delivers until asked to stop.
    pub(super) async fn stream(
        &self,
        instances: &Arc<MirrorInstances>,
        source: SourceInstance,
        resume: Resume,
        run: Run,
    ) -> Result<(), Failure> {
        let latency = self.workshop.latencies.of(self.mirror.id);
        latency.begin();
        let stage = match self.open_stage().await? {
            Some(open) => Some(Aged::open(open, Arc::clone(&latency), resume.sequence).await),
            None => None,
        };
        let parts = StreamParts {
            source: Timed::new(Remembering::new(source, self.recent()), Arc::clone(&latency)),
            transform: instances.stream_transform().await?,
            destination: self.destination(instances, latency),
            stage,
            checkpoints: self.workshop.catalog.checkpoints(self.mirror.id),
        };
        let settings = StreamSettings {
            batch_rows_max: self.mirror.spec.max_batch_size,
            idle_timeout: Duration::from_secs(self.mirror.spec.idle_timeout_seconds),
            records: self.records.clone(),
            bounds: StreamBounds::default(),
        };
        let stopped = stream(parts, resume, settings, run).await?;
        if let Some(trouble) = stopped.trouble {
            self.watch.warn(format!("met trouble while stopping: {trouble}"));
        }
        Ok(())
    }
}
