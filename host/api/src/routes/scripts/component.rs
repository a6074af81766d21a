//! The components of scripts, as bytes.

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tarn_control::Control;
use utoipa::IntoParams;

use crate::error::{ApiError, Code};
use crate::operation::{Operation, example};
use crate::request::{Id, QueryInput};

/// The media type of WebAssembly.
const WASM: &str = "application/wasm";

pub(super) fn operation() -> Operation {
    Operation::get("/api/v1/scripts/{id}/component", example!("get_script_component"), component)
        .about("Reads the component that a script was compiled into; its SHA-256 is the ETag.")
        .numbers("id", "The script's id.")
        .asks::<ComponentQuery>()
        .answers_bytes(WASM)
        .refuses(&[Code::NotFound])
}

/// Which component.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default)]
pub(super) struct ComponentQuery {
    /// The script's version; the newest where it is left out.
    version: u32,
}

async fn component(
    State(control): State<Control>,
    Id(id): Id,
    QueryInput(query): QueryInput<ComponentQuery>,
) -> Result<Response, ApiError> {
    let version = Some(query.version).filter(|version| *version > 0);
    let component = control.script_component(id, version).await?;
    let tag = HeaderValue::try_from(format!("\"{}\"", component.digest))
        .map_err(|_| ApiError::new(Code::Internal, "the component has no digest"))?;
    let headers = [(header::CONTENT_TYPE, HeaderValue::from_static(WASM)), (header::ETAG, tag)];
    Ok((headers, component.bytes).into_response())
}
