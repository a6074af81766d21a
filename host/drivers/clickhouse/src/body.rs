//! A request's body: a statement, and rows that follow it as they come.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep};

use crate::config::ROWS_IDLE_DEADLINE;

/// A statement, and what follows it.
#[derive(Debug, Default)]
pub(crate) struct StatementBody {
    statement: Bytes,
    rows: Option<Rows>,
}

impl StatementBody {
    pub(crate) fn statement(sql: &str) -> Self {
        Self { statement: Bytes::copy_from_slice(sql.as_bytes()), rows: None }
    }

    /// The line break ends the statement: every byte after it is data, also one that is a space.
    pub(crate) fn insert(sql: &str, rows: Rows) -> Self {
        Self { statement: Bytes::from(format!("{sql}\n")), rows: Some(rows) }
    }
}

impl Body for StatementBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let body = self.get_mut();
        let piece = if body.statement.is_empty() {
            match &mut body.rows {
                Some(rows) => ready!(rows.poll_next(cx)),
                None => None,
            }
        } else {
            Some(std::mem::take(&mut body.statement))
        };
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.statement.is_empty() && self.rows.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match self.rows {
            Some(_) => SizeHint::default(),
            None => SizeHint::with_exact(self.statement.len() as u64),
        }
    }
}

/// The pieces of an insert's rows. They end where their sender does, and where none comes for long: a
/// server gives up a request whose data stops in the middle, and every piece ends at the end of a row.
#[derive(Debug)]
pub(crate) struct Rows {
    pieces: mpsc::Receiver<Bytes>,
    idle: Pin<Box<Sleep>>,
    all_sent: Arc<AtomicBool>,
}

impl Rows {
    /// The pieces that a channel brings; the flag is set once all were handed on.
    pub(crate) fn new(pieces: mpsc::Receiver<Bytes>, all_sent: Arc<AtomicBool>) -> Self {
        Self { pieces, idle: Box::pin(sleep(ROWS_IDLE_DEADLINE)), all_sent }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            match self.pieces.poll_recv(cx) {
                Poll::Ready(Some(piece)) => {
                    self.idle.as_mut().reset(Instant::now() + ROWS_IDLE_DEADLINE);
                    return Poll::Ready(Some(piece));
                }
                Poll::Ready(None) => {
                    self.all_sent.store(true, Ordering::Release);
                    return Poll::Ready(None);
                }
                Poll::Pending => {
                    ready!(self.idle.as_mut().poll(cx));
                    // What was accepted before still comes.
                    self.pieces.close();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn rows_that_stop_coming_end_after_what_was_accepted() {
        let (sender, received) = mpsc::channel(2);
        let all_sent = Arc::new(AtomicBool::new(false));
        let mut rows = Rows::new(received, Arc::clone(&all_sent));
        let began = Instant::now();
        sender.send(Bytes::from_static(b"row")).await.expect("there is room");
        assert_eq!(poll_fn(|cx| rows.poll_next(cx)).await.as_deref(), Some(&b"row"[..]));
        assert_eq!(poll_fn(|cx| rows.poll_next(cx)).await, None);
        assert_eq!(began.elapsed(), ROWS_IDLE_DEADLINE);
        assert!(all_sent.load(Ordering::Acquire));
        assert!(sender.reserve().await.is_err(), "the next rows need another request");
    }
}
