//! The rows of a record: by column, without what was not sent.

use tarn_batch::text::write_text;
use tarn_batch::{Cell, Cells, DecodeError, Row, Table};

use crate::{Json, cell};

/// A record's rows after and before the change, where it has them.
pub(crate) fn images<T>(
    row: &Row<'_>,
    table: &Table,
    say: impl Fn(Cells<'_>, &Table) -> Result<T, DecodeError>,
) -> Result<(Option<T>, Option<T>), DecodeError> {
    let new = row.op().has_after().then(|| say(row.after(), table)).transpose()?;
    let old = row.before().map(|(_, cells)| say(cells, table)).transpose()?;
    Ok((new, old))
}

/// A row as JSON.
pub(crate) fn json(cells: Cells<'_>, table: &Table) -> Result<Json, DecodeError> {
    let mut fields = Vec::new();
    for (cell, column) in cells.zip(&table.columns) {
        let value = match cell? {
            Cell::Unchanged => continue,
            Cell::Null => Json::Null,
            Cell::Value(value) => cell::say(&column.data_type, value)?,
        };
        fields.push((column.name.clone(), value));
    }
    Ok(Json::Object(fields))
}

/// What a case says of a column that is NULL.
pub(crate) const NULL: &str = "NULL";

/// What a case says of a column that was not sent, and stays.
pub(crate) const NOT_SENT: &str = "(not sent)";

/// A row as text by column.
pub(crate) fn texts(cells: Cells<'_>, table: &Table) -> Result<Vec<(String, String)>, DecodeError> {
    let mut fields = Vec::new();
    for (cell, column) in cells.zip(&table.columns) {
        let text = match cell? {
            Cell::Unchanged => NOT_SENT.to_owned(),
            Cell::Null => NULL.to_owned(),
            Cell::Value(value) => {
                let mut text = String::new();
                write_text(&column.data_type, value, &mut text)?;
                text
            }
        };
        fields.push((column.name.clone(), text));
    }
    Ok(fields)
}
