//! Creating mirrors.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use tarn_control::{Control, MirrorCreation};
use tarn_model::{MirrorSpec, TableMapping, TablePlan};
use utoipa::ToSchema;

use crate::answer::{Answer, Answered};
use crate::error::{ApiError, Code};
use crate::operation::{Operation, example};
use crate::request::Body;

const REFUSALS: &[Code] = &[Code::NotFound, Code::AlreadyExists, Code::FailedPrecondition];

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/api/v1/flows/cdc/create", example!("create_mirror"), create)
            .about("Creates a mirror, after every check of both sides.")
            .takes::<CreateMirrorRequest>()
            .answers::<MirrorCreated>()
            .refuses(REFUSALS),
        Operation::post("/api/v1/mirrors/cdc/validate", example!("validate_mirror"), validate)
            .about(
                "Runs the checks of a creation, stores nothing, and tells what would be done to the destination's tables; \
                 with attach_to_existing, for the columns that an existing mirror's source has now.",
            )
            .takes::<CreateMirrorRequest>()
            .answers::<MirrorValid>()
            .refuses(REFUSALS),
    ]
}

/// A mirror to create.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
struct CreateMirrorRequest {
    /// What it replicates. Unset numbers take their defaults.
    #[schema(value_type = MirrorSpec, required)]
    connection_configs: Option<MirrorSpec>,
    /// Answer with the mirror of the name if there is one.
    attach_to_existing: bool,
    /// Leave out the look at both stores.
    skip_validation: bool,
    /// The mappings, where they are not among the mirror's fields: newer clients send them here.
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
    let request: CreateMirrorRequest = body.read()?;
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

/// A mirror that was created, or attached to.
#[derive(Serialize, ToSchema)]
pub(super) struct MirrorCreated {
    /// The id of its work.
    workflow_id: String,
}

pub(super) async fn create(State(control): State<Control>, body: Body) -> Answered<MirrorCreated> {
    let workflow_id = control.create_mirror(creation(&body)?).await?;
    Ok(Answer(MirrorCreated { workflow_id }))
}

/// A mirror that could be created.
#[derive(Serialize, ToSchema)]
pub(super) struct MirrorValid {
    /// True: what stands against it is a refusal.
    ok: bool,
    /// What would be done to the destination's tables, table by table; empty where nobody looked.
    plans: Vec<TablePlan>,
}

pub(super) async fn validate(State(control): State<Control>, body: Body) -> Answered<MirrorValid> {
    let plans = control.validate_mirror(creation(&body)?).await?;
    Ok(Answer(MirrorValid { ok: true, plans }))
}
