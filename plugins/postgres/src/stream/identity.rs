//! Tables whose changes the source refuses, because nothing would tell which rows they are of.
//!
//! Taking a published table's replica identity away does not end its stream: inserts go on. Updates and deletes are
//! refused where they are tried, at the source, by an error that says nothing of this mirror.

use std::collections::{HashMap, HashSet};

use tarn_sdk::log;

use crate::catalog::{CatalogTable, Identity};
use crate::table_name::TableName;

/// The tables that were told of.
#[derive(Debug, Default)]
pub(crate) struct WithoutIdentity(HashSet<u32>);

impl WithoutIdentity {
    /// Says of each table once that its updates and deletes are refused.
    pub(crate) fn tell(&mut self, tables: &HashMap<TableName, CatalogTable>) {
        for (name, table) in tables {
            let Some(trouble) = trouble(name, table) else {
                self.0.remove(&table.oid);
                continue;
            };
            if self.0.insert(table.oid) {
                log::warn(&trouble);
            }
        }
    }
}

/// What the source refuses of a table, and what to do.
fn trouble(name: &TableName, table: &CatalogTable) -> Option<String> {
    let sql = name.sql();
    if table.identity == Identity::Nothing {
        return Some(format!(
            "the source refuses updates and deletes of {name}: its replica identity is NOTHING, and it is published. \
             ALTER TABLE {sql} REPLICA IDENTITY DEFAULT, or USING INDEX where it has no primary key, lets them through; \
             inserts are mirrored meanwhile"
        ));
    }
    (!table.has_key()).then(|| {
        format!(
            "{name} has no key any more: the source refuses updates and deletes, unless its replica identity is FULL, and the \
             mirror stops at the table's next row. ALTER TABLE {sql} ADD PRIMARY KEY (…), or REPLICA IDENTITY USING INDEX …, \
             lets both go on"
        )
    })
}
