//! An insert whose rows are sent while more are made.
//!
//! ```text
//!   Resting ── append ──> Sending ── end, or no rows for some seconds ──> Ended
//!      ^                     │ finish                                       │ append, finish
//!      └─────────────────────┴──────── the server has what it got ──────────┘
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
use tokio::task::JoinError;
use tokio::time::{Instant, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use crate::body::{Rows, StatementBody};
use crate::client::{Client, encoded};
use crate::config::{PIECE_BYTES_MAX, PIECES_MAX, STATEMENT_DEADLINE};
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
    /// Nothing once the rows are ended.
    pieces: Option<mpsc::Sender<Bytes>>,
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
        let rows = Bytes::from(rows);
        let deadline = Instant::now() + STATEMENT_DEADLINE;
        for start in (0..rows.len()).step_by(PIECE_BYTES_MAX) {
            let piece = rows.slice(start..rows.len().min(start + PIECE_BYTES_MAX));
            self.send(&piece, deadline, start > 0).await?;
        }
        Ok(())
    }

    /// Sends a piece. It begins another request where the last one has ended, unless it continues a row.
    async fn send(&mut self, piece: &Bytes, deadline: Instant, continues: bool) -> Result<(), Error> {
        loop {
            let mut sending = match self.request.take() {
                Some(sending) => sending,
                None => self.start(),
            };
            match timeout_at(deadline, sending.take(piece)).await.map_err(|_| self.late())? {
                Some(ended) => self.outcome(ended)?,
                None => {
                    self.request = Some(sending);
                    return Ok(());
                }
            }
            if continues {
                return Err(self.client.lost(EARLY));
            }
        }
    }

    /// Ends the rows: the server works on them while others are sent.
    pub fn end(&mut self) {
        if let Some(sending) = &mut self.request {
            sending.pieces = None;
        }
    }

    /// Waits until all rows are in the table. More may be appended afterwards.
    ///
    /// # Errors
    /// Any [`Error`]; rows since the last `finish` may be in the table or not.
    pub async fn finish(&mut self) -> Result<(), Error> {
        self.end();
        let Some(Sending { answer, .. }) = self.request.take() else { return Ok(()) };
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
        Sending { pieces: Some(pieces), answer: AbortOnDropHandle::new(answer) }
    }

    fn outcome(&self, ended: Ended) -> Result<(), Error> {
        ended.unwrap_or_else(|fault| Err(self.client.lost(fault)))
    }

    fn late(&self) -> Error {
        self.client.timed_out(STATEMENT_DEADLINE)
    }
}

/// How a request ended.
type Ended = Result<Result<(), Error>, JoinError>;

impl Sending {
    /// Hands rows over once there is room; how the request ended where it takes none.
    async fn take(&mut self, rows: &Bytes) -> Option<Ended> {
        if let Some(pieces) = &self.pieces {
            tokio::select! {
                biased;
                ended = &mut self.answer => return Some(ended),
                room = pieces.reserve() => {
                    if let Ok(room) = room {
                        room.send(rows.clone());
                        return None;
                    }
                }
            }
        }
        // It was ended, by us or because no rows came, or it failed.
        Some((&mut self.answer).await)
    }
}

/// An answer that leaves open what became of the rows behind it.
const EARLY: &str = "it answered before it had all rows";
