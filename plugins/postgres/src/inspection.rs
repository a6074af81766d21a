//! What people ask about a server: its schemas, tables and columns, publications and slots, what the
//! service's own connections do, and how many rows tables have. Nothing is changed there.

mod columns;
mod row_counts;
mod slots;
mod tables;

use tarn_sdk::Failure;
use tarn_sdk::inspection::{About, ActivityInfo, Answer, Question, unanswered};
use tarn_sdk::postgres::{Error, Row};

use crate::peer::{Peer, number, text};
use crate::side::Side;

/// A server's SQLSTATE for a statement that ran into its time limit.
const CANCELED: &str = "57014";

/// Answers a question about the server that `peer` reaches.
///
/// # Errors
/// `table_missing`, `inspection_slow` where the time is up, and whatever keeps the server from answering.
pub fn inspect<P: Peer>(peer: P, question: &Question) -> Result<Answer, Failure> {
    let mut side = Side::new(peer);
    limit(&mut side, question.within_ms)?;
    match &question.about {
        About::Schemas => names(&mut side, SCHEMAS).map(Answer::Schemas),
        About::Publications => names(&mut side, PUBLICATIONS).map(Answer::Publications),
        About::AllTables => tables::all(&mut side).map(Answer::AllTables),
        About::Tables { schema } => tables::of_schema(&mut side, schema).map(Answer::Tables),
        About::Columns { schema, table } => columns::of_table(&mut side, schema, table).map(Answer::Columns),
        About::Slots => slots::of_database(&mut side).map(Answer::Slots),
        About::Activity => activity(&mut side).map(Answer::Activity),
        About::RowCounts { tables, .. } => {
            row_counts::count(&mut side, tables, question.within_ms).map(Answer::RowCounts)
        }
        About::Unknown => Err(unanswered()),
    }
}

/// Bounds every statement that follows; 0 is no bound.
fn limit<P: Peer>(side: &mut Side<P>, milliseconds: u32) -> Result<(), Failure> {
    side.run(&format!("SET statement_timeout = {milliseconds}"))?;
    Ok(())
}

const SCHEMAS: &str = "SELECT nspname FROM pg_catalog.pg_namespace
     WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY nspname";

const PUBLICATIONS: &str = "SELECT pubname FROM pg_catalog.pg_publication ORDER BY pubname";

/// Sessions call themselves `tarn`, those of a mirror's stream `tarn <mirror>`.
const ACTIVITY: &str = "SELECT pid, coalesce(wait_event, ''), coalesce(wait_event_type, ''),
            coalesce(query_start::text, ''), coalesce(query, ''),
            coalesce(extract(epoch FROM now() - query_start), -1)::float4, coalesce(state, '')
     FROM pg_catalog.pg_stat_activity
     WHERE usename = current_user AND datname = current_database() AND pid <> pg_backend_pid()
           AND (application_name = 'tarn' OR application_name LIKE 'tarn %')
     ORDER BY pid";

/// The only column of an answer.
fn names<P: Peer>(side: &mut Side<P>, sql: &str) -> Result<Vec<String>, Failure> {
    ask(side, sql)?.iter().map(|row| Ok(text(row, 0)?.to_owned())).collect()
}

fn activity<P: Peer>(side: &mut Side<P>) -> Result<Vec<ActivityInfo>, Failure> {
    let session = |row: &Row| {
        Ok(ActivityInfo {
            pid: number(row, 0)?,
            wait_event: text(row, 1)?.to_owned(),
            wait_event_type: text(row, 2)?.to_owned(),
            query_start: text(row, 3)?.to_owned(),
            query: text(row, 4)?.to_owned(),
            duration: number(row, 5)?,
            state: text(row, 6)?.to_owned(),
        })
    };
    ask(side, ACTIVITY)?.iter().map(session).collect()
}

/// Reads; a statement that ran out of time is told as such.
fn ask<P: Peer>(side: &mut Side<P>, sql: &str) -> Result<Vec<Row>, Failure> {
    side.read(sql).map_err(|error: Error| {
        if error.sqlstate != CANCELED {
            return error.into();
        }
        Failure::retry("inspection_slow", "the server did not answer in time")
            .with_hint("it may be busy, or a lock be in the way: try again later")
    })
}
