//! What people ask about a server: how many rows tables have. Nothing is changed there.

use tarn_sdk::inspection::{About, Answer, Question, RowCount, unanswered};
use tarn_sdk::sql::clickhouse::{ident, literal};
use tarn_sdk::{DestinationConfig, Failure, clock};

use crate::client::{Client, Error, text_rows};
use crate::failure::{code, of_error};

/// The server's error for a statement that ran into its time limit.
const TIMEOUT_EXCEEDED: u32 = 159;

/// The server's error for a column that is not there.
const UNKNOWN_IDENTIFIER: u32 = 47;

/// Answers a question about the client's server.
pub(crate) fn inspect(client: &mut impl Client, question: &Question) -> Result<Answer, Failure> {
    match &question.about {
        About::RowCounts { tables, deleted_column } => {
            let deleted_column = match deleted_column.as_str() {
                "" => DestinationConfig::SOFT_DELETE_COLUMN,
                named => named,
            };
            count(client, tables, deleted_column, question.within_ms).map(Answer::RowCounts)
        }
        About::Schemas
        | About::Tables { .. }
        | About::AllTables
        | About::Columns { .. }
        | About::Publications
        | About::Slots
        | About::Activity
        | About::Unknown => Err(unanswered()),
    }
}

/// Counts tables one after the other. Each may take an equal part of the time that is left.
fn count(
    client: &mut impl Client,
    tables: &[String],
    deleted_column: &str,
    within_ms: u32,
) -> Result<Vec<RowCount>, Failure> {
    let began = clock::monotonic();
    let mut counts = Vec::with_capacity(tables.len());
    for (at, table) in tables.iter().enumerate() {
        let spent_ms = u32::try_from((clock::monotonic() - began) / 1000).unwrap_or(u32::MAX);
        let left = u32::try_from(tables.len() - at).unwrap_or(u32::MAX);
        // 0 would be no limit.
        let share_ms = if within_ms == 0 { 0 } else { (within_ms.saturating_sub(spent_ms) / left).max(1) };
        counts.push(count_one(client, table, deleted_column, share_ms)?);
    }
    Ok(counts)
}

fn count_one(
    client: &mut impl Client,
    table: &str,
    deleted_column: &str,
    share_ms: u32,
) -> Result<RowCount, Failure> {
    let failed = |error| of_error(error, &format!("counting table {table}"));
    let uncounted = RowCount { table: table.to_owned(), rows: None, approximate: false };
    let known = text_rows(
        client,
        &format!(
            "SELECT engine, ifNull(toString(total_rows), '') FROM system.tables
             WHERE database = currentDatabase() AND name = {}",
            literal(table)
        ),
    )
    .map_err(failed)?;
    let Some([engine, _]) = known.first().map(Vec::as_slice) else { return Ok(uncounted) };
    let statement = statement(table, engine, deleted_column, share_ms);
    match text_rows(client, &statement) {
        Ok(rows) => Ok(RowCount { rows: first_number(&rows), ..uncounted }),
        // The versions of rows that were not merged yet, and the deleted ones, are in the guess too.
        Err(error) if error.code == TIMEOUT_EXCEEDED => {
            let guess = known[0][1].parse().ok();
            Ok(RowCount { rows: guess, approximate: guess.is_some(), ..uncounted })
        }
        Err(Error { code: 0, message }) => Err(failed(Error { code: 0, message })),
        // Dropped just now, of another form, or not for the user's eyes: the others can still be counted.
        Err(error)
            if matches!(error.code, UNKNOWN_IDENTIFIER | code::UNKNOWN_TABLE | code::ACCESS_DENIED) =>
        {
            Ok(uncounted)
        }
        Err(error) => Err(failed(error)),
    }
}

/// A table of a replacing engine holds old versions of a row until it merges them, and rows that are gone.
fn statement(table: &str, engine: &str, deleted_column: &str, share_ms: u32) -> String {
    let mut statement = format!("SELECT toString(count()) FROM {}", ident(table));
    if engine.contains("Replacing") {
        statement.push_str(&format!(" FINAL WHERE NOT {}", ident(deleted_column)));
    }
    if share_ms > 0 {
        let seconds = f64::from(share_ms) / 1000.0;
        statement.push_str(&format!(" SETTINGS max_execution_time = {seconds}"));
    }
    statement
}

fn first_number(rows: &[Vec<String>]) -> Option<u64> {
    rows.first()?.first()?.parse().ok()
}
