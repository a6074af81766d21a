//! Rolling a script back.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use tarn_control::Control;
use utoipa::ToSchema;

use crate::answer::{Answer, Answered};
use crate::error::{ApiError, Code};
use crate::operation::{Operation, example};
use crate::request::{By, Input};

pub(super) fn operation() -> Operation {
    Operation::post("/api/v1/scripts/rollback", example!("roll_back_script"), roll_back)
        .about(
            "Stores a new version with the code, the tests and the component of an older one; mirrors that use the \
             newest version run it from then on.",
        )
        .takes::<RollbackRequest>()
        .answers::<ScriptRolledBack>()
        .refuses(&[Code::PermissionDenied, Code::NotFound, Code::FailedPrecondition])
}

/// A roll back.
#[derive(Deserialize, ToSchema)]
pub(super) struct RollbackRequest {
    /// The script's id.
    #[schema(required)]
    id: Option<i64>,
    /// The version to take up again.
    #[schema(required)]
    version: Option<u32>,
}

/// A script that was rolled back.
#[derive(Serialize, ToSchema)]
pub(super) struct ScriptRolledBack {
    /// The new version.
    version: u32,
    /// The version that it took up again.
    rolled_back_from: u32,
}

async fn roll_back(
    State(control): State<Control>,
    By(by): By,
    Input(request): Input<RollbackRequest>,
) -> Answered<ScriptRolledBack> {
    control.allow_scripts()?;
    let id = request.id.ok_or_else(|| ApiError::missing("id"))?;
    let version = request.version.ok_or_else(|| ApiError::missing("version"))?;
    let done = control.roll_back_script(id, version, &by).await?;
    Ok(Answer(ScriptRolledBack { version: done.version, rolled_back_from: done.rolled_back_from }))
}
