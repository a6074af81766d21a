//! The message of a change where no script makes one: a JSON object that says what happened, to which row, and when.
//!
//! ```json
//! {"op":"update","table":"public.users","key":{"id":7},"row":{"id":7,"name":"Zoë"},"old":{"id":7},"unchanged":["bio"],
//!  "lsn":"16/B374D848","ordinal":0,"transaction":731,"committed":"2023-11-14T22:13:20Z"}
//! ```
//!
//! `plugins/kafka/RECORDS.md` has all of it. Values are written as scripts write them, so that a script may make a
//! message of a part of it without another form of the same value.

use std::fmt::Write as _;

use tarn_batch::text::write_text;
use tarn_batch::{Batch, Cell, Cells, Op, Row, RowHeader, Table, Type, Version};
use tarn_script::json::{Documents, Nonfinite, Options, RowWriter, Unfit, write_integer, write_string};
use tarn_sdk::Failure;

/// How values without a form of their own in JSON are written: exactly, and always.
const OPTIONS: Options = Options {
    documents: Documents::Nested,
    decimals: tarn_script::json::Decimals::Text,
    bytes: tarn_script::json::Bytes::Base64,
    nonfinite: Nonfinite::Text,
};

/// Writes the messages of records.
#[derive(Debug, Default)]
pub(crate) struct Envelope {
    text: String,
}

/// Which of a row's images.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Image {
    After,
    Before,
}

impl Image {
    /// The one that has the row that people mean.
    pub(crate) fn of(op: Op) -> Self {
        if op == Op::Delete { Self::Before } else { Self::After }
    }

    fn cells<'a>(self, row: &Row<'a>) -> Option<Cells<'a>> {
        match self {
            Self::After => row.op().has_after().then(|| row.after()),
            Self::Before => row.before().map(|(_, cells)| cells),
        }
    }
}

impl Envelope {
    /// The key of a row, an object of the key's columns in their order. B205: parts cannot run into each other.
    pub(crate) fn key(
        &mut self,
        out: &mut Vec<u8>,
        table: &Table,
        row: &Row<'_>,
        image: Image,
    ) -> Result<(), Failure> {
        out.clear();
        let cells: Vec<Cell<'_>> = match image.cells(row) {
            Some(cells) => cells.collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        let columns = table.key_columns();
        self.object(out, table, columns.into_iter().filter_map(|at| Some((at, *cells.get(at)?))))
    }

    /// The value of a change: an insert, update or delete. `key` is its key as written.
    pub(crate) fn change(
        &mut self,
        out: &mut Vec<u8>,
        table: &Table,
        row: &Row<'_>,
        key: &[u8],
    ) -> Result<(), Failure> {
        let op = match row.op() {
            Op::Insert if row.is_of_load() => "read",
            Op::Insert => "insert",
            Op::Update => "update",
            _ => "delete",
        };
        begin(out, op, table);
        out.extend_from_slice(b",\"key\":");
        out.extend_from_slice(key);
        out.extend_from_slice(b",\"row\":");
        let mut unchanged = Vec::new();
        match Image::After.cells(row) {
            Some(cells) => {
                let cells = cells.collect::<Result<Vec<_>, _>>()?;
                let missing = cells.iter().zip(&table.columns).filter(|(cell, _)| **cell == Cell::Unchanged);
                unchanged.extend(missing.map(|(_, column)| column.name.as_str()));
                self.object(out, table, cells.into_iter().enumerate())?;
            }
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"old\":");
        match Image::Before.cells(row) {
            Some(cells) => {
                let cells = cells.collect::<Result<Vec<_>, _>>()?;
                self.object(out, table, cells.into_iter().enumerate())?;
            }
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"unchanged\":[");
        for (at, name) in unchanged.into_iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            string(out, name)?;
        }
        out.push(b']');
        self.end(out, &row.header())
    }

    /// The value of the delete by which a row leaves its old key: its key changed.
    pub(crate) fn moved(
        &mut self,
        out: &mut Vec<u8>,
        table: &Table,
        row: &Row<'_>,
        old_key: &[u8],
    ) -> Result<(), Failure> {
        begin(out, "delete", table);
        out.extend_from_slice(b",\"key\":");
        out.extend_from_slice(old_key);
        out.extend_from_slice(b",\"row\":null,\"old\":");
        let cells = Image::Before.cells(row).map(|cells| cells.collect::<Result<Vec<_>, _>>()).transpose()?;
        self.object(out, table, cells.unwrap_or_default().into_iter().enumerate())?;
        out.extend_from_slice(b",\"unchanged\":[]");
        self.end(out, &row.header())
    }

    /// The value of a record that concerns the whole table: it was emptied.
    pub(crate) fn truncate(
        &mut self,
        out: &mut Vec<u8>,
        table: &Table,
        row: &Row<'_>,
    ) -> Result<(), Failure> {
        begin(out, "truncate", table);
        out.extend_from_slice(b",\"key\":null,\"row\":null,\"old\":null,\"unchanged\":[]");
        self.end(out, &row.header())
    }

    /// The value of a record that says which columns the table has from here on.
    pub(crate) fn schema(&mut self, out: &mut Vec<u8>, table: &Table, row: &Row<'_>) -> Result<(), Failure> {
        begin(out, "schema", table);
        out.extend_from_slice(b",\"columns\":[");
        for (at, column) in table.columns.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.extend_from_slice(b"{\"name\":");
            string(out, &column.name)?;
            out.extend_from_slice(b",\"type\":");
            string(out, &column.type_name)?;
            let nullable: &[u8] = if column.nullable { b"true" } else { b"false" };
            out.extend_from_slice(b",\"nullable\":");
            out.extend_from_slice(nullable);
            out.extend_from_slice(b",\"key\":");
            write_integer(out, column.key.into());
            out.push(b'}');
        }
        out.push(b']');
        self.end(out, &row.header())
    }

    fn object<'a>(
        &mut self,
        out: &mut Vec<u8>,
        table: &Table,
        cells: impl Iterator<Item = (usize, Cell<'a>)>,
    ) -> Result<(), Failure> {
        out.push(b'{');
        let mut is_first = true;
        for (at, cell) in cells.filter(|(_, cell)| *cell != Cell::Unchanged) {
            if !std::mem::take(&mut is_first) {
                out.push(b',');
            }
            let column = &table.columns[at];
            string(out, &column.name)?;
            out.push(b':');
            let mut writer = RowWriter { out: &mut *out, text: &mut self.text, options: OPTIONS };
            match cell.value() {
                Some(value) => writer.value(&column.data_type, value).map_err(|unfit| {
                    let message = format!("column {} {}", column.name, reason(unfit));
                    Failure::record("value_unwritable", message).with_table(table.qualified_name())
                })?,
                None => out.extend_from_slice(b"null"),
            }
        }
        out.push(b'}');
        Ok(())
    }

    /// What every record ends with: where it is from.
    fn end(&mut self, out: &mut Vec<u8>, header: &RowHeader) -> Result<(), Failure> {
        let version = header.version;
        self.text.clear();
        let (upper, lower) = (version.commit >> 32, version.commit & 0xFFFF_FFFF);
        let ordinal = version.ordinal & !Version::RELATIONS_FROM;
        let transaction = header.transaction;
        write!(
            self.text,
            ",\"lsn\":\"{upper:X}/{lower:X}\",\"ordinal\":{ordinal},\"transaction\":{transaction},\"committed\":"
        )
        .expect("a string takes every character");
        out.extend_from_slice(self.text.as_bytes());
        if header.commit_time_us == RowHeader::TIME_UNKNOWN {
            out.extend_from_slice(b"null}");
            return Ok(());
        }
        self.text.clear();
        write_text(&Type::TimestampTz, &header.commit_time_us.to_le_bytes(), &mut self.text)?;
        // PostgreSQL's text, as RFC 3339 has it.
        let time = self.text.trim_end_matches("+00").replacen(' ', "T", 1);
        string(out, &format!("{time}Z"))?;
        out.push(b'}');
        Ok(())
    }
}

fn begin(out: &mut Vec<u8>, op: &str, table: &Table) {
    out.clear();
    out.extend_from_slice(b"{\"op\":\"");
    out.extend_from_slice(op.as_bytes());
    out.extend_from_slice(b"\",\"table\":");
    write_string(out, table.qualified_name().as_bytes()).expect("a name is text");
}

fn string(out: &mut Vec<u8>, text: &str) -> Result<(), Failure> {
    write_string(out, text.as_bytes()).map_err(|unfit| Failure::permanent("name_unwritable", reason(unfit)))
}

fn reason(unfit: Unfit) -> &'static str {
    match unfit {
        Unfit::NotFinite => "holds a number that JSON does not have",
        Unfit::NotUtf8 => "holds text that is not UTF-8",
        Unfit::TooLong => "holds a value that is too long",
        Unfit::Damaged => "holds a value that cannot be read",
    }
}

/// Table and key of a row of a batch, for people.
pub(crate) fn origin(batch: &[u8], at: u32) -> Option<(String, String)> {
    let batch = Batch::parse(batch).ok()?;
    let row = batch.rows().nth(at as usize)?.ok()?;
    let table = batch.table(&row);
    let key = match row.outgoing() {
        Ok(Some(message)) => message.record_key.unwrap_or_default().to_owned(),
        _ => tarn_script::rejection::key_text(table, &row),
    };
    Some((table.qualified_name(), key))
}
