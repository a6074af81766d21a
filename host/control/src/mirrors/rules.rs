//! What can be said about a mirror's specification without looking at a store: names, numbers,
//! duplicates, contradictions. Each problem names its field.

use std::collections::HashMap;

use tarn_model::{
    ColumnMapping, MirrorSpec, Problem, TableMapping, mirror_name_problem, publication_name_problem,
    slot_name_problem,
};

use crate::config::{
    IDLE_TIMEOUT_SECONDS_MAX, RECENT_RECORDS_MAX, RECORD_ERROR_LIMIT_MAX, SCRIPT_WORKERS_MAX,
    SNAPSHOT_PARTITIONS_MAX, SNAPSHOT_WORKERS_MAX,
};
use crate::{mirror_env, queue_settings};

/// Problems of a new mirror.
pub(super) fn of_spec(spec: &MirrorSpec) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(problem) = mirror_name_problem(&spec.name) {
        problems.push(Problem::new("flow_job_name", problem, "choose a name like orders_to_clickhouse"));
    }
    if !spec.source_peer.is_empty() && spec.source_peer == spec.destination_peer {
        let message = "is the source too";
        problems.push(Problem::new("destination_name", message, "replicate between two peers"));
    }
    names_at_the_stores(spec, &mut problems);
    contradictions(spec, &mut problems);
    problems.extend(mirror_env::problems(spec));
    problems.extend(queue_settings::problems(spec));
    of_numbers(spec, "", &mut problems);
    if spec.tables.is_empty() {
        problems.push(Problem::new("table_mappings", "is empty", "map at least one table"));
    }
    of_tables(&spec.tables, "table_mappings", &mut problems);
    problems
}

fn names_at_the_stores(spec: &MirrorSpec, problems: &mut Vec<Problem>) {
    if let Some(problem) = slot_name_problem(&spec.replication_slot_name) {
        problems.push(Problem::new("replication_slot_name", problem, "rename it, or leave it out"));
    }
    if let Some(problem) = publication_name_problem(&spec.publication_name) {
        problems.push(Problem::new("publication_name", problem, "rename it, or leave it out"));
    }
    let (soft_delete, synced_at) = (&spec.soft_delete_col_name, &spec.synced_at_col_name);
    if !soft_delete.is_empty() && soft_delete == synced_at {
        let message = "is the soft_delete_col_name too";
        problems.push(Problem::new("synced_at_col_name", message, "name two columns"));
    }
}

fn contradictions(spec: &MirrorSpec, problems: &mut Vec<Problem>) {
    for (path, set) in [("initial_snapshot_only", spec.initial_snapshot_only), ("resync", spec.resync)] {
        if set && !spec.do_initial_snapshot {
            let message = "is set without do_initial_snapshot";
            problems.push(Problem::new(path, message, "set do_initial_snapshot too"));
        }
    }
}

fn of_numbers(spec: &MirrorSpec, prefix: &str, problems: &mut Vec<Problem>) {
    let bounded = [
        (
            "snapshot_max_parallel_workers",
            u64::from(spec.snapshot_max_parallel_workers),
            SNAPSHOT_WORKERS_MAX.into(),
        ),
        (
            "snapshot_num_tables_in_parallel",
            u64::from(spec.snapshot_num_tables_in_parallel),
            SNAPSHOT_WORKERS_MAX.into(),
        ),
        (
            "snapshot_num_partitions_override",
            u64::from(spec.snapshot_num_partitions_override),
            SNAPSHOT_PARTITIONS_MAX.into(),
        ),
        ("idle_timeout_seconds", spec.idle_timeout_seconds, IDLE_TIMEOUT_SECONDS_MAX),
        ("record_error_limit", u64::from(spec.record_error_limit), RECORD_ERROR_LIMIT_MAX),
        ("recent_records", u64::from(spec.recent_records), RECENT_RECORDS_MAX.into()),
        ("script_workers", u64::from(spec.script_workers), SCRIPT_WORKERS_MAX.into()),
    ];
    for (field, value, most) in bounded {
        if value > most {
            let message = format!("is {value}; at most {most} is allowed");
            problems.push(Problem::new(format!("{prefix}{field}"), message, "choose a smaller number"));
        }
    }
}

/// Problems of an edited specification's numbers, under the names an edit uses.
pub(super) fn of_edited_numbers(spec: &MirrorSpec) -> Vec<Problem> {
    let mut problems = Vec::new();
    of_numbers(spec, "", &mut problems);
    for problem in &mut problems {
        if problem.path == "idle_timeout_seconds" {
            problem.path = "idle_timeout".into();
        }
    }
    problems
}

/// Problems of a list of mappings.
pub(super) fn of_tables(tables: &[TableMapping], path: &str, problems: &mut Vec<Problem>) {
    let mut sources = HashMap::new();
    let mut destinations = HashMap::new();
    for (index, table) in tables.iter().enumerate() {
        let at = |field: &str| format!("{path}[{index}].{field}");
        of_table(table, &at, problems);
        if let Some(first) = sources.insert(&table.source, index).filter(|_| !table.source.is_empty()) {
            let message = format!("{} is mapped by {path}[{first}] already", table.source);
            problems.push(Problem::new(at("source_table_identifier"), message, "map each table once"));
        }
        if let Some(first) =
            destinations.insert(&table.destination, index).filter(|_| !table.destination.is_empty())
        {
            let message = format!("{} is the target of {path}[{first}] already", table.destination);
            problems.push(Problem::new(
                at("destination_table_identifier"),
                message,
                "give each table a target of its own",
            ));
        }
    }
}

fn of_table(table: &TableMapping, at: &impl Fn(&str) -> String, problems: &mut Vec<Problem>) {
    let qualified = table.source.split_once('.').is_some_and(|(s, t)| !s.is_empty() && !t.is_empty());
    if !qualified {
        let message = if table.source.is_empty() {
            "is missing".to_owned()
        } else {
            format!("{} has no schema", table.source)
        };
        problems.push(Problem::new(at("source_table_identifier"), message, "write schema.table"));
    }
    if table.destination.is_empty() {
        problems.push(Problem::new(
            at("destination_table_identifier"),
            "is missing",
            "name the target table",
        ));
    }
    of_columns(table, at, problems);
}

/// Problems of what a mapping says of its columns.
pub(super) fn of_columns(table: &TableMapping, at: &impl Fn(&str) -> String, problems: &mut Vec<Problem>) {
    let mut orderings = HashMap::new();
    let mut names = HashMap::new();
    for (index, column) in table.columns.iter().enumerate() {
        let path = at(&format!("columns[{index}]"));
        of_column(column, table, &path, problems);
        if let Some(first) =
            names.insert(&column.source_name, index).filter(|_| !column.source_name.is_empty())
        {
            let message = format!("{} is set by columns[{first}] already", column.source_name);
            problems.push(Problem::new(format!("{path}.source_name"), message, "set each column once"));
        }
        if let Some(first) = orderings.insert(column.ordering, index).filter(|_| column.ordering != 0) {
            let message = format!("{} is the place of columns[{first}] already", column.ordering);
            problems.push(Problem::new(format!("{path}.ordering"), message, "number the columns 1, 2, …"));
        }
    }
}

fn of_column(column: &ColumnMapping, table: &TableMapping, path: &str, problems: &mut Vec<Problem>) {
    if column.source_name.is_empty() {
        problems.push(Problem::new(format!("{path}.source_name"), "is missing", "name the source's column"));
    } else if table.exclude.contains(&column.source_name) {
        let message = format!("{} is excluded", column.source_name);
        problems.push(Problem::new(format!("{path}.source_name"), message, "exclude it or set it, not both"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(source: &str, destination: &str) -> TableMapping {
        TableMapping { source: source.into(), destination: destination.into(), ..TableMapping::default() }
    }

    fn good() -> MirrorSpec {
        let mut spec = MirrorSpec {
            name: "m".into(),
            source_peer: "a".into(),
            destination_peer: "b".into(),
            tables: vec![table("public.t", "t")],
            do_initial_snapshot: true,
            ..MirrorSpec::default()
        };
        spec.fill_defaults();
        spec
    }

    fn column(name: &str, ordering: u32) -> ColumnMapping {
        ColumnMapping { source_name: name.into(), ordering, ..ColumnMapping::default() }
    }

    #[test]
    fn a_plain_specification_has_no_problem() {
        assert_eq!(of_spec(&good()), []);
    }

    #[test]
    fn each_problem_names_its_field() {
        type Change = fn(&mut MirrorSpec);
        let cases: &[(Change, &str)] = &[
            (|s| s.name = "Bad Name".into(), "flow_job_name"),
            (|s| s.name.clear(), "flow_job_name"),
            (|s| s.destination_peer = "a".into(), "destination_name"),
            (|s| s.tables.clear(), "table_mappings"),
            (|s| s.tables[0].source = "t".into(), "table_mappings[0].source_table_identifier"),
            (|s| s.tables[0].source.clear(), "table_mappings[0].source_table_identifier"),
            (|s| s.tables[0].destination.clear(), "table_mappings[0].destination_table_identifier"),
            (|s| s.tables.push(table("public.t", "u")), "table_mappings[1].source_table_identifier"),
            (|s| s.tables.push(table("public.u", "t")), "table_mappings[1].destination_table_identifier"),
            (|s| s.tables[0].columns = vec![column("", 0)], "table_mappings[0].columns[0].source_name"),
            (
                |s| s.tables[0].columns = vec![column("a", 1), column("b", 1)],
                "table_mappings[0].columns[1].ordering",
            ),
            (
                |s| s.tables[0].columns = vec![column("a", 0), column("a", 0)],
                "table_mappings[0].columns[1].source_name",
            ),
            (
                |s| {
                    s.tables[0].exclude = vec!["a".into()];
                    s.tables[0].columns = vec![column("a", 1)];
                },
                "table_mappings[0].columns[0].source_name",
            ),
            (|s| s.replication_slot_name = "Slot-1".into(), "replication_slot_name"),
            (|s| s.publication_name = "p".repeat(64), "publication_name"),
            (
                |s| (s.soft_delete_col_name, s.synced_at_col_name) = ("x".into(), "x".into()),
                "synced_at_col_name",
            ),
            (|s| (s.initial_snapshot_only, s.do_initial_snapshot) = (true, false), "initial_snapshot_only"),
            (|s| (s.resync, s.do_initial_snapshot) = (true, false), "resync"),
            (|s| s.snapshot_max_parallel_workers = 129, "snapshot_max_parallel_workers"),
            (|s| s.snapshot_num_tables_in_parallel = 129, "snapshot_num_tables_in_parallel"),
            (|s| s.idle_timeout_seconds = 86_401, "idle_timeout_seconds"),
            (|s| s.record_error_limit = 100_001, "record_error_limit"),
            (|s| s.recent_records = 1_001, "recent_records"),
            (|s| s.script_workers = 17, "script_workers"),
        ];
        for (change, path) in cases {
            let mut spec = good();
            change(&mut spec);
            let problems = of_spec(&spec);
            let paths: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
            assert_eq!(paths, [*path], "{problems:?}");
        }
    }

    #[test]
    fn all_problems_are_said_at_once() {
        let spec = MirrorSpec { resync: true, ..MirrorSpec::default() };
        assert_eq!(of_spec(&spec).len(), 3);
    }
}
