//! One run of a mirror: from where the catalog says it is to where its desired state wants it.
//!
//! ```text
//!  desired running:   [resync] → [set up, or carry out an edit] → [load] → [put in place] → stream … until asked
//!                     to stop
//!  desired paused:    rest
//!  desired terminated: tear down
//! ```
//!
//! Each step is recorded when it is done and can be repeated, so that a run may end anywhere, by a kill
//! too, and the next one goes on. A run reports states under the epoch it began with; when a request came
//! in between, its reports are void and it ends.

mod before_edit;
mod beside;
mod load;
mod lost_slot;
mod setup;
mod stream;
mod targets;
mod teardown;

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use tarn_catalog::{Catalog, Observed};
use tarn_model::{Allowance, DesiredState, Failure, Mirror, MirrorSpec, MirrorState, SchemaChangePolicy};
use tarn_replication::{Ended, Observer, Records, Run, supervise};
use tarn_wasm::SourceInstance;
use tokio_util::sync::CancellationToken;

use crate::control::Control;
use crate::instances::{self, MirrorInstances, stream_workers};
use crate::journal::Journal;
use crate::latency::Latencies;
use crate::plugins::Plugins;
use crate::progress::Progress;
use crate::recent::{RecentRecords, Ring};
use crate::records::Desk;
use crate::records::book::{Again, Books};
use crate::records::sieve::SieveParts;
use crate::retries::Retries;
use crate::slot_watch::SlotHealths;
use crate::stage::Stages;
use crate::watch::Watch;

/// What every run shares.
#[derive(Clone, Debug)]
pub(crate) struct Workshop {
    pub(crate) catalog: Catalog,
    pub(crate) plugins: Plugins,
    pub(crate) journal: Journal,
    pub(crate) progress: Progress,
    pub(crate) latencies: Latencies,
    pub(crate) retries: Retries,
    pub(crate) slot_healths: SlotHealths,
    pub(crate) stages: Stages,
    pub(crate) books: Books,
    pub(crate) allowance: Allowance,
    pub(crate) recent: RecentRecords,
}

impl Workshop {
    /// What the runs of the mirrors of `control` share.
    pub(crate) fn new(control: &Control, plugins: Plugins, journal: Journal) -> Self {
        let parts = control.parts();
        Self {
            catalog: parts.catalog.clone(),
            plugins,
            journal,
            progress: parts.progress.clone(),
            latencies: parts.latencies.clone(),
            retries: control.retries().clone(),
            slot_healths: control.slot_healths().clone(),
            stages: parts.stages.clone(),
            books: parts.books.clone(),
            allowance: control.settings().allowance,
            recent: parts.recent.clone(),
        }
    }
}

/// A run of one mirror.
pub(crate) struct MirrorRun {
    workshop: Workshop,
    mirror: Mirror,
    watch: Arc<Watch>,
    stop: CancellationToken,
    desk: Desk,
    records: Records,
    /// Whether a record was refused, so that each write is made durable from there on.
    careful: Arc<AtomicBool>,
    /// Why targets had no place for rows of a load, after each of which they were brought to the source's columns.
    followed: Mutex<HashSet<String>>,
}

/// A mirror whose rows can move.
struct Prepared {
    mirror: Mirror,
    instances: Arc<MirrorInstances>,
    /// The instance that set up the source holds the point of the first load.
    holder: Option<SourceInstance>,
}

/// How a life of a running mirror ended.
enum LifeEnd {
    /// Asked to stop, or a request came in between.
    Stopped,
    /// Loaded, and that was all.
    Completed,
}

impl MirrorRun {
    pub(crate) fn new(workshop: Workshop, mirror: Mirror, stop: CancellationToken) -> Self {
        let Workshop { journal, progress, .. } = workshop.clone();
        let watch = Watch::new(mirror.id, &mirror.spec.name, journal, progress);
        let watch = watch.with_latency(workshop.latencies.of(mirror.id));
        let watch = Arc::new(watch.with_retries(workshop.retries.of(mirror.id)));
        let spec = &mirror.spec;
        let book = workshop.books.of(mirror.id);
        let bytes_max = workshop.allowance.dead_letter_bytes_max();
        let desk = Desk::new(spec.record_error_policy, &workshop.catalog, mirror.id, bytes_max, book);
        let limit = match spec.record_error_limit {
            0 => MirrorSpec::RECORD_ERROR_LIMIT,
            limit => limit,
        };
        let records = desk.records(limit);
        Self {
            workshop,
            mirror,
            watch,
            stop,
            desk,
            records,
            careful: Arc::default(),
            followed: Mutex::default(),
        }
    }

    /// Runs until there is nothing to do, or until asked to stop.
    ///
    /// # Errors
    /// The catalog could not be used: the state says nothing about it, so the run is to be repeated.
    pub(crate) async fn run(self) -> Result<(), Failure> {
        match self.mirror.desired {
            DesiredState::Running => self.work().await,
            DesiredState::Paused => self.rest().await,
            DesiredState::Terminated => self.tear_down().await,
        }
    }

    /// Where this mirror's recent records are kept, if they are.
    fn recent(&self) -> Option<Arc<Ring>> {
        self.workshop.recent.of(self.mirror.id, self.mirror.spec.recent_records)
    }

    async fn rest(&self) -> Result<(), Failure> {
        if self.observe(MirrorState::Paused).await? {
            self.watch.info("paused");
        }
        Ok(())
    }

    async fn work(&self) -> Result<(), Failure> {
        let observer = Arc::clone(&self.watch) as Arc<dyn Observer>;
        let run = Run::new(observer, self.stop.clone());
        let ended = supervise(&run, |run| Box::pin(self.life(run))).await;
        // Nothing is tried again from here on, and nobody is to see that in a state that says so.
        drop(run);
        match ended {
            Ok(Ended::Value(LifeEnd::Completed)) => {
                if self.observe(MirrorState::Completed).await? {
                    self.watch.info("completed: the tables are loaded, and changes were not asked for");
                }
            }
            Ok(Ended::Value(LifeEnd::Stopped) | Ended::Stopped { trouble: None }) => {}
            Ok(Ended::Stopped { trouble: Some(trouble) }) => {
                self.watch.warn(format!("met trouble while stopping: {trouble}"));
            }
            Err(failure) => {
                self.watch.failed(&failure);
                self.observe_failure(&failure).await?;
            }
        }
        Ok(())
    }

    /// One life: every step that is not done yet, then the stream.
    async fn life(&self, run: Run) -> Result<LifeEnd, Failure> {
        // The source may make these steps wait for its transactions, a stop may not: each is repeatable, so
        // that it can be dropped anywhere.
        let prepared = run.stop.run_until_cancelled(Box::pin(self.prepare())).await.transpose()?.flatten();
        let Some(Prepared { mirror, instances, holder }) = prepared else { return Ok(LifeEnd::Stopped) };
        let loading = self.unfinished_tables().await?;
        let streamed_before = holder.is_none() && mirror.resume_at == MirrorState::Running;
        // In a queue nothing can be put before what is there: what is loaded beside the stream would come after changes
        // that it does not see.
        if !loading.is_empty() && streamed_before && !instances.is_queue() {
            return Box::pin(self.load_beside_stream(&instances, &loading, run)).await;
        }
        if !loading.is_empty() && !self.load_first(&instances, holder, &run).await? {
            return Ok(LifeEnd::Stopped);
        }
        if instances.is_beside() {
            let placed = run.stop.run_until_cancelled(self.put_in_place(&instances)).await.transpose()?;
            return if placed.is_some() { Box::pin(self.life(run)).await } else { Ok(LifeEnd::Stopped) };
        }
        if mirror.spec.initial_snapshot_only {
            let removed = run.stop.run_until_cancelled(self.take_back(&instances)).await.transpose()?;
            return Ok(if removed.is_some() { LifeEnd::Completed } else { LifeEnd::Stopped });
        }
        if !self.observe(MirrorState::Running).await? {
            return Ok(LifeEnd::Stopped);
        }
        let scripts = instances.loaded_scripts().iter();
        let scripts: Vec<_> =
            scripts.map(|script| format!("script {} version {}", script.name, script.version)).collect();
        self.watch.say_when_open(if scripts.is_empty() {
            "streaming".to_owned()
        } else {
            match stream_workers(&mirror.spec) {
                1 => format!("streaming, with {}", scripts.join(", then ")),
                workers => format!("streaming, with {}, in {workers} instances", scripts.join(", then ")),
            }
        });
        self.stream_all(&instances, run).await?;
        Ok(LifeEnd::Stopped)
    }

    /// Every step before rows move; `None` when a later request came in between.
    async fn prepare(&self) -> Result<Option<Prepared>, Failure> {
        let Workshop { catalog, plugins, .. } = &self.workshop;
        let Some(mirror) = catalog.mirror_by_id(self.mirror.id).await? else { return Ok(None) };
        if mirror.epoch != self.mirror.epoch {
            return Ok(None);
        }
        if let Some(keeper) = self.desk.keeper() {
            let peer = instances::peer(catalog, &mirror.spec.destination_peer).await?;
            let again = if peer.config.is_queue() { Again::PassedOver } else { Again::Tried };
            keeper.book().load(&catalog.letter_marks(mirror.id).await?, again);
        }
        let instances = Arc::new(
            MirrorInstances::new(
                catalog,
                plugins,
                mirror.id,
                &mirror.spec,
                &self.watch,
                self.sieve(&mirror.spec),
            )
            .await?,
        );
        if mirror.spec.schema_changes == SchemaChangePolicy::Apply {
            // What waited by an earlier policy is done in its turn.
            catalog.forget_schema_changes(mirror.id).await?;
        }
        if mirror.state == MirrorState::Resync {
            let begun = self.forget(&instances).await?;
            // Where the load goes is another place now.
            return if begun { Box::pin(self.prepare()).await } else { Ok(None) };
        }
        if mirror.spec.resync
            && instances.replaces()
            && !instances.is_beside()
            && catalog.stream_start(mirror.id).await?.is_none()
        {
            // What an earlier mirror left there is replaced, once this one has its rows.
            catalog.begin_beside(mirror.id, &self.load_name()).await?;
            return Box::pin(self.prepare()).await;
        }
        let mut holder = None;
        if catalog.stream_start(mirror.id).await?.is_none() {
            if !self.observe(MirrorState::Setup).await? {
                return Ok(None);
            }
            holder = Some(self.set_up(&instances, mirror.edit.as_ref()).await?);
        } else if let Some(edit) = &mirror.edit
            && !self.carry_out(&instances, edit).await?
        {
            return Ok(None);
        }
        Ok(Some(Prepared { mirror, instances, holder }))
    }

    /// What a destination's records are sieved with.
    fn sieve(&self, spec: &MirrorSpec) -> SieveParts {
        SieveParts {
            records: self.records.clone(),
            desk: self.desk.clone(),
            observer: Arc::clone(&self.watch) as Arc<dyn Observer>,
            careful: Arc::clone(&self.careful),
            scripted: !spec.script.is_empty(),
        }
    }

    /// Reports a state; false when a later request made the report void.
    async fn observe(&self, state: MirrorState) -> Result<bool, Failure> {
        self.watch.settled().await;
        let Mirror { id, epoch, .. } = self.mirror;
        Ok(self.workshop.catalog.observe(id, epoch, state, None).await? == Observed::Stored)
    }

    async fn observe_failure(&self, failure: &Failure) -> Result<(), Failure> {
        self.watch.settled().await;
        let Mirror { id, epoch, .. } = self.mirror;
        self.workshop.catalog.observe(id, epoch, MirrorState::Failed, Some(failure)).await?;
        Ok(())
    }
}
