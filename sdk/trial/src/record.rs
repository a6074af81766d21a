//! Records as people write them, and batches of them.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Deserialize;
use tarn_batch::{
    BatchWriter, Before, Column, LogMessage, Op, RowHeader, Table, TableIndex, Type, Version,
    split_table_name,
};

use crate::config::{CHECKPOINT, COLUMNS_MAX, COMMITTED, TRANSACTION};
use crate::{Json, Mistake, cell, column, infer};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A row was inserted, or read by a snapshot.
    #[default]
    Insert,
    /// A row was updated.
    Update,
    /// A row was deleted.
    Delete,
    /// Somebody put a message into the source's log.
    Message,
    /// A table's columns changed.
    Relation,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Message => "message",
            Self::Relation => "relation",
        }
    }

    fn op(self) -> Op {
        match self {
            Self::Insert => Op::Insert,
            Self::Update => Op::Update,
            Self::Delete => Op::Delete,
            Self::Message => Op::Message,
            Self::Relation => Op::Relation,
        }
    }
}

/// A record. It is read from JSON text only.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Record {
    /// What happened.
    pub kind: Kind,
    /// The table at the source, `public.users`; may be left out where there is one.
    pub source: String,
    /// What it is called at the destination; left out, the table's name.
    pub target: String,
    /// The row after the change. In an update a column that is left out was not sent, else it is NULL.
    pub new: Option<Json>,
    /// The row before the change; of fewer columns than the table has, its key.
    pub old: Option<Json>,
    /// What a message was called with.
    pub prefix: String,
    /// What a message says.
    pub content: String,
    /// The table's columns, where this record does not have those of its table.
    pub columns: Option<Vec<String>>,
    /// When it was committed, with its zone.
    #[serde(alias = "commit_time")]
    pub commit_time: Option<String>,
    /// Where in the source's log.
    pub checkpoint: Option<u64>,
    /// In which transaction.
    #[serde(alias = "transaction_id")]
    pub transaction_id: Option<u64>,
}

/// The records as batches of one record each. `tables` has the columns of tables by name, each as
/// [`column`] reads it; those of a table that it has not are taken from the values.
///
/// # Errors
/// A [`Mistake`] whose path begins with `records[…]` or `tables.…`.
pub fn batches(records: &[Record], tables: &BTreeMap<String, Vec<String>>) -> Result<Vec<Vec<u8>>, Mistake> {
    let columns = Columns::described(tables)?.with(records)?;
    let batch = |(at, record): (usize, &Record)| {
        let batch = columns.of(record).and_then(|table| batch(record, &table));
        batch.map_err(|mistake| mistake.below(&format!("records[{at}]")))
    };
    records.iter().enumerate().map(batch).collect()
}

/// The columns of every table that records are of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns(BTreeMap<String, Vec<Column>>);

impl Columns {
    /// The columns of tables as they are described.
    pub(crate) fn described(tables: &BTreeMap<String, Vec<String>>) -> Result<Self, Mistake> {
        let mut known = BTreeMap::new();
        for (name, said) in tables {
            let read = read_columns(said).map_err(|mistake| {
                let path = format!("tables.{name}{}", mistake.path);
                Mistake { path, ..mistake }
            })?;
            known.insert(name.clone(), read);
        }
        Ok(Self(known))
    }

    /// The same with those of tables that records alone tell of.
    pub(crate) fn with(mut self, records: &[Record]) -> Result<Self, Mistake> {
        let mut unknown: BTreeMap<&str, Vec<(usize, &Record)>> = BTreeMap::new();
        for (at, record) in records.iter().enumerate().filter(|(_, record)| record.columns.is_none()) {
            if !self.0.contains_key(&record.source) && !record.source.is_empty() {
                unknown.entry(&record.source).or_default().push((at, record));
            }
        }
        for (name, records) in unknown {
            self.0.insert(name.to_owned(), infer::columns(&records)?);
        }
        Ok(self)
    }

    /// The first table by its name.
    pub(crate) fn first(&self) -> Option<&str> {
        self.0.first_key_value().map(|(name, _)| name.as_str())
    }

    /// Whether a table is known.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The table of a record.
    pub(crate) fn of(&self, record: &Record) -> Result<Table, Mistake> {
        if record.kind == Kind::Message {
            return Ok(Table {
                id: 0,
                schema: String::new(),
                name: String::new(),
                version: 1,
                columns: vec![],
            });
        }
        let (name, columns) = match (&record.columns, self.0.first_key_value()) {
            (Some(said), _) => {
                let read = read_columns(said)
                    .map_err(|mistake| Mistake { path: format!("columns{}", mistake.path), ..mistake })?;
                (&record.source, read)
            }
            (None, Some((name, columns))) if record.source.is_empty() && self.0.len() == 1 => {
                (name, columns.clone())
            }
            (None, _) => {
                let columns = self.0.get(&record.source);
                let missing = || Mistake::new("source", "names no table; there are several, or none");
                (&record.source, columns.ok_or_else(missing)?.clone())
            }
        };
        let (schema, name) = split_table_name(name)
            .ok_or_else(|| Mistake::new("source", "expected a table with its schema, public.users"))?;
        Ok(Table { id: 1, schema: schema.to_string(), name: name.to_string(), version: 1, columns })
    }
}

/// Columns with their places in the key and their numbers. A mistake's path is `[2]`.
fn read_columns(said: &[String]) -> Result<Vec<Column>, Mistake> {
    if said.is_empty() || said.len() > COLUMNS_MAX {
        return Err(Mistake::new("", format!("expected 1 to {COLUMNS_MAX} columns")));
    }
    let mut columns: Vec<Column> = Vec::with_capacity(said.len());
    let mut names = HashSet::with_capacity(said.len());
    for (at, said) in said.iter().enumerate() {
        let here = |mistake: Mistake| Mistake { path: format!("[{at}]"), ..mistake };
        let column = column(said).map_err(here)?;
        if !names.insert(column.name.clone()) {
            return Err(here(Mistake::new("", "has the name of another column")));
        }
        columns.push(column);
    }
    number(&mut columns);
    Ok(columns)
}

/// Numbers the columns, and those of the key.
pub(crate) fn number(columns: &mut [Column]) {
    let mut places = 0;
    for (column, attribute) in columns.iter_mut().zip(1..) {
        column.attribute = attribute;
        if column.key != 0 {
            places += 1;
            column.key = places;
        }
    }
}

/// One record as a batch.
pub(crate) fn batch(record: &Record, table: &Table) -> Result<Vec<u8>, Mistake> {
    let mut writer = BatchWriter::with_capacity(0);
    let index = writer.add_table(table);
    let header = header(record)?;
    match record.kind {
        Kind::Message => {
            let message = LogMessage { prefix: &record.prefix, content: record.content.as_bytes() };
            writer.log_message(index, &header, &message);
        }
        Kind::Relation => {
            writer.begin_row(index, &header);
            writer.end_row();
        }
        Kind::Insert | Kind::Update | Kind::Delete => row(record, table, &mut writer, index, &header)?,
    }
    Ok(writer.finish())
}

fn header(record: &Record) -> Result<RowHeader, Mistake> {
    let said = record.commit_time.as_deref().unwrap_or(COMMITTED);
    let mut micros = Vec::new();
    cell::write(&mut micros, &Type::TimestampTz, &Json::Text(said.to_owned()))
        .map_err(|message| Mistake::new("commitTime", message))?;
    let micros: [u8; 8] = micros.try_into().expect("a point in time has eight bytes");
    Ok(RowHeader {
        op: record.kind.op(),
        version: Version { commit: record.checkpoint.unwrap_or(CHECKPOINT), ordinal: 0 },
        commit_time_us: i64::from_le_bytes(micros),
        transaction: record.transaction_id.unwrap_or(TRANSACTION),
    })
}

/// The values of a row by column.
type Values<'a> = HashMap<&'a str, &'a Json>;

/// Which of a record's rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Image {
    New,
    Old,
}

impl Image {
    fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Old => "old",
        }
    }

    /// A row's values by column, checked to be of the table's.
    fn read<'a>(self, row: Option<&'a Json>, table: &Table) -> Result<Option<Values<'a>>, Mistake> {
        let Some(row) = row.filter(|row| **row != Json::Null) else { return Ok(None) };
        let Json::Object(fields) = row else {
            let message = format!("expected an object of columns, found {}", row.kind());
            return Err(Mistake::new(self.name(), message));
        };
        let known: HashSet<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        match fields.iter().find(|(name, _)| !known.contains(name.as_str())) {
            None => Ok(Some(fields.iter().map(|(name, value)| (name.as_str(), value)).collect())),
            Some((name, _)) => {
                let message = format!("{} has no such column", table.qualified_name());
                Err(Mistake::new(format!("{}.{name}", self.name()), message))
            }
        }
    }

    fn write(self, writer: &mut BatchWriter, column: &Column, value: &Json) -> Result<(), Mistake> {
        if *value == Json::Null {
            writer.null();
            return Ok(());
        }
        writer
            .value_with(|out| cell::write(out, &column.data_type, value))
            .map_err(|message| Mistake::new(format!("{}.{}", self.name(), column.name), message))
    }
}

fn row(
    record: &Record,
    table: &Table,
    writer: &mut BatchWriter,
    index: TableIndex,
    header: &RowHeader,
) -> Result<(), Mistake> {
    let new = Image::New.read(record.new.as_ref(), table)?;
    let old = Image::Old.read(record.old.as_ref(), table)?;
    let (new, old) = match (record.kind, new, old) {
        (Kind::Delete, None, Some(old)) => (None, Some(old)),
        (Kind::Delete, Some(_), _) => {
            return Err(Mistake::new("new", "is there, and a deleted row has none; name it old"));
        }
        (Kind::Delete, None, None) => return Err(Mistake::new("old", "is missing")),
        (_, None, _) => return Err(Mistake::new("new", "is missing")),
        (_, new, old) => (new, old),
    };
    writer.begin_row(index, header);
    if let Some(new) = new {
        for column in &table.columns {
            match new.get(column.name.as_str()) {
                Some(value) => Image::New.write(writer, column, value)?,
                None if record.kind == Kind::Update => writer.unchanged(),
                None => writer.null(),
            }
        }
    }
    if let Some(old) = old {
        let is_whole = table.columns.iter().all(|column| old.contains_key(column.name.as_str()));
        writer.begin_before(if is_whole { Before::Full } else { Before::Key });
        for column in &table.columns {
            match old.get(column.name.as_str()) {
                Some(value) => Image::Old.write(writer, column, value)?,
                None => writer.unchanged(),
            }
        }
    }
    writer.end_row();
    Ok(())
}
