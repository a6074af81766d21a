//! What should be against what is: the rules about peers, mirrors and scripts, and the runs that bring
//! every mirror to its desired state.

mod column_changes;
mod config;
mod control;
mod counting;
mod dead_letters;
mod described;
mod error;
mod guest_settings;
mod hooks;
mod inspection;
mod instance_info;
mod instances;
mod journal;
mod latency;
mod logs;
mod metrics;
mod mirror_env;
mod mirrors;
mod peers;
mod plugins;
mod probe;
mod progress;
mod queue_settings;
mod recent;
mod records;
mod retries;
mod roles;
mod run;
mod schema_gate;
mod script_compilation;
mod script_runner;
mod scripts;
mod slot_watch;
mod stage;
mod stores;
mod supervisor;
mod usual_types;
mod validation;
mod verify;
mod watch;

pub use control::{Control, ControlParts, ControlSettings};
pub use dead_letters::{LetterList, LetterRequest, ShownLetter};
pub use error::ControlError;
pub use hooks::{
    Attempt, CompileError, Inspector, Made, PeerProbe, Pending, Purpose, Rehearsal, ReplayOutcome, Replayer,
    ScriptCompiler, ScriptMemory, ScriptRunner, ScriptSource, Validation, Validator,
};
pub use inspection::ConnectorInspector;
pub use instance_info::InstanceInfo;
pub use journal::{Journal, JournalWriter};
pub use latency::Latencies;
pub use logs::{LogAnswer, LogRequest};
pub use mirrors::{
    Approval, ChangeOutcome, MirrorCreation, MirrorItem, MirrorStatus, SideRows, StateChange, StatusDetails,
    StatusQuery, TableRows, TotalRows,
};
pub use peers::{PeerComparison, PeerCreation, PeerDifference, PeerInfo, PeerOutcome, config_key};
pub use plugins::{
    Bundle, BundledPlugin, ConnectorSummary, LoadedScript, Plugins, PluginsError, ScriptRuntimes,
};
pub use probe::DriverProbe;
pub use progress::Progress;
pub use recent::RecentRecords;
pub use records::book::Books;
pub use records::replay::LetterReplayer;
pub use roles::{is_destination, is_source, unserved_kind};
pub use script_compilation::ComponentCompiler;
pub use script_runner::PoolRunner;
pub use scripts::{
    AsMessages, CaseReport, CaseVerdict, RecordOutcome, RecordReport, RehearsalInput, RehearsalReport,
    RehearsalRequest, RehearsalScript, RolledBack, ScriptComponent, ScriptUpload,
};
pub use slot_watch::SlotWatcher;
pub use stage::{Sealing, StageSettings, StageSweeper, Stages};
pub use stores::SlotFilter;
pub use supervisor::Supervisor;
pub use validation::ConnectorValidator;
pub use verify::{VerificationRequest, Verifier};
