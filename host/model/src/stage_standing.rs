//! What waits for a mirror's destination.

use serde::Serialize;

use crate::timestamp::Timestamp;

/// A mirror's stage: changes that wait durably until the destination takes them, and count as received meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct StageStanding {
    /// Where changes are put that have to wait: `data folder`, or a bucket and its prefix.
    pub place: String,
    /// Entries that wait, each a file or an object.
    pub entries: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When the oldest of them was put there.
    pub oldest_at: Option<Timestamp>,
    /// What is wrong with the stage, and what to do about it; empty once it works again.
    pub error: String,
    /// When that was.
    pub failed_at: Option<Timestamp>,
}
