//! Values that the stream leaves out and the destination may not have yet.
//!
//! While a table's snapshot runs, a row may change before the snapshot has brought it: the destination
//! then has no earlier row to take unchanged values from. They are read from the table by key. What is
//! read may be later than the change; then a later change of the row is in the stream too and brings the
//! rest. A row that is gone, or has another key by now, has that change in the stream as well: until it
//! comes, the row is delivered as deleted.
//!
//! The same holds once the snapshot is loaded, where its point is later than the place that the stream is
//! at: it brings changes of rows that the snapshot saw gone or under another key. The values are then read
//! at a point held by this instance, and only for changes committed before it. So a row that is gone at
//! the point has the change that took it away among those changes, and for all later ones the destination
//! has every row as it was at the point.

use tarn_batch::Column;
use tarn_sdk::Failure;
use tarn_sdk::postgres::Row;
use tarn_sdk::sql::postgres::{ident, literal, qualified};

use super::relations::{Cell, Replicated};
use crate::catalog;
use crate::peer::Peer;
use crate::pgoutput::{Datum, Old, Tuple};
use crate::side::Side;

/// SQLSTATE of a column that does not exist, and of a table.
const UNDEFINED_COLUMN: &str = "42703";
const UNDEFINED_TABLE: &str = "42P01";

/// A value read from the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fetched {
    /// Its column in the batch.
    pub(super) column: usize,
    pub(super) text: Option<String>,
}

/// When values are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// At the moment of the load.
    Then,
    /// Now: the rows were written anew, and what that left in them is to be read.
    Now,
}

/// What became of the values that a message leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// As they are now; none where nothing was left out.
    Values(Vec<Fetched>),
    /// There is no row of the key any more.
    Gone,
}

/// The values that a row's message leaves out.
pub(super) fn fetch<P: Peer>(
    side: &mut Side<P>,
    when: When,
    replicated: &Replicated,
    new: Tuple<'_>,
    old: Old<'_>,
) -> Result<Found, Failure> {
    let columns = &replicated.table().columns;
    let decoded = |cell: &Cell| matches!(cell, Cell::Decoded { .. });
    let data: Vec<Datum<'_>> = new
        .data()
        .zip(&replicated.cells)
        .filter(|(_, cell)| decoded(cell))
        .map(|(datum, _)| datum)
        .collect::<Result<_, _>>()?;
    let missing: Vec<usize> = (0..data.len()).filter(|column| data[*column] == Datum::Unchanged).collect();
    // A full old row has everything.
    if missing.is_empty() || matches!(old, Old::Full(_)) {
        return Ok(Found::Values(Vec::new()));
    }
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let Some(sql) = select(replicated, &names, &missing, &data) else { return Ok(Found::Values(Vec::new())) };
    let (rows, missing) = match when {
        When::Then => match side.read_then(&sql) {
            Err(error) if error.sqlstate == UNDEFINED_COLUMN => {
                match read_renamed(side, replicated, missing, &data)? {
                    Some(read) => read,
                    None => return Ok(Found::Values(Vec::new())),
                }
            }
            outcome => (outcome?, missing),
        },
        When::Now => match side.read(&sql) {
            // The stream is behind another change of the columns. The rows are read again once it is not.
            Err(error) if [UNDEFINED_COLUMN, UNDEFINED_TABLE].contains(&error.sqlstate.as_str()) => {
                return Ok(Found::Values(Vec::new()));
            }
            outcome => (outcome?, missing),
        },
    };
    let Some(row) = rows.into_iter().next() else { return Ok(Found::Gone) };
    let fetched = missing.into_iter().zip(row).map(|(column, text)| Fetched { column, text });
    Ok(Found::Values(fetched.collect()))
}

/// Rows, and which columns they have.
type ReadRows = (Vec<Row>, Vec<usize>);

/// Reads where columns have other names than when the stream's row was written, and which of those that are missing there
/// still are; nothing where there are none, or the row cannot be found any more.
fn read_renamed<P: Peer>(
    side: &mut Side<P>,
    replicated: &Replicated,
    mut missing: Vec<usize>,
    data: &[Datum<'_>],
) -> Result<Option<ReadRows>, Failure> {
    let table = replicated.table();
    let Some(now) = catalog::table_numbered(side, table.id)? else { return Ok(None) };
    // A column that was dropped since has no name, and its values are nowhere.
    let name = |column: &Column| {
        let found = now.columns.iter().find(|found| found.attribute == column.attribute);
        found.map_or("", |found| found.name.as_str())
    };
    let names: Vec<&str> = table.columns.iter().map(name).collect();
    missing.retain(|column| !names[*column].is_empty());
    if missing.is_empty() || replicated.mapped.key().iter().any(|column| names[*column].is_empty()) {
        return Ok(None);
    }
    let Some(sql) = select(replicated, &names, &missing, data) else { return Ok(None) };
    match side.read_then(&sql) {
        Err(error) if error.sqlstate == UNDEFINED_COLUMN => {
            Err(Failure::retry("table_changed_meanwhile", error.message).with_table(table.qualified_name()))
        }
        rows => Ok(Some((rows?, missing))),
    }
}

/// What reads columns of the row with a key; nothing where the key is not all there.
fn select(replicated: &Replicated, names: &[&str], wanted: &[usize], data: &[Datum<'_>]) -> Option<String> {
    let condition = condition(replicated, names, data)?;
    let table = replicated.table();
    let selected: Vec<String> = wanted.iter().map(|column| format!("t.{}", ident(names[*column]))).collect();
    Some(format!(
        "SELECT {} FROM {} AS t WHERE {condition} LIMIT 1",
        selected.join(", "),
        qualified(&table.schema, &table.name)
    ))
}

/// The row's key as a condition. The literals take the types of their columns (B020, B086).
fn condition(replicated: &Replicated, names: &[&str], data: &[Datum<'_>]) -> Option<String> {
    let mut conditions = Vec::new();
    for key in replicated.mapped.key() {
        let Datum::Text(text) = data.get(key)? else { return None };
        let text = std::str::from_utf8(text).ok()?;
        conditions.push(format!("t.{} = {}", ident(names[key]), literal(text)));
    }
    (!conditions.is_empty()).then(|| conditions.join(" AND "))
}
