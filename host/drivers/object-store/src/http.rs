//! The requests' way: hyper's client over connections of the transport crate.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::{Response, Uri};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse,
    HttpService,
};
use tarn_transport::{CONNECT_DEADLINE, HttpStream, NoConnection, TlsSettings, Verification};
use tokio::time::{Instant, timeout};
use tower_service::Service;

use crate::config::{
    ANSWER_BYTES_MAX, FRAME_DEADLINE, HEAD_DEADLINE, IDLE_DEADLINE, OBJECT_BYTES_MAX, PARALLEL_MAX, RATE_MIN,
};
use crate::error::{Error, Refusal};

/// Makes the library's requests, and reads what refusals say.
#[derive(Clone, Debug)]
pub(crate) struct Requests {
    http: legacy::Client<Connector, HttpRequestBody>,
    address: Arc<str>,
}

impl Requests {
    /// To the server of `endpoint`, whose certificate these authorities vouch for (PEM; empty for the machine's). Opens
    /// nothing.
    pub(crate) fn new(endpoint: &str, root_ca: &str) -> Self {
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_DEADLINE)
            .pool_max_idle_per_host(PARALLEL_MAX)
            .build(Connector { root_ca: root_ca.into() });
        let address = endpoint.trim_start_matches("https://").trim_start_matches("http://");
        Self { http, address: address.into() }
    }

    async fn exchange(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let sending = Duration::from_secs(request.body().content_length() as u64 / RATE_MIN);
        let deadline = HEAD_DEADLINE + sending;
        let limit = if request.method() == hyper::Method::GET && request.uri().query().is_none() {
            OBJECT_BYTES_MAX
        } else {
            ANSWER_BYTES_MAX
        };
        let answer = timeout(deadline, self.http.request(request)).await;
        let answer = answer.map_err(|_| self.silent(deadline))?.map_err(|error| self.no_answer(&error))?;
        let (head, body) = answer.into_parts();
        let body = self.collect(body, limit).await?;
        let status = head.status;
        if status.is_success() || status == hyper::StatusCode::NOT_MODIFIED {
            return Ok(Response::from_parts(head, body.into()));
        }
        let refusal = Refusal::read(status.as_u16(), &String::from_utf8_lossy(&body));
        let passes = status.is_server_error() || matches!(status.as_u16(), 408 | 429);
        if passes {
            // The library tries again; what it quotes of the last answer is this.
            return Ok(Response::from_parts(head, refusal.marked().into()));
        }
        Err(HttpError::new(HttpErrorKind::Unknown, Error::Refused(refusal)))
    }

    async fn collect(&self, mut body: Incoming, bytes_max: usize) -> Result<Bytes, HttpError> {
        let mut collected = BytesMut::new();
        loop {
            let frame = timeout(FRAME_DEADLINE, body.frame()).await;
            let Some(frame) = frame.map_err(|_| self.silent(FRAME_DEADLINE))? else { break };
            let frame = frame.map_err(|error| self.lost(&error))?;
            let Ok(data) = frame.into_data() else { continue };
            if collected.len() + data.len() > bytes_max {
                let text = format!("it is larger than {} MiB", bytes_max >> 20);
                return Err(HttpError::new(HttpErrorKind::Unknown, Error::NotS3(text)));
            }
            collected.extend_from_slice(&data);
        }
        Ok(collected.freeze())
    }

    fn silent(&self, deadline: Duration) -> HttpError {
        HttpError::new(HttpErrorKind::Timeout, Error::Silent { address: self.address.to_string(), deadline })
    }

    fn lost(&self, error: &(dyn std::error::Error + 'static)) -> HttpError {
        let error = Error::Lost { address: self.address.to_string(), reason: tarn_model::chain(error) };
        HttpError::new(HttpErrorKind::Interrupted, error)
    }

    fn no_answer(&self, error: &legacy::Error) -> HttpError {
        let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<NoConnection>());
        match cause {
            Some(NoConnection(source)) => {
                let error = Error::Connect { address: self.address.to_string(), source: Arc::clone(source) };
                // A certificate that is not trusted will not be a moment later.
                let kind =
                    if source.is_permanent() { HttpErrorKind::Unknown } else { HttpErrorKind::Connect };
                HttpError::new(kind, error)
            }
            None => self.lost(error),
        }
    }
}

impl HttpService for Requests {
    fn call<'life, 'future>(
        &'life self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'future>>
    where
        'life: 'future,
        Self: 'future,
    {
        Box::pin(self.exchange(request))
    }
}

impl HttpConnector for Requests {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

/// Connects to where a URL says, with TLS by its scheme.
#[derive(Clone, Debug)]
struct Connector {
    /// PEM; empty for the machine's authorities.
    root_ca: Arc<str>,
}

impl Service<Uri> for Connector {
    type Response = HttpStream;
    type Error = NoConnection;
    type Future = Pin<Box<dyn Future<Output = Result<HttpStream, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let root_ca = Arc::clone(&self.root_ca);
        Box::pin(async move {
            let encrypted = uri.scheme_str() == Some("https");
            let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
            let port = uri.port_u16().unwrap_or(if encrypted { 443 } else { 80 });
            let end = Instant::now() + CONNECT_DEADLINE;
            let mut stream = tarn_transport::connect(&host, port, CONNECT_DEADLINE).await?;
            if encrypted {
                let tls = TlsSettings {
                    verification: Verification::Full,
                    server_name: host,
                    root_ca: root_ca.to_string(),
                    client: None,
                };
                stream = stream.encrypt(&tls, end.saturating_duration_since(Instant::now())).await?;
            }
            Ok(HttpStream::new(stream))
        })
    }
}
