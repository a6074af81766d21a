//! What people note on a mirror.

use serde::{Deserialize, Serialize};

/// One note: whose it is, which team looks after it, whatever a person wants to find again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct MirrorTag {
    /// What is noted; a mirror has each key once.
    pub key: String,
    /// The note.
    pub value: String,
}
