//! How hyper's client gets a connection: from the transport crate, so that deadlines, keepalive and
//! TLS verification are the same for every store.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::Uri;
use tarn_transport::{CONNECT_DEADLINE, HttpStream, NoConnection};
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
            Ok(HttpStream::new(stream))
        })
    }
}
