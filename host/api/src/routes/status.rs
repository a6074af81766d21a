//! What a mirror is doing and how far it is.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use tarn_control::{Control, MirrorStatus, StatusDetails, StatusQuery};
use tarn_model::{
    CdcBatch, MirrorSpec, MirrorState, PeerKind, RecordErrors, RetriedFailure, SlotHealth, StageStanding,
    StreamLatency, TableLoad, Timestamp,
};
use utoipa::ToSchema;

use crate::answer::{Answer, Answered};
use crate::error::Code;
use crate::operation::{Operation, example};
use crate::request::{Input, Name};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/api/v1/mirrors/status", example!("get_mirror_status"), status)
            .about(
                "Tells what a mirror is doing and, where asked, its settings, its snapshot and its batches.",
            )
            .takes::<StatusRequest>()
            .answers::<Status>()
            .refuses(&[Code::NotFound]),
        Operation::get(
            "/api/v1/mirrors/cdc/initial_load/{flow_job_name}",
            example!("get_initial_load"),
            initial_load,
        )
        .about("Tells how far a mirror's snapshot is, table by table.")
        .names("flow_job_name", "The mirror.")
        .answers::<InitialLoad>()
        .refuses(&[Code::NotFound]),
    ]
}

/// Which mirror, and what of it.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct StatusRequest {
    /// The mirror.
    flow_job_name: String,
    /// Whether more than name, state and time of creation is wanted.
    include_flow_info: bool,
    /// Leave out the batches.
    exclude_batches: bool,
    /// Leave out the snapshot's progress.
    exclude_snapshot_status: bool,
}

/// A mirror's status.
#[derive(Serialize, ToSchema)]
#[schema(as = MirrorStatus)]
pub(super) struct Status {
    /// Its name.
    flow_job_name: String,
    /// What it is doing.
    current_flow_state: MirrorState,
    /// When it was created.
    created_at: Timestamp,
    /// The rest, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    cdc_status: Option<CdcStatus>,
}

/// The further part of a mirror's status.
#[derive(Serialize, ToSchema)]
struct CdcStatus {
    /// What it replicates.
    config: MirrorSpec,
    /// Its snapshot.
    snapshot_status: SnapshotStatus,
    /// Its batches, newest first, at most 1,000.
    cdc_batches: Vec<CdcBatch>,
    /// Kind of its source.
    source_type: Option<PeerKind>,
    /// Kind of its destination.
    destination_type: Option<PeerKind>,
    /// Rows that changes brought.
    rows_synced: u64,
    /// Records that could not be taken.
    record_errors: RecordErrors,
    /// How the mirror's slot is, looked at every ten seconds; absent before it was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    slot_health: Option<SlotHealth>,
    /// Why the mirror is FAILED; empty in any other state.
    failure: String,
    /// What fails just now and is tried again, in any state; `null` while nothing does.
    retrying: Option<RetriedFailure>,
    /// How long changes take until they can be queried.
    latency: StreamLatency,
    /// What waits durably until the destination takes it.
    stage: StageStanding,
}

/// Progress of a snapshot.
#[derive(Serialize, ToSchema)]
struct SnapshotStatus {
    /// Table by table.
    clones: Vec<Clone>,
}

/// Progress of a table's snapshot, with the mirror's name under both keys that clients read.
#[derive(Serialize, ToSchema)]
#[schema(as = TableSnapshot)]
struct Clone {
    /// Table at the destination.
    table_name: String,
    /// Table at the source.
    source_table: String,
    /// When its first partition began.
    start_time: Option<Timestamp>,
    /// Partitions that are durable.
    num_partitions_completed: u32,
    /// Partitions planned; 0 before the plan.
    num_partitions_total: u32,
    /// Rows so far.
    num_rows_synced: u64,
    /// Mean time of a durable partition.
    avg_time_per_partition_ms: u64,
    /// Whether every row was read.
    fetch_completed: bool,
    /// Whether every row is in place at the destination.
    consolidate_completed: bool,
    /// The mirror.
    mirror_name: String,
    /// The mirror.
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
            record_errors: details.record_errors,
            slot_health: details.slot_health,
            failure: details.failure,
            retrying: details.retrying,
            latency: details.latency,
            stage: details.stage,
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

/// Progress of a mirror's snapshot.
#[derive(Serialize, ToSchema)]
pub(super) struct InitialLoad {
    /// Table by table.
    table_summaries: Vec<Clone>,
}

pub(super) async fn initial_load(State(control): State<Control>, Name(name): Name) -> Answered<InitialLoad> {
    Ok(Answer(InitialLoad { table_summaries: clones(control.initial_load(&name).await?) }))
}
