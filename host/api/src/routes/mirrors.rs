//! Changing and looking at mirrors.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use tarn_control::{
    ChangeOutcome, Control, MirrorItem, MirrorStatus, StateChange, StatusDetails, StatusQuery,
};
use tarn_model::{
    CdcBatch, DropOptions, MirrorEdit, MirrorSpec, MirrorState, PeerKind, RowCounts, TableLoad, Timestamp,
};

use crate::answer::{Answer, Answered};
use crate::request::{Input, Name};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ChangeRequest {
    flow_job_name: String,
    requested_flow_state: Option<MirrorState>,
    flow_config_update: ConfigUpdate,
    drop_mirror_stats: bool,
    skip_destination_drop: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ConfigUpdate {
    cdc_flow_config_update: Option<MirrorEdit>,
}

/// How a change went: its refusal is a successful answer, and that of an edit is empty.
#[derive(Serialize)]
pub(super) struct Changed {
    #[serde(skip_serializing_if = "Option::is_none")]
    ok: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<String>,
}

pub(super) async fn change_state(
    State(control): State<Control>,
    Input(request): Input<ChangeRequest>,
) -> Answered<Changed> {
    let change = StateChange {
        mirror: request.flow_job_name,
        requested: request.requested_flow_state.filter(|state| *state != MirrorState::Unknown),
        edit: request.flow_config_update.cdc_flow_config_update,
        drop_options: DropOptions {
            drop_mirror_stats: request.drop_mirror_stats,
            skip_destination_drop: request.skip_destination_drop,
        },
    };
    Ok(Answer(match control.change_state(change).await? {
        ChangeOutcome::Done => Changed { ok: Some(true), error_message: Some(String::new()) },
        ChangeOutcome::Edited => Changed { ok: None, error_message: None },
        ChangeOutcome::Refused(message) => Changed { ok: Some(false), error_message: Some(message) },
    }))
}

#[derive(Serialize)]
pub(super) struct List {
    mirrors: Vec<Item>,
}

#[derive(Serialize)]
struct Item {
    id: i64,
    workflow_id: String,
    name: String,
    source_name: String,
    source_type: Option<PeerKind>,
    destination_name: String,
    destination_type: Option<PeerKind>,
    /// Milliseconds since 1970, as clients of this route read it.
    created_at: f64,
    is_cdc: bool,
    status: MirrorState,
}

impl From<MirrorItem> for Item {
    #[expect(clippy::cast_precision_loss, reason = "milliseconds are exact in a double until year 287,396")]
    fn from(item: MirrorItem) -> Self {
        let MirrorItem { mirror, source_kind, destination_kind } = item;
        Self {
            id: mirror.id,
            workflow_id: mirror.workflow_id(),
            created_at: mirror.created_at.millis() as f64,
            is_cdc: true,
            status: mirror.state,
            source_type: source_kind,
            destination_type: destination_kind,
            name: mirror.spec.name,
            source_name: mirror.spec.source_peer,
            destination_name: mirror.spec.destination_peer,
        }
    }
}

pub(super) async fn list(State(control): State<Control>) -> Answered<List> {
    let mirrors = control.list_mirrors().await?;
    Ok(Answer(List { mirrors: mirrors.into_iter().map(Item::from).collect() }))
}

#[derive(Serialize)]
pub(super) struct Names {
    names: Vec<String>,
}

pub(super) async fn names(State(control): State<Control>) -> Answered<Names> {
    Ok(Answer(Names { names: control.mirror_names().await? }))
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct StatusRequest {
    flow_job_name: String,
    include_flow_info: bool,
    exclude_batches: bool,
    exclude_snapshot_status: bool,
}

#[derive(Serialize)]
pub(super) struct Status {
    flow_job_name: String,
    current_flow_state: MirrorState,
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    cdc_status: Option<CdcStatus>,
}

#[derive(Serialize)]
struct CdcStatus {
    config: MirrorSpec,
    snapshot_status: SnapshotStatus,
    cdc_batches: Vec<CdcBatch>,
    source_type: Option<PeerKind>,
    destination_type: Option<PeerKind>,
    rows_synced: u64,
}

#[derive(Serialize)]
struct SnapshotStatus {
    clones: Vec<Clone>,
}

/// Progress of a table's snapshot, with the mirror's name under both keys that clients read.
#[derive(Serialize)]
struct Clone {
    table_name: String,
    source_table: String,
    start_time: Option<Timestamp>,
    num_partitions_completed: u32,
    num_partitions_total: u32,
    num_rows_synced: u64,
    avg_time_per_partition_ms: u64,
    fetch_completed: bool,
    consolidate_completed: bool,
    mirror_name: String,
    flow_job_name: String,
}

impl From<TableLoad> for Clone {
    fn from(load: TableLoad) -> Self {
        Self {
            table_name: load.table_name,
            source_table: load.source_table,
            start_time: load.start_time,
            num_partitions_completed: load.num_partitions_completed,
            num_partitions_total: load.num_partitions_total,
            num_rows_synced: load.num_rows_synced,
            avg_time_per_partition_ms: load.avg_time_per_partition_ms,
            fetch_completed: load.fetch_completed,
            consolidate_completed: load.consolidate_completed,
            flow_job_name: load.mirror_name.clone(),
            mirror_name: load.mirror_name,
        }
    }
}

fn clones(loads: Vec<TableLoad>) -> Vec<Clone> {
    loads.into_iter().map(Clone::from).collect()
}

impl From<StatusDetails> for CdcStatus {
    fn from(details: StatusDetails) -> Self {
        Self {
            config: details.spec,
            snapshot_status: SnapshotStatus { clones: clones(details.loads) },
            cdc_batches: details.batches,
            source_type: details.source_kind,
            destination_type: details.destination_kind,
            rows_synced: details.rows_synced,
        }
    }
}

pub(super) async fn status(
    State(control): State<Control>,
    Input(request): Input<StatusRequest>,
) -> Answered<Status> {
    let query = StatusQuery {
        include_flow_info: request.include_flow_info,
        exclude_batches: request.exclude_batches,
        exclude_snapshot_status: request.exclude_snapshot_status,
    };
    let MirrorStatus { name, state, created_at, details } =
        control.mirror_status(&request.flow_job_name, query).await?;
    Ok(Answer(Status {
        flow_job_name: name,
        current_flow_state: state,
        created_at,
        cdc_status: details.map(CdcStatus::from),
    }))
}

#[derive(Serialize)]
pub(super) struct InitialLoad {
    table_summaries: Vec<Clone>,
}

pub(super) async fn initial_load(State(control): State<Control>, Name(name): Name) -> Answered<InitialLoad> {
    Ok(Answer(InitialLoad { table_summaries: clones(control.initial_load(&name).await?) }))
}

#[derive(Serialize)]
pub(super) struct TableTotalCounts {
    total_data: RowCounts,
    tables_data: Vec<TableCounts>,
}

#[derive(Serialize)]
struct TableCounts {
    table_name: String,
    counts: RowCounts,
}

pub(super) async fn table_total_counts(
    State(control): State<Control>,
    Name(name): Name,
) -> Answered<TableTotalCounts> {
    let mut total_data = RowCounts::default();
    let mut tables_data = Vec::new();
    for (table_name, counts) in control.table_counts(&name).await? {
        total_data.total_count += counts.total_count;
        total_data.inserts_count += counts.inserts_count;
        total_data.updates_count += counts.updates_count;
        total_data.deletes_count += counts.deletes_count;
        tables_data.push(TableCounts { table_name, counts });
    }
    Ok(Answer(TableTotalCounts { total_data, tables_data }))
}

#[derive(Serialize)]
pub(super) struct TotalRows {
    #[serde(rename = "totalCountCDC")]
    total_count_cdc: u64,
    total_count_initial_load: u64,
    total_count: u64,
}

pub(super) async fn total_rows_synced(
    State(control): State<Control>,
    Name(name): Name,
) -> Answered<TotalRows> {
    let rows = control.total_rows(&name).await?;
    Ok(Answer(TotalRows {
        total_count_cdc: rows.stream,
        total_count_initial_load: rows.snapshot,
        total_count: rows.stream + rows.snapshot,
    }))
}
