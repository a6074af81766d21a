//! The states of a mirror.
//!
//! ```text
//!            ┌────────────── pause ──────────────┐
//!            │          ┌─── pause ───┐          │
//!  create → SETUP → SNAPSHOT → RUNNING │         │
//!            │          │        │     ▼         ▼
//!            │          │        └→ PAUSING → PAUSED ── edit ─→ MODIFYING → RUNNING
//!            │          └→ COMPLETED            │
//!            └→ FAILED ←── any ──┘              └─ resume ─→ SETUP, SNAPSHOT or RUNNING, where it was
//!  any not yet dropped ── drop ─→ TERMINATING → TERMINATED
//! ```
//!
//! A person's request moves the desired state, and the observed one onto the way there, in one step
//! ([`crate::decide`]); the run makes the other moves ([`MirrorState::may_become`]).

use serde::{Deserialize, Serialize};

use crate::enumerated::{Enumerated, serde_by_name};

/// What a mirror is doing. The number is the one clients of the API use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MirrorState {
    /// Not known.
    Unknown = 0,
    /// Streaming changes.
    Running = 1,
    /// At rest on request.
    Paused = 2,
    /// On the way to rest.
    Pausing = 3,
    /// Making slot, publication and tables.
    Setup = 4,
    /// Loading the tables.
    Snapshot = 5,
    /// Being dropped.
    Terminating = 6,
    /// Dropped.
    Terminated = 7,
    /// Loaded, with nothing to stream.
    Completed = 8,
    /// Taking slot, publication and the destination's tables back, to load everything again.
    Resync = 9,
    /// Stopped by a failure that retrying cannot mend.
    Failed = 10,
    /// Taking an edit.
    Modifying = 11,
}

impl Enumerated for MirrorState {
    const EXPECTED: &'static str = "a state of a mirror";
    const ALL: &'static [(Self, u32, &'static str)] = &[
        (Self::Unknown, 0, "STATUS_UNKNOWN"),
        (Self::Running, 1, "STATUS_RUNNING"),
        (Self::Paused, 2, "STATUS_PAUSED"),
        (Self::Pausing, 3, "STATUS_PAUSING"),
        (Self::Setup, 4, "STATUS_SETUP"),
        (Self::Snapshot, 5, "STATUS_SNAPSHOT"),
        (Self::Terminating, 6, "STATUS_TERMINATING"),
        (Self::Terminated, 7, "STATUS_TERMINATED"),
        (Self::Completed, 8, "STATUS_COMPLETED"),
        (Self::Resync, 9, "STATUS_RESYNC"),
        (Self::Failed, 10, "STATUS_FAILED"),
        (Self::Modifying, 11, "STATUS_MODIFYING"),
    ];
}

serde_by_name!(MirrorState);

impl MirrorState {
    /// Whether a run may report `next` after this state. Staying is always fine. What only a person's
    /// request may do (leaving rest, starting to drop) is not.
    pub fn may_become(self, next: Self) -> bool {
        use MirrorState::{
            Completed, Failed, Modifying, Paused, Pausing, Resync, Running, Setup, Snapshot, Terminated,
            Terminating, Unknown,
        };
        match self {
            _ if self == next => true,
            Terminated | Paused => false,
            Terminating => next == Terminated,
            Pausing => matches!(next, Paused | Failed | Completed),
            Completed | Failed => false,
            Unknown | Setup | Snapshot | Running | Resync | Modifying => {
                matches!(next, Setup | Snapshot | Running | Modifying | Completed | Failed)
            }
        }
    }
}

/// What a person asked a mirror to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DesiredState {
    /// Set up, load, stream.
    Running,
    /// At rest, resumable.
    Paused,
    /// Gone, with slot, publication and tasks.
    Terminated,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_written_by_name_and_read_by_name_or_number() {
        for (state, number, name) in MirrorState::ALL {
            assert_eq!(serde_json::to_value(state).expect("serialises"), *name);
            assert_eq!(serde_json::from_str::<MirrorState>(&number.to_string()).expect("a number"), *state);
            let quoted = format!("\"{name}\"");
            assert_eq!(serde_json::from_str::<MirrorState>(&quoted).expect("a name"), *state);
        }
        assert_eq!(serde_json::from_str::<MirrorState>("2.0").expect("a number"), MirrorState::Paused);
        assert_eq!(serde_json::from_str::<MirrorState>("\"2\"").expect("a number"), MirrorState::Paused);
        for none in ["12", "-1", "2.5", "-1.0", "1e300", "true", "\"12\"", "\"\""] {
            assert!(serde_json::from_str::<MirrorState>(none).is_err(), "{none}");
        }
    }

    #[test]
    fn a_run_neither_leaves_rest_nor_revives_a_dropped_mirror() {
        for (next, ..) in MirrorState::ALL {
            for from in [MirrorState::Terminated, MirrorState::Paused] {
                assert_eq!(from.may_become(*next), from == *next);
            }
        }
        assert!(MirrorState::Pausing.may_become(MirrorState::Paused));
        assert!(!MirrorState::Pausing.may_become(MirrorState::Running));
    }
}
