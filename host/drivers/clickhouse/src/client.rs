//! A peer's ClickHouse server.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::header::{AUTHORIZATION, HeaderValue};
use hyper::{HeaderMap, Method, Request, Response, body::Incoming};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tarn_model::{ClickHouseConfig, MASK, PeerConfig};
use tarn_transport::NoConnection;

use crate::address::Address;
use crate::body::StatementBody;
use crate::config;
use crate::connector::Connector;
use crate::error::Error;
use crate::exception::{Exception, shortened};

/// A ClickHouse server as one user, with connections that are used again. Cloning shares them.
#[derive(Clone, Debug)]
pub struct Client(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    http: legacy::Client<Connector, StatementBody>,
    address: Address,
    /// `Basic …`, marked sensitive, so that it prints as such.
    authorization: HeaderValue,
    /// The beginning of every request's URL: the database, and that answers are to be complete.
    parameters: String,
    /// For striking secrets from what the server says.
    peer: PeerConfig,
}

/// What a body may hold besides its format's bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Rows,
    /// The answer to an insert is empty.
    Nothing,
}

impl Client {
    /// A client for the peer. Opens nothing.
    ///
    /// # Errors
    /// [`Error::Settings`] or [`Error::Connect`] where the settings, certificates among them, cannot
    /// be used.
    pub fn new(config: &ClickHouseConfig) -> Result<Self, Error> {
        let mut peer = PeerConfig::Clickhouse(config.clone());
        peer.fill_defaults();
        let PeerConfig::Clickhouse(config) = &peer else { unreachable!("it was made from one") };
        let address = Address::new(config)?;
        let authorization = authorization(config)?;
        let parameters = format!("/?wait_end_of_query=1&database={}", encoded(&config.database));
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(config::IDLE_DEADLINE)
            .pool_max_idle_per_host(config::IDLE_CONNECTIONS_MAX)
            .build(Connector(address.clone()));
        Ok(Self(Arc::new(Inner { http, address, authorization, parameters, peer })))
    }

    /// Runs a statement and returns the body of the answer, at most 64 MiB. Unqualified names are in
    /// the peer's database.
    ///
    /// # Errors
    /// Any [`Error`]; [`Error::code`] is 0 where the outcome is unknown.
    pub async fn query(&self, sql: &str) -> Result<Bytes, Error> {
        let url = self.0.parameters.clone();
        let body = StatementBody::statement(sql);
        self.request(Method::POST, &url, body, config::STATEMENT_DEADLINE, Expected::Rows).await
    }

    /// Asks whether the server is there. Says nothing about user and database.
    ///
    /// # Errors
    /// Any [`Error`] but [`Error::Server`].
    pub async fn ping(&self) -> Result<(), Error> {
        let body = StatementBody::default();
        self.request(Method::GET, "/ping", body, config::PING_DEADLINE, Expected::Rows).await?;
        Ok(())
    }

    /// The server's version as it gives it, such as `26.9.2.1`. Needs user, password and database to
    /// be right.
    ///
    /// # Errors
    /// Any [`Error`].
    pub async fn version(&self) -> Result<String, Error> {
        let url = self.0.parameters.clone();
        let body = StatementBody::statement("SELECT version() FORMAT TabSeparatedRaw");
        let answer = self.request(Method::POST, &url, body, config::PING_DEADLINE, Expected::Rows).await?;
        Ok(String::from_utf8_lossy(&answer).trim().to_owned())
    }

    async fn request(
        &self,
        method: Method,
        path_and_query: &str,
        body: StatementBody,
        deadline: Duration,
        expected: Expected,
    ) -> Result<Bytes, Error> {
        let exchange = self.exchange(method, path_and_query, body, expected);
        tokio::time::timeout(deadline, exchange).await.map_err(|_| self.timed_out(deadline))?
    }

    /// Runs an insert, for as long as its rows come and the server works on them.
    pub(crate) async fn send_rows(&self, settings: &str, body: StatementBody) -> Result<(), Error> {
        let url = format!("{}{settings}", self.0.parameters);
        self.exchange(Method::POST, &url, body, Expected::Nothing).await.map(drop)
    }

    pub(crate) fn timed_out(&self, deadline: Duration) -> Error {
        Error::TimedOut { address: self.0.address.name(), deadline }
    }

    pub(crate) fn lost(&self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::broken(self.0.address.name(), source.into())
    }

    async fn exchange(
        &self,
        method: Method,
        path_and_query: &str,
        body: StatementBody,
        expected: Expected,
    ) -> Result<Bytes, Error> {
        let mut request = Request::new(body);
        *request.uri_mut() = self.0.address.url(path_and_query)?;
        if method != Method::GET {
            request.headers_mut().insert(AUTHORIZATION, self.0.authorization.clone());
        }
        *request.method_mut() = method;
        let response = self.0.http.request(request).await.map_err(|error| self.no_answer(error))?;
        let status = response.status();
        let headers = response.headers().clone();
        let body = self.collect(response).await?;
        if let Some(error) = self.failure_in(status.as_u16(), &headers, &body, expected) {
            return Err(error);
        }
        Ok(body)
    }

    async fn collect(&self, response: Response<Incoming>) -> Result<Bytes, Error> {
        let mut incoming = response.into_body();
        let mut body = BytesMut::new();
        while let Some(frame) = incoming.frame().await {
            let frame = match frame {
                Ok(frame) => frame,
                Err(source) => {
                    let told = Exception::in_broken_body(&body).map(|exception| self.server_error(exception));
                    return Err(told.unwrap_or_else(|| self.lost(source)));
                }
            };
            let Ok(data) = frame.into_data() else { continue };
            if body.len() + data.len() > config::ANSWER_BYTES_MAX {
                return Err(Error::TooLarge { limit_bytes: config::ANSWER_BYTES_MAX });
            }
            body.extend_from_slice(&data);
        }
        Ok(body.freeze())
    }

    /// The failure that a complete answer tells of.
    fn failure_in(&self, status: u16, headers: &HeaderMap, body: &[u8], expected: Expected) -> Option<Error> {
        let header = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let announced = header("x-clickhouse-exception-code");
        if status != 200 || announced.is_some() {
            let text = self.struck(body);
            let exception = Exception::in_text(&text).or_else(|| {
                let code = announced?.parse().ok()?;
                Some(Exception { code, message: shortened(&text) })
            });
            return Some(match exception {
                Some(exception) => self.server_error(exception),
                None => {
                    Error::NotClickHouse { address: self.0.address.name(), status, message: shortened(&text) }
                }
            });
        }
        let tagged =
            header("x-clickhouse-exception-tag").and_then(|tag| Exception::in_tagged_body(body, tag));
        let told = || match expected {
            Expected::Rows => None,
            Expected::Nothing => Exception::in_text(&self.struck(body)),
        };
        tagged.or_else(told).map(|exception| self.server_error(exception))
    }

    fn server_error(&self, exception: Exception) -> Error {
        Error::Server { code: exception.code, message: self.0.peer.strike_secrets(&exception.message) }
    }

    /// What the server says without the peer's secrets and without the header that it was sent: a proxy may
    /// show a request as it came.
    fn struck(&self, body: &[u8]) -> String {
        let header = self.0.authorization.to_str().expect("it was made of a text");
        let credentials = header.trim_start_matches("Basic ");
        self.0.peer.strike_secrets(&String::from_utf8_lossy(body).replace(credentials, MASK))
    }

    /// The error of a request that got no answer.
    fn no_answer(&self, error: legacy::Error) -> Error {
        let cause = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<NoConnection>());
        if let Some(NoConnection(source)) = cause {
            return Error::Connect { address: self.0.address.name(), source: Arc::clone(source) };
        }
        self.lost(error)
    }
}

/// Credentials as a header: base64 carries every character of a password, also a space at its end.
fn authorization(config: &ClickHouseConfig) -> Result<HeaderValue, Error> {
    if config.user.contains(':') {
        let reason = "holds a colon, which the HTTP interface cannot carry".to_owned();
        return Err(Error::Settings { field: "user", reason });
    }
    let credentials = STANDARD.encode(format!("{}:{}", config.user, config.password.expose()));
    let value = HeaderValue::try_from(format!("Basic {credentials}"));
    let mut value = value.expect("base64 is made of what a header may hold");
    value.set_sensitive(true);
    Ok(value)
}

/// Text as it stands in a query's value.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(byte.into());
        } else {
            write!(encoded, "%{byte:02X}").expect("a String takes what is written");
        }
        encoded
    })
}
