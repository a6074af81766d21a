//! Tables, rows and values that the runtimes of all languages are tested with, and how rows are told.

use tarn_batch::text::write_text;
use tarn_batch::value::{ArrayWriter, Interval, TimeTz, write_interval, write_time_tz};
use tarn_batch::{Batch, BatchWriter, Before, Cell, Column, Op, Row, RowHeader, Table, Type, Version};

mod random;
mod random_rows;

use crate::transform::Applied;

pub use random::Random;
pub use random_rows::{random_batch, types};

/// Records that a fuzzer tries its programs on, where somebody wants more than a slice: the variable
/// `TARN_FUZZ_RECORDS`.
pub fn fuzz_records() -> Option<u64> {
    let text = std::env::var("TARN_FUZZ_RECORDS").ok()?;
    Some(text.parse().expect("TARN_FUZZ_RECORDS is a number"))
}

/// Batches that one program of a long run is tried on, of some records each: making a runtime costs as much as a few.
pub const FUZZ_BATCHES: usize = 40;

/// A column, nullable unless it is of the key.
pub fn column(name: &str, data_type: Type, type_name: &str, key: u16) -> Column {
    Column {
        name: name.to_owned(),
        data_type,
        type_name: type_name.to_owned(),
        nullable: key == 0,
        key,
        attribute: 0,
    }
}

/// `public.users` of these columns.
pub fn table(columns: Vec<Column>) -> Table {
    Table { id: 7, schema: "public".to_owned(), name: "users".to_owned(), version: 1, columns }
}

/// `id int8` as the key, then `name text` and `note text`.
pub fn users() -> Table {
    table(vec![
        column("id", Type::Int8, "bigint", 1),
        column("name", Type::Text, "text", 0),
        column("note", Type::Text, "text", 0),
    ])
}

/// What rows say before their cells.
pub const HEADER: RowHeader = RowHeader {
    op: Op::Insert,
    version: Version { commit: 0x1234, ordinal: 2 },
    commit_time_us: 1_000_000,
    transaction: 77,
};

/// A row of [`users`] to be: the cells after, and those before with their kind.
pub type Images<'a> = (Op, Option<[Cell<'a>; 3]>, Option<(Before, [Cell<'a>; 3])>);

/// Writes a row to the first table of a batch.
pub fn write_user(writer: &mut BatchWriter, (op, after, before): Images<'_>) {
    writer.begin_row(tarn_batch::TableIndex(0), &RowHeader { op, ..HEADER });
    for cell in after.into_iter().flatten() {
        writer.cell(cell);
    }
    if let Some((kind, cells)) = before {
        writer.begin_before(kind);
        for cell in cells {
            writer.cell(cell);
        }
    }
    writer.end_row();
}

/// A batch of rows of [`users`], or of a table with as many columns.
pub fn batch(table: &Table, rows: &[Images<'_>]) -> Vec<u8> {
    let mut writer = BatchWriter::with_capacity(0);
    writer.add_table(table);
    for row in rows {
        write_user(&mut writer, *row);
    }
    writer.finish()
}

/// The key of [`insert`].
pub const ID: [u8; 8] = 5_i64.to_le_bytes();

/// A row of [`users`] that was inserted.
pub fn insert<'a>() -> Images<'a> {
    (Op::Insert, Some([Cell::Value(&ID), Cell::Value(b"Ada"), Cell::Null]), None)
}

/// The cells of a row as text: `~` for null, `?` for unchanged.
fn say(row: &Row<'_>, table: &Table) -> String {
    let image = |cells: tarn_batch::Cells<'_>| {
        let cells = cells.zip(&table.columns).map(|(cell, column)| match cell.expect("the row is sound") {
            Cell::Null => "~".to_owned(),
            Cell::Unchanged => "?".to_owned(),
            Cell::Value(value) => {
                let mut text = String::new();
                write_text(&column.data_type, value, &mut text).expect("the value is sound");
                text
            }
        });
        cells.collect::<Vec<_>>().join(",")
    };
    match row.before() {
        None => image(row.after()),
        Some((_, before)) if row.op() == Op::Delete => format!("<{}", image(before)),
        Some((_, before)) => format!("{}<{}", image(row.after()), image(before)),
    }
}

/// The rows that went on, as text: `~` for null, `?` for unchanged, the row before behind `<`.
pub fn rows(applied: &Applied) -> Vec<String> {
    let batch = Batch::parse(&applied.batch).expect("the batch is sound");
    batch.verify().expect("the batch is sound");
    batch.rows().map(|row| row.expect("the row is sound")).map(|row| say(&row, batch.table(&row))).collect()
}

/// A decimal type; 0 and 0 for one without bounds.
pub fn numeric(precision: u16, scale: i16) -> Type {
    Type::Numeric { precision, scale }
}

/// A batch of one row with a value in the column `v` and null in the text column `t`.
pub fn one(data_type: &Type, value: &[u8]) -> Vec<u8> {
    let mut writer = BatchWriter::with_capacity(0);
    let columns = vec![column("v", data_type.clone(), "its type", 0), column("t", Type::Text, "text", 0)];
    let table = writer.add_table(table(columns));
    writer.begin_row(table, &HEADER);
    writer.value(value);
    writer.null();
    writer.end_row();
    writer.finish()
}

/// An interval's value.
pub fn interval(months: i32, days: i32, micros: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_interval(&mut bytes, Interval { months, days, micros });
    bytes
}

/// The value of a time with a zone.
pub fn time_tz(micros: i64, offset: i32) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_time_tz(&mut bytes, TimeTz { micros, offset });
    bytes
}

/// An array's value.
pub fn array(dimensions: &[u32], elements: &[Option<&[u8]>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrayWriter::new(&mut bytes, dimensions.len()).expect("few dimensions");
    for element in elements {
        match element {
            Some(element) => writer.value(element),
            None => writer.null(),
        }
    }
    writer.finish(dimensions).expect("the shape is right");
    bytes
}
