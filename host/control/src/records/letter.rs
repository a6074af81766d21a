//! From a record of a batch to a letter, and from a letter to what a person reads.

use std::collections::BTreeSet;

use bytes::Bytes;
use tarn_batch::text::write_text;
use tarn_batch::{
    Batch as Rows, BatchWriter, Before, Cell, Cells, DecodeError, Op, Outgoing, Row, RowHeader, Table,
};
use tarn_catalog::{NewLetter, letter_digest};
use tarn_model::{Enumerated as _, Failure, RecordCell, RecordStage, ShownRecord, Timestamp};
use tarn_replication::{Batch, Rejection};

use super::desk::damaged;

/// The letter of a rejected record.
pub(super) fn letter_of(table: &Table, row: &Row<'_>, rejection: &Rejection) -> NewLetter {
    let header = row.header();
    NewLetter {
        identity: identity(rejection.stage, table, row),
        row_keys: row_keys(rejection.stage, table, row),
        table: table_name(table),
        key: key_text(table, row),
        kind: kind(row.op()).to_owned(),
        stage: rejection.stage,
        position: header.version.commit,
        ordinal: header.version.ordinal,
        commit_time: (header.commit_time_us != RowHeader::TIME_UNKNOWN)
            .then(|| Timestamp::from_micros(header.commit_time_us)),
        script: rejection.script.clone(),
        script_version: rejection.script_version,
        line: rejection.line,
        function: rejection.function.clone(),
        message: rejection.message.clone(),
        log_lines: rejection.log_lines.clone(),
        record: alone(table, row),
    }
}

/// A batch of a row alone.
pub(super) fn alone(table: &Table, row: &Row<'_>) -> Vec<u8> {
    let mut writer = BatchWriter::with_capacity(row.raw().len() + 1024);
    let index = writer.add_table(table);
    writer.append_row(row, index);
    writer.finish()
}

/// A letter's record as a batch.
pub(super) fn batch(record: Vec<u8>) -> Batch {
    Batch { bytes: Bytes::from(record), rows: 1 }
}

/// The rows of a batch that `keep` takes, by their place and themselves.
pub(super) fn picked(
    rows: &Rows<'_>,
    mut keep: impl FnMut(u32, &Row<'_>) -> bool,
) -> Result<Batch, DecodeError> {
    let mut writer = BatchWriter::default();
    let tables: Vec<_> = rows.tables().iter().map(|table| writer.add_table(table)).collect();
    for (at, row) in (0..).zip(rows.rows()) {
        let row = row?;
        if keep(at, &row) {
            writer.append_row(&row, tables[usize::from(row.table_index().0)]);
        }
    }
    Ok(Batch { rows: writer.rows(), bytes: Bytes::from(writer.finish()) })
}

/// `schema.name`; empty for what belongs to no table.
pub(super) fn table_name(table: &Table) -> String {
    if table.name.is_empty() { String::new() } else { table.qualified_name() }
}

/// The batch without the rows of some tables.
pub(crate) fn without_tables(batch: Batch, left_out: &BTreeSet<String>) -> Result<Batch, Failure> {
    let rows = Rows::parse(&batch.bytes).map_err(damaged)?;
    let goes: Vec<_> = rows.tables().iter().map(|table| left_out.contains(&table_name(table))).collect();
    if !goes.contains(&true) {
        return Ok(batch);
    }
    picked(&rows, |_, row| !goes[usize::from(row.table_index().0)]).map_err(damaged)
}

/// Tells a record from every other of a mirror. A change has its version; a row that a load read has its key:
/// another point of the load brings it again under another version. Messages that a script made of one record share
/// both, so what they say belongs to it: equal messages of one record are one letter.
pub(super) fn identity(stage: RecordStage, table: &Table, row: &Row<'_>) -> String {
    let name = table.qualified_name();
    let message = outgoing(row).map(|message| message_bytes(&message)).unwrap_or_default();
    let digest = |kind: &[u8], key: &[u8]| {
        let parts = [kind, stage.name().as_bytes(), name.as_bytes(), key, &message];
        letter_digest(if message.is_empty() { &parts[..4] } else { &parts })
    };
    if row.is_of_load() {
        return digest(b"load", &key_bytes(table, row, Image::Newest));
    }
    digest(b"stream", &row.version().to_u128().to_be_bytes())
}

/// The message that a script made of a record, for a queue.
fn outgoing<'a>(row: &Row<'a>) -> Option<Outgoing<'a>> {
    // A damaged one is told of where it is sent.
    row.outgoing().ok().flatten()
}

/// All that a message says, so that two that differ have different bytes.
fn message_bytes(message: &Outgoing<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut add = |part: Option<&[u8]>| match part {
        Some(part) => {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        None => bytes.extend_from_slice(&u64::MAX.to_le_bytes()),
    };
    add(message.record_key.map(str::as_bytes));
    add(message.topic.map(str::as_bytes));
    add(message.key);
    add(message.value);
    add(message.partition.map(i32::to_le_bytes).as_ref().map(<[u8; 4]>::as_slice));
    for (name, value) in message.headers.filter_map(Result::ok) {
        add(Some(name.as_bytes()));
        add(value);
    }
    bytes
}

/// Tells the rows that a change is about: by its key, and by the one before where it has another.
pub(super) fn row_keys(stage: RecordStage, table: &Table, row: &Row<'_>) -> Vec<String> {
    let name = table.qualified_name();
    let digest = |key: &[u8]| letter_digest(&[b"row", stage.name().as_bytes(), name.as_bytes(), key]);
    if let Some(message) = outgoing(row) {
        return vec![digest(message.record_key.unwrap_or_default().as_bytes())];
    }
    let newest = key_bytes(table, row, Image::Newest);
    let mut keys = vec![digest(&newest)];
    if row.op() == Op::Update && row.before().is_some() {
        let before = key_bytes(table, row, Image::Before);
        if before != newest {
            keys.push(digest(&before));
        }
    }
    keys
}

/// Whether a change leaves values out that only the row before it has.
pub(super) fn leaves_out(row: &Row<'_>) -> bool {
    row.op() == Op::Update
        && !row.before().is_some_and(|(kind, _)| kind == Before::Full)
        && row.after().any(|cell| matches!(cell, Ok(Cell::Unchanged)))
}

/// Which of a row's images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Image {
    /// After the change, before it for a deleted row.
    Newest,
    Before,
}

/// The cell of a column in an image; where that lacks it, in the other one.
pub(super) fn cell_of<'a>(row: &Row<'a>, column: usize, image: Image) -> Cell<'a> {
    let of = |cells: Option<Cells<'a>>| {
        cells.and_then(|mut cells| cells.nth(column)).and_then(Result::ok).unwrap_or(Cell::Unchanged)
    };
    let (after, before) = (of(Some(row.after())), of(row.before().map(|(_, cells)| cells)));
    let (first, second) = match image {
        Image::Newest => (after, before),
        Image::Before => (before, after),
    };
    if first == Cell::Unchanged { second } else { first }
}

fn key_bytes(table: &Table, row: &Row<'_>, image: Image) -> Vec<u8> {
    let mut bytes = Vec::new();
    for column in table.key_columns() {
        match cell_of(row, column, image) {
            Cell::Value(value) => {
                bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
                bytes.extend_from_slice(value);
            }
            Cell::Null | Cell::Unchanged => bytes.extend_from_slice(&u64::MAX.to_le_bytes()),
        }
    }
    bytes
}

/// The row's key for people: `id=5, region=eu`; empty for what has none. Of a message it is that of its record.
pub(super) fn key_text(table: &Table, row: &Row<'_>) -> String {
    if row.op() == Op::Outgoing {
        return outgoing(row).and_then(|message| message.record_key).unwrap_or_default().to_owned();
    }
    let columns = table.key_columns().into_iter().map(|at| {
        let column = &table.columns[at];
        let mut text = String::new();
        let shown = match cell_of(row, at, Image::Newest) {
            Cell::Value(value) => write_text(&column.data_type, value, &mut text).is_ok(),
            Cell::Null | Cell::Unchanged => false,
        };
        format!("{}={}", column.name, if shown { &text } else { "?" })
    });
    columns.collect::<Vec<_>>().join(", ")
}

fn kind(op: Op) -> &'static str {
    // What a script made of a record is no kind of its own.
    if op == Op::Outgoing { Op::Message.name() } else { op.name() }
}

/// A letter's record for people.
pub(crate) fn shown(record: &[u8]) -> Result<ShownRecord, DecodeError> {
    let rows = Rows::parse(record)?;
    let mut all = rows.rows();
    let row = all.next().unwrap_or(Err(DecodeError::Truncated("row")))?;
    let table = rows.table(&row);
    if let Some(message) = row.outgoing()? {
        return Ok(ShownRecord { after: shown_outgoing(&message)?, before: Vec::new() });
    }
    if let Some(message) = row.log_message()? {
        let after =
            vec![named("prefix", Some(message.prefix.as_bytes())), named("content", Some(message.content))];
        return Ok(ShownRecord { after, before: Vec::new() });
    }
    let cells = |cells: Cells<'_>| -> Result<Vec<RecordCell>, DecodeError> {
        let cells = cells.zip(&table.columns).map(|(cell, column)| {
            let value = match cell? {
                Cell::Value(value) => {
                    let mut text = String::new();
                    write_text(&column.data_type, value, &mut text)?;
                    Ok(text)
                }
                Cell::Null => Err(false),
                Cell::Unchanged => Err(true),
            };
            Ok(RecordCell {
                name: column.name.clone(),
                type_name: column.type_name.clone(),
                is_unchanged: value == Err(true),
                value: value.ok(),
            })
        });
        cells.collect()
    };
    Ok(ShownRecord {
        after: cells(row.after())?,
        before: row.before().map_or(Ok(Vec::new()), |(_, before)| cells(before))?,
    })
}

/// A message to a queue for people: its parts, then its headers as `header name`.
fn shown_outgoing(message: &Outgoing<'_>) -> Result<Vec<RecordCell>, DecodeError> {
    let partition = message.partition.map(|partition| partition.to_string());
    let mut cells = vec![
        named("topic", message.topic.map(str::as_bytes)),
        named("key", message.key),
        named("value", message.value),
        named("partition", partition.as_ref().map(String::as_bytes)),
    ];
    for header in message.headers {
        let (name, value) = header?;
        cells.push(named(&format!("header {name}"), value));
    }
    Ok(cells)
}

/// A part of a message: text where it is, else as PostgreSQL writes bytes.
fn named(name: &str, part: Option<&[u8]>) -> RecordCell {
    let text = part.map(|part| str::from_utf8(part).map(str::to_owned));
    let (type_name, value) = match text {
        Some(Ok(text)) => ("text", Some(text)),
        None => ("text", None),
        Some(Err(_)) => {
            let hex = part.unwrap_or_default().iter().map(|byte| format!("{byte:02x}"));
            ("bytea", Some(format!("\\x{}", hex.collect::<String>())))
        }
    };
    RecordCell { name: name.to_owned(), type_name: type_name.to_owned(), value, is_unchanged: false }
}

#[cfg(test)]
pub(super) mod tests {
    use tarn_batch::{Column, Type, Version};

    use super::*;

    /// `public.t (id bigint, big text)`.
    pub(crate) fn table() -> Table {
        let column = |name: &str, data_type, type_name: &str, key| Column {
            name: name.to_owned(),
            data_type,
            type_name: type_name.to_owned(),
            nullable: key == 0,
            key,
            attribute: i32::from(key) + 1,
        };
        Table {
            id: 7,
            schema: "public".to_owned(),
            name: "t".to_owned(),
            version: 1,
            columns: vec![column("id", Type::Int8, "bigint", 1), column("big", Type::Text, "text", 0)],
        }
    }

    /// A change: its row, when, the key, the value where it is sent, and the key before where it was another.
    pub(crate) struct Change(
        pub(crate) Op,
        pub(crate) u64,
        pub(crate) i64,
        pub(crate) Option<&'static str>,
        pub(crate) Option<i64>,
    );

    pub(crate) fn changes(changes: &[Change]) -> Batch {
        let mut writer = BatchWriter::default();
        let index = writer.add_table(table());
        for Change(op, commit, id, big, before) in changes {
            let header = RowHeader {
                op: *op,
                version: Version { commit: *commit, ordinal: 3 },
                commit_time_us: 9,
                transaction: 1,
            };
            writer.begin_row(index, &header);
            if op.has_after() {
                writer.value(&id.to_le_bytes());
                match big {
                    Some(big) => writer.value(big.as_bytes()),
                    None => writer.unchanged(),
                }
            }
            let before = before.or((*op == Op::Delete).then_some(*id));
            if let Some(before) = before {
                writer.begin_before(Before::Key);
                writer.value(&before.to_le_bytes());
                writer.unchanged();
            }
            writer.end_row();
        }
        Batch { rows: writer.rows(), bytes: Bytes::from(writer.finish()) }
    }

    /// Rows as a load reads them.
    pub(crate) fn loaded(generation: u64, ids: &[i64]) -> Batch {
        let mut writer = BatchWriter::default();
        let index = writer.add_table(table());
        for id in ids {
            let header = RowHeader {
                op: Op::Insert,
                version: Version { commit: 5, ordinal: generation },
                commit_time_us: RowHeader::TIME_UNKNOWN,
                transaction: 0,
            };
            writer.begin_row(index, &header);
            writer.value(&id.to_le_bytes());
            writer.value(b"x");
            writer.end_row();
        }
        Batch { rows: writer.rows(), bytes: Bytes::from(writer.finish()) }
    }

    fn identities(batch: &Batch) -> Vec<String> {
        let rows = Rows::parse(&batch.bytes).expect("a batch");
        let of = |row: Row<'_>| identity(RecordStage::Script, rows.table(&row), &row);
        rows.rows().map(|row| of(row.expect("a row"))).collect()
    }

    #[test]
    fn a_change_is_told_by_its_version_and_a_loaded_row_by_its_key() {
        let one = identities(&changes(&[Change(Op::Insert, 10, 1, Some("a"), None)]));
        let same = identities(&changes(&[Change(Op::Insert, 10, 1, Some("a"), None)]));
        let later = identities(&changes(&[Change(Op::Insert, 11, 1, Some("a"), None)]));
        assert_eq!(one, same);
        assert_ne!(one, later);
        let first = identities(&loaded(1, &[1, 2]));
        assert_ne!(first[0], first[1]);
        assert_eq!(first, identities(&loaded(2, &[1, 2])));
    }

    #[test]
    fn a_letter_shows_every_value_as_text_and_what_was_not_sent() {
        let batch = changes(&[Change(Op::Update, 10, 1, None, Some(2))]);
        let rows = Rows::parse(&batch.bytes).expect("a batch");
        let row = rows.rows().next().expect("one").expect("sound");
        let letter = letter_of(rows.table(&row), &row, &Rejection::default());
        assert_eq!((letter.key.as_str(), letter.kind.as_str()), ("id=1", "update"));
        assert_eq!((letter.table.as_str(), letter.position, letter.ordinal), ("public.t", 10, 3));
        assert_eq!(letter.row_keys.len(), 2, "the old key and the new one");
        let shown = shown(&letter.record).expect("readable");
        let cell = |name: &str, type_name: &str, value: Option<&str>, is_unchanged| RecordCell {
            name: name.into(),
            type_name: type_name.into(),
            value: value.map(str::to_owned),
            is_unchanged,
        };
        assert_eq!(shown.after, [cell("id", "bigint", Some("1"), false), cell("big", "text", None, true)]);
        assert_eq!(shown.before[0], cell("id", "bigint", Some("2"), false));
    }
}
