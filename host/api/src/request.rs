//! Taking a request apart: its body, its query, the names in its path.

use std::sync::Arc;

use axum::body::{Bytes, HttpBody as _};
use axum::extract::{FromRequest, FromRequestParts, OriginalUri, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tarn_json::{InputError, from_query, from_value};
use tokio::time::timeout;

use crate::config::{BODY_BYTES_MAX, Limits, SCRIPT_BODY_BYTES_MAX};
use crate::error::{ApiError, Code};
use crate::guard::login::Login;

/// Where scripts are sent to: the paths whose bodies may be large.
const SCRIPTS_PATH: &str = "/api/v1/scripts";

/// The largest body that a path takes.
pub(crate) fn body_bytes_max(path: &str) -> usize {
    if path.starts_with(SCRIPTS_PATH) { SCRIPT_BODY_BYTES_MAX } else { BODY_BYTES_MAX }
}

/// The body as JSON, an object; an empty body is an empty object. Its content type is not looked at:
/// clients send several.
pub(crate) struct Body(pub(crate) Value);

impl Body {
    /// The body as a request.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        Ok(from_value(&self.0)?)
    }
}

impl<S: Send + Sync> FromRequest<S> for Body {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        Self::parse(&whole(request).await?)
    }
}

impl Body {
    fn parse(bytes: &[u8]) -> Result<Self, ApiError> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self(Value::Object(Map::new())));
        }
        match serde_json::from_slice(bytes) {
            Ok(value @ Value::Object(_)) => Ok(Self(value)),
            Ok(_) => Err(InputError::new("", "the body must be a JSON object").into()),
            Err(error) => {
                let place = format!("line {}, column {}", error.line(), error.column());
                Err(InputError::new("", format!("the body is not JSON ({place})")).into())
            }
        }
    }
}

/// The bytes of a body, within what the path may take and the time it has.
async fn whole(request: Request) -> Result<Bytes, ApiError> {
    // A nested router sees the rest of the path only.
    let path = request.extensions().get().map_or(request.uri(), |OriginalUri(uri)| uri).path();
    let bytes_max = body_bytes_max(path);
    let too_large = || {
        let message = format!("the body is larger than {bytes_max} bytes");
        ApiError::new(Code::ResourceExhausted, message).with_status(StatusCode::PAYLOAD_TOO_LARGE)
    };
    // Where a length is announced, nothing needs to be read to know.
    if request.body().size_hint().lower() > bytes_max as u64 {
        return Err(too_large());
    }
    let Some(limits) = request.extensions().get::<Arc<Limits>>().cloned() else {
        return Err(ApiError::new(Code::Internal, "the request came past its limits"));
    };
    let deadline = limits.body_deadline;
    match timeout(deadline, Limited::new(request.into_body(), bytes_max).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(ApiError::new(Code::InvalidArgument, "the body ended before it was whole")),
        Err(_) => {
            let message = format!("the body did not arrive within {} s", deadline.as_secs_f32());
            Err(ApiError::new(Code::InvalidArgument, message).with_status(StatusCode::REQUEST_TIMEOUT))
        }
    }
}

/// The body read as one shape.
pub(crate) struct Input<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Input<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        Body::from_request(request, state).await?.read().map(Self)
    }
}

/// The body as it was sent, which holds what JSON values lose: the digits of numbers, the order of fields.
pub(crate) struct ExactBody {
    bytes: Bytes,
    value: Value,
}

impl ExactBody {
    /// The body as a request.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        Ok(from_value(&self.value)?)
    }

    /// The body as text, which is a JSON object.
    pub(crate) fn exactly<'a, T: Deserialize<'a>>(&'a self) -> Result<T, ApiError> {
        serde_json::from_slice(&self.bytes).map_err(|error| InputError::new("", error.to_string()).into())
    }
}

impl<S: Send + Sync> FromRequest<S> for ExactBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let bytes = whole(request).await?;
        let Body(value) = Body::parse(&bytes)?;
        let is_empty = bytes.iter().all(u8::is_ascii_whitespace);
        Ok(Self { bytes: if is_empty { Bytes::from_static(b"{}") } else { bytes }, value })
    }
}

/// The query of the URL read as one shape, by the same rules as a body.
pub(crate) struct QueryInput<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryInput<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let pairs = Query::<Vec<(String, String)>>::from_request_parts(parts, state)
            .await
            .map_err(|_| InputError::new("", "the query of the URL cannot be read"))?;
        let mut object = Map::new();
        for (key, text) in pairs.0 {
            if object.insert(key.clone(), Value::String(text)).is_some() {
                return Err(InputError::new(&key, "is given twice").into());
            }
        }
        Ok(Self(from_query(&Value::Object(object))?))
    }
}

/// The user's name that the request was let in with; empty where the login has none.
pub(crate) struct By(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for By {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self(parts.extensions.get().map_or_else(String::new, |Login(user)| user.clone())))
    }
}

/// The name in the path.
pub(crate) struct Name(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        match path {
            Ok(Path(name)) if !name.contains('\0') => Ok(Self(name)),
            _ => Err(InputError::new("", "the path cannot be read").into()),
        }
    }
}

/// The id in the path.
pub(crate) struct Id(pub(crate) i64);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Name(text) = Name::from_request_parts(parts, state).await?;
        let wrong = |_| InputError::new("id", "expected a whole number").into();
        text.parse().map(Self).map_err(wrong)
    }
}
