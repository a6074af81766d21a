//! Records that a script or a destination could not take, and what becomes of them.

use serde::{Deserialize, Serialize};

use crate::enumerated::{Enumerated, serde_by_name};
use crate::timestamp::Timestamp;

/// What a mirror does about a record that its scripts or its destination cannot take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RecordErrorPolicy {
    /// It fails, and goes on with this record once a person resumes it.
    #[default]
    Stop,
    /// It goes on without the record, which is counted and logged.
    Skip,
    /// It goes on, and keeps the record as a dead letter.
    DeadLetter,
}

impl Enumerated for RecordErrorPolicy {
    const EXPECTED: &'static str = "a policy for records that cannot be taken";
    const ALL: &'static [(Self, u32, &'static str)] =
        &[(Self::Stop, 1, "STOP"), (Self::Skip, 2, "SKIP"), (Self::DeadLetter, 3, "DEAD_LETTER")];
}

serde_by_name!(RecordErrorPolicy);

/// Who could not take a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RecordStage {
    /// A script: the record is as the source sent it.
    #[default]
    Script,
    /// The destination: the record is as the scripts left it.
    Destination,
}

impl Enumerated for RecordStage {
    const EXPECTED: &'static str = "a stage of a record's way";
    const ALL: &'static [(Self, u32, &'static str)] =
        &[(Self::Script, 1, "SCRIPT"), (Self::Destination, 2, "DESTINATION")];
}

serde_by_name!(RecordStage);

/// What happened to a dead letter.
///
/// ```text
///   WAITING ── replayed, also where the scripts drop it ──> REPLAYED
///      └────── discarded by a person, or made void by what came after ──> DISCARDED
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeadLetterState {
    /// The destination does not have the record.
    Waiting,
    /// It went through the scripts and to the destination.
    Replayed,
    /// It is given up.
    Discarded,
}

impl Enumerated for DeadLetterState {
    const EXPECTED: &'static str = "a state of a dead letter";
    const ALL: &'static [(Self, u32, &'static str)] =
        &[(Self::Waiting, 1, "WAITING"), (Self::Replayed, 2, "REPLAYED"), (Self::Discarded, 3, "DISCARDED")];
}

serde_by_name!(DeadLetterState);

/// A record that was kept aside, without the record itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Its id, which grows from letter to letter.
    pub id: i64,
    /// `schema.name` of the source table.
    pub table: String,
    /// The row's key as text.
    pub key: String,
    /// What happened to the row: `insert`, `update`, `delete`, `truncate`, `message` or `relation`.
    pub kind: String,
    /// Who could not take it.
    pub stage: RecordStage,
    /// Where its transaction committed, as the source counts.
    pub position: u64,
    /// Which row of the transaction it is; of a row that a load read, which of its points.
    pub ordinal: u64,
    /// When its transaction committed; `None` of a row that a load read.
    pub commit_time: Option<Timestamp>,
    /// The script that could not take it; empty for a destination.
    pub script: String,
    /// That script's version, 0 for a destination.
    pub script_version: u32,
    /// The line in the script, 0 when unknown.
    pub line: u32,
    /// The function of the script, empty when unknown.
    pub function: String,
    /// What went wrong.
    pub message: String,
    /// What the script logged last.
    pub log_lines: Vec<String>,
    /// What it takes of the mirror's room, in bytes.
    pub bytes: u64,
    /// What happened to it.
    pub state: DeadLetterState,
    /// When it was kept.
    pub created_at: Timestamp,
    /// When it was replayed or discarded.
    pub settled_at: Option<Timestamp>,
}

/// How many records of a mirror could not be taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct RecordErrors {
    /// Left out by the policy SKIP. A record that is delivered again after a crash counts again.
    pub skipped: u64,
    /// Dead letters that wait.
    pub waiting: u64,
    /// Dead letters that were replayed.
    pub replayed: u64,
    /// Dead letters that were given up.
    pub discarded: u64,
    /// Bytes that waiting dead letters take.
    pub bytes: u64,
}

/// A record as a person reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = DeadLetterRecord)]
pub struct ShownRecord {
    /// The row after the change; of a deleted one nothing.
    pub after: Vec<RecordCell>,
    /// What is known of the row before the change.
    pub before: Vec<RecordCell>,
}

/// A value of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = DeadLetterValue)]
pub struct RecordCell {
    /// The column.
    pub name: String,
    /// Its type at the source.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The value as text, exact; null where it is null or was not sent.
    pub value: Option<String>,
    /// Whether the source did not send the value: the change left it as it was.
    pub is_unchanged: bool,
}
