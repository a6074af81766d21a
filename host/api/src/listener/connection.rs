//! One connection's life.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tower_service::Service as _;

use super::refusal;
use super::stall::Impatient;
use super::tls::ServerTls;
use crate::config::{HEAD_BUFFER_BYTES, Limits, TURN_AWAY_DEADLINE};
use crate::guard::login::PeerAddress;

/// What every connection needs. Clones share it.
#[derive(Clone)]
pub(super) struct Connector {
    router: Router,
    tls: Option<ServerTls>,
    limits: Arc<Limits>,
    stop: CancellationToken,
}

impl Connector {
    pub(super) fn new(
        router: Router,
        tls: Option<ServerTls>,
        limits: Limits,
        stop: CancellationToken,
    ) -> Self {
        Self { router, tls, limits: Arc::new(limits), stop }
    }

    /// Serves requests until the client leaves, breaks a rule, or the server stops.
    pub(super) async fn serve(self, socket: TcpStream, address: IpAddr) {
        // Answers are small and written whole: waiting for more to send would only delay them.
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, "a connection was gone before it was served");
            return;
        }
        match self.tls.clone() {
            None => self.speak(socket, address).await,
            Some(tls) => match timeout(self.limits.handshake_deadline, tls.accept(socket)).await {
                Ok(Ok(stream)) => self.speak(stream, address).await,
                Ok(Err(error)) => tracing::debug!(%address, %error, "a tls handshake failed"),
                Err(_) => tracing::debug!(%address, "a tls handshake took too long"),
            },
        }
    }

    /// Tells a connection that there are too many.
    pub(super) async fn turn_away(self, socket: TcpStream) {
        let farewell = async {
            match self.tls {
                None => refusal::send(socket).await,
                Some(tls) => refusal::send(tls.accept(socket).await?).await,
            }
        };
        match timeout(TURN_AWAY_DEADLINE, farewell).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a connection too many left before it was told"),
            Err(_) => tracing::debug!("a connection too many did not listen"),
        }
    }

    async fn speak<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(self, stream: S, address: IpAddr) {
        let router = self.router;
        let answer = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(PeerAddress(address));
            router.clone().call(request.map(Body::new))
        });
        let stream = TokioIo::new(Impatient::new(stream, self.limits.stall));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head_deadline)
            .max_buf_size(HEAD_BUFFER_BYTES)
            .serve_connection(stream, answer);
        let mut connection = pin!(connection);
        let outcome = tokio::select! {
            outcome = connection.as_mut() => outcome,
            () = self.stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = outcome {
            tracing::debug!(%address, %error, "a connection ended early");
        }
    }
}
