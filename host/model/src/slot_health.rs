//! How the place is that a mirror holds in its source's log.

use serde::Serialize;

use crate::enumerated::{Enumerated, serde_by_name};
use crate::timestamp::Timestamp;

/// What is wrong with a slot; later ones are worse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SlotState {
    /// Nothing.
    #[default]
    Healthy,
    /// It holds so much of the log that the source's disk may fill.
    Holding,
    /// The source will soon remove what it holds.
    AtRisk,
    /// The source has removed what it held.
    Lost,
    /// It is not there.
    Missing,
}

impl Enumerated for SlotState {
    const EXPECTED: &'static str = "a state of a slot";
    const ALL: &'static [(Self, u32, &'static str)] = &[
        (Self::Healthy, 1, "HEALTHY"),
        (Self::Holding, 2, "HOLDING"),
        (Self::AtRisk, 3, "AT_RISK"),
        (Self::Lost, 4, "LOST"),
        (Self::Missing, 5, "MISSING"),
    ];
}

serde_by_name!(SlotState);

/// A mirror's slot as it was last seen. What a source does not tell is empty or absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct SlotHealth {
    /// Its name.
    pub slot_name: String,
    /// What is wrong with it.
    pub state: SlotState,
    /// When it was looked at.
    pub seen_at: Timestamp,
    /// Whether a reader is connected.
    pub active: bool,
    /// Whether what it holds is still there, in the source's words.
    pub wal_status: String,
    /// Up to where the mirror has confirmed, as the source writes it.
    pub confirmed_lsn: String,
    /// Bytes of the log that the mirror has not confirmed.
    pub behind_bytes: u64,
    /// Bytes of the log that the slot holds.
    pub held_bytes: u64,
    /// Bytes that can be written to the log until what the slot holds is in danger; absent where the source
    /// removes nothing.
    pub safe_bytes: Option<u64>,
    /// How fast the log grows, after two looks.
    pub log_bytes_per_second: Option<u64>,
    /// When the safe bytes are used up at this rate, in seconds.
    pub seconds_left: Option<u64>,
    /// What is wrong, for a person; empty where nothing is.
    pub warning: String,
    /// What to do about it.
    pub remedy: String,
}
