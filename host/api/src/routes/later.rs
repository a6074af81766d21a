//! Routes that clients of this API use and that this version does not serve.

use axum::http::{Method, Uri};

use crate::error::{ApiError, Code};

pub(super) async fn unimplemented(method: Method, uri: Uri) -> ApiError {
    ApiError::new(Code::Unimplemented, format!("{method} {} is not served by this version", uri.path()))
}
