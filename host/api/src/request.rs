//! Taking a request apart: its body, its query, the names in its path.

use axum::body::to_bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tarn_json::{InputError, from_query, from_value};

use crate::config::BODY_BYTES_MAX;
use crate::error::{ApiError, Code};

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
        let bytes = to_bytes(request.into_body(), BODY_BYTES_MAX).await.map_err(|_| {
            let message = format!("the body did not arrive whole within {BODY_BYTES_MAX} bytes");
            ApiError::new(Code::InvalidArgument, message).with_status(StatusCode::PAYLOAD_TOO_LARGE)
        })?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self(Value::Object(Map::new())));
        }
        match serde_json::from_slice(&bytes) {
            Ok(value @ Value::Object(_)) => Ok(Self(value)),
            Ok(_) => Err(InputError::new("", "the body must be a JSON object").into()),
            Err(error) => {
                let place = format!("line {}, column {}", error.line(), error.column());
                Err(InputError::new("", format!("the body is not JSON ({place})")).into())
            }
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
