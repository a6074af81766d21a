//! What fails just now and is tried again.

use serde::Serialize;

use crate::timestamp::Timestamp;

/// A failure that passes by itself, or that somebody mends at a peer: the mirror tries again until it is gone, and
/// stays in its state meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct RetriedFailure {
    /// What fails, where, and what a person can do about it, as the mirror's log has it.
    pub message: String,
    /// What fails, for programs: a stable snake_case name.
    pub code: String,
    /// When it began: nothing has gone on since.
    pub since: Timestamp,
    /// How many attempts have failed since.
    pub attempt: u32,
    /// When the next one begins, or began if it is under way.
    pub next_attempt_at: Timestamp,
}
