//! Partitions that come to a mapped table, or leave it.
//!
//! The stream has what is done to a partition as what is done to its table, while it is one. It says nothing of the rows that
//! a table had when it was attached, of those that a partition takes away when it is detached or dropped, and of a partition
//! that is emptied by itself. So the partitions are compared from look to look, the first look of an instance with what the
//! position has of the last one ([`crate::mark::leaves`]). One that came and left in between is in neither.
//!
//! One whose `DETACH … CONCURRENTLY` has begun has left, whether or not that ever ends: the server publishes its changes as its
//! own from there on, and reads its table without it.

use std::collections::{BTreeMap, HashMap};

use tarn_batch::Table;
use tarn_sdk::Failure;
use tarn_sdk::postgres::Row;
use tarn_sdk::sql::postgres::{ident, literal, qualified};

use crate::catalog::{CatalogTable, Kind};
use crate::config::CATALOG_TABLES_MAX;
use crate::mapped::Mapped;
use crate::mark::leaves::{self, Leaves, TableLeaves};
use crate::peer::{Reads, flag, number, text};
use crate::rewrite::is_between;
use crate::server::Server;
use crate::surroundings::next_transaction;
use crate::table_name::TableName;

/// What partitions were called at the last look, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct PartitionNames(HashMap<u32, TableName>);

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

impl Leaf {
    /// What is kept of it.
    fn kept(&self) -> leaves::Leaf {
        let links = self.linked_by.iter().copied().fold(0, u32::wrapping_add);
        leaves::Leaf { file: self.file, links }
    }
}

/// What became of a table's partitions since the last look.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// Those that came, by their numbers: their rows are to be read.
    pub(crate) came: Vec<(u32, TableName)>,
    /// Those that were detached or dropped.
    pub(crate) left: Vec<TableName>,
    /// How many more left, which were dropped while nobody looked: they have no names.
    pub(crate) left_nameless: usize,
    /// Those that were emptied, where that is not the whole table's emptying, which the stream tells.
    pub(crate) emptied: Vec<TableName>,
}

impl Change {
    pub(crate) fn has_left(&self) -> bool {
        !self.left.is_empty() || self.left_nameless > 0
    }
}

/// The same by their numbers.
#[derive(Debug, Default, PartialEq, Eq)]
struct Difference {
    came: Vec<u32>,
    left: Vec<u32>,
    emptied: Vec<u32>,
}

impl Difference {
    /// What became of the partitions that were kept. Of those that left and came back the rows are read, but those that were
    /// deleted meanwhile are not seen to be.
    fn between(before: &TableLeaves, now: &BTreeMap<u32, Leaf>) -> Self {
        let is_same = |oid: &u32| {
            let now = now.get(oid).map(|leaf| leaf.kept().links);
            now.is_some() && now == before.get(oid).map(|leaf| leaf.links)
        };
        let came = now.keys().copied().filter(|oid| !is_same(oid)).collect();
        let left = before.keys().copied().filter(|oid| !is_same(oid)).collect();
        let stayed = now.iter().filter(|(oid, _)| is_same(oid));
        let (others, unchanged): (Vec<_>, Vec<_>) =
            stayed.partition(|(oid, leaf)| before[*oid].file != leaf.file);
        let emptied = match unchanged.is_empty() {
            true => Vec::new(),
            false => others.into_iter().filter(|(_, leaf)| leaf.is_blank).map(|(oid, _)| *oid).collect(),
        };
        Self { came, left, emptied }
    }

    /// What became of partitions of which nothing was kept: those came that were put there by a transaction that is not older
    /// than `horizon`; 0 where there is none. Every transaction that has begun is before `next`.
    fn since(horizon: u64, next: u64, now: &BTreeMap<u32, Leaf>) -> Self {
        let is_young = |leaf: &Leaf| leaf.linked_by.iter().any(|link| is_between(*link, horizon, next));
        let came =
            now.iter().filter(|(_, leaf)| horizon > 0 && is_young(leaf)).map(|(oid, _)| *oid).collect();
        Self { came, ..Self::default() }
    }

    fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// With the names of those that have one.
    fn named(&self, name: impl Fn(u32) -> Option<TableName>) -> Change {
        let left: Vec<TableName> = self.left.iter().filter_map(|oid| name(*oid)).collect();
        Change {
            came: self.came.iter().filter_map(|oid| Some((*oid, name(*oid)?))).collect(),
            left_nameless: self.left.len() - left.len(),
            left,
            emptied: self.emptied.iter().filter_map(|oid| name(*oid)).collect(),
        }
    }
}

impl PartitionNames {
    /// Looks at the partitions of those of the tables that have some, and keeps them. `horizon` is that of the marks, for
    /// tables of which none are kept.
    ///
    /// # Errors
    /// Whatever keeps the server from answering.
    pub(crate) fn look<'t>(
        &mut self,
        side: &mut impl Reads,
        server: &Server,
        tables: &'t HashMap<TableName, CatalogTable>,
        kept: &mut Leaves,
        horizon: u64,
    ) -> Result<Vec<(&'t TableName, Change)>, Failure> {
        let mut found = leaves(side, server, tables.values())?;
        let next = if found.is_empty() { 0 } else { next_transaction(side)? };
        let mut differences = Vec::new();
        let mut now = Leaves::default();
        let mut names = HashMap::new();
        for (name, table) in tables.iter().filter(|(_, table)| table.kind == Kind::Partitioned) {
            let leaves = found.remove(&table.oid).unwrap_or_default();
            let since = || Difference::since(horizon, next, &leaves);
            let before = kept.get(table.oid);
            let difference = before.map_or_else(since, |before| Difference::between(before, &leaves));
            if !difference.is_none() {
                differences.push((name, difference));
            }
            now.set(table.oid, leaves.iter().map(|(oid, leaf)| (*oid, leaf.kept())).collect());
            names.extend(leaves.into_iter().map(|(oid, leaf)| (oid, leaf.name)));
        }
        let name = |oid: u32| names.get(&oid).or_else(|| self.0.get(&oid)).cloned();
        let left = differences.iter().flat_map(|(_, difference)| &difference.left).copied();
        let detached = names_of(side, left.filter(|oid| name(*oid).is_none()))?;
        let name = |oid: u32| name(oid).or_else(|| detached.get(&oid).cloned());
        let changes =
            differences.iter().map(|(table, difference)| (*table, difference.named(name))).collect();
        (*kept, self.0) = (now, names);
        Ok(changes)
    }
}

/// Notes the partitions of those of the tables that have some.
///
/// # Errors
/// Whatever keeps the server from answering.
pub(crate) fn kept(
    reads: &mut impl Reads,
    server: &Server,
    tables: &HashMap<TableName, CatalogTable>,
) -> Result<Leaves, Failure> {
    let mut kept = Leaves::default();
    PartitionNames::default().look(reads, server, tables, &mut kept, 0)?;
    Ok(kept)
}

/// What those of these tables are called that are still there.
fn names_of(
    reads: &mut impl Reads,
    oids: impl Iterator<Item = u32>,
) -> Result<HashMap<u32, TableName>, Failure> {
    let oids: Vec<String> = oids.map(|oid| oid.to_string()).collect();
    if oids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = reads.read(&format!(
        "SELECT c.oid, n.nspname, c.relname
         FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
         WHERE c.oid IN ({})",
        oids.join(", ")
    ))?;
    rows.iter().map(|row| Ok((number(row, 0)?, TableName::new(text(row, 1)?, text(row, 2)?)))).collect()
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
fn below(server: &Server, tables: &str) -> String {
    let is_attached = if server.major() >= 14 { "NOT i.inhdetachpending" } else { "true" };
    format!(
        "below (root, relid, parent, linked_by) AS
         (SELECT i.inhparent, i.inhrelid, i.inhparent, i.xmin
          FROM pg_catalog.pg_inherits AS i WHERE i.inhparent IN ({tables}) AND {is_attached} UNION ALL
          SELECT below.root, i.inhrelid, i.inhparent, i.xmin
          FROM below JOIN pg_catalog.pg_inherits AS i ON i.inhparent = below.relid AND {is_attached})"
    )
}

/// The partitions of those of the tables that have some, by the tables' numbers and their own.
fn leaves<'t>(
    side: &mut impl Reads,
    server: &Server,
    tables: impl Iterator<Item = &'t CatalogTable>,
) -> Result<HashMap<u32, BTreeMap<u32, Leaf>>, Failure> {
    let tables = tables.filter(|table| table.kind == Kind::Partitioned);
    let tables: Vec<String> = tables.map(|table| table.oid.to_string()).collect();
    if tables.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = side.read(&format!(
        "WITH RECURSIVE {}
         SELECT t.root, t.relid, t.parent, c.relkind = 'r', t.linked_by, n.nspname, c.relname, c.relfilenode,
                c.relpages = 0 AND c.reltuples <= 0
         FROM below AS t
         JOIN pg_catalog.pg_class AS c ON c.oid = t.relid
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace",
        below(server, &tables.join(", "))
    ))?;
    // Where each is put, and by which transaction.
    let mut links: HashMap<(u32, u32), (u32, u32)> = HashMap::new();
    for row in &rows {
        links.insert((number(row, 0)?, number(row, 1)?), (number(row, 2)?, number(row, 4)?));
    }
    let mut found: HashMap<u32, BTreeMap<u32, Leaf>> = HashMap::new();
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
    server: &Server,
    tables: impl IntoIterator<Item = &'t CatalogTable>,
) -> Result<(), Failure> {
    match unlogged(side, server, tables)?.into_iter().next() {
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
    server: &Server,
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
            below(server, &tables.join(", "))
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
    server: &Server,
    tables: impl IntoIterator<Item = &'t CatalogTable>,
) -> Result<(), Failure> {
    match identities(side, server, tables)?.into_iter().next() {
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
    server: &Server,
    tables: impl IntoIterator<Item = &'t CatalogTable>,
) -> Result<Vec<OtherIdentity>, Failure> {
    let tables: Vec<&CatalogTable> =
        tables.into_iter().filter(|table| table.kind == Kind::Partitioned).collect();
    let mut others = Vec::new();
    for tables in tables.chunks(CATALOG_TABLES_MAX) {
        others.extend(identities_of(side, server, tables)?);
    }
    Ok(others)
}

/// The same of so many partitioned tables as one statement asks for.
fn identities_of(
    side: &mut impl Reads,
    server: &Server,
    tables: &[&CatalogTable],
) -> Result<Vec<OtherIdentity>, Failure> {
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
        below(server, "SELECT oid FROM keys")
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

    /// Partitions by number, file and the transaction that put them there. Files above 100 are of blank ones.
    fn leaves(leaves: &[(u32, u32, u32)]) -> BTreeMap<u32, Leaf> {
        let leaf = |&(oid, file, by): &(u32, u32, u32)| {
            let name = TableName::new("public", format!("p{oid}"));
            (oid, Leaf { name, file, is_blank: file > 100, linked_by: vec![by] })
        };
        leaves.iter().map(leaf).collect()
    }

    fn between(before: &[(u32, u32, u32)], now: &[(u32, u32, u32)]) -> Difference {
        let before = leaves(before).into_iter().map(|(oid, leaf)| (oid, leaf.kept())).collect();
        Difference::between(&before, &leaves(now))
    }

    #[test]
    fn what_came_is_told_by_its_transaction_where_nothing_is_kept_and_by_what_is_kept_elsewhere() {
        // The last one was put there before half of all numbers were given away.
        let now = [(1, 10, 500), (2, 20, 1000), (3, 30, 1007), (4, 40, 1 << 30)];
        assert_eq!(Difference::since(1000, 2000, &leaves(&now)).came, [2, 3]);
        assert!(Difference::since(0, 2000, &leaves(&now)).is_none());
        let before = [(1, 10, 500), (2, 20, 1000), (4, 40, 1 << 30)];
        assert_eq!(between(&before, &now), Difference { came: vec![3], ..Difference::default() });
        assert!(between(&now, &now).is_none());
    }

    #[test]
    fn what_left_and_what_was_emptied_by_itself_are_told() {
        let before = [(1, 10, 500), (2, 20, 500), (3, 30, 500)];
        // The last one came back.
        let left = between(&before, &[(1, 10, 500), (3, 30, 900)]);
        assert_eq!(left, Difference { came: vec![3], left: vec![2, 3], emptied: Vec::new() });
        // One that was packed has another file and pages.
        let emptied = between(&before, &[(1, 10, 500), (2, 21, 500), (3, 130, 500)]);
        assert_eq!(emptied, Difference { emptied: vec![3], ..Difference::default() });
        // The whole table was emptied, or has no partitions any more.
        assert!(between(&before, &[(1, 110, 500), (2, 120, 500), (3, 130, 500)]).is_none());
        assert_eq!(between(&before, &[]).left, [1, 2, 3]);
    }

    #[test]
    fn a_partition_whose_table_moves_below_another_has_left_and_come() {
        let below = |links: &[u32]| {
            let mut leaves = leaves(&[(1, 10, 0)]);
            leaves.get_mut(&1).expect("it is there").linked_by = links.to_vec();
            leaves
        };
        let before = [(1, below(&[500, 600])[&1].kept())].into_iter().collect();
        assert!(Difference::between(&before, &below(&[500, 600])).is_none());
        let moved = Difference::between(&before, &below(&[500, 900]));
        assert_eq!((moved.came, moved.left), (vec![1], vec![1]));
    }

    #[test]
    fn those_that_have_no_name_any_more_are_counted() {
        let left = between(&[(1, 10, 500), (2, 20, 500), (3, 30, 500)], &[(3, 30, 900)]);
        let change = left.named(|oid| (oid > 1).then(|| TableName::new("public", format!("p{oid}"))));
        let [p2, p3] = ["p2", "p3"].map(|name| TableName::new("public", name));
        assert_eq!(
            change,
            Change { came: vec![(3, p3.clone())], left: vec![p2, p3], left_nameless: 1, emptied: Vec::new() }
        );
    }
}
