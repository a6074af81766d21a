//! Refusals and failures as answers: `{code, message, details}` with the status that goes with the code.

use std::sync::Arc;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tarn_catalog::CatalogError;
use tarn_control::ControlError;
use tarn_json::{InputError, to_value};
use tarn_model::Problem;
use utoipa::ToSchema;

use crate::config::RETRY_AFTER_SECONDS;

/// A code that clients decide on. The numbers are those of gRPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    InvalidArgument = 3,
    NotFound = 5,
    AlreadyExists = 6,
    PermissionDenied = 7,
    /// More than the server takes: of tries, of bytes. The status says which.
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    Unauthenticated = 16,
}

impl Code {
    /// The HTTP status that goes with it.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::InvalidArgument | Self::FailedPrecondition => StatusCode::BAD_REQUEST,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::AlreadyExists => StatusCode::CONFLICT,
            Self::PermissionDenied => StatusCode::FORBIDDEN,
            Self::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
            Self::Unimplemented => StatusCode::NOT_IMPLEMENTED,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
        }
    }
}

/// The body of every answer that is not a success.
#[derive(Serialize, ToSchema)]
pub(crate) struct Refusal {
    /// What programs decide on: 3 invalid argument, 5 not found, 6 already exists, 7 permission denied,
    /// 8 resource exhausted, 9 failed precondition, 12 unimplemented, 13 internal, 14 unavailable, 16 unauthenticated.
    code: u8,
    /// What is wrong, for a person.
    message: String,
    /// Each offending field or table on its own.
    details: Vec<Detail>,
}

/// One offending field.
#[derive(Serialize, ToSchema)]
struct Detail {
    /// Its path in the request: `table_mappings[2].source_table_identifier`.
    field: String,
    /// What is wrong with it.
    message: String,
    /// What to do; empty where there is nothing to do.
    hint: String,
}

/// An answer that is not a success.
#[derive(Debug)]
pub(crate) struct ApiError {
    code: Code,
    /// Where the code's own status does not say enough: 405, 408, 413, 414, 431.
    status: Option<StatusCode>,
    retry_after_seconds: Option<u64>,
    message: String,
    problems: Vec<Problem>,
    /// What an operator reads in the log, and no client.
    cause: Option<String>,
}

/// What was behind an answer that tells its client less: it goes along in the answer's extensions, to where
/// answers are logged.
#[derive(Clone, Debug)]
pub(crate) struct Cause(pub(crate) String);

impl ApiError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            status: None,
            retry_after_seconds: (code == Code::Unavailable).then_some(RETRY_AFTER_SECONDS),
            message: message.into(),
            problems: Vec::new(),
            cause: None,
        }
    }

    /// The same with words about the inside, for the log.
    pub(crate) fn with_cause(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// The same under another status.
    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = Some(status);
        self
    }

    /// The same with the time after which the client may try again.
    pub(crate) fn with_retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_seconds = Some(seconds);
        self
    }

    fn with_problems(mut self, problems: Vec<Problem>) -> Self {
        self.problems = problems;
        self
    }

    /// A field that must be there.
    pub(crate) fn missing(path: &str) -> Self {
        InputError::new(path, "is missing").into()
    }

    fn into_body(self) -> Refusal {
        let detail =
            |problem: Problem| Detail { field: problem.path, message: problem.message, hint: problem.hint };
        Refusal {
            code: self.code as u8,
            message: self.message,
            details: self.problems.into_iter().map(detail).collect(),
        }
    }
}

impl From<InputError> for ApiError {
    fn from(error: InputError) -> Self {
        let problem = Problem::new(error.path.clone(), error.message.clone(), "");
        Self::new(Code::InvalidArgument, error.to_string()).with_problems(vec![problem])
    }
}

impl From<ControlError> for ApiError {
    fn from(error: ControlError) -> Self {
        match error {
            ControlError::InvalidArgument { message, problems } => {
                Self::new(Code::InvalidArgument, message).with_problems(problems)
            }
            ControlError::NotFound { message, problems } => {
                Self::new(Code::NotFound, message).with_problems(problems)
            }
            ControlError::AlreadyExists { message, problems } => {
                Self::new(Code::AlreadyExists, message).with_problems(problems)
            }
            ControlError::FailedPrecondition { message, problems } => {
                Self::new(Code::FailedPrecondition, message).with_problems(problems)
            }
            ControlError::PermissionDenied(message) => Self::new(Code::PermissionDenied, message),
            ControlError::Internal(cause) => {
                Self::new(Code::Internal, "the request failed inside the server; its log says why")
                    .with_cause(cause)
            }
            ControlError::Catalog(error) => error.into(),
        }
    }
}

impl From<CatalogError> for ApiError {
    fn from(error: CatalogError) -> Self {
        Self::of_catalog(&error)
    }
}

/// Several may be told of one error.
impl From<Arc<CatalogError>> for ApiError {
    fn from(error: Arc<CatalogError>) -> Self {
        Self::of_catalog(&error)
    }
}

impl ApiError {
    fn of_catalog(error: &CatalogError) -> Self {
        let answer = match error {
            CatalogError::Full { place, .. } => {
                let message =
                    format!("the catalog cannot be written: make room in {}, then try again", place.name());
                Self::new(Code::Unavailable, message)
            }
            CatalogError::Query { .. } | CatalogError::Open { .. } | CatalogError::Contention => {
                Self::new(Code::Unavailable, "the catalog does not answer; try again")
            }
            _ => Self::new(Code::Internal, "the catalog cannot be used; the server's log says why"),
        };
        answer.with_cause(error.chain())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (code, status) = (self.code, self.status.unwrap_or(self.code.status()));
        let (retry_after, cause) = (self.retry_after_seconds, self.cause.clone());
        let mut response = (status, axum::Json(to_value(&self.into_body()))).into_response();
        let headers = response.headers_mut();
        if code == Code::Unauthenticated {
            let scheme = HeaderValue::from_static("Basic realm=\"tarn\", charset=\"UTF-8\"");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        if let Some(seconds) = retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(cause) = cause {
            response.extensions_mut().insert(Cause(cause));
        }
        response
    }
}
