//! Changes to a mirror that a person asked for and its run carries out.

use serde::{Deserialize, Serialize};

use super::{MirrorSpec, TableMapping};
use crate::record_error::RecordErrorPolicy;
use crate::schema_change::SchemaChangePolicy;
use crate::script::joined;

/// Changed settings of a paused or failed mirror. Zero or empty means unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct MirrorEdit {
    /// Tables to take in.
    pub additional_tables: Vec<TableMapping>,
    /// Tables to let go of.
    pub removed_tables: Vec<TableMapping>,
    /// Tables that stay, each with `exclude` and `columns` as they are from now on. What else a mapping says is left empty,
    /// or as it is.
    pub changed_tables: Vec<TableMapping>,
    /// Most rows of one write to the destination.
    pub batch_size: u32,
    /// Longest time a row waits for company before it is written, in seconds.
    pub idle_timeout: u64,
    /// Rows of one snapshot partition.
    pub snapshot_num_rows_per_partition: u32,
    /// Partitions loaded at the same time.
    pub snapshot_max_parallel_workers: u32,
    /// Tables loaded at the same time.
    pub snapshot_num_tables_in_parallel: u32,
    /// Whether added tables stream from now on without their existing rows.
    pub skip_initial_snapshot_for_table_additions: bool,
    /// What becomes of a record that cannot be taken; null means unchanged.
    pub record_error_policy: Option<RecordErrorPolicy>,
    /// Records that may be left out of ten times as many.
    pub record_error_limit: u32,
    /// What is done at the destination where columns changed; null means unchanged.
    pub schema_changes: Option<SchemaChangePolicy>,
    /// Other scripts, for a mirror that has some or none: `name` or `name@version`, several with commas between them.
    #[serde(deserialize_with = "joined")]
    pub script: String,
    /// Whether the mirror goes on without a script: an empty `script` means unchanged.
    pub remove_script: bool,
    /// Instances of each script that changes are shared out to, by key.
    pub script_workers: u32,
    /// Records of each table that are kept in memory for trying out scripts; -1 keeps none any more.
    pub recent_records: i32,
}

impl MirrorEdit {
    /// The specification with this edit in it.
    pub fn apply_to(&self, spec: &MirrorSpec) -> MirrorSpec {
        let mut edited = spec.clone();
        edited
            .tables
            .retain(|table| !self.removed_tables.iter().any(|removed| removed.source == table.source));
        for changed in &self.changed_tables {
            let table = edited.tables.iter_mut().find(|table| table.source == changed.source);
            if let Some(table) = table {
                table.exclude.clone_from(&changed.exclude);
                table.columns.clone_from(&changed.columns);
            }
        }
        edited.tables.extend(self.additional_tables.iter().cloned());
        for (setting, change) in [
            (&mut edited.max_batch_size, self.batch_size),
            (&mut edited.snapshot_num_rows_per_partition, self.snapshot_num_rows_per_partition),
            (&mut edited.snapshot_max_parallel_workers, self.snapshot_max_parallel_workers),
            (&mut edited.snapshot_num_tables_in_parallel, self.snapshot_num_tables_in_parallel),
            (&mut edited.record_error_limit, self.record_error_limit),
            (&mut edited.script_workers, self.script_workers),
        ] {
            if change != 0 {
                *setting = change;
            }
        }
        if self.idle_timeout != 0 {
            edited.idle_timeout_seconds = self.idle_timeout;
        }
        if let Some(policy) = self.record_error_policy {
            edited.record_error_policy = policy;
        }
        if let Some(policy) = self.schema_changes {
            edited.schema_changes = policy;
        }
        if self.remove_script {
            edited.script.clear();
        } else if !self.script.is_empty() {
            edited.script.clone_from(&self.script);
        }
        if self.recent_records != 0 {
            edited.recent_records = u32::try_from(self.recent_records).unwrap_or(0);
        }
        edited
    }
}

/// What of an edit the run has still to do at source and destination. It is recorded together with the
/// edited specification and cleared when done, so that a crash in between loses nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PendingEdit {
    /// Tables that are in the specification and not yet at the source.
    pub added: Vec<TableMapping>,
    /// Tables that are out of the specification and still at the source.
    pub removed: Vec<TableMapping>,
    /// Whether added tables stream without their existing rows.
    pub skip_snapshot: bool,
}

impl PendingEdit {
    /// What is to do when an edit comes before this one was carried out.
    #[must_use]
    pub fn then(mut self, edit: &MirrorEdit) -> Self {
        let goes = |table: &TableMapping| edit.removed_tables.iter().any(|gone| gone.source == table.source);
        self.skip_snapshot =
            edit.skip_initial_snapshot_for_table_additions && (self.added.is_empty() || self.skip_snapshot);
        self.added.retain(|table| !goes(table));
        self.added.extend(edit.additional_tables.iter().cloned());
        self.removed.retain(|table| !edit.additional_tables.iter().any(|new| new.source == table.source));
        self.removed.extend(edit.removed_tables.iter().cloned());
        self
    }
}

/// How a mirror is dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DropOptions {
    /// Whether its batches and counts go too.
    pub drop_mirror_stats: bool,
    /// Whether the destination is left as it is.
    pub skip_destination_drop: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirror::ColumnMapping;

    fn table(source: &str) -> TableMapping {
        TableMapping {
            source: source.into(),
            destination: source.replace('.', "_"),
            ..TableMapping::default()
        }
    }

    fn sources(tables: &[TableMapping]) -> Vec<&str> {
        tables.iter().map(|table| table.source.as_str()).collect()
    }

    #[test]
    fn a_table_that_stays_keeps_everything_but_what_is_said_of_its_columns() {
        let stored = TableMapping { partition_key: "toYYYYMM(at)".into(), ..table("public.a") };
        let spec = MirrorSpec { tables: vec![stored, table("public.b")], ..MirrorSpec::default() };
        let columns = vec![ColumnMapping { source_name: "x".into(), ..ColumnMapping::default() }];
        let exclude = vec!["secret".to_owned()];
        let changed = TableMapping { source: "public.a".into(), exclude, columns, ..TableMapping::default() };
        let edit = MirrorEdit { changed_tables: vec![changed.clone()], ..MirrorEdit::default() };
        let edited = edit.apply_to(&spec).tables;
        assert_eq!(
            (edited[0].exclude.clone(), edited[0].columns.clone()),
            (changed.exclude, changed.columns)
        );
        assert_eq!(
            (edited[0].destination.as_str(), edited[0].partition_key.as_str()),
            ("public_a", "toYYYYMM(at)")
        );
        assert_eq!(edited[1], spec.tables[1]);
    }

    #[test]
    fn an_edit_changes_what_it_names_and_nothing_else() {
        let spec = MirrorSpec {
            tables: vec![table("public.a"), table("public.b")],
            max_batch_size: 5,
            idle_timeout_seconds: 6,
            ..MirrorSpec::default()
        };
        let edit = MirrorEdit {
            additional_tables: vec![table("public.c")],
            removed_tables: vec![table("public.a")],
            idle_timeout: 60,
            ..MirrorEdit::default()
        };
        let edited = edit.apply_to(&spec);
        assert_eq!(sources(&edited.tables), ["public.b", "public.c"]);
        assert_eq!((edited.max_batch_size, edited.idle_timeout_seconds), (5, 60));
    }

    #[test]
    fn a_script_is_pinned_and_recent_records_are_switched_on_and_off() {
        let spec = MirrorSpec { script: "mask".into(), recent_records: 10, ..MirrorSpec::default() };
        let unchanged = MirrorEdit::default().apply_to(&spec);
        assert_eq!((unchanged.script.as_str(), unchanged.recent_records), ("mask", 10));
        let edit = MirrorEdit { script: "mask@2".into(), recent_records: -1, ..MirrorEdit::default() };
        let edited = edit.apply_to(&spec);
        assert_eq!((edited.script.as_str(), edited.recent_records), ("mask@2", 0));
        let edit = MirrorEdit { recent_records: 50, ..MirrorEdit::default() };
        assert_eq!(edit.apply_to(&edited).recent_records, 50);
    }

    #[test]
    fn scripts_are_replaced_and_taken_away_and_shared_out_to_more_instances() {
        let spec = MirrorSpec { script: "mask".into(), script_workers: 1, ..MirrorSpec::default() };
        let chain: MirrorEdit =
            serde_json::from_str(r#"{"script": ["mask", "route@2"], "script_workers": 4}"#).expect("read");
        let edited = chain.apply_to(&spec);
        assert_eq!((edited.script.as_str(), edited.script_workers), ("mask,route@2", 4));
        let edit = MirrorEdit { remove_script: true, ..MirrorEdit::default() };
        let edited = edit.apply_to(&edited);
        assert_eq!((edited.script.as_str(), edited.script_workers), ("", 4));
    }

    #[test]
    fn an_edit_upon_an_unfinished_edit_asks_for_both() {
        let first = MirrorEdit {
            additional_tables: vec![table("public.a"), table("public.b")],
            skip_initial_snapshot_for_table_additions: true,
            ..MirrorEdit::default()
        };
        let second = MirrorEdit {
            additional_tables: vec![table("public.c")],
            removed_tables: vec![table("public.a")],
            ..MirrorEdit::default()
        };
        let pending = PendingEdit::default().then(&first);
        assert!(pending.skip_snapshot);
        let pending = pending.then(&second);
        assert_eq!(sources(&pending.added), ["public.b", "public.c"]);
        assert_eq!(sources(&pending.removed), ["public.a"]);
        assert!(!pending.skip_snapshot, "rows are loaded rather than missed");
    }
}
