//! What the service is about, as plain data: peers, mirrors, states, failures, secrets, positions.
//!
//! This crate is the API's resources defined once, with serde on them. It does no I/O, holds no clock
//! and knows no store. Invariants: a secret leaves it only through [`Secret::expose`]; which request a
//! mirror takes in which state is decided in [`decide`] and nowhere else.

mod batch;
mod chain;
mod edition;
mod enumerated;
mod failure;
mod inspection;
mod latency;
mod log;
mod mirror;
mod name;
mod peer;
mod position;
mod record_error;
mod request;
mod retried_failure;
mod schema_change;
mod script;
mod secret;
mod slot_health;
mod stage_standing;
mod state;
mod timestamp;
mod verification;

pub use batch::CdcBatch;
pub use chain::chain;
pub use edition::{Allowance, Edition, LimitSettings, ScriptLimits, StagingBucket};
pub use enumerated::Enumerated;
pub use failure::{Failure, FailureClass, Problem};
pub use inspection::{ActivityInfo, Answer, ColumnInfo, Question, RowCount, SlotInfo, TableInfo};
pub use latency::{StreamLatency, TableLatency};
pub use log::{LogEntry, LogLevel};
pub use mirror::{
    ColumnMapping, DropOptions, GraphBar, GraphMode, GraphSpan, Mirror, MirrorEdit, MirrorSpec, MirrorTag,
    PendingEdit, RowCounts, TableEngine, TableLoad, TableMapping, TypeSystem, workflow_id,
};
pub use name::{mirror_name_problem, peer_name_problem, publication_name_problem, slot_name_problem};
pub use peer::{
    ClickHouseConfig, ClientTls, KafkaConfig, Peer, PeerConfig, PeerKind, PostgresConfig, SshConfig,
};
pub use position::Position;
pub use record_error::{
    DeadLetter, DeadLetterState, RecordCell, RecordErrorPolicy, RecordErrors, RecordStage, ShownRecord,
};
pub use request::{StateRequest, Verdict, decide, refusal};
pub use retried_failure::RetriedFailure;
pub use schema_change::{PlanStep, SchemaChange, SchemaChangePolicy, StepKind, TablePlan};
pub use script::{Script, ScriptChain, ScriptChainError, ScriptLanguage, ScriptReference};
pub use secret::{MASK, Secret};
pub use slot_health::{SlotHealth, SlotState};
pub use stage_standing::StageStanding;
pub use state::{DesiredState, MirrorState};
pub use timestamp::Timestamp;
pub use verification::{
    ComparedRows, DifferenceKind, Equality, KeyValue, RowDifference, TableStage, TableVerification,
    Verification, VerificationState,
};
