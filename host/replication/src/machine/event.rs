//! What the machine is told, and what it wants done.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use tarn_model::{Failure, Position};

use crate::batch::{Batch, Limits};
use crate::checkpoint::Checkpoint;
use crate::destination::Ack;
use crate::observer::Watermarks;
use crate::source::Changes;
use crate::stage::{Staged, Ticket};

/// When an event happened. The machine has no clock of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Since the run began; never shrinks.
    pub elapsed: Duration,
    /// What clocks on the wall say, for batch records.
    pub wall: SystemTime,
}

/// One of the five that calls go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Read and confirm.
    Source,
    /// Apply.
    Transform,
    /// Write, flush and evolve.
    Destination,
    /// Save.
    Checkpoints,
    /// Stage, fetch and unstage.
    Stage,
}

/// What becomes of the stage, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Rows wait in it.
    Engaged,
    /// No more may wait in it: rows wait at the source.
    Full {
        /// Bytes that wait.
        bytes: u64,
        /// Bytes that may.
        bytes_max: u64,
    },
    /// There is no room for more where it is kept: rows wait at the source.
    NoRoom {
        /// Bytes that wait.
        bytes: u64,
    },
    /// Everything that waited is delivered.
    Emptied,
}

/// Something that happened outside of the machine. All but the last two end the call that the effect of
/// the same name began.
#[derive(Debug)]
pub enum Event {
    /// The source answered.
    Read(Changes),
    /// The source took a confirm.
    Confirmed,
    /// The transform answered: rows that go on, possibly none.
    Transformed(Batch),
    /// The destination took a write.
    Written(Ack),
    /// The destination made its writes durable.
    Flushed,
    /// The destination took changed columns.
    Evolved,
    /// The checkpoint is stored.
    Saved,
    /// An entry is durable in the stage.
    Staged,
    /// There was no room for an entry, which is not in the stage.
    NoRoom(Failure),
    /// The stage gave an entry back.
    Fetched(Staged),
    /// The stage forgot an entry.
    Unstaged,
    /// The call in flight at the destination failed in passing; it is called again after this delay. Only in a
    /// run that rides such trouble out ([`super::Machine::rides_out_trouble`]).
    Rests(Duration),
    /// The call in flight at a part failed. The part is not called again.
    Failed(Part, Failure),
    /// Someone asked to stop.
    Stop,
    /// [`super::Machine::wake_at`] has come. Harmless at any other time.
    Woke,
}

/// A call to begin, or the end. At most one call of each part is in flight.
#[derive(Debug)]
pub enum Effect {
    /// Read from the source.
    Read(Limits),
    /// Confirm to the source.
    Confirm(Position),
    /// Apply the transform.
    Transform(Batch),
    /// Write to the destination.
    Write(Vec<Batch>),
    /// Flush the destination.
    Flush,
    /// Evolve the destination.
    Evolve(Bytes),
    /// Save a checkpoint.
    Save(Checkpoint),
    /// Keep an entry in the stage.
    Stage(Ticket, Staged),
    /// Get an entry from the stage.
    Fetch(u64),
    /// Let the stage forget an entry.
    Unstage(u64),
    /// What became of the stage; nothing to do but to tell.
    Tell(Standing),
    /// A batch got its first row; nothing to do but to tell.
    Begun {
        /// Its number.
        number: u64,
        /// Sequence of the source before its first row.
        first_sequence: u64,
    },
    /// The run is over. No call is in flight and none will follow.
    Finish(Result<Stopped, Failure>),
}

/// A run that ended because it was asked to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// How far it came.
    pub watermarks: Watermarks,
    /// What went wrong after the stop was asked for. Nothing is lost by it: what was not finished is read
    /// again by the next run.
    pub trouble: Option<Failure>,
}
