//! Why a publication does not hold a table.

use std::collections::HashMap;

use tarn_sdk::Failure;
use tarn_sdk::sql::postgres::{ident, literal};

use super::PublishedTable;
use crate::catalog;
use crate::peer::{Peer, text};
use crate::side::Side;
use crate::table_name::TableName;

/// A table that a publication does not hold.
pub(crate) struct Lacks {
    pub(crate) message: String,
    pub(crate) remedy: String,
}

impl Lacks {
    /// What is to be said of a table that is not among those of a publication; nothing where its partitions are.
    pub(crate) fn find<P: Peer>(
        side: &mut Side<P>,
        publication: &str,
        table: &TableName,
        present: &HashMap<TableName, PublishedTable>,
    ) -> Result<Option<Self>, Failure> {
        if partitions_published(side, table, present)? {
            return Ok(None);
        }
        let found = catalog::tables_named(side, [table])?;
        let mut above = match found.get(table) {
            Some(found) => catalog::ancestors(side, found.oid)?.into_iter().map(|(_, name)| name).collect(),
            None => Vec::new(),
        };
        above.retain(|above| above != table);
        let root = above.iter().find(|above| present.contains_key(*above));
        Ok(Some(match (above.first(), root) {
            (Some(parent), Some(root)) => Self {
                message: format!(
                    "publication {publication:?} has the changes of {table} as those of {root}, which it is a partition of"
                ),
                remedy: format!(
                    "have the mirror replicate {root}, and {table} no more: its rows come with that table's. Or ALTER TABLE {} \
                     DETACH PARTITION {}",
                    parent.sql(),
                    table.sql()
                ),
            },
            _ => Self {
                message: format!("publication {publication:?} does not hold table {table}"),
                remedy: format!("ALTER PUBLICATION {} ADD TABLE {}", ident(publication), table.sql()),
            },
        }))
    }
}

/// Whether a partitioned table is published by all of its leaves, but for foreign tables, which have no changes here.
fn partitions_published<P: Peer>(
    side: &mut Side<P>,
    table: &TableName,
    present: &HashMap<TableName, PublishedTable>,
) -> Result<bool, Failure> {
    let rows = side.read(&format!(
        "WITH RECURSIVE tree (relid) AS (
           SELECT r.oid FROM pg_catalog.pg_class r JOIN pg_catalog.pg_namespace s ON s.oid = r.relnamespace
           WHERE s.nspname = {} AND r.relname = {} AND r.relkind = 'p'
           UNION ALL
           SELECT i.inhrelid FROM tree JOIN pg_catalog.pg_inherits AS i ON i.inhparent = tree.relid)
         SELECT n.nspname, c.relname FROM tree
         JOIN pg_catalog.pg_class c ON c.oid = tree.relid AND c.relkind = 'r'
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace",
        literal(&table.schema),
        literal(&table.name)
    ))?;
    for row in &rows {
        if !present.contains_key(&TableName::new(text(row, 0)?, text(row, 1)?)) {
            return Ok(false);
        }
    }
    Ok(!rows.is_empty())
}
