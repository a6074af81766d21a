//! Creating mirrors.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use tarn_control::{Control, MirrorCreation};
use tarn_model::{MirrorSpec, TableMapping};

use crate::answer::{Answer, Answered};
use crate::error::ApiError;
use crate::request::Body;

#[derive(Default, Deserialize)]
#[serde(default)]
struct CreateRequest {
    connection_configs: Option<MirrorSpec>,
    attach_to_existing: bool,
    skip_validation: bool,
    /// Newer clients send the mappings beside the other fields.
    table_mappings: Vec<TableMapping>,
}

/// A second look at the same body, for options that some clients put among the mirror's fields.
#[derive(Default, Deserialize)]
#[serde(default)]
struct InnerRequest {
    connection_configs: InnerOptions,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct InnerOptions {
    attach_to_existing: bool,
    skip_validation: bool,
}

fn creation(body: &Body) -> Result<MirrorCreation, ApiError> {
    let request: CreateRequest = body.read()?;
    let inner = body.read::<InnerRequest>()?.connection_configs;
    let mut spec = request.connection_configs.ok_or_else(|| ApiError::missing("connection_configs"))?;
    if spec.tables.is_empty() {
        spec.tables = request.table_mappings;
    }
    Ok(MirrorCreation {
        spec,
        attach_to_existing: request.attach_to_existing || inner.attach_to_existing,
        skip_validation: request.skip_validation || inner.skip_validation,
    })
}

#[derive(Serialize)]
pub(super) struct Created {
    workflow_id: String,
}

pub(super) async fn create(State(control): State<Control>, body: Body) -> Answered<Created> {
    let workflow_id = control.create_mirror(creation(&body)?).await?;
    Ok(Answer(Created { workflow_id }))
}

#[derive(Serialize)]
pub(super) struct Valid {
    ok: bool,
}

pub(super) async fn validate(State(control): State<Control>, body: Body) -> Answered<Valid> {
    control.validate_mirror(creation(&body)?).await?;
    Ok(Answer(Valid { ok: true }))
}
