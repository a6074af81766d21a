//! Whether the role may read the tables, and publish them.

use std::collections::HashMap;

use tarn_sdk::postgres::Row;
use tarn_sdk::sql::postgres::{ident, literal};
use tarn_sdk::{Failure, Problem};

use super::path;
use crate::catalog::CatalogTable;
use crate::config::CATALOG_TABLES_MAX;
use crate::peer::{Peer, flag, text};
use crate::settings::{MappedTable, Settings};
use crate::side::Side;
use crate::table_name::TableName;

/// What a role may do with a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Access {
    role: String,
    /// It owns the table, or is a member of the role that does.
    owns: bool,
    uses_schema: bool,
    reads_all: bool,
    /// The columns it may read, where it may not read all.
    reads: Vec<String>,
    /// Partitions that it may not read.
    unreadable_leaves: Vec<String>,
    /// Policies hide rows from it (B173).
    hidden_rows: bool,
}

/// The role's rights on the mapped tables that exist.
pub(super) fn read<P: Peer>(
    side: &mut Side<P>,
    settings: &Settings,
) -> Result<HashMap<TableName, Access>, Failure> {
    let mut access = HashMap::new();
    for tables in settings.tables.chunks(CATALOG_TABLES_MAX) {
        let pair = |table: &MappedTable| {
            format!("({}::name, {}::name)", literal(&table.name.schema), literal(&table.name.name))
        };
        let pairs: Vec<String> = tables.iter().map(pair).collect();
        let rows = side.read(&format!(
            "SELECT n.nspname, c.relname, current_user, pg_catalog.pg_has_role(c.relowner, 'USAGE'),
                    pg_catalog.has_schema_privilege(n.oid, 'USAGE'),
                    pg_catalog.has_table_privilege(c.oid, 'SELECT'),
                    (SELECT to_json(coalesce(array_agg(a.attname), '{{}}')) FROM pg_catalog.pg_attribute a
                     WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                       AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT')),
                    (SELECT to_json(coalesce(array_agg(t.relid::regclass::text), '{{}}'))
                     FROM pg_catalog.pg_partition_tree(c.oid) AS t
                     WHERE c.relkind = 'p' AND t.isleaf AND NOT pg_catalog.has_table_privilege(t.relid, 'SELECT')),
                    pg_catalog.row_security_active(c.oid)
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
             WHERE (n.nspname, c.relname) IN (VALUES {})",
            pairs.join(", ")
        ))?;
        for row in &rows {
            access.insert(TableName::new(text(row, 0)?, text(row, 1)?), Access::from_row(row)?);
        }
    }
    Ok(access)
}

impl Access {
    fn from_row(row: &Row) -> Result<Self, Failure> {
        Ok(Self {
            role: text(row, 2)?.to_owned(),
            owns: flag(row, 3),
            uses_schema: flag(row, 4),
            reads_all: flag(row, 5),
            reads: names(row, 6)?,
            unreadable_leaves: names(row, 7)?,
            hidden_rows: flag(row, 8),
        })
    }
}

fn names(row: &Row, column: usize) -> Result<Vec<String>, Failure> {
    serde_json::from_str(text(row, column)?)
        .map_err(|_| Failure::permanent("postgres_answer", "the server answered with no list of names"))
}

pub(super) fn check(
    mapping: &MappedTable,
    table: &CatalogTable,
    access: &Access,
    settings: &Settings,
) -> Vec<Problem> {
    let role = ident(&access.role);
    let (name, sql) = (&mapping.name, mapping.name.sql());
    let mut problems = Vec::new();
    let mut add = |message: String, hint: String| {
        problems.push(Problem::new(path(mapping.index), message).with_hint(hint));
    };
    if !access.uses_schema {
        let schema = ident(&name.schema);
        add(
            format!("role {:?} may not use schema {:?}", access.role, name.schema),
            format!("GRANT USAGE ON SCHEMA {schema} TO {role}"),
        );
    }
    let unreadable = unreadable_columns(mapping, table, access);
    if !unreadable.is_empty() {
        let message = format!("role {:?} may not read {} of {name}", access.role, unreadable.join(", "));
        add(message, format!("GRANT SELECT ON {sql} TO {role}"));
    }
    if !access.unreadable_leaves.is_empty() {
        let leaves = access.unreadable_leaves.join(", ");
        let message = format!("role {:?} may not read the partitions {leaves} of {name}", access.role);
        add(message, format!("GRANT SELECT ON {leaves} TO {role}"));
    }
    if access.hidden_rows {
        let message = format!("row-level security hides rows of {name} from role {:?}", access.role);
        add(message, format!("ALTER ROLE {role} BYPASSRLS"));
    }
    if settings.publication.is_managed() && !access.owns {
        let message = format!("role {:?} does not own {name} and so may not publish it", access.role);
        add(
            message,
            format!("name an existing publication that holds it; or ALTER TABLE {sql} OWNER TO {role}"),
        );
    }
    problems
}

/// The replicated columns that the role may not read.
fn unreadable_columns<'a>(mapping: &MappedTable, table: &'a CatalogTable, access: &Access) -> Vec<&'a str> {
    if access.reads_all {
        return Vec::new();
    }
    table
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .filter(|name| !mapping.exclude.iter().any(|excluded| excluded == name))
        .filter(|name| !access.reads.iter().any(|readable| readable == name))
        .collect()
}
