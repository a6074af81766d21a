//! How hyper's client gets a connection: from the transport crate, so that deadlines, keepalive and
//! TLS verification are the same for every store.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tarn_transport::{CONNECT_DEADLINE, Stream};
use tokio::time::Instant;
use tower_service::Service;

use crate::address::Address;

/// Connects to the one address, whatever the URL says.
#[derive(Clone, Debug)]
pub(crate) struct Connector(pub(crate) Address);

impl Service<Uri> for Connector {
    type Response = HttpStream;
    type Error = NoConnection;
    type Future = Pin<Box<dyn Future<Output = Result<HttpStream, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let Address { host, port, tls } = self.0.clone();
        Box::pin(async move {
            let end = Instant::now() + CONNECT_DEADLINE;
            let mut stream = tarn_transport::connect(&host, port, CONNECT_DEADLINE).await?;
            if let Some(tls) = tls {
                stream = stream.encrypt(&tls, end.saturating_duration_since(Instant::now())).await?;
            }
            Ok(HttpStream(TokioIo::new(stream)))
        })
    }
}

/// Why there is no connection. Shared, because hyper's error lends its cause and does not give it.
#[derive(Clone, Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct NoConnection(pub(crate) Arc<tarn_transport::Error>);

impl From<tarn_transport::Error> for NoConnection {
    fn from(error: tarn_transport::Error) -> Self {
        Self(Arc::new(error))
    }
}

/// A connection as hyper reads and writes it.
#[derive(Debug)]
pub(crate) struct HttpStream(TokioIo<Stream>);

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
