//! Tables, before a mirror maps any.

use tarn_sdk::Failure;
use tarn_sdk::inspection::TableInfo;
use tarn_sdk::postgres::Row;
use tarn_sdk::sql::postgres::literal;

use super::ask;
use crate::peer::{Peer, flag, text};
use crate::side::Side;
use crate::table_name::TableName;

/// Everything that can be read like a table: also views and foreign tables, from which no changes come.
pub(super) fn all<P: Peer>(side: &mut Side<P>) -> Result<Vec<String>, Failure> {
    let rows = ask(
        side,
        "SELECT n.nspname, c.relname FROM pg_catalog.pg_class c
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
               AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
         ORDER BY n.nspname, c.relname",
    )?;
    rows.iter().map(|row| Ok(TableName::new(text(row, 0)?, text(row, 1)?).to_setting())).collect()
}

/// The tables of a schema. A partition is replicated through its root, and so is not among them.
///
/// What can be mirrored is what validation asks for: changes are logged, and rows can be told apart.
pub(super) fn of_schema<P: Peer>(side: &mut Side<P>, schema: &str) -> Result<Vec<TableInfo>, Failure> {
    let rows = ask(
        side,
        &format!(
            "SELECT c.relname,
                    c.relpersistence = 'p' AND c.relreplident <> 'n' AND EXISTS (
                      SELECT FROM pg_catalog.pg_index i
                      WHERE i.indrelid = c.oid AND i.indisvalid AND i.indimmediate
                            AND CASE c.relreplident WHEN 'i' THEN i.indisreplident ELSE i.indisprimary END),
                    pg_catalog.pg_size_pretty(
                      CASE c.relkind WHEN 'p' THEN (
                        SELECT coalesce(sum(pg_catalog.pg_total_relation_size(part.relid)), 0)
                        FROM pg_catalog.pg_partition_tree(c.oid::regclass) part)
                      ELSE pg_catalog.pg_total_relation_size(c.oid) END::numeric),
                    c.relreplident = 'f'
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = {} AND c.relkind IN ('r', 'p') AND NOT c.relispartition
             ORDER BY c.relname",
            literal(schema)
        ),
    )?;
    rows.iter().map(table).collect()
}

fn table(row: &Row) -> Result<TableInfo, Failure> {
    Ok(TableInfo {
        table_name: text(row, 0)?.to_owned(),
        can_mirror: flag(row, 1),
        // NULL when the table was dropped just now.
        table_size: row.get(2).cloned().flatten().unwrap_or_default(),
        is_replica_identity_full: flag(row, 3),
    })
}
