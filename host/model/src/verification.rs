//! Comparing both sides of a mirror while it runs.
//!
//! ```text
//!            ┌────────┐  its turn   ┌─────────┐  every table is compared
//!  request → │PLANNED │ ──────────→ │ RUNNING │ ────────────────────────→ DONE
//!            └────────┘             └─────────┘
//!                 │        the mirror is  │ ▲
//!                 │        to catch up    ▼ │ it has
//!                 │                 ┌─────────┐  it cannot go on
//!                 │                 │ WAITING │ ────────────────────────→ FAILED
//!                 │                 └─────────┘
//!                 └──── the mirror is dropped ─────────────────────────→ CANCELLED
//! ```
//!
//! RUNNING and WAITING lead to FAILED and CANCELLED alike. A restart of the service leaves the state as it is:
//! what is not at its end goes on from the progress that was stored.

use serde::{Deserialize, Serialize};

use crate::enumerated::{Enumerated, serde_by_name};
use crate::timestamp::Timestamp;

/// What a verification is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum VerificationState {
    /// Waits for its turn.
    #[default]
    Planned,
    /// Compares.
    Running,
    /// Waits until the destination has what the source had when it was read.
    Waiting,
    /// Compared everything.
    Done,
    /// Could not go on; its message says why.
    Failed,
    /// Its mirror was dropped.
    Cancelled,
}

impl VerificationState {
    /// Whether there is nothing left to do.
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }
}

impl Enumerated for VerificationState {
    const EXPECTED: &'static str = "a state of a verification";
    const ALL: &'static [(Self, u32, &'static str)] = &[
        (Self::Planned, 1, "VERIFICATION_PLANNED"),
        (Self::Running, 2, "VERIFICATION_RUNNING"),
        (Self::Waiting, 3, "VERIFICATION_WAITING"),
        (Self::Done, 4, "VERIFICATION_DONE"),
        (Self::Failed, 5, "VERIFICATION_FAILED"),
        (Self::Cancelled, 6, "VERIFICATION_CANCELLED"),
    ];
}

serde_by_name!(VerificationState);

/// What came of a verification, or of one table of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Equality {
    /// It is not at its end.
    #[default]
    Open,
    /// Everything was compared and is equal.
    Equal,
    /// There are differences.
    Different,
    /// No difference was found, and not everything could be compared.
    Incomplete,
}

impl Enumerated for Equality {
    const EXPECTED: &'static str = "a verdict";
    const ALL: &'static [(Self, u32, &'static str)] = &[
        (Self::Open, 1, "VERDICT_OPEN"),
        (Self::Equal, 2, "VERDICT_EQUAL"),
        (Self::Different, 3, "VERDICT_DIFFERENT"),
        (Self::Incomplete, 4, "VERDICT_INCOMPLETE"),
    ];
}

serde_by_name!(Equality);

/// In what way a row differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    /// The destination does not have it.
    Missing,
    /// Some of its columns hold other values.
    Differs,
    /// The destination has it, and the source does not.
    Extra,
}

impl Enumerated for DifferenceKind {
    const EXPECTED: &'static str = "a kind of difference";
    const ALL: &'static [(Self, u32, &'static str)] = &[
        (Self::Missing, 1, "DIFFERENCE_MISSING"),
        (Self::Differs, 2, "DIFFERENCE_COLUMNS"),
        (Self::Extra, 3, "DIFFERENCE_EXTRA"),
    ];
}

serde_by_name!(DifferenceKind);

/// A row that differs: its key and no other value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RowDifference {
    /// In what way.
    pub kind: DifferenceKind,
    /// The key's columns at the source, in the key's order.
    pub key: Vec<KeyValue>,
    /// The destination's columns that differ.
    pub columns: Vec<String>,
}

/// One column of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct KeyValue {
    /// Its name at the source.
    pub column: String,
    /// Its value as text.
    pub value: String,
}

/// Rows of a table by what came of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ComparedRows {
    /// All that were compared.
    pub compared: u64,
    /// Those that differ.
    pub differing: u64,
    /// Those that changed at each look, so that nothing can be said of them.
    pub unsettled: u64,
    /// Those that cannot be compared.
    pub not_comparable: u64,
}

impl ComparedRows {
    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            compared: self.compared + other.compared,
            differing: self.differing + other.differing,
            unsettled: self.unsettled + other.unsettled,
            not_comparable: self.not_comparable + other.not_comparable,
        }
    }
}

/// How far a table is.
///
/// ```text
///  Planned → Comparing: each of the source's rows, partition by partition
///          → Searching: rows that only the destination has
///          → Ended
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum TableStage {
    /// Not begun.
    #[default]
    Planned,
    /// The source's rows are compared.
    Comparing {
        /// The table's partitions, in the source's own words.
        partitions: Vec<String>,
        /// How many of them are done.
        done: usize,
    },
    /// Rows are looked for that only the destination has.
    Searching {
        /// How many partitions the source's rows had.
        partitions: usize,
        /// The last key that was looked at; empty at the beginning.
        after: Vec<String>,
    },
    /// Nothing is left to do.
    Ended {
        /// How many partitions the source's rows had.
        partitions: usize,
    },
}

/// The verification of one table: what is stored of it, and read again after a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TableVerification {
    /// Table at the source.
    pub source_table: String,
    /// Table at the destination.
    pub destination_table: String,
    /// How far it is.
    pub stage: TableStage,
    /// Rows of what is done.
    pub rows: ComparedRows,
    /// Rows of the partition under way: they are counted again when it is begun again.
    pub under_way: ComparedRows,
    /// The first rows that differ.
    pub first_differences: Vec<RowDifference>,
    /// What people have to know of the result: what was not compared, and why.
    pub notes: Vec<String>,
    /// Whether a part of the table was left out; the notes say which.
    pub incomplete: bool,
    /// Whether the mirror's script gives rows other keys.
    pub keys_changed: bool,
    /// The numbers of the keys of rows that were not found equal, so that none counts twice.
    pub unequal: Vec<u64>,
}

impl TableVerification {
    /// Rows, those of the partition under way included.
    pub fn rows_now(&self) -> ComparedRows {
        self.rows.plus(self.under_way)
    }

    /// Partitions done, and all of them.
    pub fn partitions(&self) -> (usize, usize) {
        match &self.stage {
            TableStage::Planned => (0, 0),
            TableStage::Comparing { partitions, done } => (*done, partitions.len()),
            TableStage::Searching { partitions, .. } | TableStage::Ended { partitions } => {
                (*partitions, *partitions)
            }
        }
    }

    /// Adds something for people to know, once.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// What came of it.
    pub fn equality(&self) -> Equality {
        let rows = self.rows_now();
        match &self.stage {
            _ if rows.differing > 0 => Equality::Different,
            TableStage::Ended { .. } if self.incomplete || rows.unsettled + rows.not_comparable > 0 => {
                Equality::Incomplete
            }
            TableStage::Ended { .. } => Equality::Equal,
            _ => Equality::Open,
        }
    }
}

/// A verification as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    /// Its number.
    pub id: i64,
    /// The mirror's number.
    pub mirror: i64,
    /// The mirror's name.
    pub name: String,
    /// What it is doing.
    pub state: VerificationState,
    /// Why it waits or failed; empty otherwise.
    pub message: String,
    /// Which part of the rows is compared, by their keys: 1 is all.
    pub sample_rate: f64,
    /// Table by table.
    pub tables: Vec<TableVerification>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When anything of it was stored last.
    pub updated_at: Timestamp,
}

impl Verification {
    /// What came of it.
    pub fn equality(&self) -> Equality {
        let verdicts: Vec<_> = self.tables.iter().map(TableVerification::equality).collect();
        if verdicts.contains(&Equality::Different) {
            return Equality::Different;
        }
        match self.state {
            VerificationState::Done if verdicts.iter().all(|verdict| *verdict == Equality::Equal) => {
                Equality::Equal
            }
            state if state.is_ended() => Equality::Incomplete,
            _ => Equality::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the first version stored.
    const STORED: &str = r#"{"sourceTable":"public.t","destinationTable":"t",
        "stage":{"stage":"comparing","partitions":["p"],"done":1},
        "rows":{"compared":7,"differing":1,"unsettled":0,"notComparable":0},
        "underWay":{"compared":0,"differing":0,"unsettled":0,"notComparable":0},
        "firstDifferences":[{"kind":"DIFFERENCE_COLUMNS","key":[{"column":"id","value":"5"}],"columns":["name"]}],
        "notes":["n"],"incomplete":false}"#;

    #[test]
    fn what_was_stored_is_read_as_it_was() {
        let table: TableVerification = serde_json::from_str(STORED).expect("it reads");
        assert_eq!(table.partitions(), (1, 1));
        assert_eq!(table.rows_now().compared, 7);
        assert_eq!(table.first_differences[0].kind, DifferenceKind::Differs);
        let again: TableVerification =
            serde_json::from_str(&serde_json::to_string(&table).expect("it writes")).expect("it reads");
        assert_eq!(again, table);
    }

    #[test]
    fn a_table_is_equal_only_if_all_of_it_was_compared() {
        let ended = TableVerification { stage: TableStage::Ended { partitions: 1 }, ..Default::default() };
        assert_eq!(ended.equality(), Equality::Equal);
        let with = |rows: ComparedRows| TableVerification { rows, ..ended.clone() }.equality();
        assert_eq!(with(ComparedRows { unsettled: 1, ..Default::default() }), Equality::Incomplete);
        assert_eq!(with(ComparedRows { not_comparable: 1, ..Default::default() }), Equality::Incomplete);
        assert_eq!(
            with(ComparedRows { differing: 1, unsettled: 1, ..Default::default() }),
            Equality::Different
        );
        assert_eq!(TableVerification { incomplete: true, ..ended }.equality(), Equality::Incomplete);
        assert_eq!(TableVerification::default().equality(), Equality::Open);
    }
}
