//! Loading existing rows, before the stream or beside it.

use std::pin::pin;
use std::sync::{Arc, PoisonError};

use tarn_model::{Failure, MirrorState};
use tarn_replication::{
    Destination as _, Ended, HeldSnapshot, Instances as _, Run, SnapshotBounds, SnapshotEnd,
    SnapshotLedger as _, SnapshotSettings, snapshot, supervise,
};
use tarn_wasm::{HeldPoint, SourceInstance};

use super::{LifeEnd, MirrorRun};
use crate::described::{kept_tables, told_name};
use crate::instances::MirrorInstances;
use crate::recent::RememberingInstances;

/// The point of a load that runs beside the stream: later than everything.
const LOADING: u64 = i64::MAX.unsigned_abs();

/// A destination's code for rows that its table has no place for.
const TARGET_INCOMPATIBLE: &str = "target_incompatible";

impl MirrorRun {
    /// Tables of the ledger that are not loaded, or not all of them at one point.
    pub(super) async fn unfinished_tables(&self) -> Result<Vec<String>, Failure> {
        let tables = self.workshop.catalog.ledger(self.mirror.id).load().await?;
        Ok(tables.into_iter().filter(|table| !table.is_complete()).map(|table| table.table).collect())
    }

    /// Loads everything while nothing is streamed; false when asked to stop.
    pub(super) async fn load_first(
        &self,
        instances: &Arc<MirrorInstances>,
        holder: Option<SourceInstance>,
        run: &Run,
    ) -> Result<bool, Failure> {
        if !self.observe(MirrorState::Snapshot).await? {
            return Ok(false);
        }
        let held = run.stop.run_until_cancelled(async {
            if holder.is_none() {
                self.follow_columns(instances).await?;
            }
            hold_point(instances, holder).await
        });
        let Some((_holder, point)) = held.await.transpose()? else { return Ok(false) };
        self.workshop.catalog.set_load_point(self.mirror.id, point.sequence).await?;
        let part = run.child();
        let mut load = pin!(self.load(instances, point, part.clone()));
        let lost = tokio::select! {
            ended = &mut load => return Ok(ended? == SnapshotEnd::Complete),
            lost = Box::pin(self.slot_lost(instances)) => lost,
        };
        // No stream goes on from what is loaded: the rest of it would be for nothing.
        part.stop.cancel();
        let _ = load.await;
        Err(lost)
    }

    /// Loads the tables of an edit while the others are streamed. The stream ends with the load: the next
    /// life streams all tables alike.
    pub(super) async fn load_beside_stream(
        &self,
        instances: &Arc<MirrorInstances>,
        loading: &[String],
        run: Run,
    ) -> Result<LifeEnd, Failure> {
        if !self.observe(MirrorState::Running).await? {
            return Ok(LifeEnd::Stopped);
        }
        self.watch.info(format!("loading {} beside the stream", loading.join(", ")));
        // The stream that follows this one has a point to pass, wherever it will be.
        self.workshop.catalog.set_load_point(self.mirror.id, LOADING).await?;
        let both = run.child();
        // A load in trouble is tried again by itself: the stream beside it has no part in it.
        let apart = both.apart();
        let load = async {
            let ended = supervise(&apart, |run| self.load_at_new_point(instances, run)).await;
            both.stop.cancel();
            ended
        };
        let stream = async {
            let ended = self.stream_beside(instances, loading, both.clone()).await;
            both.stop.cancel();
            ended
        };
        let (loaded, streamed) = tokio::join!(load, stream);
        streamed?;
        match loaded? {
            Ended::Value(SnapshotEnd::Complete) if !run.stop.is_cancelled() => Box::pin(self.life(run)).await,
            Ended::Value(SnapshotEnd::Complete | SnapshotEnd::Paused) => Ok(LifeEnd::Stopped),
            Ended::Stopped { trouble } => {
                if let Some(trouble) = trouble {
                    self.watch.warn(format!("met trouble while stopping: {trouble}"));
                }
                Ok(LifeEnd::Stopped)
            }
        }
    }

    async fn stream_beside(
        &self,
        instances: &Arc<MirrorInstances>,
        loading: &[String],
        run: Run,
    ) -> Result<(), Failure> {
        let source = instances.source_beside(loading).await?;
        self.stream(instances, source, self.resume().await?, run).await
    }

    async fn load_at_new_point(
        &self,
        instances: &Arc<MirrorInstances>,
        run: Run,
    ) -> Result<SnapshotEnd, Failure> {
        let held = run.stop.run_until_cancelled(hold_point(instances, None)).await.transpose()?;
        let Some((_holder, point)) = held else { return Ok(SnapshotEnd::Paused) };
        self.load(instances, point, run).await
    }

    /// Loads what the ledger says is missing, at a point that the caller holds.
    async fn load(
        &self,
        instances: &Arc<MirrorInstances>,
        point: HeldPoint,
        run: Run,
    ) -> Result<SnapshotEnd, Failure> {
        let catalog = &self.workshop.catalog;
        let id = self.mirror.id;
        self.workshop.progress.forget(id);
        let start = catalog.stream_start(id).await?.ok_or_else(no_start)?;
        let HeldPoint { token, horizon, .. } = point;
        let held = HeldSnapshot { token, horizon, generation: catalog.next_generation(id).await?, start };
        let ledger = Arc::new(catalog.ledger(id));
        let ended = snapshot(
            RememberingInstances::new(instances, self.recent()),
            ledger,
            held,
            self.load_settings(),
            run,
        )
        .await;
        let ended = match ended {
            Err(refused) if refused.code == TARGET_INCOMPATIBLE => {
                // A column may have come between the preparation of the tables and the cutting of this one, and the
                // stream that would tell of it comes later. What stays incompatible fails here for good.
                if !self.is_news(&refused) {
                    return Err(refused);
                }
                self.follow_columns(instances).await?;
                return Err(Failure::retry("columns_changed", refused.message).with_table(refused.table));
            }
            ended => ended?,
        };
        if ended == SnapshotEnd::Complete {
            self.followed.lock().unwrap_or_else(PoisonError::into_inner).clear();
            self.watch.info("the load is complete");
        }
        Ok(ended)
    }

    /// Whether a target's refusal is none of those of this load so far.
    fn is_news(&self, refused: &Failure) -> bool {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.insert(refused.message.clone())
    }

    fn load_settings(&self) -> SnapshotSettings {
        let spec = &self.mirror.spec;
        SnapshotSettings {
            partition_rows: u64::from(spec.snapshot_num_rows_per_partition),
            partitions_min: match spec.snapshot_num_partitions_override {
                0 => spec.snapshot_max_parallel_workers,
                partitions => partitions,
            },
            workers: spec.snapshot_max_parallel_workers,
            tables_in_parallel: spec.snapshot_num_tables_in_parallel,
            batch_rows_max: spec.max_batch_size,
            records: self.records.clone(),
            bounds: SnapshotBounds::default(),
        }
    }

    /// Brings the tables that still load to the columns that the source's have by now: a load that was cut off may go on
    /// after they changed, and the stream that would tell of it comes later. Others are the stream's, and none is made:
    /// one that somebody dropped would be there without the rows that were loaded before. The source is told which tables load: it
    /// does not describe columns of these that are to be left out.
    async fn follow_columns(&self, instances: &MirrorInstances) -> Result<(), Failure> {
        let loading = self.unfinished_tables().await?;
        let loads = |table: &str| loading.iter().any(|name| told_name(name) == table);
        let schema = instances.source_beside(&loading).await?.schema().await?;
        let Some(schema) = kept_tables(&schema, loads)? else { return Ok(()) };
        let mut destination = instances.store().await?;
        if instances.is_beside() {
            // Nobody reads these tables yet.
            return destination.evolve(schema).await;
        }
        let gate = instances.gate();
        let passed = gate.pass(&schema).await?;
        let changes = instances.column_changes();
        let _turn = changes.turn().await;
        destination.evolve(schema).await?;
        gate.made(&passed).await
    }
}

/// An instance that holds a point to load at, for as long as it lives.
async fn hold_point(
    instances: &MirrorInstances,
    holder: Option<SourceInstance>,
) -> Result<(SourceInstance, HeldPoint), Failure> {
    let mut holder = match holder {
        Some(holder) => holder,
        None => instances.source().await?,
    };
    let point = holder.hold_snapshot().await?;
    Ok((holder, point))
}

fn no_start() -> Failure {
    Failure::retry("start_missing", "the mirror has no start of its stream although it was set up")
}
