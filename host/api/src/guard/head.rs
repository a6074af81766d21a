//! Limits on the head of a request.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::config::{HEADER_BYTES_MAX, HEADERS_MAX, TARGET_BYTES_MAX};
use crate::error::{ApiError, Code};

/// Lets requests through whose head has an ordinary size.
pub(crate) async fn measured(request: Request, next: Next) -> Response {
    match excess(&request) {
        None => next.run(request).await,
        Some(refusal) => refusal.into_response(),
    }
}

fn excess(request: &Request) -> Option<ApiError> {
    let refused = |status: StatusCode, message: String| {
        Some(ApiError::new(Code::ResourceExhausted, message).with_status(status))
    };
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    if target > TARGET_BYTES_MAX {
        let message = format!("path and query are longer than {TARGET_BYTES_MAX} bytes");
        return refused(StatusCode::URI_TOO_LONG, message);
    }
    let headers = request.headers();
    let too_large = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
    if headers.len() > HEADERS_MAX {
        return refused(too_large, format!("the request has more than {HEADERS_MAX} headers"));
    }
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if bytes > HEADER_BYTES_MAX {
        return refused(too_large, format!("the headers are larger than {HEADER_BYTES_MAX} bytes"));
    }
    None
}
