//! Editing a mirror as it stands: paused if it runs, edited, and left in the state it was in. A failed one goes on
//! with the edit, which is what it needs.

use serde_json::json;
use tarn_model::{MirrorEdit, MirrorState};

use crate::calls::{Within, state_name};
use crate::error::Error;
use crate::http::Client;

/// How an edit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edited {
    /// The mirror's state now.
    pub(crate) state: MirrorState,
    /// Whether it was at rest before, and is again.
    pub(crate) was_paused: bool,
}

/// Pauses a mirror unless it is paused or failed, edits it, and waits until the edit is carried out. A mirror whose
/// edit is refused goes on as before.
pub(crate) async fn edit(client: &Client, name: &str, edit: &MirrorEdit) -> Result<Edited, Error> {
    use MirrorState::{Completed, Failed, Paused, Pausing, Running, Setup, Snapshot};
    let before = client.mirror_state(name).await?;
    let was_paused = match before {
        Paused | Pausing => true,
        Running | Snapshot | Setup => false,
        Failed => {
            client.edit_mirror(name, edit).await?;
            return Ok(Edited { state: carried_out(client, name).await?, was_paused: false });
        }
        other => {
            return Err(Error::Failed(format!(
                "mirror {name} is {} and cannot be edited; it can from RUNNING, SNAPSHOT, SETUP, PAUSED and FAILED",
                state_name(other)
            )));
        }
    };
    client.request_state(name, Paused, &json!({})).await?;
    // A load that ends just now is not paused any more, and has nothing to edit.
    let state =
        client.wait_for(name, "pause", Within::Deadline, |state| matches!(state, Paused | Completed)).await?;
    if state == Completed {
        return Err(Error::Failed(format!("mirror {name} is COMPLETED; nothing of it can be edited")));
    }
    if let Err(refusal) = client.edit_mirror(name, edit).await {
        if !was_paused {
            client.request_state(name, Running, &json!({})).await?;
        }
        return Err(refusal);
    }
    let state = carried_out(client, name).await?;
    if !was_paused {
        return Ok(Edited { state, was_paused });
    }
    client.request_state(name, Paused, &json!({})).await?;
    let state =
        client.wait_for(name, "pause", Within::Deadline, |state| matches!(state, Paused | Completed)).await?;
    Ok(Edited { state, was_paused })
}

/// Waits until an edit is carried out, and returns the state then.
async fn carried_out(client: &Client, name: &str) -> Result<MirrorState, Error> {
    use MirrorState::{Modifying, Paused};
    client
        .wait_for(name, "take the edit", Within::AnyTime, |state| !matches!(state, Modifying | Paused))
        .await
}
