//! Metrics, for those who collect them.

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use tarn_control::Control;

use crate::error::ApiError;
use crate::operation::{Operation, example};

/// The media type of Prometheus' text format.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/metrics", example!("get_metrics"), metrics)
            .about("Tells the states, lags and latencies of all mirrors, in Prometheus' text format.")
            .answers_bytes(TEXT),
    ]
}

async fn metrics(State(control): State<Control>) -> Result<Response, ApiError> {
    let text = control.metrics().await?;
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static(TEXT))], text).into_response())
}
