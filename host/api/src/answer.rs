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

/// An answer that has nothing to say: `{}`.
#[derive(Serialize, ToSchema)]
pub(crate) struct Nothing {}

/// What a handler returns.
pub(crate) type Answered<T> = Result<Answer<T>, ApiError>;
