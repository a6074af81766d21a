//! The answers of the API, as far as the command line reads them.

use serde::Deserialize;
use tarn_model::{
    ClickHouseConfig, DeadLetterState, Equality, MirrorSpec, MirrorState, PostgresConfig, RecordErrors,
    RecordStage, RowDifference, ScriptLanguage, SlotState, StreamLatency, TablePlan, VerificationState,
};

/// `GET peers/list`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PeerList {
    pub(crate) items: Vec<PeerItem>,
    pub(crate) source_items: Vec<PeerItem>,
    pub(crate) destination_items: Vec<PeerItem>,
}

/// A peer in a list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PeerItem {
    pub(crate) name: String,
    pub(crate) r#type: String,
}

/// `GET peers/info/{name}`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PeerInfo {
    pub(crate) peer: PeerShown,
    pub(crate) version: String,
}

/// A peer with its settings, secrets masked.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PeerShown {
    pub(crate) name: String,
    pub(crate) r#type: String,
    pub(crate) postgres_config: Option<PostgresConfig>,
    pub(crate) clickhouse_config: Option<ClickHouseConfig>,
}

/// `POST peers/create` and `peers/validate`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PeerOutcome {
    pub(crate) status: String,
    pub(crate) message: String,
}

/// `POST peers/compare`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PeerComparison {
    pub(crate) exists: bool,
    pub(crate) differences: Vec<PeerDifference>,
}

/// A field in which a stored peer differs; secrets are masks on both sides.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PeerDifference {
    pub(crate) field: String,
    pub(crate) stored: String,
    pub(crate) given: String,
}

/// `GET mirrors/list`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MirrorList {
    pub(crate) mirrors: Vec<MirrorItem>,
}

/// A mirror in a list.
#[derive(Debug, Deserialize)]
pub(crate) struct MirrorItem {
    pub(crate) name: String,
    pub(crate) source_name: String,
    pub(crate) destination_name: String,
    /// Milliseconds since 1970.
    pub(crate) created_at: i64,
    pub(crate) status: MirrorState,
    #[serde(default)]
    pub(crate) retrying: Option<RetriedFailure>,
}

/// `POST mirrors/status`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct MirrorStatus {
    pub(crate) flow_job_name: String,
    pub(crate) current_flow_state: MirrorState,
    #[serde(default)]
    pub(crate) created_at: String,
    #[serde(default)]
    pub(crate) cdc_status: CdcStatus,
}

/// The further part of a status.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CdcStatus {
    pub(crate) config: MirrorSpec,
    pub(crate) snapshot_status: SnapshotStatus,
    pub(crate) cdc_batches: Vec<Batch>,
    pub(crate) rows_synced: u64,
    pub(crate) record_errors: RecordErrors,
    pub(crate) slot_health: SlotHealth,
    pub(crate) failure: String,
    pub(crate) retrying: Option<RetriedFailure>,
    pub(crate) latency: StreamLatency,
    pub(crate) stage: StageStanding,
}

/// What fails and is tried again.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct RetriedFailure {
    pub(crate) message: String,
    pub(crate) code: String,
    pub(crate) since: String,
    pub(crate) attempt: u32,
    pub(crate) next_attempt_at: String,
}

/// How a mirror's slot is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SlotHealth {
    pub(crate) state: SlotState,
    pub(crate) wal_status: String,
    pub(crate) behind_bytes: u64,
    pub(crate) held_bytes: u64,
    pub(crate) warning: String,
    pub(crate) remedy: String,
}

/// What waits for a mirror's destination.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct StageStanding {
    pub(crate) place: String,
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
    pub(crate) oldest_at: Option<String>,
    pub(crate) error: String,
    pub(crate) failed_at: Option<String>,
}

/// `POST mirrors/cdc/validate`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MirrorValid {
    pub(crate) plans: Vec<TablePlan>,
}

/// `GET mirrors/schema_changes/{flow_job_name}`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SchemaChanges {
    pub(crate) changes: Vec<SchemaChange>,
}

/// A change of columns that a mirror stopped at.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SchemaChange {
    pub(crate) digest: String,
    pub(crate) approved: bool,
    pub(crate) noticed_at: String,
    pub(crate) plan: TablePlan,
}

/// `POST mirrors/approve_schema_change`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Approved {
    pub(crate) change: SchemaChange,
    pub(crate) waiting: u64,
    pub(crate) resumed: bool,
}

/// `POST mirrors/dead_letters`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DeadLetterList {
    pub(crate) dead_letters: Vec<DeadLetter>,
    pub(crate) record_errors: RecordErrors,
    pub(crate) has_more: bool,
}

/// A record that was kept aside.
#[derive(Debug, Deserialize)]
pub(crate) struct DeadLetter {
    pub(crate) id: i64,
    pub(crate) state: DeadLetterState,
    pub(crate) table: String,
    pub(crate) key: String,
    pub(crate) kind: String,
    pub(crate) stage: RecordStage,
    pub(crate) position: u64,
    pub(crate) ordinal: u64,
    pub(crate) commit_time: Option<String>,
    pub(crate) script: String,
    pub(crate) script_version: u32,
    pub(crate) line: u32,
    pub(crate) function: String,
    pub(crate) message: String,
    pub(crate) log_lines: Vec<String>,
    pub(crate) created_at: String,
    pub(crate) settled_at: Option<String>,
    pub(crate) record: Option<Record>,
}

/// A dead letter's record.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Record {
    pub(crate) before: Vec<RecordValue>,
    pub(crate) after: Vec<RecordValue>,
}

/// A value of it.
#[derive(Debug, Deserialize)]
pub(crate) struct RecordValue {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    pub(crate) value: Option<String>,
    pub(crate) is_unchanged: bool,
}

/// `POST mirrors/dead_letters/replay`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DeadLettersReplayed {
    pub(crate) outcomes: Vec<DeadLetterOutcome>,
}

/// `POST mirrors/dead_letters/discard`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DeadLettersDiscarded {
    pub(crate) discarded: u64,
}

/// What became of a dead letter.
#[derive(Debug, Deserialize)]
pub(crate) struct DeadLetterOutcome {
    pub(crate) id: i64,
    pub(crate) state: DeadLetterState,
    pub(crate) message: String,
}

/// The snapshot, table by table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SnapshotStatus {
    pub(crate) clones: Vec<TableLoad>,
}

/// One table's snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct TableLoad {
    pub(crate) table_name: String,
    pub(crate) source_table: String,
    pub(crate) num_partitions_completed: u32,
    pub(crate) num_partitions_total: u32,
    pub(crate) num_rows_synced: u64,
    pub(crate) avg_time_per_partition_ms: u64,
    pub(crate) consolidate_completed: bool,
}

/// A batch of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Batch {
    pub(crate) batch_id: u64,
    pub(crate) num_rows: u64,
    pub(crate) start_time: String,
    pub(crate) end_time: Option<String>,
}

/// `POST mirrors/cdc/batches`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct BatchList {
    pub(crate) cdc_batches: Vec<Batch>,
}

/// `POST mirrors/state_change`; of an edit that was taken it is empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct StateChanged {
    pub(crate) ok: Option<bool>,
    pub(crate) error_message: String,
}

/// `POST mirrors/logs`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct LogPage {
    pub(crate) errors: Vec<LogEntry>,
}

/// A line of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct LogEntry {
    pub(crate) id: i64,
    pub(crate) flow_name: String,
    pub(crate) error_message: String,
    pub(crate) error_type: String,
    /// Milliseconds since 1970.
    pub(crate) error_timestamp: i64,
}

/// `GET scripts/{id}`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ScriptList {
    pub(crate) scripts: Vec<Script>,
}

/// A script at its newest version.
#[derive(Debug, Deserialize)]
pub(crate) struct Script {
    pub(crate) id: i64,
    pub(crate) lang: ScriptLanguage,
    pub(crate) name: String,
    pub(crate) source: String,
    #[serde(default)]
    pub(crate) tests: String,
}

/// `GET scripts/{id}/versions`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct VersionList {
    pub(crate) versions: Vec<ScriptVersion>,
}

/// A version of a script.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ScriptVersion {
    pub(crate) version: u32,
    pub(crate) lang: String,
    pub(crate) source: String,
    pub(crate) digest: String,
    pub(crate) created_at: String,
    pub(crate) tests: String,
    pub(crate) created_by: String,
    pub(crate) rolled_back_from: u32,
}

/// `POST scripts/rollback`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RolledBack {
    pub(crate) version: u32,
    pub(crate) rolled_back_from: u32,
}

/// `POST scripts`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ScriptStored {
    pub(crate) id: i64,
}

/// `POST mirrors/verify`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct VerificationStarted {
    pub(crate) verify_id: i64,
}

/// `GET mirrors/verify/{id}`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Verification {
    pub(crate) flow_job_name: String,
    pub(crate) state: VerificationState,
    pub(crate) message: String,
    pub(crate) verdict: Equality,
    pub(crate) tables: Vec<VerifiedTable>,
}

/// One table of a verification.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct VerifiedTable {
    pub(crate) source_table: String,
    pub(crate) destination_table: String,
    pub(crate) verdict: Equality,
    pub(crate) num_partitions_completed: u64,
    pub(crate) num_partitions_total: u64,
    pub(crate) rows_compared: u64,
    pub(crate) rows_differing: u64,
    pub(crate) rows_unsettled: u64,
    pub(crate) rows_not_comparable: u64,
    pub(crate) first_differences: Vec<RowDifference>,
    pub(crate) notes: Vec<String>,
}
