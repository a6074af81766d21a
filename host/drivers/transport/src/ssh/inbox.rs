//! What has arrived through a tunnel and was not read yet.
//!
//! Three share it: the session fills it, the tunnel empties it, and the socket reads nothing more while it
//! is full. The SSH library grants the server a new window when bytes arrive, not when they are read, and
//! while it waits for a reader it writes nothing either: a reader that rests would silence the replication
//! stream's heartbeat, too. So the library never has to wait, and the socket is what rests.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::ReadBuf;

use crate::config::{SSH_INBOX_BYTES_MAX, SSH_MESSAGE_BYTES};

/// How a tunnel ended.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// The store closed its connection.
    Closed,
    /// The session is gone, and why.
    Lost(String),
}

pub(super) struct Inbox {
    server: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    arrived: VecDeque<Vec<u8>>,
    /// How much of the first was read.
    offset: usize,
    /// What all of it counts as, with what a message costs whatever its length.
    weight: usize,
    end: Option<End>,
    /// What the server said when it opened no channel.
    refusal: Option<String>,
    abandoned: bool,
    reader: Option<Waker>,
    socket: Option<Waker>,
}

impl Inbox {
    pub(super) fn new(server: &str) -> Self {
        Self { server: server.to_owned(), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what arrived.
    pub(super) fn put(&self, data: &[u8]) {
        let mut state = self.state();
        if data.is_empty() {
            return;
        }
        state.weight += data.len() + SSH_MESSAGE_BYTES;
        state.arrived.push_back(data.to_vec());
        wake(&mut state.reader);
    }

    /// Notes the end. The first one stands.
    pub(super) fn finish(&self, end: End) {
        let mut state = self.state();
        state.end.get_or_insert(end);
        wake(&mut state.reader);
    }

    /// Notes why the server opens no channel.
    pub(super) fn note_refusal(&self, text: &str) {
        let text: String = text.chars().filter(|character| !character.is_control()).take(200).collect();
        self.state().refusal = Some(text).filter(|text| !text.is_empty());
    }

    /// Why the server opened no channel, if it said so.
    pub(super) fn refusal(&self) -> Option<String> {
        self.state().refusal.clone()
    }

    /// Gives out what arrived; nothing at the end of a connection that the store closed.
    pub(super) fn poll_take(&self, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut state = self.state();
        let State { arrived, offset, .. } = &mut *state;
        let Some(first) = arrived.front() else {
            return match &state.end {
                Some(End::Closed) => Poll::Ready(Ok(())),
                Some(End::Lost(reason)) => Poll::Ready(Err(self.lost(reason))),
                None => {
                    state.reader = Some(cx.waker().clone());
                    Poll::Pending
                }
            };
        };
        let rest = &first[*offset..];
        let taken = rest.len().min(out.remaining());
        out.put_slice(&rest[..taken]);
        if taken < rest.len() {
            *offset += taken;
            return Poll::Ready(Ok(()));
        }
        let weight = first.len() + SSH_MESSAGE_BYTES;
        *offset = 0;
        arrived.pop_front();
        state.weight -= weight;
        if state.weight < SSH_INBOX_BYTES_MAX {
            wake(&mut state.socket);
        }
        Poll::Ready(Ok(()))
    }

    /// Waits until there is room for more, or nobody wants more.
    ///
    /// # Errors
    /// The connection was given up.
    pub(super) fn poll_room(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.state();
        if state.abandoned {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionAborted, "it was given up")));
        }
        if state.weight < SSH_INBOX_BYTES_MAX {
            // Kept also now: giving up must wake a socket that waits for the server.
            state.socket = Some(cx.waker().clone());
            return Poll::Ready(Ok(()));
        }
        state.socket = Some(cx.waker().clone());
        Poll::Pending
    }

    /// The error of a call on a tunnel that cannot be written to any more.
    pub(super) fn write_error(&self, error: io::Error) -> io::Error {
        match &self.state().end {
            Some(End::Lost(reason)) => self.lost(reason),
            Some(End::Closed) | None => error,
        }
    }

    fn lost(&self, reason: &str) -> io::Error {
        let text = format!("the ssh tunnel through {} was lost: {reason}", self.server);
        io::Error::new(io::ErrorKind::ConnectionReset, text)
    }
}

/// What arrived is rows: it is not printed.
impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("server", &self.server).finish_non_exhaustive()
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

/// Gives a session up when it is dropped, unless it was [forgone](Self::forgo).
pub(super) struct Abandon(Option<Arc<Inbox>>);

impl Abandon {
    pub(super) fn of(inbox: &Arc<Inbox>) -> Self {
        Self(Some(Arc::clone(inbox)))
    }

    /// The session goes on.
    pub(super) fn forgo(mut self) {
        self.0 = None;
    }
}

impl Drop for Abandon {
    fn drop(&mut self) {
        if let Some(inbox) = &self.0 {
            let mut state = inbox.state();
            state.abandoned = true;
            wake(&mut state.socket);
        }
    }
}
