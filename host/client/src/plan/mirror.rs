//! Comparing a mirror with what a setup wants it to be: what an edit changes, and what nothing does.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use tarn_model::{MirrorEdit, MirrorSpec, TableMapping};

use super::Change;

/// Takes a field's wanted value into an edit.
type IntoEdit = fn(&mut MirrorEdit, &MirrorSpec);

/// Fields that an edit changes, with their way into it.
const EDITABLE: [(&str, IntoEdit); 11] = [
    ("max_batch_size", |edit, spec| edit.batch_size = spec.max_batch_size),
    ("idle_timeout_seconds", |edit, spec| edit.idle_timeout = spec.idle_timeout_seconds),
    ("snapshot_num_rows_per_partition", |edit, spec| {
        edit.snapshot_num_rows_per_partition = spec.snapshot_num_rows_per_partition;
    }),
    ("snapshot_max_parallel_workers", |edit, spec| {
        edit.snapshot_max_parallel_workers = spec.snapshot_max_parallel_workers;
    }),
    ("snapshot_num_tables_in_parallel", |edit, spec| {
        edit.snapshot_num_tables_in_parallel = spec.snapshot_num_tables_in_parallel;
    }),
    ("record_error_policy", |edit, spec| edit.record_error_policy = Some(spec.record_error_policy)),
    ("schema_changes", |edit, spec| edit.schema_changes = Some(spec.schema_changes)),
    ("record_error_limit", |edit, spec| edit.record_error_limit = spec.record_error_limit),
    ("script", |edit, spec| {
        edit.remove_script = spec.script.is_empty();
        edit.script.clone_from(&spec.script);
    }),
    ("script_workers", |edit, spec| edit.script_workers = spec.script_workers),
    ("recent_records", |edit, spec| {
        edit.recent_records = i32::try_from(spec.recent_records).ok().filter(|rows| *rows > 0).unwrap_or(-1);
    }),
];

/// Fields that are looked at elsewhere, or that say what happened once.
const APART: [&str; 2] = ["table_mappings", "resync"];

/// How a mirror differs from what is wanted.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Difference {
    /// What brings it there.
    pub(crate) edit: MirrorEdit,
    /// What the edit changes.
    pub(crate) changes: Vec<Change>,
    /// What no edit changes.
    pub(crate) stuck: Vec<Change>,
}

/// Compares a stored mirror with a wanted one, both with their defaults filled in.
pub(crate) fn compare(stored: &MirrorSpec, wanted: &MirrorSpec) -> Difference {
    let mut difference = Difference::default();
    let (before, after) = (fields(stored), fields(wanted));
    for (field, given) in &after {
        let known = &before[field];
        if known == given || APART.contains(&field.as_str()) {
            continue;
        }
        let change = Change { field: field.clone(), stored: shown(known), given: shown(given) };
        match EDITABLE.iter().find(|(name, _)| name == field) {
            Some((_, apply)) => {
                apply(&mut difference.edit, wanted);
                difference.changes.push(change);
            }
            None => difference.stuck.push(change),
        }
    }
    compare_tables(stored, wanted, &mut difference);
    difference
}

fn compare_tables(stored: &MirrorSpec, wanted: &MirrorSpec, difference: &mut Difference) {
    let find =
        |tables: &[TableMapping], source: &str| tables.iter().find(|table| table.source == source).cloned();
    for table in &wanted.tables {
        match find(&stored.tables, &table.source) {
            None => {
                let given = format!("{} → {}", table.source, table.destination);
                difference.changes.push(Change { field: String::new(), stored: String::new(), given });
                difference.edit.additional_tables.push(table.clone());
            }
            Some(known) => compare_table(&known, table, difference),
        }
    }
    for table in &stored.tables {
        if find(&wanted.tables, &table.source).is_none() {
            let stored = format!("{} → {}", table.source, table.destination);
            difference.changes.push(Change { field: String::new(), stored, given: String::new() });
            difference.edit.removed_tables.push(table.clone());
        }
    }
}

/// A table that stays keeps its target and its columns' order, and takes no column in that was left out.
fn compare_table(stored: &TableMapping, wanted: &TableMapping, difference: &mut Difference) {
    let (before, after) = (fields(stored), fields(wanted));
    let (excluded, excludes) = (names(&stored.exclude), names(&wanted.exclude));
    for (field, given) in &after {
        let known = &before[field];
        let (same, by_edit) = match field.as_str() {
            "exclude" => (excluded == excludes, excludes.is_superset(&excluded)),
            "columns" => (known == given, true),
            _ => (known == given, false),
        };
        if same {
            continue;
        }
        let change = Change {
            field: format!("table_mappings[{}].{field}", wanted.source),
            stored: shown(known),
            given: shown(given),
        };
        if !by_edit {
            difference.stuck.push(change);
            continue;
        }
        difference.changes.push(change);
        if !difference.edit.changed_tables.iter().any(|table| table.source == wanted.source) {
            difference.edit.changed_tables.push(wanted.clone());
        }
    }
}

fn names(list: &[String]) -> BTreeSet<&str> {
    list.iter().map(String::as_str).collect()
}

fn fields<T: serde::Serialize>(item: &T) -> Map<String, Value> {
    match serde_json::to_value(item) {
        Ok(Value::Object(fields)) => fields,
        _ => unreachable!("a mirror and its tables serialise as objects"),
    }
}

/// A value in one line.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use tarn_model::RecordErrorPolicy;

    use super::*;

    fn table(source: &str) -> TableMapping {
        TableMapping {
            source: source.into(),
            destination: source.replace('.', "_"),
            ..TableMapping::default()
        }
    }

    fn spec() -> MirrorSpec {
        let mut spec = MirrorSpec {
            name: "m".into(),
            source_peer: "a".into(),
            destination_peer: "b".into(),
            tables: vec![table("public.a"), table("public.b")],
            ..MirrorSpec::default()
        };
        spec.fill_defaults();
        spec
    }

    #[test]
    fn the_same_in_another_order_is_no_difference() {
        let mut stored = spec();
        stored.tables[0].exclude = vec!["x".into(), "y".into()];
        let mut wanted = stored.clone();
        wanted.tables.reverse();
        wanted.tables[1].exclude.reverse();
        stored.resync = true;
        assert_eq!(compare(&stored, &wanted), Difference::default());
    }

    #[test]
    fn every_setting_that_an_edit_takes_is_changed_by_one() {
        let stored = spec();
        let mut wanted = spec();
        wanted.max_batch_size = 1;
        wanted.idle_timeout_seconds = 2;
        wanted.snapshot_num_rows_per_partition = 3;
        wanted.snapshot_max_parallel_workers = 5;
        wanted.snapshot_num_tables_in_parallel = 6;
        wanted.record_error_policy = RecordErrorPolicy::DeadLetter;
        wanted.record_error_limit = 7;
        wanted.script = "mask@2".into();
        wanted.script_workers = 3;
        wanted.recent_records = 7;
        wanted.tables = vec![table("public.b"), table("public.c")];
        wanted.tables[0].exclude = vec!["secret".into()];
        let difference = compare(&stored, &wanted);
        assert_eq!((difference.stuck.len(), difference.changes.len()), (0, 13));
        let mut edited = difference.edit.apply_to(&stored);
        edited.tables.sort_by(|one, other| one.source.cmp(&other.source));
        assert_eq!(edited, wanted, "the edit brings the one to the other");
        let back = compare(&edited, &MirrorSpec { script: "mask".into(), ..stored.clone() });
        let stuck: Vec<_> = back.stuck.iter().map(|change| change.field.as_str()).collect();
        assert_eq!(stuck, ["table_mappings[public.b].exclude"], "what is missing in rows that are there");
        assert_eq!((back.edit.recent_records, back.edit.script.as_str()), (-1, "mask"));
        let without = compare(&edited, &MirrorSpec { script: String::new(), ..edited.clone() });
        assert_eq!((without.stuck.len(), without.changes.len()), (0, 1));
        assert_eq!(without.edit.apply_to(&edited).script, "", "a script is taken away");
    }

    #[test]
    fn what_no_edit_changes_is_named() {
        let mut stored = spec();
        stored.do_initial_snapshot = true;
        let mut wanted = spec();
        wanted.source_peer = "other".into();
        wanted.tables[1].destination = "elsewhere".into();
        let stuck = compare(&stored, &wanted).stuck;
        let fields: Vec<_> = stuck.iter().map(|change| change.field.as_str()).collect();
        assert_eq!(
            fields,
            ["do_initial_snapshot", "source_name", "table_mappings[public.b].destination_table_identifier"]
        );
    }
}
