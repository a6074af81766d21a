//! Requests to the server. Each has a connection of its own: a command makes few, and a look of a second
//! ago says nothing about the connection it had.

use std::error::Error as StdError;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, ETAG, HOST, HeaderValue};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tarn_json::from_value;
use tarn_model::chain;
use tarn_transport::{CONNECT_DEADLINE, Stream, TlsSettings, Verification};
use tokio::time::timeout;

use crate::access::Access;
use crate::address::Scheme;
use crate::config::{ANSWER_BYTES_MAX, ANSWER_DEADLINE};
use crate::error::{Detail, Error};

/// A server, asked as one user.
#[derive(Debug)]
pub(crate) struct Client {
    access: Access,
    authorization: HeaderValue,
}

impl Client {
    /// Opens nothing.
    pub(crate) fn new(access: Access) -> Self {
        let credentials = format!("{}:{}", access.username, access.password.expose());
        let value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(credentials)));
        let mut authorization = value.expect("base64 is made of what a header may hold");
        authorization.set_sensitive(true);
        Self { access, authorization }
    }

    /// `GET /api/v1/<path>`.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, Error> {
        self.call(Method::GET, path, Bytes::new()).await
    }

    /// `POST /api/v1/<path>` with a body.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, Error> {
        self.call(Method::POST, path, Bytes::from(body.to_string())).await
    }

    /// `POST /api/v1/<path>` with a body as it is, for an answer as it is: with all digits of its numbers.
    pub(crate) async fn post_exactly(&self, path: &str, body: String) -> Result<String, Error> {
        let (status, body, _) = self.ask(Method::POST, path, Bytes::from(body)).await?;
        self.judge(status, &body)?;
        String::from_utf8(body.to_vec()).map_err(|_| self.foreign("it is no text"))
    }

    /// `GET /api/v1/<path>` of bytes, with the tag that the answer has.
    pub(crate) async fn get_bytes(&self, path: &str) -> Result<(Bytes, String), Error> {
        let (status, body, tag) = self.ask(Method::GET, path, Bytes::new()).await?;
        if !status.is_success() {
            self.judge(status, &body)?;
        }
        Ok((body, tag))
    }

    /// `DELETE /api/v1/<path>`.
    pub(crate) async fn delete(&self, path: &str) -> Result<Value, Error> {
        self.call(Method::DELETE, path, Bytes::new()).await
    }

    /// Reads an answer of the API.
    pub(crate) fn read<T: DeserializeOwned>(&self, answer: &Value) -> Result<T, Error> {
        from_value(answer).map_err(|error| self.foreign(&error.to_string()))
    }

    async fn call(&self, method: Method, path: &str, body: Bytes) -> Result<Value, Error> {
        let (status, body, _) = self.ask(method, path, body).await?;
        self.judge(status, &body)
    }

    /// Status, body and tag of an answer, whatever it says.
    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes, String), Error> {
        let exchange = async {
            let stream = self.connect().await?;
            self.exchange(stream, method, path, body).await
        };
        let late = |_| {
            let reason = format!("no answer within {} s; try again", ANSWER_DEADLINE.as_secs());
            self.unreachable(reason)
        };
        timeout(ANSWER_DEADLINE, exchange).await.map_err(late)?
    }

    async fn connect(&self) -> Result<Stream, Error> {
        let address = &self.access.address;
        let failed = |error: tarn_transport::Error| {
            let remedy = match &error {
                tarn_transport::Error::Handshake { .. } => {
                    "; name the authority of its certificate by --ca-file, or use http:// if it has none"
                }
                tarn_transport::Error::Pem { .. } => "; it is what --ca-file names",
                _ => "; is tarn running there? --address or TARN_ADDRESS says where it is",
            };
            self.unreachable(chain(&error) + remedy)
        };
        let stream =
            tarn_transport::connect(&address.host, address.port, CONNECT_DEADLINE).await.map_err(failed)?;
        match address.scheme {
            Scheme::Http => Ok(stream),
            Scheme::Https => {
                let settings = TlsSettings {
                    verification: Verification::Full,
                    server_name: address.host.clone(),
                    root_ca: self.access.root_ca.clone(),
                    client: None,
                };
                stream.encrypt(&settings, CONNECT_DEADLINE).await.map_err(failed)
            }
        }
    }

    /// One request and its whole answer over a fresh connection.
    async fn exchange(
        &self,
        stream: Stream,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes, String), Error> {
        let broken = |error: &(dyn StdError + 'static)| {
            let remedy = match self.access.address.scheme {
                Scheme::Http => "; if it speaks HTTPS, write https://",
                Scheme::Https => "",
            };
            self.unreachable(chain(error) + remedy)
        };
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| broken(&error))?;
        let request = self.request(method, path, body)?;
        let answered = async {
            let response = sender.send_request(request).await.map_err(|error| broken(&error))?;
            let status = response.status();
            let tag = response.headers().get(ETAG).and_then(|tag| tag.to_str().ok());
            let tag = tag.unwrap_or_default().trim_matches('"').to_owned();
            let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX);
            let body = body.collect().await.map_err(|error| broken(error.as_ref()))?;
            Ok((status, body.to_bytes(), tag))
        };
        let mut answered = std::pin::pin!(answered);
        tokio::select! {
            biased;
            answer = &mut answered => answer,
            // It ends with the answer, of which the last part may still be underway to us.
            _ = connection => answered.await,
        }
    }

    fn request(&self, method: Method, path: &str, body: Bytes) -> Result<Request<Full<Bytes>>, Error> {
        let address = &self.access.address;
        Request::builder()
            .method(method)
            .uri(format!("{}/api/v1/{path}", address.base))
            .header(HOST, address.authority())
            .header(AUTHORIZATION, self.authorization.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .map_err(|error| Error::Usage(format!("{address} cannot be asked for {path}: {error}")))
    }

    /// The answer's body, or the refusal it is.
    fn judge(&self, status: StatusCode, body: &[u8]) -> Result<Value, Error> {
        #[derive(Default, serde::Deserialize)]
        #[serde(default)]
        struct Refusal {
            code: u64,
            message: String,
            details: Vec<Detail>,
        }
        if status == StatusCode::UNAUTHORIZED {
            return Err(Error::Credentials { address: self.access.address.to_string() });
        }
        let Ok(value) = serde_json::from_slice::<Value>(body) else {
            return Err(self.foreign(&format!("status {}, and no JSON", status.as_u16())));
        };
        if status.is_success() {
            return Ok(value);
        }
        let Refusal { code, message, details } = self.read(&value)?;
        if message.is_empty() {
            return Err(self.foreign(&format!("status {}, and no message", status.as_u16())));
        }
        Err(Error::Refused { message, code, details })
    }

    fn unreachable(&self, reason: String) -> Error {
        Error::Unreachable { address: self.access.address.to_string(), reason }
    }

    fn foreign(&self, reason: &str) -> Error {
        Error::Answer { address: self.access.address.to_string(), reason: reason.to_owned() }
    }
}

/// A name as a segment of a path.
pub(crate) fn segment(name: &str) -> String {
    name.bytes().fold(String::with_capacity(name.len()), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(byte.into());
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
        encoded
    })
}

#[cfg(test)]
mod tests;
