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
use tarn_sdk::sql::postgres::{ident, literal};

use super::replicated::{Cell, Replicated};
use crate::catalog;
use crate::names;
use crate::peer::{Peer, flag, single};
use crate::pgoutput::{Datum, Old, Tuple};
use crate::side::Side;
use crate::surroundings::changed;
use crate::table_name::TableName;

/// How often names are looked up that are others when they are used.
const NAMES_TRIED: u32 = 5;

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
    let mut asked = Asked::as_described(replicated, missing);
    for _ in 0..NAMES_TRIED {
        let Some(sql) = asked.sql(replicated, &data) else { return Ok(Found::Values(Vec::new())) };
        let outcome = match when {
            When::Then => side.read_then(&sql),
            When::Now => side.read(&sql),
        };
        let mut refused = None;
        match outcome {
            Ok(rows) => {
                let row = single(rows, "a row by its key")?;
                if flag(&row, 0) {
                    return Ok(asked.found(row));
                }
            }
            // A name that is another column's may not go with the key's value, or not be allowed to be read.
            Err(error) if error.is_passing() => return Err(error.into()),
            Err(error) => refused = Some(error),
        }
        match (asked.as_now(side, replicated)?, refused) {
            (Some(now), Some(error)) if now == asked && !names::is_undefined(&error) => {
                return Err(error.into());
            }
            (Some(now), _) => asked = now,
            (None, Some(error)) if !names::is_undefined(&error) => return Err(error.into()),
            (None, _) => return Ok(Found::Values(Vec::new())),
        }
    }
    Err(changed("columns get other names again and again").with_table(replicated.table().qualified_name()))
}

/// What is asked for, under the names that the table and its columns are believed to have now. The stream may be behind
/// changes of these, and a name may be another column's by now.
#[derive(PartialEq, Eq)]
struct Asked {
    table: TableName,
    /// Of each column of the batch; none of one that is gone.
    names: Vec<Option<String>>,
    /// The columns whose values are wanted.
    wanted: Vec<usize>,
}

impl Asked {
    fn as_described(replicated: &Replicated, wanted: Vec<usize>) -> Self {
        let columns = replicated.table().columns.iter();
        Self {
            table: replicated.name(),
            names: columns.map(|column| Some(column.name.clone())).collect(),
            wanted,
        }
    }

    /// The same under the names of now; nothing where no wanted column is left, or the row cannot be found any more.
    fn as_now<P: Peer>(&self, side: &mut Side<P>, replicated: &Replicated) -> Result<Option<Self>, Failure> {
        let Some(now) = catalog::table_numbered(side, replicated.table().id)? else { return Ok(None) };
        let name = |column: &Column| {
            let found = now.columns.iter().find(|found| found.attribute == column.attribute);
            found.map(|found| found.name.clone())
        };
        let names: Vec<Option<String>> = replicated.table().columns.iter().map(name).collect();
        let is_there = |column: &usize| names[*column].is_some();
        let wanted: Vec<usize> = self.wanted.iter().copied().filter(is_there).collect();
        let has_key = replicated.mapped.key().iter().all(is_there);
        Ok((has_key && !wanted.is_empty()).then_some(Self { table: now.name, names, wanted }))
    }

    /// What reads whether the names are those of the columns that are meant, whether there is a row, and its values; nothing
    /// where the message has not the whole key. It is one statement, which locks the table before it looks at either. The
    /// literals take the types of their columns (B020, B086).
    fn sql(&self, replicated: &Replicated, data: &[Datum<'_>]) -> Option<String> {
        let name = |column: usize| self.names[column].as_deref();
        let mut conditions = Vec::new();
        for key in replicated.mapped.key() {
            let Datum::Text(text) = data.get(key)? else { return None };
            let text = std::str::from_utf8(text).ok()?;
            conditions.push(format!("t.{} = {}", ident(name(key)?), literal(text)));
        }
        if conditions.is_empty() {
            return None;
        }
        let columns = &replicated.table().columns;
        let used = replicated.mapped.key().into_iter().chain(self.wanted.iter().copied());
        let used = used.filter_map(|column| Some((columns[column].attribute, name(column)?)));
        let values: Vec<String> = (0..self.wanted.len()).map(|at| format!("v{at}")).collect();
        let selected = self.wanted.iter().map(|column| Some(format!("t.{}", ident(name(*column)?))));
        let selected: Vec<String> = selected.collect::<Option<_>>()?;
        Some(format!(
            "SELECT {}, r.* FROM (VALUES (1)) AS one
             LEFT JOIN (SELECT true, {} FROM {} AS t WHERE {} LIMIT 1) AS r (found, {}) ON true",
            names::are(replicated.table().id, &self.table, used),
            selected.join(", "),
            self.table.sql(),
            conditions.join(" AND "),
            values.join(", ")
        ))
    }

    fn found(&self, row: Row) -> Found {
        if !flag(&row, 1) {
            return Found::Gone;
        }
        let fetched = self.wanted.iter().zip(row.into_iter().skip(2));
        Found::Values(fetched.map(|(&column, text)| Fetched { column, text }).collect())
    }
}
