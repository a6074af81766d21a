//! Records that a script could not transform.

use std::fmt::Write;

use tarn_batch::text::write_text;
use tarn_batch::{Cell, Row, Table};

/// A record that is in no outcome, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// Which row of the batch, from 0.
    pub row: u32,
    /// Its table, qualified.
    pub table: String,
    /// Its key for people: `id=5, region=eu`; empty for a table without one.
    pub key: String,
    /// The line of the script, 0 when unknown.
    pub line: u32,
    /// What went wrong.
    pub message: String,
}

/// The key of a row, as it was before the script.
pub fn key_text(table: &Table, row: &Row<'_>) -> String {
    let mut text = String::new();
    for column in table.key_columns() {
        let column_of_key = &table.columns[column];
        if !text.is_empty() {
            text.push_str(", ");
        }
        write!(text, "{}=", column_of_key.name).expect("a string takes every character");
        match row.cell(column) {
            Ok(Cell::Value(value)) if write_text(&column_of_key.data_type, value, &mut text).is_ok() => {}
            Ok(Cell::Null) => text.push_str("null"),
            _ => text.push('?'),
        }
    }
    text
}
