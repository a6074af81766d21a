//! What goes wrong with a stage, in its words.

use tarn_model::{Failure, FailureClass};

/// Something else came in between.
pub(super) fn interrupted(why: &str) -> Failure {
    Failure::retry("stage_interrupted", format!("the stage: {why}"))
}

/// What the catalog knows of is not there.
pub(super) fn missing(place: &str) -> Failure {
    let message =
        format!("rows that wait for the destination are not in {place}, and the source has forgotten them");
    Failure::new(FailureClass::PositionLost, "stage_missing", message)
        .with_hint("bring back what is missing there (entries that wait) and resume, or resync the mirror")
}

/// What is there is not what was put there.
pub(super) fn damaged(what: &str) -> Failure {
    Failure::permanent("stage_damaged", format!("what waits for the destination is damaged: {what}"))
        .with_hint("bring it back if there is a copy and resume, or resync the mirror")
}

/// Rows wait where the mirror's settings do not lead any more.
pub(super) fn elsewhere(there: &str, here: &str) -> Failure {
    let message = format!("rows wait for the destination in {there}, and new ones would in {here}");
    Failure::retry("stage_elsewhere", message).with_hint(
        "name that bucket (s3_path, endpoint) in the peer again until they are delivered, or resync the mirror",
    )
}
