//! Questions that people ask about a store, and their answers: the interface `inspection` of `wit/v0.1`
//! in Rust. `wit/README.md` lists the JSON; what is absent from a question has its default.

use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::bindings::inspection::exports::tarn::plugin::inspection as wit;
use crate::instance::{self, Slot};

/// A store that people can ask about: the interface `inspection` of `wit/v0.1`. A source or destination
/// is this besides, by a line of its own: `export_inspection!(MySource);`.
pub trait Inspect: Sized + 'static {
    /// Answers a question and changes nothing.
    ///
    /// # Errors
    /// [`unanswered`] for a question it does not know; whatever keeps the store from answering.
    fn inspect(question: Question) -> Result<Answer, Failure>;
}

/// A question about the store that the instance is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// How long the answer may take, in milliseconds: whoever asks does not wait longer. 0 is no limit.
    #[serde(default)]
    pub within_ms: u32,
    /// What is asked.
    #[serde(flatten)]
    pub about: About,
}

/// What a question is about.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "about", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum About {
    /// The schemas that hold tables of users.
    Schemas,
    /// The tables of a schema that rows can come from.
    Tables {
        /// Its name.
        schema: String,
    },
    /// The name of everything that can be read like a table, `schema.name`.
    AllTables,
    /// The columns of a table.
    Columns {
        /// Its schema.
        schema: String,
        /// Its name.
        table: String,
    },
    /// The sets of tables whose changes can be subscribed to.
    Publications,
    /// The places in the store's log that readers hold.
    Slots,
    /// What the service's own connections are doing.
    Activity,
    /// How many rows tables have.
    RowCounts {
        /// The tables, each as the mirrors name it.
        tables: Vec<String>,
        /// The column that marks a row as deleted, where the store keeps such rows; they do not count.
        #[serde(default)]
        deleted_column: String,
    },
    /// A question of a later host.
    #[serde(other)]
    Unknown,
}

/// The answer to a question, in its own kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "each variant answers the question of its name")]
pub enum Answer {
    Schemas(Vec<String>),
    Tables(Vec<TableInfo>),
    AllTables(Vec<String>),
    Columns(Vec<ColumnInfo>),
    Publications(Vec<String>),
    Slots(Vec<SlotInfo>),
    Activity(Vec<ActivityInfo>),
    RowCounts(Vec<RowCount>),
}

/// A table that rows can come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TableInfo {
    /// Its name without the schema.
    pub table_name: String,
    /// Whether its changes can be replicated as it is now.
    pub can_mirror: bool,
    /// Its size as the store writes it, such as `8192 bytes`.
    pub table_size: String,
    /// Whether the store logs whole rows of it.
    pub is_replica_identity_full: bool,
}

/// A column.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ColumnInfo {
    /// Its name.
    pub name: String,
    /// Its type as the store writes it.
    pub r#type: String,
    /// Whether it is part of the primary key.
    pub is_key: bool,
    /// Its type in the words that clients of the API share: `int64`, `string`, `array_float64`.
    pub qkind: String,
    /// Whether the store's log tells rows apart by it.
    pub is_replica_identity: bool,
}

/// A place in the store's log. Sizes are in MiB where their name says Mb, else in bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "each field is what the store's own view calls so")]
pub struct SlotInfo {
    pub slot_name: String,
    pub redo_lsn: String,
    pub restart_lsn: String,
    pub active: bool,
    pub lag_in_mb: f64,
    pub confirmed_flush_lsn: String,
    pub wal_status: String,
    pub sent_lsn: Option<String>,
    pub current_lsn: String,
    pub restart_to_confirmed_mb: f64,
    pub confirmed_to_current_mb: f64,
    pub wait_event_type: String,
    pub wait_event: String,
    pub backend_state: String,
    pub logical_decoding_work_mem_mb: i64,
    pub stats_reset: Option<i64>,
    pub spill_txns: Option<i64>,
    pub spill_count: Option<i64>,
    pub spill_bytes: Option<i64>,
    pub safe_wal_size: Option<i64>,
}

/// What a connection is doing.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActivityInfo {
    /// The store's process.
    pub pid: i64,
    /// What it waits for.
    pub wait_event: String,
    /// The kind of that.
    pub wait_event_type: String,
    /// When its statement began, as the store writes it.
    pub query_start: String,
    /// The statement.
    pub query: String,
    /// Seconds since then; -1 where there is no statement.
    pub duration: f64,
    /// Whether it works, idles or waits.
    pub state: String,
}

/// How many rows a table has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RowCount {
    /// The table as the question named it.
    pub table: String,
    /// Its rows; `None` where they could not be counted in time.
    pub rows: Option<u64>,
    /// Whether the number is the store's own guess.
    pub approximate: bool,
}

/// The failure of a plugin that cannot answer a question.
pub fn unanswered() -> Failure {
    Failure::permanent("question_unknown", "this connector cannot answer the question")
}

impl<S: Slot<Plugin: Inspect>> wit::Guest for S {
    fn inspect(question: String) -> Result<String, Failure> {
        instance::log_panics();
        let question = serde_json::from_str(&question)
            .map_err(|error| Failure::permanent("question_invalid", format!("the question: {error}")))?;
        serde_json::to_string(&S::Plugin::inspect(question)?)
            .map_err(|error| Failure::permanent("answer_invalid", format!("the answer: {error}")))
    }
}
