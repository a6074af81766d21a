//! Mirrors as people see them.

use tarn_catalog::{BatchPage, BatchQuery};
use tarn_model::{
    CdcBatch, Mirror, MirrorSpec, MirrorState, PeerKind, RecordErrors, RetriedFailure, RowCounts, SlotHealth,
    StageStanding, StreamLatency, TableLoad, Timestamp,
};

use crate::config::STATUS_BATCHES_MAX;
use crate::{Control, ControlError};

/// A mirror in a list.
#[derive(Clone, Debug)]
pub struct MirrorItem {
    /// The mirror.
    pub mirror: Mirror,
    /// Kind of its source; `None` when that peer is gone.
    pub source_kind: Option<PeerKind>,
    /// Kind of its destination.
    pub destination_kind: Option<PeerKind>,
    /// What fails just now and is tried again.
    pub retrying: Option<RetriedFailure>,
}

/// What to leave out of a status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusQuery {
    /// Whether more than name, state and time of creation is wanted.
    pub include_flow_info: bool,
    /// Leave out the batches.
    pub exclude_batches: bool,
    /// Leave out the snapshot's progress.
    pub exclude_snapshot_status: bool,
}

/// A mirror's status.
#[derive(Clone, Debug)]
pub struct MirrorStatus {
    /// Its name.
    pub name: String,
    /// What it is doing.
    pub state: MirrorState,
    /// When it was created.
    pub created_at: Timestamp,
    /// The rest, where it was asked for.
    pub details: Option<StatusDetails>,
}

/// The further part of a mirror's status.
#[derive(Clone, Debug)]
pub struct StatusDetails {
    /// What it replicates.
    pub spec: MirrorSpec,
    /// Progress of the snapshot, table by table.
    pub loads: Vec<TableLoad>,
    /// Its batches, newest first.
    pub batches: Vec<CdcBatch>,
    /// Kind of its source.
    pub source_kind: Option<PeerKind>,
    /// Kind of its destination.
    pub destination_kind: Option<PeerKind>,
    /// Rows that changes brought.
    pub rows_synced: u64,
    /// Records that could not be taken.
    pub record_errors: RecordErrors,
    /// How its slot is; `None` before it was seen.
    pub slot_health: Option<SlotHealth>,
    /// Why it is FAILED, for a person; empty in any other state.
    pub failure: String,
    /// What fails just now and is tried again.
    pub retrying: Option<RetriedFailure>,
    /// How long changes take.
    pub latency: StreamLatency,
    /// What waits for the destination.
    pub stage: StageStanding,
}

/// Rows a mirror brought to its destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TotalRows {
    /// By changes.
    pub stream: u64,
    /// By the snapshot.
    pub snapshot: u64,
}

impl Control {
    /// Every mirror that is not dropped, in the order they were created.
    ///
    /// # Errors
    /// [`ControlError::Catalog`].
    pub async fn list_mirrors(&self) -> Result<Vec<MirrorItem>, ControlError> {
        let kinds = self.catalog().peers().await?;
        let kind = |peer: &str| kinds.iter().find(|(name, _)| name == peer).map(|(_, kind)| *kind);
        let items = self.catalog().mirrors().await?.mirrors.into_iter().map(|mirror| MirrorItem {
            source_kind: kind(&mirror.spec.source_peer),
            destination_kind: kind(&mirror.spec.destination_peer),
            retrying: self.retries().told(mirror.id),
            mirror,
        });
        Ok(items.collect())
    }

    /// Names of all mirrors that exist or that the log still speaks of.
    ///
    /// # Errors
    /// [`ControlError::Catalog`].
    pub async fn mirror_names(&self) -> Result<Vec<String>, ControlError> {
        let mut names = self.catalog().logged_mirrors().await?;
        names.extend(self.catalog().mirrors().await?.mirrors.into_iter().map(|mirror| mirror.spec.name));
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// A mirror's status.
    ///
    /// # Errors
    /// [`ControlError::NotFound`], [`ControlError::Catalog`].
    pub async fn mirror_status(&self, name: &str, query: StatusQuery) -> Result<MirrorStatus, ControlError> {
        let mirror = self.known_mirror(name).await?;
        let details = if query.include_flow_info { Some(self.details(&mirror, query).await?) } else { None };
        Ok(MirrorStatus {
            name: mirror.spec.name,
            state: mirror.state,
            created_at: mirror.created_at,
            details,
        })
    }

    async fn details(&self, mirror: &Mirror, query: StatusQuery) -> Result<StatusDetails, ControlError> {
        let catalog = self.catalog();
        let loads = if query.exclude_snapshot_status { Vec::new() } else { self.loads_of(mirror).await? };
        let batches = if query.exclude_batches {
            Vec::new()
        } else {
            let newest = BatchQuery { limit: Some(STATUS_BATCHES_MAX), ..BatchQuery::default() };
            catalog.batches(mirror.id, newest).await?.batches
        };
        let counted = catalog.stage_standings().await?.into_iter().find(|(id, _)| *id == mirror.id);
        let counted = counted.map(|(_, counted)| counted).unwrap_or_default();
        let destination = &mirror.spec.destination_peer;
        Ok(StatusDetails {
            stage: self.parts().stages.standing(catalog, mirror.id, destination, counted).await?,
            loads,
            batches,
            source_kind: catalog.peer_kind(&mirror.spec.source_peer).await?,
            destination_kind: catalog.peer_kind(&mirror.spec.destination_peer).await?,
            rows_synced: mirror.rows_synced,
            record_errors: catalog.record_errors(mirror.id).await?,
            slot_health: self.slot_healths().of(mirror.id),
            failure: mirror.failure.as_ref().map(ToString::to_string).unwrap_or_default(),
            retrying: self.retries().told(mirror.id),
            latency: self.parts().latencies.known(mirror.id).map(|known| known.told()).unwrap_or_default(),
            spec: mirror.spec.clone(),
        })
    }

    /// Progress of the snapshot, rows under way included.
    ///
    /// # Errors
    /// [`ControlError::NotFound`], [`ControlError::Catalog`].
    pub async fn initial_load(&self, name: &str) -> Result<Vec<TableLoad>, ControlError> {
        let mirror = self.known_mirror(name).await?;
        self.loads_of(&mirror).await
    }

    async fn loads_of(&self, mirror: &Mirror) -> Result<Vec<TableLoad>, ControlError> {
        let mut loads = self.catalog().loads(mirror.id).await?;
        for load in &mut loads {
            load.num_rows_synced += self.parts().progress.rows(mirror.id, &load.source_table);
        }
        Ok(loads)
    }

    /// Rows by table and kind of change.
    ///
    /// # Errors
    /// [`ControlError::NotFound`], [`ControlError::Catalog`].
    pub async fn table_counts(&self, name: &str) -> Result<Vec<(String, RowCounts)>, ControlError> {
        let mirror = self.known_mirror(name).await?;
        Ok(self.catalog().row_counts(mirror.id).await?)
    }

    /// Rows a mirror brought.
    ///
    /// # Errors
    /// [`ControlError::NotFound`], [`ControlError::Catalog`].
    pub async fn total_rows(&self, name: &str) -> Result<TotalRows, ControlError> {
        let mirror = self.known_mirror(name).await?;
        let snapshot = self.loads_of(&mirror).await?.iter().map(|load| load.num_rows_synced).sum();
        Ok(TotalRows { stream: mirror.rows_synced, snapshot })
    }

    /// Batches of a mirror; none of a mirror that does not exist.
    ///
    /// # Errors
    /// [`ControlError::Catalog`].
    pub async fn list_batches(&self, name: &str, query: BatchQuery) -> Result<BatchPage, ControlError> {
        match self.catalog().mirror(name).await? {
            Some(mirror) => Ok(self.catalog().batches(mirror.id, query).await?),
            None => Ok(BatchPage::default()),
        }
    }

    pub(crate) async fn known_mirror(&self, name: &str) -> Result<Mirror, ControlError> {
        let missing = || ControlError::missing("flow_job_name", format!("there is no mirror {name}"));
        self.catalog().mirror(name).await?.ok_or_else(missing)
    }
}
