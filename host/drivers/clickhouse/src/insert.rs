//! An insert whose rows are sent while more are made.
//!
//! ```text
//!   Resting ── append ──> Sending ── finish ─────────────────────> Resting
//!      ^                     │ no rows for some seconds
//!      └──── append, finish ─┘ (the server has what it got)
//!                            └── any failure ──> Resting, the request aborted
//! ```
//!
//! One request takes as many rows as come, so that the server makes few large parts of them and works
//! while we do. What was appended is in the table only once [`Insert::finish`] says so.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use crate::body::{Rows, StatementBody};
use crate::client::{Client, encoded};
use crate::config::{PIECES_MAX, STATEMENT_DEADLINE};
use crate::error::Error;

/// Rows on their way to one table. Dropping it gives up what [`Self::finish`] did not confirm.
#[derive(Debug)]
pub struct Insert {
    client: Client,
    sql: String,
    /// Settings as the end of a URL.
    settings: String,
    request: Option<Sending>,
}

/// A request under way.
#[derive(Debug)]
struct Sending {
    pieces: mpsc::Sender<Bytes>,
    answer: AbortOnDropHandle<Result<(), Error>>,
}

impl Client {
    /// An insert by `INSERT … FORMAT …`, under settings of its own. Sends nothing before there are rows.
    pub fn insert(&self, sql: &str, settings: &[(String, String)]) -> Insert {
        let settings = settings.iter().fold(String::new(), |mut url, (name, value)| {
            write!(url, "&{}={}", encoded(name), encoded(value)).expect("a String takes what is written");
            url
        });
        Insert { client: self.clone(), sql: sql.to_owned(), settings, request: None }
    }
}

impl Insert {
    /// Sends whole rows and returns when there is room for more.
    ///
    /// # Errors
    /// Any [`Error`]; rows since the last [`Self::finish`] may be in the table or not.
    pub async fn append(&mut self, rows: Vec<u8>) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let rows = Bytes::from(rows);
        let deadline = Instant::now() + STATEMENT_DEADLINE;
        loop {
            let mut sending = match self.request.take() {
                Some(sending) => sending,
                None => self.start(),
            };
            let ended = tokio::select! {
                biased;
                ended = &mut sending.answer => Some(ended),
                room = timeout_at(deadline, sending.pieces.reserve()) => match room.map_err(|_| self.late())? {
                    Ok(room) => {
                        room.send(rows.clone());
                        None
                    }
                    // It takes no more: it was idle for too long, or failed.
                    Err(_) => Some((&mut sending.answer).await),
                },
            };
            match ended {
                Some(ended) => self.outcome(ended)?,
                None => {
                    self.request = Some(sending);
                    return Ok(());
                }
            }
        }
    }

    /// Waits until all rows are in the table. More may be appended afterwards.
    ///
    /// # Errors
    /// Any [`Error`]; rows since the last `finish` may be in the table or not.
    pub async fn finish(&mut self) -> Result<(), Error> {
        let Some(Sending { pieces, answer }) = self.request.take() else { return Ok(()) };
        drop(pieces);
        let ended = timeout_at(Instant::now() + STATEMENT_DEADLINE, answer).await;
        self.outcome(ended.map_err(|_| self.late())?)
    }

    fn start(&self) -> Sending {
        let (pieces, received) = mpsc::channel(PIECES_MAX);
        let all_sent = Arc::new(AtomicBool::new(false));
        let body = StatementBody::insert(&self.sql, Rows::new(received, Arc::clone(&all_sent)));
        let (client, settings) = (self.client.clone(), self.settings.clone());
        let answer = tokio::spawn(async move {
            client.send_rows(&settings, body).await?;
            if all_sent.load(Ordering::Acquire) { Ok(()) } else { Err(client.lost(EARLY)) }
        });
        Sending { pieces, answer: AbortOnDropHandle::new(answer) }
    }

    fn outcome(&self, ended: Result<Result<(), Error>, tokio::task::JoinError>) -> Result<(), Error> {
        ended.unwrap_or_else(|fault| Err(self.client.lost(fault)))
    }

    fn late(&self) -> Error {
        self.client.timed_out(STATEMENT_DEADLINE)
    }
}

/// An answer that leaves open what became of the rows behind it.
const EARLY: &str = "it answered before it had all rows";
