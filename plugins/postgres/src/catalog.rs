//! Tables as the server's catalog has them now.

#[cfg(test)]
pub(crate) mod fixture;

use std::collections::HashMap;

use tarn_sdk::Failure;
use tarn_sdk::postgres::Row;
use tarn_sdk::sql::postgres::literal;

use crate::config::CATALOG_TABLES_MAX;
use crate::peer::{Reads, flag, number, text};
use crate::table_name::TableName;

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CatalogTable {
    pub(crate) oid: u32,
    pub(crate) name: TableName,
    pub(crate) kind: Kind,
    pub(crate) identity: Identity,
    /// The number of the file with its rows, or for a partitioned table one made of those of its partitions:
    /// another one where the rows were written anew.
    pub(crate) file: u32,
    /// The number of the last column that was made, be it there or dropped.
    pub(crate) attributes_made: i32,
    /// The columns that were dropped.
    pub(crate) dropped: Vec<Dropped>,
    pub(crate) columns: Vec<CatalogColumn>,
}

/// What sort of relation it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Ordinary,
    Partitioned,
    /// Views, foreign tables and the like, by the letter of the catalog.
    Other(char),
    /// A table whose changes are not logged.
    Unlogged,
}

/// What the server logs of a row that is updated or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    /// The primary key.
    Default,
    /// The columns of an index.
    Index,
    /// The whole row.
    Full,
    Nothing,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CatalogColumn {
    pub(crate) attribute: i32,
    pub(crate) name: String,
    pub(crate) type_oid: u32,
    pub(crate) type_modifier: i32,
    pub(crate) not_null: bool,
    pub(crate) generated: bool,
    /// The transaction that changed its definition last, the lower 32 bits of its number.
    pub(crate) defined_by: u32,
    /// What rows hold in it that were there before it was added.
    pub(crate) earlier: Earlier,
    /// Its place in the index that identifies rows, from 1; 0 when it is not in it.
    pub(crate) key: u16,
}

/// A column that was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) attribute: i32,
    /// The transaction that dropped it, the lower 32 bits of its number.
    pub(crate) dropped_by: u32,
}

/// What rows hold in a column that was added after them, as far as the catalog knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Earlier {
    /// It has no default.
    Null,
    /// The server's text of the value that it shows in all of them.
    Value(String),
    /// It has a default: each row has what was written into it, or NULL where the default came later.
    Unknown,
}

impl CatalogTable {
    pub(crate) fn has_key(&self) -> bool {
        self.columns.iter().any(|column| column.key != 0)
    }
}

/// The tables of these names that exist.
pub(crate) fn tables_named<'a>(
    side: &mut impl Reads,
    names: impl IntoIterator<Item = &'a TableName>,
) -> Result<HashMap<TableName, CatalogTable>, Failure> {
    let names: Vec<&TableName> = names.into_iter().collect();
    let mut found = HashMap::new();
    for names in names.chunks(CATALOG_TABLES_MAX) {
        let pairs: Vec<String> = names
            .iter()
            .map(|name| format!("({}::name, {}::name)", literal(&name.schema), literal(&name.name)))
            .collect();
        // Values are joined; a list would be compared with every table of the database.
        for table in read(side, &format!("(n.nspname, c.relname) IN (VALUES {})", pairs.join(", ")))? {
            found.insert(table.name.clone(), table);
        }
    }
    Ok(found)
}

/// The table of this number, if it exists.
pub(crate) fn table_numbered(side: &mut impl Reads, oid: u32) -> Result<Option<CatalogTable>, Failure> {
    Ok(read(side, &format!("c.oid = {}::oid", literal(&oid.to_string())))?.pop())
}

/// A partition and the tables it is a part of, the nearest first.
pub(crate) fn ancestors(side: &mut impl Reads, oid: u32) -> Result<Vec<TableName>, Failure> {
    let rows = side.read(&format!(
        "SELECT n.nspname, c.relname
         FROM pg_catalog.pg_partition_ancestors({}::oid::regclass) WITH ORDINALITY AS a (relid, level)
         JOIN pg_catalog.pg_class c ON c.oid = a.relid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         ORDER BY a.level",
        literal(&oid.to_string())
    ))?;
    rows.iter().map(|row| Ok(TableName::new(text(row, 0)?, text(row, 1)?))).collect()
}

fn read(side: &mut impl Reads, condition: &str) -> Result<Vec<CatalogTable>, Failure> {
    // The key is the index that identifies rows in the log: the one chosen for it, else the primary key.
    let rows = side.read(&format!(
        "SELECT c.oid, n.nspname, c.relname, c.relkind, c.relpersistence, c.relreplident,
                a.attnum, a.attname, a.atttypid, a.atttypmod, a.attnotnull, a.attgenerated <> '',
                coalesce((SELECT k.place FROM unnest(i.indkey) WITH ORDINALITY AS k (attnum, place)
                          WHERE k.attnum = a.attnum AND k.place <= i.indnkeyatts), 0),
                a.xmin,
                CASE c.relkind WHEN 'p' THEN
                  (SELECT coalesce(sum(pg_catalog.pg_relation_filenode(t.relid)::bigint), 0) % 4294967296
                   FROM pg_catalog.pg_partition_tree(c.oid) AS t WHERE t.isleaf)
                ELSE coalesce(pg_catalog.pg_relation_filenode(c.oid)::bigint, 0) END,
                CASE WHEN a.atthasmissing THEN pg_catalog.array_to_string(a.attmissingval, '')
                WHEN c.relkind = 'p' AND a.atthasdef THEN
                  (SELECT CASE WHEN count(DISTINCT m.value) = 1 THEN min(m.value) END
                   FROM (SELECT pg_catalog.array_to_string(l.attmissingval, '') AS value
                         FROM pg_catalog.pg_partition_tree(c.oid) AS t
                         JOIN pg_catalog.pg_attribute AS l ON l.attrelid = t.relid AND l.attname = a.attname
                         WHERE t.isleaf AND l.atthasmissing) AS m)
                END,
                a.atthasdef OR a.attidentity <> '', c.relnatts, a.attisdropped
         FROM pg_catalog.pg_class c
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
         LEFT JOIN pg_catalog.pg_index i ON i.indrelid = c.oid AND i.indisvalid AND i.indimmediate
              AND CASE c.relreplident WHEN 'i' THEN i.indisreplident ELSE i.indisprimary END
         WHERE {condition} ORDER BY c.oid, a.attnum"
    ))?;
    let mut tables: Vec<CatalogTable> = Vec::new();
    for row in &rows {
        let oid = number(row, 0)?;
        if tables.last().is_none_or(|table| table.oid != oid) {
            tables.push(table(row, oid)?);
        }
        let table = tables.last_mut().expect("a table was pushed");
        if flag(row, 18) {
            table.dropped.push(Dropped { attribute: number(row, 6)?, dropped_by: number(row, 13)? });
        } else if row.get(6).is_some_and(Option::is_some) {
            table.columns.push(column(row)?);
        }
    }
    Ok(tables)
}

fn table(row: &Row, oid: u32) -> Result<CatalogTable, Failure> {
    let kind = match (text(row, 3)?, text(row, 4)?) {
        ("r", "p") => Kind::Ordinary,
        ("p", "p") => Kind::Partitioned,
        ("r" | "p", _) => Kind::Unlogged,
        (kind, _) => Kind::Other(kind.chars().next().unwrap_or('?')),
    };
    let identity = match text(row, 5)? {
        "d" => Identity::Default,
        "i" => Identity::Index,
        "f" => Identity::Full,
        _ => Identity::Nothing,
    };
    Ok(CatalogTable {
        oid,
        name: TableName::new(text(row, 1)?, text(row, 2)?),
        kind,
        identity,
        file: number(row, 14)?,
        attributes_made: number(row, 17)?,
        dropped: Vec::new(),
        columns: Vec::new(),
    })
}

fn column(row: &Row) -> Result<CatalogColumn, Failure> {
    Ok(CatalogColumn {
        attribute: number(row, 6)?,
        name: text(row, 7)?.to_owned(),
        type_oid: number(row, 8)?,
        type_modifier: number(row, 9)?,
        not_null: flag(row, 10),
        generated: flag(row, 11),
        defined_by: number(row, 13)?,
        earlier: match row.get(15).cloned().flatten() {
            Some(value) => Earlier::Value(value),
            None if flag(row, 16) => Earlier::Unknown,
            None => Earlier::Null,
        },
        key: number(row, 12)?,
    })
}
