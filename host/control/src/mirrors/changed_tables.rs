//! Tables that stay in a mirror, and of which an edit says other things of their columns. What decides about rows that are
//! there stays as it is: the target, its key, and which columns it lacks.

use tarn_model::{MirrorEdit, MirrorSpec, Problem, TableEngine, TableMapping};

use super::rules;

/// What helps where rows that are there would have to be others.
const AGAIN: &str = "edit the table out of the mirror, and in again into another target";

/// Problems that can be told without a look at a store.
pub(super) fn problems(spec: &MirrorSpec, edit: &MirrorEdit, problems: &mut Vec<Problem>) {
    for (index, changed) in edit.changed_tables.iter().enumerate() {
        let path = format!("changed_tables[{index}]");
        rules::of_columns(changed, &|field| format!("{path}.{field}"), problems);
        let goes = edit.removed_tables.iter().any(|table| table.source == changed.source);
        let Some(known) = spec.tables.iter().find(|table| table.source == changed.source && !goes) else {
            let message = format!("{} does not stay in the mirror", changed.source);
            let path = format!("{path}.source_table_identifier");
            problems.push(Problem::new(path, message, "name tables that are in it, and are not removed"));
            continue;
        };
        let differs = |wanted: &str, known: &str| !wanted.is_empty() && wanted != known;
        if differs(&changed.destination, &known.destination) {
            let path = format!("{path}.destination_table_identifier");
            problems.push(Problem::new(path, "cannot change", AGAIN));
        }
        if differs(&changed.partition_key, &known.partition_key) {
            problems.push(Problem::new(format!("{path}.partition_key"), "cannot change", AGAIN));
        }
        if changed.engine != known.engine && changed.engine != TableEngine::default() {
            problems.push(Problem::new(format!("{path}.engine"), "cannot change", AGAIN));
        }
        let ordering = |table: &TableMapping| {
            let mut ordered: Vec<_> = table.columns.iter().filter(|column| column.ordering > 0).collect();
            ordered.sort_by_key(|column| column.ordering);
            ordered.into_iter().map(|column| column.source_name.clone()).collect::<Vec<_>>()
        };
        if ordering(changed) != ordering(known) {
            problems.push(Problem::new(format!("{path}.columns"), "order rows otherwise", AGAIN));
        }
    }
}

/// The mirror with these tables alone, to be looked at: rows of theirs are there, as they should be. What is left out
/// before the edit is left out still, so that the source tells which of it is gone.
pub(super) fn alone(before: &MirrorSpec, spec: &MirrorSpec, edit: &MirrorEdit) -> MirrorSpec {
    let find = |changed: &TableMapping| {
        let mut table = spec.tables.iter().find(|table| table.source == changed.source)?.clone();
        let back: Vec<String> = taken_in(before, changed).cloned().collect();
        table.columns.retain(|column| !back.contains(&column.source_name));
        table.exclude.extend(back);
        Some(table)
    };
    MirrorSpec {
        tables: edit.changed_tables.iter().filter_map(find).collect(),
        do_initial_snapshot: false,
        resync: false,
        ..spec.clone()
    }
}

/// The columns that were left out before, and are no longer.
fn taken_in<'a>(before: &'a MirrorSpec, changed: &'a TableMapping) -> impl Iterator<Item = &'a String> + 'a {
    let known = before.tables.iter().find(|table| table.source == changed.source);
    let excluded = known.into_iter().flat_map(|known| &known.exclude);
    excluded.filter(move |column| !changed.exclude.contains(column))
}

/// Refuses to take a column in again that the source has: rows that are there have no values of it. One that is gone may be
/// forgotten.
pub(super) fn require_gone(before: &MirrorSpec, edit: &MirrorEdit, problems: &mut Vec<Problem>) {
    for (index, changed) in edit.changed_tables.iter().enumerate() {
        let path = format!("changed_tables[{index}].exclude");
        for column in taken_in(before, changed) {
            let gone = format!("{} has no column {column:?}", changed.source);
            if !problems.iter().any(|problem| problem.path == path && problem.message == gone) {
                let message = format!("{column} is left out, and rows that are there have no values of it");
                problems.push(Problem::new(path.clone(), message, AGAIN));
            }
        }
    }
}

/// Takes those away that the mirror has without the edit: of columns that were left out, or set, before they left the source.
pub(super) fn forget_known(spec: &MirrorSpec, edit: &MirrorEdit, problems: &mut Vec<Problem>) {
    problems.retain(|problem| {
        let known = edit.changed_tables.iter().enumerate().any(|(index, changed)| {
            let path = format!("changed_tables[{index}]");
            let known = spec.tables.iter().find(|table| table.source == changed.source);
            let columns = known.into_iter().flat_map(|known| {
                let set = known.columns.iter().map(|column| &column.source_name);
                known.exclude.iter().chain(set)
            });
            // A source quotes the name.
            let mut told = columns.flat_map(|column| [column.clone(), format!("{column:?}")]);
            problem.path.starts_with(&path)
                && told.any(|column| problem.message == format!("{} has no column {column}", changed.source))
        });
        !known
    });
}
