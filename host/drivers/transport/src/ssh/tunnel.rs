//! The bytes of one channel, as a stream.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use russh::Channel;
use russh::client::{Handle, Msg};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::inbox::Inbox;
use super::session::Watch;

/// A connection to a store through an SSH server. Dropping it ends the session.
pub(crate) struct Tunnel {
    inbox: Arc<Inbox>,
    writer: Pin<Box<dyn AsyncWrite + Send + Sync>>,
    /// The session lives as long as this does.
    _session: Handle<Watch>,
}

impl Tunnel {
    /// What the channel brings is in the inbox already: its own receiver is dropped, so that the session
    /// never waits for it.
    pub(super) fn new(session: Handle<Watch>, channel: Channel<Msg>, inbox: Arc<Inbox>) -> Self {
        let writer = Box::pin(channel.make_writer());
        Self { inbox, writer, _session: session }
    }

    fn told<T>(&self, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        outcome.map_err(|error| self.inbox.write_error(error))
    }
}

impl fmt::Debug for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tunnel").field("inbox", &self.inbox).finish_non_exhaustive()
    }
}

impl AsyncRead for Tunnel {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.inbox.poll_take(cx, buf)
    }
}

impl AsyncWrite for Tunnel {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        // The library takes an empty message for a mistake.
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let written = self.writer.as_mut().poll_write(cx, buf);
        self.told(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = self.writer.as_mut().poll_flush(cx);
        self.told(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = self.writer.as_mut().poll_shutdown(cx);
        self.told(shut)
    }
}
