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

use serde::{Deserialize, Serialize};

/// What a mirror is doing. The number is the one clients of the API use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
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
    /// Loading again beside the old tables.
    Resync = 9,
    /// Stopped by a failure that retrying cannot mend.
    Failed = 10,
    /// Taking an edit.
    Modifying = 11,
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
