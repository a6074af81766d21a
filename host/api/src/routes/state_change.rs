//! Changing mirrors: pause, resume, edit, drop, resync.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use tarn_control::{ChangeOutcome, Control, StateChange};
use tarn_model::{DropOptions, MirrorEdit, MirrorState};
use utoipa::ToSchema;

use crate::answer::{Answer, Answered};
use crate::operation::{Operation, example};
use crate::request::Input;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/api/v1/mirrors/state_change", example!("change_mirror_state"), change_state)
            .about(
                "Pauses, resumes, edits, drops or resyncs a mirror. A refusal is in the answer; that of a \
                 successful edit is empty.",
            )
            .takes::<StateChangeRequest>()
            .answers::<StateChanged>(),
    ]
}

/// A change of a mirror.
#[derive(Deserialize, ToSchema)]
pub(super) struct StateChangeRequest {
    /// The mirror.
    #[serde(default)]
    flow_job_name: String,
    /// STATUS_PAUSED pauses, STATUS_RUNNING resumes, STATUS_TERMINATED drops, STATUS_RESYNC resyncs.
    requested_flow_state: Option<MirrorState>,
    /// Changed settings of a paused or failed mirror, which resumes with them.
    #[serde(default)]
    flow_config_update: FlowConfigUpdate,
    /// Drop its batches and counts too.
    #[serde(default)]
    drop_mirror_stats: bool,
    /// Leave the destination as it is.
    #[serde(default)]
    skip_destination_drop: bool,
}

/// Changed settings, by the kind of mirror.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
struct FlowConfigUpdate {
    /// Of a mirror that streams.
    cdc_flow_config_update: Option<MirrorEdit>,
}

/// How a change went: its refusal is a successful answer, and that of an edit is empty.
#[derive(Serialize, ToSchema)]
pub(super) struct StateChanged {
    /// Whether it is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    ok: Option<bool>,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<String>,
}

pub(super) async fn change_state(
    State(control): State<Control>,
    Input(request): Input<StateChangeRequest>,
) -> Answered<StateChanged> {
    let change = StateChange {
        mirror: request.flow_job_name,
        requested: request.requested_flow_state.filter(|state| *state != MirrorState::Unknown),
        edit: request.flow_config_update.cdc_flow_config_update,
        drop_options: DropOptions {
            drop_mirror_stats: request.drop_mirror_stats,
            skip_destination_drop: request.skip_destination_drop,
        },
    };
    Ok(Answer(match control.change_state(change).await? {
        ChangeOutcome::Done => StateChanged { ok: Some(true), error_message: Some(String::new()) },
        ChangeOutcome::Edited => StateChanged { ok: None, error_message: None },
        ChangeOutcome::Refused(message) => StateChanged { ok: Some(false), error_message: Some(message) },
    }))
}
