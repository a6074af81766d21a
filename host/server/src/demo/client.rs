//! The API as a client of the demo uses it; every call can be shown as the `curl` line that makes it.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Method, Request};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tarn_model::Secret;

use super::DemoError;

/// A client of one running server.
pub struct Client {
    http: HttpClient<HttpConnector, Full<Bytes>>,
    address: SocketAddr,
    password: Secret,
}

impl Client {
    /// A client with the user name left empty, as clients of this API send it.
    pub fn new(address: SocketAddr, password: Secret) -> Self {
        let http = HttpClient::builder(TokioExecutor::new()).build_http();
        Self { http, address, password }
    }

    /// The `curl` line of a call. Secrets in the body are shown as they were masked by the caller; the
    /// API's password stands in a shell variable.
    pub fn curl(&self, path: &str, shown_body: Option<&Value>) -> String {
        let url = format!("http://{}/api/v1/{path}", self.address);
        match shown_body {
            None => format!("curl -su :$TARN_PASSWORD {url}"),
            Some(body) => {
                let body = body.to_string().replace('\'', r"'\''");
                format!(
                    "curl -su :$TARN_PASSWORD {url} -H 'Content-Type: application/json' \\\n    -d '{body}'"
                )
            }
        }
    }

    /// `POST /api/v1/<path>` with a JSON body.
    ///
    /// # Errors
    /// [`DemoError::Api`] with the server's message unless the answer is 2xx.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, DemoError> {
        self.call(Method::POST, path, Bytes::from(body.to_string())).await
    }

    /// `GET /api/v1/<path>`.
    ///
    /// # Errors
    /// As for [`Client::post`].
    pub async fn get(&self, path: &str) -> Result<Value, DemoError> {
        self.call(Method::GET, path, Bytes::new()).await
    }

    async fn call(&self, method: Method, path: &str, body: Bytes) -> Result<Value, DemoError> {
        let credentials = STANDARD.encode(format!(":{}", self.password.expose()));
        let request = Request::builder()
            .method(method)
            .uri(format!("http://{}/api/v1/{path}", self.address))
            .header("authorization", format!("Basic {credentials}"))
            .header("content-type", "application/json")
            .body(Full::new(body))
            .expect("the parts of the request are well-formed");
        let failed = |reason: String| DemoError::Api { path: path.into(), reason };
        let response = self.http.request(request).await.map_err(|error| failed(error.to_string()))?;
        let status = response.status();
        let body =
            response.into_body().collect().await.map_err(|error| failed(error.to_string()))?.to_bytes();
        let value: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        if status.is_success() { Ok(value) } else { Err(failed(format!("{status}: {value}"))) }
    }
}
