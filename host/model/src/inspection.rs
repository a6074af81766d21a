//! What people ask about a store, and what its connector answers.
//!
//! Questions and answers cross into the sandbox as JSON (`wit/README.md`), where keys are in camelCase;
//! the same answers are the API's resources. What an older connector leaves out has its default.

use serde::{Deserialize, Serialize};

/// A question about a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "about", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Question {
    /// The schemas that hold tables of users.
    Schemas,
    /// The tables of a schema that rows can come from.
    Tables {
        /// Its name.
        schema: String,
    },
    /// Everything that can be read like a table.
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
        /// The column that marks a row as deleted, where the store keeps such rows.
        deleted_column: String,
    },
}

/// An answer, in the question's kind.
#[derive(Clone, Debug, PartialEq, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, rename_all(deserialize = "camelCase"))]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, rename_all(deserialize = "camelCase"))]
pub struct ColumnInfo {
    /// Its name.
    pub name: String,
    /// Its type as the store writes it.
    pub r#type: String,
    /// Whether it is part of the primary key.
    pub is_key: bool,
    /// Its type in the words that clients share: `int64`, `string`, `array_float64`.
    pub qkind: String,
    /// Whether the store's log tells rows apart by it.
    pub is_replica_identity: bool,
}

/// A place in the store's log that a reader holds. Sizes are in MiB where their name ends in `_mb`, else
/// in bytes; what a role may not see is empty or absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, rename_all(deserialize = "camelCase"))]
pub struct SlotInfo {
    /// Its name.
    pub slot_name: String,
    /// Where the last checkpoint of the store began.
    #[serde(rename(serialize = "redoLSN"))]
    #[schema(rename = "redoLSN")]
    pub redo_lsn: String,
    /// The oldest place that the slot keeps.
    #[serde(rename(serialize = "restartLSN"))]
    #[schema(rename = "restartLSN")]
    pub restart_lsn: String,
    /// Whether a reader is connected.
    pub active: bool,
    /// From the oldest place that it keeps to the log's end.
    pub lag_in_mb: f64,
    /// Up to where its reader has confirmed.
    #[serde(rename(serialize = "confirmedFlushLSN"))]
    #[schema(rename = "confirmedFlushLSN")]
    pub confirmed_flush_lsn: String,
    /// Whether what it keeps is still there.
    pub wal_status: String,
    /// Up to where the log was sent to its reader.
    #[serde(rename(serialize = "sentLSN"))]
    #[schema(rename = "sentLSN")]
    pub sent_lsn: Option<String>,
    /// The log's end.
    #[serde(rename(serialize = "currentLSN"))]
    #[schema(rename = "currentLSN")]
    pub current_lsn: String,
    /// From the oldest place that it keeps to what is confirmed.
    pub restart_to_confirmed_mb: f64,
    /// From what is confirmed to the log's end.
    pub confirmed_to_current_mb: f64,
    /// The kind of what its reader's session waits for.
    pub wait_event_type: String,
    /// What its reader's session waits for.
    pub wait_event: String,
    /// What its reader's session is doing.
    pub backend_state: String,
    /// Memory of decoding, before it spills to disk.
    pub logical_decoding_work_mem_mb: i64,
    /// Since when the four numbers below count, in seconds since 1970.
    pub stats_reset: Option<i64>,
    /// Transactions that spilled.
    pub spill_txns: Option<i64>,
    /// How often one did.
    pub spill_count: Option<i64>,
    /// How much they spilled.
    pub spill_bytes: Option<i64>,
    /// How much can be written until what it keeps is in danger; absent where nothing is removed.
    pub safe_wal_size: Option<i64>,
}

/// What a connection of the service is doing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, rename_all(deserialize = "camelCase"))]
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

/// How many rows a table of a store has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all(deserialize = "camelCase"))]
pub struct RowCount {
    /// The table as the question named it.
    pub table: String,
    /// Its rows; `None` where they could not be counted in time.
    pub rows: Option<u64>,
    /// Whether the number is the store's own guess.
    pub approximate: bool,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_question_is_written_as_the_contract_lists_it() {
        let question = Question::Columns { schema: "s".into(), table: "t".into() };
        let expected = json!({"about": "columns", "schema": "s", "table": "t"});
        assert_eq!(serde_json::to_value(question).expect("serialises"), expected);
        let question = Question::RowCounts { tables: vec!["s.t".into()], deleted_column: "gone".into() };
        let expected = json!({"about": "rowCounts", "tables": ["s.t"], "deletedColumn": "gone"});
        assert_eq!(serde_json::to_value(question).expect("serialises"), expected);
        assert_eq!(
            serde_json::to_value(Question::AllTables).expect("serialises"),
            json!({"about": "allTables"})
        );
    }

    #[test]
    fn an_answer_is_read_with_what_it_leaves_out_at_its_default() {
        let answer: Answer = serde_json::from_value(json!({"slots": [{"slotName": "s", "sentLsn": null,
            "lagInMb": 1.5, "more": []}]}))
        .expect("reads");
        let expected = SlotInfo { slot_name: "s".into(), lag_in_mb: 1.5, ..SlotInfo::default() };
        assert_eq!(answer, Answer::Slots(vec![expected]));
        let answer: Answer =
            serde_json::from_value(json!({"rowCounts": [{"table": "t", "rows": 5}]})).expect("reads");
        let expected = RowCount { table: "t".into(), rows: Some(5), approximate: false };
        assert_eq!(answer, Answer::RowCounts(vec![expected]));
    }
}
