//! Successful answers.

use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tarn_json::to_value;
use utoipa::ToSchema;

use crate::error::ApiError;

/// An answer with status 200, in the API's JSON.
pub(crate) struct Answer<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Answer<T> {
    fn into_response(self) -> Response {
        axum::Json(to_value(&self.0)).into_response()
    }
}

/// An answer with status 200 in which numbers have all their digits and fields keep their order, which the
/// API's JSON of resources does not do. Its names are in camelCase by themselves.
pub(crate) struct Exact<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Exact<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

/// An answer that has nothing to say: `{}`.
#[derive(Serialize, ToSchema)]
pub(crate) struct Nothing {}

/// What a handler returns.
pub(crate) type Answered<T> = Result<Answer<T>, ApiError>;
