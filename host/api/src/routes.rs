//! Every route of the API, one module per resource. Each module tells its operations; the router and the
//! OpenAPI document are made of them.

mod batches;
mod counts;
mod dead_letters;
mod flows;
mod graph;
mod instance;
mod logs;
mod metrics;
mod mirrors;
mod peers;
mod schema_changes;
mod scripts;
mod state_change;
mod status;
mod stores;
mod tags;
mod verify;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tarn_control::Control;

use crate::error::{ApiError, Code};
use crate::openapi::openapi;
use crate::operation::Operation;

/// All routes over the resources.
pub(crate) fn all() -> Router<Control> {
    let served = operations()
        .into_iter()
        .fold(Router::new(), |router, operation| router.route(operation.path, operation.handler));
    let document = openapi();
    served
        .route("/api/v1/openapi.json", get(move || async move { json_text(document) }))
        .fallback(no_route)
        .method_not_allowed_fallback(wrong_verb)
}

/// The routes that this version serves.
pub(crate) fn operations() -> Vec<Operation> {
    [
        instance::operations(),
        metrics::operations(),
        peers::operations(),
        stores::operations(),
        flows::operations(),
        state_change::operations(),
        mirrors::operations(),
        status::operations(),
        batches::operations(),
        graph::operations(),
        counts::operations(),
        dead_letters::operations(),
        schema_changes::operations(),
        tags::operations(),
        verify::operations(),
        logs::operations(),
        scripts::operations(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn json_text(text: String) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response()
}

async fn no_route(request: Request) -> ApiError {
    let message = format!("there is no route {}", request.uri().path());
    ApiError::new(Code::NotFound, message)
}

/// The router adds `Allow` with the verbs there are. The code is that of a method that does not exist.
async fn wrong_verb(method: Method, request: Request) -> ApiError {
    let message = format!("{} does not take {method}", request.uri().path());
    ApiError::new(Code::Unimplemented, message).with_status(StatusCode::METHOD_NOT_ALLOWED)
}
