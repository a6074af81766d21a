//! What a table must be to be replicated.

use tarn_sdk::Problem;

use super::{exclude_path, path};
use crate::catalog::{CatalogTable, Identity, Kind};
use crate::settings::MappedTable;

pub(super) fn check(mapping: &MappedTable, table: &CatalogTable) -> Vec<Problem> {
    let mut problems = Vec::new();
    problems.extend(kind(mapping, table));
    if matches!(table.kind, Kind::Ordinary | Kind::Partitioned | Kind::Unlogged) {
        problems.extend(identity(mapping, table));
        problems.extend(excluded(mapping, table));
    }
    problems
}

fn kind(mapping: &MappedTable, table: &CatalogTable) -> Option<Problem> {
    let sql = mapping.name.sql();
    let (what, hint) = match table.kind {
        Kind::Ordinary | Kind::Partitioned => return None,
        Kind::Unlogged => {
            ("is unlogged or temporary: its changes are not logged", format!("ALTER TABLE {sql} SET LOGGED"))
        }
        Kind::Other('v') => ("is a view", "replicate the tables behind it".to_owned()),
        Kind::Other('m') => ("is a materialized view", "replicate the tables behind it".to_owned()),
        Kind::Other('f') => ("is a foreign table", "replicate it from the server that has it".to_owned()),
        Kind::Other(_) => ("is not a table", String::new()),
    };
    Some(Problem::new(path(mapping.index), format!("{} {what}", mapping.name)).with_hint(hint))
}

/// Rows must be told apart: a replay would double them otherwise (B082).
fn identity(mapping: &MappedTable, table: &CatalogTable) -> Option<Problem> {
    let sql = mapping.name.sql();
    if table.identity == Identity::Nothing {
        let message =
            format!("{} has replica identity nothing: updates and deletes are not logged", mapping.name);
        let hint = format!("ALTER TABLE {sql} REPLICA IDENTITY DEFAULT");
        return Some(Problem::new(path(mapping.index), message).with_hint(hint));
    }
    if table.has_key() {
        return None;
    }
    let message = format!("{} has no primary key and no replica identity index", mapping.name);
    let hint = format!(
        "ALTER TABLE {sql} ADD PRIMARY KEY (…), or, also where it has one that is deferrable, which the server takes for none, \
         ALTER TABLE {sql} REPLICA IDENTITY USING INDEX … with a unique index of NOT NULL columns"
    );
    Some(Problem::new(path(mapping.index), message).with_hint(hint))
}

fn excluded(mapping: &MappedTable, table: &CatalogTable) -> Vec<Problem> {
    let mut problems = Vec::new();
    for name in &mapping.exclude {
        let message = match table.columns.iter().find(|column| column.name == *name) {
            None => format!("{} has no column {name:?}", mapping.name),
            Some(column) if column.key != 0 => {
                format!("column {name:?} of {} identifies its rows and cannot be left out", mapping.name)
            }
            Some(_) => continue,
        };
        problems
            .push(Problem::new(exclude_path(mapping.index), message).with_hint("names are case-sensitive"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{CatalogColumn, fixture};
    use crate::table_name::TableName;

    fn mapping(exclude: &[&str]) -> MappedTable {
        MappedTable {
            index: 2,
            name: TableName::new("public", "t"),
            exclude: exclude.iter().map(|name| (*name).to_owned()).collect(),
            loading: false,
            lacks_rows: false,
        }
    }

    fn table(kind: Kind, identity: Identity, key: u16) -> CatalogTable {
        let id = CatalogColumn { not_null: key != 0, key, ..fixture::column(1, "id") };
        CatalogTable { kind, identity, ..fixture::table([id, fixture::column(2, "Name")]) }
    }

    #[test]
    fn a_table_with_a_key_is_fine_under_any_identity_that_logs_it() {
        for identity in [Identity::Default, Identity::Index, Identity::Full] {
            assert_eq!(check(&mapping(&["Name"]), &table(Kind::Ordinary, identity, 1)), []);
        }
    }

    #[test]
    fn every_finding_is_reported_at_once_with_its_place() {
        let problems = check(&mapping(&["name", "id"]), &table(Kind::Unlogged, Identity::Nothing, 1));
        let paths: Vec<&str> = problems.iter().map(|problem| problem.path.as_str()).collect();
        let (of_table, of_exclude) =
            ("table_mappings[2].source_table_identifier", "table_mappings[2].exclude");
        assert_eq!(paths, [of_table, of_table, of_exclude, of_exclude]);
    }

    #[test]
    fn a_table_without_a_key_is_refused_with_a_remedy() {
        // B082: not by a guess at identical rows, and not by advice that would not help (B079).
        for identity in [Identity::Default, Identity::Full] {
            let problems = check(&mapping(&[]), &table(Kind::Ordinary, identity, 0));
            assert_eq!(problems.len(), 1);
            assert!(problems[0].hint.contains("ADD PRIMARY KEY"), "{}", problems[0].hint);
            assert!(!problems[0].hint.contains("FULL"));
        }
    }

    #[test]
    fn what_is_no_table_is_named() {
        let problems = check(&mapping(&["x"]), &table(Kind::Other('v'), Identity::Nothing, 0));
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].message, "public.t is a view");
    }
}
