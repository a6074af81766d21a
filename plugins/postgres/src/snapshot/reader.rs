//! Reading a partition at a held point.

use std::collections::HashMap;

use tarn_batch::{BatchWriter, Op, RowHeader, TableIndex, Version};
use tarn_sdk::postgres::Error;
use tarn_sdk::sql::postgres::{ident, literal};
use tarn_sdk::{Failure, Limits};

use super::held::{BEGIN, adopt};
use super::partition::Partition;
use super::{copy_binary, copy_text};
use crate::config::{READ_BYTES_MAX, batch_room};
use crate::lsn::Lsn;
use crate::mapped::Mapped;
use crate::names;
use crate::peer::{Session, flag, number, single};
use crate::surroundings::{changed, meanwhile};

/// SQLSTATEs of values that the server cannot send begin so.
const DATA_EXCEPTION: &str = "22";

/// Transactions of which one can be told to be older than another by their 32-bit numbers (B163).
const COMPARABLE_TRANSACTIONS: u64 = 1 << 31;

/// A session that reads one partition after another.
#[derive(Debug)]
pub(crate) struct Reader<S> {
    session: S,
    open: Option<Open>,
}

/// The partition that is being read.
#[derive(Debug)]
struct Open {
    mapped: Mapped,
    header: RowHeader,
    /// What was read, and how much of it was taken.
    inbox: Vec<u8>,
    taken: usize,
    unescaped: Vec<u8>,
    head: Head,
}

/// Whether what stands before the rows of a binary copy was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Head {
    /// A text has none.
    Taken,
    Ahead,
}

impl<S: Session> Reader<S> {
    pub(crate) fn new(session: S) -> Self {
        Self { session, open: None }
    }

    /// Starts to read a partition.
    pub(crate) fn open(
        &mut self,
        token: &str,
        partition: &Partition,
        mapped: Mapped,
        row_filter: Option<&str>,
        version: Version,
    ) -> Result<(), Failure> {
        self.open = None;
        self.session.query("ROLLBACK")?;
        self.session.query(BEGIN)?;
        adopt(&mut self.session, token)?;
        let Some(leaf) = self.locate(partition)? else {
            self.session.query("COMMIT")?;
            return Ok(());
        };
        let names = self.names_in(partition.leaf, &mapped)?;
        let recent = self.recent(partition)?;
        let sql = copy_sql(&leaf, &names, &mapped, row_filter, recent);
        self.start(&sql, mapped, version)
    }

    /// Starts to read what a copy at the held point brings: the columns of `mapped` in their order.
    pub(crate) fn open_copy(
        &mut self,
        token: &str,
        sql: &str,
        mapped: Mapped,
        version: Version,
    ) -> Result<(), Failure> {
        self.open = None;
        self.session.query("ROLLBACK")?;
        self.session.query(BEGIN)?;
        adopt(&mut self.session, token)?;
        self.start(sql, mapped, version)
    }

    /// Starts a copy in the transaction that the session is in.
    pub(crate) fn open_now(&mut self, sql: &str, mapped: Mapped, version: Version) -> Result<(), Failure> {
        self.open = None;
        self.start(sql, mapped, version)
    }

    fn start(&mut self, sql: &str, mapped: Mapped, version: Version) -> Result<(), Failure> {
        self.session.copy_out(sql).map_err(|error| {
            meanwhile(error).in_context("reading the snapshot").with_table(mapped.table.qualified_name())
        })?;
        let header = RowHeader { op: Op::Insert, version, commit_time_us: i64::MIN, transaction: 0 };
        let head = if mapped.sent.is_some() { Head::Ahead } else { Head::Taken };
        self.open = Some(Open { mapped, header, inbox: Vec::new(), taken: 0, unescaped: Vec::new(), head });
        Ok(())
    }

    /// The next rows; empty at the end of the partition.
    pub(crate) fn read(&mut self, limits: Limits) -> Result<Vec<u8>, Failure> {
        Ok(self.next(limits)?.map_or_else(Vec::new, BatchWriter::finish))
    }

    /// The next rows; nothing at the end of the partition.
    pub(crate) fn next(&mut self, limits: Limits) -> Result<Option<BatchWriter>, Failure> {
        let Some(open) = &mut self.open else { return Ok(None) };
        let bytes_max = limits.bytes_max.clamp(1, READ_BYTES_MAX);
        loop {
            if open.taken == open.inbox.len() {
                // A large row is not held beside the next one.
                open.inbox = Vec::new();
                open.inbox = self.session.copy_read(bytes_max).map_err(|error| open.failed(error))?;
                open.taken = 0;
            }
            if open.inbox.is_empty() {
                self.open = None;
                self.session.query("COMMIT")?;
                return Ok(None);
            }
            // A binary copy may end in a message without rows.
            let writer = open.batch(limits)?;
            if !writer.is_empty() {
                return Ok(Some(writer));
            }
        }
    }

    /// Where the rows are now. A table that was written anew since the point that is held cannot be read
    /// at it, for some ways of doing so leave nothing to see there; one that was written anew before is
    /// read whole, because its rows are at other places than the ranges say. Nothing where the table has none of its rows at
    /// that point, or they are gone with the relation.
    fn locate(&mut self, partition: &Partition) -> Result<Option<Leaf>, Failure> {
        let oid = literal(&partition.leaf.to_string());
        let gone = || {
            let message = "a relation that the snapshot was to read does not exist any more";
            Failure::retry("table_gone", message).with_table(partition.table.clone())
        };
        let is_part = partition.root.is_some_and(|root| root != partition.leaf);
        let Some(called) = names::of_relation(|sql| self.session.query(sql), partition.leaf)? else {
            return if is_part { Ok(None) } else { Err(gone()) };
        };
        let name = called.sql();
        // Nobody writes it anew from here on, or calls it otherwise: reading nothing locks it too, and LOCK wants more rights.
        self.session.query(&format!("SELECT FROM ONLY {name} LIMIT 0")).map_err(meanwhile)?;
        if names::of_relation(|sql| self.session.query(sql), partition.leaf)? != Some(called) {
            return Err(changed("the relation got another name").with_table(partition.table.clone()));
        }
        if !self.is_of_table(partition)? {
            return Ok(None);
        }
        let row = single(
            self.session.query(&format!(
                "SELECT coalesce(pg_catalog.pg_relation_filenode({oid}::oid::regclass), 0),
                        (SELECT c.relfilenode FROM pg_catalog.pg_class c WHERE c.oid = {oid}::oid)"
            ))?,
            "the table's file",
        )?;
        let (now, at_snapshot) = (number::<u32>(&row, 0)?, number::<u32>(&row, 1)?);
        if now != at_snapshot {
            let message = "the table was rewritten after the point that the snapshot reads at";
            return Err(Failure::retry("table_rewritten", message)
                .with_hint("the load goes on at a new point")
                .with_table(partition.table.clone()));
        }
        let rows = match &partition.keys {
            None if partition.is_whole() || now != partition.file => Rows::All,
            None => Rows::Blocks { from: partition.from, to: partition.to },
            // Wherever they lie, rows have their keys.
            Some(keys) => match keys.names(&mut self.session, partition.leaf, &name).map_err(meanwhile)? {
                Some(names) => Rows::Meeting(keys.conditions(&names)),
                None => Rows::All,
            },
        };
        Ok(Some(Leaf { name, rows }))
    }

    /// Whether the relation was the table, or a partition of it, at the point that is read at. Of one that came later the rows of
    /// then were not the table's; those that it brought are read beside the stream.
    fn is_of_table(&mut self, partition: &Partition) -> Result<bool, Failure> {
        let Some(root) = partition.root.filter(|root| *root != partition.leaf) else { return Ok(true) };
        let sql = format!(
            "WITH RECURSIVE above (relid) AS
             (SELECT i.inhparent FROM pg_catalog.pg_inherits AS i WHERE i.inhrelid = {leaf} UNION ALL
              SELECT i.inhparent FROM above JOIN pg_catalog.pg_inherits AS i ON i.inhrelid = above.relid)
             SELECT {root} IN (SELECT relid FROM above)",
            leaf = partition.leaf
        );
        Ok(flag(&single(self.session.query(&sql)?, "the tables above a partition")?, 0))
    }

    /// What the columns that were described are called in a relation that is locked.
    fn names_in(&mut self, leaf: u32, mapped: &Mapped) -> Result<Vec<String>, Failure> {
        let columns = &mapped.table.columns;
        let described = columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>();
        if leaf != mapped.table.id {
            return self.names_in_part(leaf, mapped, described);
        }
        let numbers: Vec<i32> = columns.iter().map(|column| column.attribute).collect();
        let now = names::of_columns(|sql| self.session.query(sql), leaf, &numbers)?;
        match now.is_some_and(|now| now == described) {
            true => Ok(described),
            false => Err(changed("columns got other names").with_table(mapped.table.qualified_name())),
        }
    }

    /// The same of a partition, which has numbers of its own, and names of its own once it is one no longer. At the point that
    /// is read at its columns are called as the table's are.
    fn names_in_part(
        &mut self,
        leaf: u32,
        mapped: &Mapped,
        mut names: Vec<String>,
    ) -> Result<Vec<String>, Failure> {
        let rows = self.session.query(&format!(
            "SELECT t.attnum, l.attnum FROM pg_catalog.pg_attribute AS t
             JOIN pg_catalog.pg_attribute AS l ON l.attrelid = {leaf} AND l.attname = t.attname AND l.attnum > 0
             WHERE t.attrelid = {} AND t.attnum > 0 AND NOT t.attisdropped",
            mapped.table.id
        ))?;
        let pairs = rows.iter().map(|row| Ok((number(row, 0)?, number(row, 1)?)));
        let own: HashMap<i32, i32> = pairs.collect::<Result<_, Failure>>()?;
        let columns = mapped.table.columns.iter().enumerate();
        let (places, numbers): (Vec<usize>, Vec<i32>) =
            columns.filter_map(|(at, column)| Some((at, *own.get(&column.attribute)?))).unzip();
        let now = names::of_columns(|sql| self.session.query(sql), leaf, &numbers)?;
        for (place, name) in places.into_iter().zip(now.unwrap_or_default()) {
            names[place] = name;
        }
        Ok(names)
    }

    /// The transaction since which rows are wanted, if its number can be compared with theirs.
    fn recent(&mut self, partition: &Partition) -> Result<Option<u64>, Failure> {
        let Some(since) = partition.since else { return Ok(None) };
        let sql = format!(
            "SELECT pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text::numeric - {since}
                    < {COMPARABLE_TRANSACTIONS}"
        );
        let row = single(self.session.query(&sql)?, "a comparison")?;
        Ok(flag(&row, 0).then_some(since))
    }
}

impl Open {
    /// The failure of the server's reading. It says nothing of where it met a value that it cannot send.
    fn failed(&self, error: Error) -> Failure {
        let is_of_value = error.sqlstate.starts_with(DATA_EXCEPTION);
        let failure = Failure::from(error);
        if is_of_value { failure.with_table(self.mapped.table.qualified_name()) } else { failure }
    }

    fn batch(&mut self, limits: Limits) -> Result<BatchWriter, Failure> {
        let waiting = self.inbox.len() - self.taken;
        let mut writer = BatchWriter::with_capacity(batch_room(waiting * 2, waiting, limits.bytes_max));
        let table = writer.add_table(&self.mapped.table);
        if self.head == Head::Ahead {
            self.taken += copy_binary::head(&self.inbox, &self.mapped)?;
            self.head = Head::Taken;
        }
        while self.taken < self.inbox.len() {
            match self.row(table, &mut writer) {
                Ok(bytes) => self.taken += bytes,
                // The rows before it go out first.
                Err(_) if writer.rows() > 0 => break,
                Err(failure) => return Err(failure),
            }
            if writer.rows() >= limits.rows_max || writer.bytes() >= limits.bytes_max as usize {
                break;
            }
        }
        Ok(writer)
    }

    /// Writes the next row; how many bytes of the inbox it took.
    #[inline]
    fn row(&mut self, table: TableIndex, writer: &mut BatchWriter) -> Result<usize, Failure> {
        let bytes = self.inbox.get(self.taken..).unwrap_or_default();
        match &self.mapped.sent {
            None => {
                let unescaped = &mut self.unescaped;
                copy_text::write_row(bytes, &self.mapped, table, &self.header, writer, unescaped)
            }
            Some(decoders) => {
                copy_binary::write_row(bytes, &self.mapped, decoders, table, &self.header, writer)
            }
        }
    }
}

/// The relation to read.
struct Leaf {
    name: String,
    rows: Rows,
}

/// Which of its rows.
enum Rows {
    All,
    Blocks {
        from: u32,
        to: Option<u32>,
    },
    /// Those that meet all of the conditions.
    Meeting(Vec<String>),
}

/// The version of a snapshot's rows: before every change of a stream that starts at `start`, and later
/// for a greater generation.
pub(crate) fn version(start: Lsn, generation: u32) -> Version {
    Version { commit: start.0.saturating_sub(1), ordinal: u64::from(generation) }
}

fn copy_sql(
    leaf: &Leaf,
    names: &[String],
    mapped: &Mapped,
    row_filter: Option<&str>,
    recent: Option<u64>,
) -> String {
    let mut conditions = match &leaf.rows {
        Rows::All => Vec::new(),
        Rows::Blocks { from, to } => {
            let from = format!("t.ctid >= '({from},0)'::tid");
            std::iter::once(from).chain(to.map(|to| format!("t.ctid < '({to},0)'::tid"))).collect()
        }
        Rows::Meeting(conditions) => conditions.clone(),
    };
    if let Some(since) = recent {
        // Frozen rows keep the number they were written by.
        let since = since % (1 << 32);
        conditions.push(format!("pg_catalog.age(t.xmin) <= pg_catalog.age('{since}'::xid)"));
    }
    if let Some(filter) = row_filter {
        // B170: the stream has only rows that meet it.
        conditions.push(format!("({filter})"));
    }
    copy_named(&format!("ONLY {}", leaf.name), names.iter(), mapped, &conditions)
}

/// A copy of a relation's rows that meet all of the conditions, which call it `t`.
pub(crate) fn copy_of(relation: &str, mapped: &Mapped, conditions: &[String]) -> String {
    copy_named(relation, mapped.table.columns.iter().map(|column| &column.name), mapped, conditions)
}

/// The same where the columns have these names.
fn copy_named<'a>(
    relation: &str,
    names: impl Iterator<Item = &'a String>,
    mapped: &Mapped,
    conditions: &[String],
) -> String {
    // B179: a column may have the table's name, so both are said by way of the alias.
    let columns: Vec<String> = names.map(|name| format!("t.{}", ident(name))).collect();
    let condition =
        if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) };
    let form = if mapped.sent.is_some() { " WITH (FORMAT binary)" } else { "" };
    format!("COPY (SELECT {} FROM {relation} AS t{condition}) TO STDOUT{form}", columns.join(", "))
}

#[cfg(test)]
mod tests {
    use tarn_batch::{Column, Table, Type};
    use tarn_sdk::sql::postgres::qualified;

    use super::*;

    fn mapped() -> Mapped {
        let column = Column {
            name: "t".to_owned(),
            data_type: Type::Text,
            type_name: "text".to_owned(),
            nullable: true,
            key: 1,
            attribute: 1,
        };
        let table = Table {
            id: 7,
            schema: "public".to_owned(),
            name: "t".to_owned(),
            version: 1,
            columns: vec![column],
        };
        Mapped { table, decoders: Vec::new(), sent: None }
    }

    #[test]
    fn a_range_is_read_by_its_addresses_and_quoted_names() {
        // B125, B179.
        let leaf = |rows| Leaf { name: qualified("Sales", "t"), rows };
        assert_eq!(
            copy_sql(
                &leaf(Rows::Blocks { from: 10, to: Some(20) }),
                &["t".to_owned()],
                &mapped(),
                None,
                None
            ),
            r#"COPY (SELECT t."t" FROM ONLY "Sales"."t" AS t WHERE t.ctid >= '(10,0)'::tid AND t.ctid < '(20,0)'::tid) TO STDOUT"#
        );
        assert_eq!(
            copy_sql(&leaf(Rows::All), &["t".to_owned()], &mapped(), Some("(id > 10)"), Some((1 << 32) + 7)),
            r#"COPY (SELECT t."t" FROM ONLY "Sales"."t" AS t WHERE pg_catalog.age(t.xmin) <= pg_catalog.age('7'::xid) AND ((id > 10))) TO STDOUT"#
        );
    }

    #[test]
    fn a_range_of_keys_is_read_by_its_conditions() {
        let rows = Rows::Meeting(vec![r#"(t."k") >= ('7')"#.to_owned(), r#"(t."k") < ('9')"#.to_owned()]);
        let leaf = Leaf { name: qualified("public", "t"), rows };
        assert_eq!(
            copy_sql(&leaf, &["t".to_owned()], &mapped(), Some("(id > 10)"), None),
            r#"COPY (SELECT t."t" FROM ONLY "public"."t" AS t WHERE (t."k") >= ('7') AND (t."k") < ('9') AND ((id > 10))) TO STDOUT"#
        );
    }

    #[test]
    fn snapshot_rows_come_before_the_stream_and_later_generations_after_earlier_ones() {
        let start = Lsn(100);
        assert!(version(start, 5) < Version { commit: 100, ordinal: 0 });
        assert!(version(start, 1) > version(start, 0));
    }
}
