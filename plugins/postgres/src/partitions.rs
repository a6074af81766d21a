//! Partitions that come to a mapped table, or leave it.
//!
//! The stream has what is done to a partition as what is done to its table, while it is one. It says nothing of the rows that
//! a table had when it was attached, of those that a partition takes away when it is detached or dropped, and of a partition
//! that is emptied by itself. So the partitions are compared from look to look.

use std::collections::HashMap;

use tarn_batch::Table;
use tarn_sdk::Failure;
use tarn_sdk::postgres::Row;
use tarn_sdk::sql::postgres::{ident, literal, qualified};

use crate::catalog::{CatalogTable, Kind};
use crate::config::CATALOG_TABLES_MAX;
use crate::mapped::Mapped;
use crate::peer::{Reads, flag, number, text};
use crate::rewrite::is_between;
use crate::surroundings::next_transaction;
use crate::table_name::TableName;

/// The partitions of each partitioned table, by its number, as they were at the last look.
#[derive(Debug, Default)]
pub(crate) struct Partitions(HashMap<u32, HashMap<u32, Leaf>>);

/// A partition with rows of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Leaf {
    name: TableName,
    file: u32,
    /// Whether the server counts no pages: it was emptied, and not looked through since.
    is_blank: bool,
    /// The transactions that put it below its table, and each table between the two, lower 32 bits of their numbers.
    linked_by: Vec<u32>,
}

/// What became of a table's partitions since the last look.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// Those that came, by their numbers: their rows are to be read.
    pub(crate) came: Vec<(u32, TableName)>,
    /// Those that were detached or dropped.
    pub(crate) left: Vec<TableName>,
    /// Those that were emptied, where that is not the whole table's emptying, which the stream tells.
    pub(crate) emptied: Vec<TableName>,
}

impl Change {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Partitions {
    /// Looks at the partitions of those of the tables that have some. A first look knows those that came by their
    /// transactions, which are not older than `horizon`; 0 where there is none.
    ///
    /// # Errors
    /// Whatever keeps the server from answering.
    pub(crate) fn look<'t>(
        &mut self,
        side: &mut impl Reads,
        tables: &'t HashMap<TableName, CatalogTable>,
        horizon: u64,
    ) -> Result<Vec<(&'t TableName, Change)>, Failure> {
        let partitioned = || tables.iter().filter(|(_, table)| table.kind == Kind::Partitioned);
        if partitioned().next().is_none() {
            return Ok(Vec::new());
        }
        let mut found = leaves(side, partitioned().map(|(_, table)| table.oid))?;
        let next = next_transaction(side)?;
        let mut changes = Vec::new();
        let mut now = HashMap::new();
        for (name, table) in partitioned() {
            let leaves = found.remove(&table.oid).unwrap_or_default();
            let change = change(self.0.get(&table.oid), &leaves, horizon, next);
            if !change.is_none() {
                changes.push((name, change));
            }
            now.insert(table.oid, leaves);
        }
        self.0 = now;
        Ok(changes)
    }
}

/// Every transaction that has begun is before `next`.
fn change(before: Option<&HashMap<u32, Leaf>>, now: &HashMap<u32, Leaf>, horizon: u64, next: u64) -> Change {
    let mut change = Change::default();
    let Some(before) = before else {
        let is_young = |leaf: &Leaf| leaf.linked_by.iter().any(|link| is_between(*link, horizon, next));
        let came = now.iter().filter(|(_, leaf)| horizon > 0 && is_young(leaf));
        change.came = came.map(|(oid, leaf)| (*oid, leaf.name.clone())).collect();
        return change;
    };
    let mut stayed = Vec::new();
    for (oid, leaf) in now {
        match before.get(oid) {
            Some(earlier) if earlier.linked_by == leaf.linked_by => stayed.push((earlier, leaf)),
            _ => change.came.push((*oid, leaf.name.clone())),
        }
    }
    // Of those that left and came back the rows are read, but those that were deleted meanwhile are not seen to be.
    let is_away =
        |(oid, earlier): &(&u32, &Leaf)| now.get(oid).is_none_or(|leaf| leaf.linked_by != earlier.linked_by);
    change.left = before.iter().filter(is_away).map(|(_, leaf)| leaf.name.clone()).collect();
    let is_another = |(earlier, leaf): &&(&Leaf, &Leaf)| earlier.file != leaf.file;
    if stayed.iter().any(|pair| !is_another(&pair)) {
        let emptied = stayed.iter().filter(is_another).filter(|(_, leaf)| leaf.is_blank);
        change.emptied = emptied.map(|(_, leaf)| leaf.name.clone()).collect();
    }
    change
}

/// What to read for the rows of some partitions of a table: those that are its partitions still. Who has locked the table
/// keeps them so.
///
/// # Errors
/// Whatever keeps the server from answering.
pub(crate) fn rows_of(
    side: &mut impl Reads,
    table: u32,
    partitions: &[u32],
    mapped: &Mapped,
) -> Result<String, Failure> {
    let partitions: Vec<String> = partitions.iter().map(u32::to_string).collect();
    let rows = side.read(&format!(
        "SELECT n.nspname, c.relname
         FROM pg_catalog.pg_partition_tree({table}::oid::regclass) AS t
         JOIN pg_catalog.pg_class AS c ON c.oid = t.relid
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
         WHERE c.oid IN ({})",
        partitions.join(", ")
    ))?;
    let columns: Vec<String> = mapped.table.columns.iter().map(|column| ident(&column.name)).collect();
    let columns = columns.join(", ");
    // Partitions have their columns in orders of their own.
    let mut selects = Vec::new();
    for row in &rows {
        selects.push(format!("SELECT {columns} FROM ONLY {}", qualified(text(row, 0)?, text(row, 1)?)));
    }
    if selects.is_empty() {
        let Table { schema, name, .. } = &mapped.table;
        selects.push(format!("SELECT {columns} FROM {} LIMIT 0", qualified(schema, name)));
    }
    Ok(format!("({})", selects.join(" UNION ALL ")))
}

/// A table of a statement's: the partitions below these tables, each with its root, and the one that it is put below by which
/// transaction. It is of the statement's snapshot, as the rest: the server's own function waits for whoever changes one of
/// them, and has them as they are then.
fn below(tables: &str) -> String {
    format!(
        "below (root, relid, parent, linked_by) AS
         (SELECT i.inhparent, i.inhrelid, i.inhparent, i.xmin
          FROM pg_catalog.pg_inherits AS i WHERE i.inhparent IN ({tables}) UNION ALL
          SELECT below.root, i.inhrelid, i.inhparent, i.xmin
          FROM below JOIN pg_catalog.pg_inherits AS i ON i.inhparent = below.relid)"
    )
}

/// The partitions of tables, by the tables' numbers and their own.
fn leaves(
    side: &mut impl Reads,
    tables: impl Iterator<Item = u32>,
) -> Result<HashMap<u32, HashMap<u32, Leaf>>, Failure> {
    let tables: Vec<String> = tables.map(|oid| oid.to_string()).collect();
    let rows = side.read(&format!(
        "WITH RECURSIVE {}
         SELECT t.root, t.relid, t.parent, c.relkind = 'r', t.linked_by, n.nspname, c.relname, c.relfilenode,
                c.relpages = 0 AND c.reltuples <= 0
         FROM below AS t
         JOIN pg_catalog.pg_class AS c ON c.oid = t.relid
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace",
        below(&tables.join(", "))
    ))?;
    // Where each is put, and by which transaction.
    let mut links: HashMap<(u32, u32), (u32, u32)> = HashMap::new();
    for row in &rows {
        links.insert((number(row, 0)?, number(row, 1)?), (number(row, 2)?, number(row, 4)?));
    }
    let mut found: HashMap<u32, HashMap<u32, Leaf>> = HashMap::new();
    for row in rows.iter().filter(|row| flag(row, 3)) {
        let (root, oid): (u32, u32) = (number(row, 0)?, number(row, 1)?);
        let above = |at: &u32| links.get(&(root, *at)).map(|(parent, _)| *parent);
        let linked_by = std::iter::successors(Some(oid), above)
            .filter_map(|at| links.get(&(root, at)).map(|(_, by)| *by))
            .collect();
        found.entry(root).or_default().insert(oid, leaf(row, linked_by)?);
    }
    Ok(found)
}

/// Looks that the server logs what is done to each partition. One may be made unlogged, or be attached as it is, where the
/// table itself is logged.
///
/// # Errors
/// `table_unlogged` with the first that is not, or whatever keeps the server from answering.
pub(crate) fn require_logged<'t>(
    side: &mut impl Reads,
    tables: impl IntoIterator<Item = &'t CatalogTable>,
) -> Result<(), Failure> {
    match unlogged(side, tables)?.into_iter().next() {
        None => Ok(()),
        Some(unlogged) => Err(Failure::permanent("table_unlogged", unlogged.message())
            .with_hint(format!("{}, then resync the mirror", unlogged.remedy()))
            .with_table(unlogged.table.to_string())),
    }
}

/// A partition whose changes are not logged.
pub(crate) struct Unlogged {
    pub(crate) table: TableName,
    partition: TableName,
}

impl Unlogged {
    pub(crate) fn message(&self) -> String {
        let Self { table, partition } = self;
        format!("partition {partition} of {table} is unlogged: its changes are not in the stream")
    }

    pub(crate) fn remedy(&self) -> String {
        format!("ALTER TABLE {} SET LOGGED", self.partition.sql())
    }
}

/// The partitions of these tables whose changes are not logged.
///
/// # Errors
/// Whatever keeps the server from answering.
pub(crate) fn unlogged<'t>(
    side: &mut impl Reads,
    tables: impl IntoIterator<Item = &'t CatalogTable>,
) -> Result<Vec<Unlogged>, Failure> {
    let tables = tables.into_iter().filter(|table| table.kind == Kind::Partitioned);
    let tables: Vec<String> = tables.map(|table| table.oid.to_string()).collect();
    let mut unlogged = Vec::new();
    for tables in tables.chunks(CATALOG_TABLES_MAX) {
        let rows = side.read(&format!(
            "WITH RECURSIVE {}
             SELECT rn.nspname, r.relname, n.nspname, c.relname
             FROM below AS t
             JOIN pg_catalog.pg_class AS r ON r.oid = t.root
             JOIN pg_catalog.pg_namespace AS rn ON rn.oid = r.relnamespace
             JOIN pg_catalog.pg_class AS c ON c.oid = t.relid
             JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
             WHERE c.relkind = 'r' AND c.relpersistence <> 'p'
             ORDER BY 1, 2, 3, 4",
            below(&tables.join(", "))
        ))?;
        for row in &rows {
            let table = TableName::new(text(row, 0)?, text(row, 1)?);
            unlogged.push(Unlogged { table, partition: TableName::new(text(row, 2)?, text(row, 3)?) });
        }
    }
    Ok(unlogged)
}

/// Looks that the server logs of each partition's rows the key that its table's rows are told by. The identity of a table
/// does not reach its partitions: where theirs is an index with other columns, an update that changes the table's key
/// says nothing of the row from before, and a delete nothing of the key.
///
/// # Errors
/// `partition_identity` with the first that differs, or whatever keeps the server from answering.
pub(crate) fn require_identities<'t>(
    side: &mut impl Reads,
    tables: impl IntoIterator<Item = &'t CatalogTable>,
) -> Result<(), Failure> {
    match identities(side, tables)?.into_iter().next() {
        None => Ok(()),
        Some(other) => Err(Failure::permanent("partition_identity", other.message())
            .with_hint(format!(
                "{}; then resync the mirror: rows whose key has changed may be there twice",
                other.remedy()
            ))
            .with_table(other.table.to_string())),
    }
}

/// A partition whose rows are logged with other columns than its table's key.
pub(crate) struct OtherIdentity {
    pub(crate) table: TableName,
    partition: TableName,
    lacks: String,
}

impl OtherIdentity {
    pub(crate) fn message(&self) -> String {
        let Self { table, partition, lacks } = self;
        format!(
            "the replica identity of its partition {partition} lacks columns of the key that {table} is mirrored by: {lacks}"
        )
    }

    pub(crate) fn remedy(&self) -> String {
        let sql = self.partition.sql();
        format!(
            "ALTER TABLE {sql} REPLICA IDENTITY USING INDEX … with the partition's own index of these columns, DEFAULT where \
             they are its primary key, or FULL"
        )
    }
}

/// The partitions of these tables whose rows are logged with other columns than the table's key.
///
/// # Errors
/// Whatever keeps the server from answering.
pub(crate) fn identities<'t>(
    side: &mut impl Reads,
    tables: impl IntoIterator<Item = &'t CatalogTable>,
) -> Result<Vec<OtherIdentity>, Failure> {
    let tables: Vec<&CatalogTable> =
        tables.into_iter().filter(|table| table.kind == Kind::Partitioned).collect();
    let mut others = Vec::new();
    for tables in tables.chunks(CATALOG_TABLES_MAX) {
        others.extend(identities_of(side, tables)?);
    }
    Ok(others)
}

/// The same of so many partitioned tables as one statement asks for.
fn identities_of(side: &mut impl Reads, tables: &[&CatalogTable]) -> Result<Vec<OtherIdentity>, Failure> {
    let keys: Vec<String> = tables
        .iter()
        .flat_map(|table| table.columns.iter().map(move |column| (table.oid, column)))
        .filter(|(_, column)| column.key != 0)
        .map(|(oid, column)| format!("({oid}::oid, {}::name)", literal(&column.name)))
        .collect();
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    // A partition without an identity has no updates and deletes.
    let rows = side.read(&format!(
        "WITH RECURSIVE keys (oid, name) AS (VALUES {}), {}
         SELECT rn.nspname, r.relname, n.nspname, c.relname, pg_catalog.string_agg(k.name, ', ' ORDER BY k.name)
         FROM below AS t
         JOIN pg_catalog.pg_class AS r ON r.oid = t.root
         JOIN pg_catalog.pg_namespace AS rn ON rn.oid = r.relnamespace
         JOIN pg_catalog.pg_class AS c ON c.oid = t.relid AND c.relkind <> 'p'
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
         JOIN pg_catalog.pg_index AS i ON i.indrelid = c.oid AND i.indisvalid AND i.indimmediate
              AND CASE c.relreplident WHEN 'i' THEN i.indisreplident WHEN 'd' THEN i.indisprimary END
         JOIN keys AS k ON k.oid = r.oid
         WHERE NOT EXISTS
           (SELECT FROM pg_catalog.pg_attribute AS a
            JOIN pg_catalog.unnest(i.indkey) WITH ORDINALITY AS x (attnum, place)
              ON x.attnum = a.attnum AND x.place <= i.indnkeyatts
            WHERE a.attrelid = c.oid AND a.attname = k.name)
         GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4",
        keys.join(", "),
        below("SELECT oid FROM keys")
    ))?;
    rows.iter()
        .map(|row| {
            Ok(OtherIdentity {
                table: TableName::new(text(row, 0)?, text(row, 1)?),
                partition: TableName::new(text(row, 2)?, text(row, 3)?),
                lacks: text(row, 4)?.to_owned(),
            })
        })
        .collect()
}

fn leaf(row: &Row, linked_by: Vec<u32>) -> Result<Leaf, Failure> {
    Ok(Leaf {
        name: TableName::new(text(row, 5)?, text(row, 6)?),
        file: number(row, 7)?,
        is_blank: flag(row, 8),
        linked_by,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(leaves: &[(u32, u32, u32)]) -> HashMap<u32, Leaf> {
        let leaf = |&(oid, file, by): &(u32, u32, u32)| {
            let name = TableName::new("public", format!("p{oid}"));
            (oid, Leaf { name, file, is_blank: file > 100, linked_by: vec![by] })
        };
        leaves.iter().map(leaf).collect()
    }

    fn names(names: &[TableName]) -> Vec<String> {
        let mut names: Vec<String> = names.iter().map(ToString::to_string).collect();
        names.sort();
        names
    }

    #[test]
    fn what_came_is_told_by_its_transaction_at_first_and_by_the_look_before_later() {
        // The last one was put there before half of all numbers were given away.
        let now = leaves(&[(1, 10, 500), (2, 20, 1000), (3, 30, 1007), (4, 40, 1 << 30)]);
        let mut came: Vec<u32> =
            change(None, &now, 1000, 2000).came.into_iter().map(|(oid, _)| oid).collect();
        came.sort_unstable();
        assert_eq!(came, [2, 3]);
        assert!(change(None, &now, 0, 2000).is_none());
        // An old transaction that goes on holds the horizon back.
        let before = leaves(&[(1, 10, 500), (2, 20, 1000), (4, 40, 1 << 30)]);
        assert_eq!(change(Some(&before), &now, 400, 2000).came, [(3, TableName::new("public", "p3"))]);
        assert!(change(Some(&now), &now, 400, 2000).is_none());
    }

    #[test]
    fn what_left_and_what_was_emptied_by_itself_are_told() {
        let before = leaves(&[(1, 10, 500), (2, 20, 500), (3, 30, 500)]);
        let left = change(Some(&before), &leaves(&[(1, 10, 500), (3, 30, 900)]), 0, 2000);
        assert_eq!(names(&left.left), ["public.p2", "public.p3"]);
        assert_eq!(left.came, [(3, TableName::new("public", "p3"))]);
        // Files above 100 are of emptied partitions; one that was packed has another file and pages.
        let emptied = change(Some(&before), &leaves(&[(1, 10, 500), (2, 21, 500), (3, 130, 500)]), 0, 2000);
        assert_eq!(names(&emptied.emptied), ["public.p3"]);
        // The whole table was emptied.
        assert!(
            change(Some(&before), &leaves(&[(1, 110, 500), (2, 120, 500), (3, 130, 500)]), 0, 2000).is_none()
        );
    }
}
