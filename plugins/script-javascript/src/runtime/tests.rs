//! Scripts over batches.

use std::cell::RefCell;
use std::rc::Rc;

use tarn_batch::text::write_text;
use tarn_batch::{Batch, BatchWriter, Before, Cell, Column, Op, Row, RowHeader, Table, Type, Version};

use super::{Applied, Output, Runtime};
use crate::session::Host;
use crate::{Fault, Level, Rejection};

mod entry_points;
mod every_type;
mod fuzz;
mod messages;
mod records;

/// A world that remembers what was logged, where it is half past one of the first day.
#[derive(Default, Clone)]
pub struct Recorder {
    lines: Rc<RefCell<Vec<(Level, String)>>>,
}

impl Host for Recorder {
    fn log(&mut self, level: Level, line: &str) {
        self.lines.borrow_mut().push((level, line.to_owned()));
    }

    fn now_us(&mut self) -> i64 {
        5_400_000_000
    }
}

fn column(name: &str, data_type: Type, type_name: &str, key: u16) -> Column {
    Column {
        name: name.to_owned(),
        data_type,
        type_name: type_name.to_owned(),
        nullable: key == 0,
        key,
        attribute: 0,
    }
}

fn table(columns: Vec<Column>) -> Table {
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

const HEADER: RowHeader = RowHeader {
    op: Op::Insert,
    version: Version { commit: 0x1234, ordinal: 2 },
    commit_time_us: 1_000_000,
    transaction: 77,
};

/// A row of [`users`] to be: the cells after, and those before with their kind.
pub type Images<'a> = (Op, Option<[Cell<'a>; 3]>, Option<(Before, [Cell<'a>; 3])>);

fn write_user(writer: &mut BatchWriter, (op, after, before): Images<'_>) {
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

pub fn batch(table: &Table, rows: &[Images<'_>]) -> Vec<u8> {
    let mut writer = BatchWriter::with_capacity(0);
    writer.add_table(table);
    for row in rows {
        write_user(&mut writer, *row);
    }
    writer.finish()
}

pub const ID: [u8; 8] = 5_i64.to_le_bytes();

/// A batch of one row of [`users`].
pub fn one_user() -> Vec<u8> {
    batch(&users(), &[insert()])
}

pub fn insert<'a>() -> Images<'a> {
    (Op::Insert, Some([Cell::Value(&ID), Cell::Value(b"Ada"), Cell::Null]), None)
}

/// A runtime with a script, and what it logs.
fn start(source: &str) -> (Runtime, Recorder) {
    let recorder = Recorder::default();
    let mut runtime = Runtime::new(Box::new(recorder.clone())).expect("there is memory");
    runtime.load(source).unwrap_or_else(|fault| panic!("{fault:?} in {source}"));
    runtime.start(vec![("public.users".to_owned(), "people".to_owned())], Output::Rows);
    (runtime, recorder)
}

/// A runtime with a script for a queue.
fn start_for_queue(source: &str) -> Runtime {
    let mut runtime = start(source).0;
    runtime.start(vec![("public.users".to_owned(), "people".to_owned())], Output::Messages);
    runtime
}

fn refused(source: &str) -> Fault {
    let mut runtime = Runtime::new(Box::new(Recorder::default())).expect("there is memory");
    runtime.load(source).expect_err("the script is refused")
}

pub fn apply(source: &str, batch: &[u8]) -> Applied {
    start(source).0.apply(batch).expect("the batch is sound")
}

/// Runs a body of `onRecord(r)` on one row of [`users`], which it must not reject.
fn accept(body: &str, row: Images<'_>) -> Applied {
    let applied = apply(&format!("function onRecord(r) {{ {body} }}"), &batch(&users(), &[row]));
    assert_eq!(applied.rejected, [], "{body}");
    applied
}

/// The one rejection that a body causes.
fn reject(body: &str, row: Images<'_>) -> Rejection {
    let applied = apply(&format!("function onRecord(r) {{\n{body}\n}}"), &batch(&users(), &[row]));
    assert_eq!((applied.rows, applied.dropped, applied.rejected.len()), (0, 0, 1), "{body}");
    applied.rejected.into_iter().next().expect("there is one")
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

pub fn rows(applied: &Applied) -> Vec<String> {
    let batch = Batch::parse(&applied.batch).expect("the batch is sound");
    batch.verify().expect("the batch is sound");
    batch.rows().map(|row| row.expect("the row is sound")).map(|row| say(&row, batch.table(&row))).collect()
}

/// What an expression says; `attempt(f)` is the error of a function.
pub fn says(expression: &str) -> String {
    let body = format!(
        "const attempt = f => {{ try {{ return f() }} catch (error) {{ return error }} }}; throw String({expression})"
    );
    reject(&body, insert()).message
}
