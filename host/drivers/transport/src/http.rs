//! A connection as hyper's client wants it, so that every store that speaks HTTP has the same deadlines, keepalive
//! and verification as the others.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;

use crate::Stream;

/// Why there is no connection. Shared, because hyper's error lends its cause and does not give it.
#[derive(Clone, Debug, thiserror::Error)]
#[error(transparent)]
pub struct NoConnection(pub Arc<crate::Error>);

impl From<crate::Error> for NoConnection {
    fn from(error: crate::Error) -> Self {
        Self(Arc::new(error))
    }
}

/// A connection as hyper reads and writes it.
#[derive(Debug)]
pub struct HttpStream(TokioIo<Stream>);

impl HttpStream {
    /// Over a connection, encrypted or not.
    #[must_use]
    pub fn new(stream: Stream) -> Self {
        Self(TokioIo::new(stream))
    }
}

impl Connection for HttpStream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for HttpStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_read(cx, buf)
    }
}

impl Write for HttpStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write_vectored(cx, bufs)
    }
}
