//! The stream's decisions: what is called when, as a pure function of what happened.
//!
//! [`Machine::apply`] takes an event and the time it happened at and returns the calls to begin. It has
//! no clock and does no I/O, so a simulation can drive it through any order of events, and every such order
//! is checked against one law after every event:
//!
//! ```text
//! read >= written >= durable >= checkpointed >= confirmed
//! ```
//!
//! # The argument
//!
//! A source's position says that everything delivered so far is before it. The machine numbers the source's
//! answers; a *mark* is such a number with its position. Rows leave in the order they came in, in one write
//! at a time, so once a write ends, everything up to its mark is written: no earlier row can still be on its
//! way. A mark becomes durable by the destination's word (or its flush), is then saved, and only when the
//! save has ended, confirmed. Whatever crashes between two of these, the next run starts from the saved
//! position, which is not after anything that is not durable (no loss) and not before anything the source
//! has forgotten (no gap); rows between the saved position and the crash are written again, which an
//! idempotent destination takes as nothing (no double).
//!
//! # Parts
//!
//! ```text
//!   source        Idle ── Read ──> Reading ── Read answered ──┐
//!                  │ └─ Confirm ──> Confirming ── Confirmed ──┤
//!                  └<─────────────────────────────────────────┘
//!   transform     Idle ── Transform ──> Applying ── Transformed ──> Idle
//!   destination   Idle ── Write ──> Writing ── Written, durable ──> Idle
//!                  │                   └────── Written, not durable ──> Flushing ── Flushed ──> Idle
//!                  └── Evolve ──> Evolving ── Evolved ──> Idle
//!   checkpoints   Idle ── Save ──> Saving ── Saved ──> Idle
//!   any of them   ── Failed ──> Gone
//! ```
//!
//! Where the run has a stage, a destination that fails in passing rests instead, and what it would get waits in
//! the stage, which counts as durable (`shelf.rs`).
//!
//! All may be busy at the same time: that is how decode, script and write overlap.
//!
//! # Phases
//!
//! ```text
//!   Streaming ── Stop, or Failed ──> Draining ── nothing in flight, nothing left to do ──> Finished
//! ```
//!
//! Draining reads no more; it writes what the window holds, saves and confirms, as far as the parts that
//! are left allow. A failure drains too: rows already read are progress.
//!
//! # When a batch leaves
//!
//! A batch begins with its first row and leaves when the destination is free and it is full (rows or bytes),
//! or a schema change follows it, or the idle timeout since its first row has passed, or the run is
//! draining. An answer without rows moves the mark of whatever is last in line, and the durable mark itself
//! when nothing is in line: so idle tables never hold the source's log.

mod decide;
mod event;
mod lineup;
mod mark;
mod shelf;
mod take;
mod window;

use std::time::Duration;

use bytes::Bytes;

pub use event::{Effect, Event, Now, Part, Standing, Stopped};
use mark::{Checkpointed, Durable, Mark, Marks, Read};
use shelf::Delivery;
pub use shelf::Shelf;
use tarn_model::Failure;
use window::{Group, Item, Step, Window, Work};

use crate::checkpoint::{BatchRecord, Resume};
use crate::observer::Watermarks;
use crate::settings::StreamSettings;
use crate::stage::Ticket;

/// See the module's documentation.
#[derive(Debug)]
pub struct Machine {
    settings: StreamSettings,
    phase: Phase,
    marks: Marks,
    window: Window,
    source: SourceHand,
    transform: TransformHand,
    destination: DestinationHand,
    checkpoints: CheckpointsHand,
    shelf: Option<Shelf>,
    /// Batches that are durable and not yet part of a checkpoint.
    ended: Vec<BatchRecord>,
    /// Number of the batch that began last.
    batch_number: u64,
    saved_at: Option<Duration>,
    confirmed_at: Option<Duration>,
}

#[derive(Debug)]
enum Phase {
    Streaming,
    Draining(Cause),
    Finished,
}

#[derive(Debug)]
enum Cause {
    Asked { trouble: Option<Failure> },
    Failed(Failure),
}

#[derive(Debug)]
enum SourceHand {
    Idle,
    Reading,
    Confirming(Mark<Checkpointed>),
    Gone,
}

#[derive(Debug)]
enum TransformHand {
    /// The mirror has no script.
    Absent,
    Idle,
    /// The item whose batch is inside, and the batch's weight.
    Applying(Item, u64),
    Gone,
}

#[derive(Debug)]
enum DestinationHand {
    Idle,
    Writing(Group, Mark<Read>),
    Flushing(Group, Mark<Read>),
    /// The mark is missing while the rows of the same answer are in line behind.
    Evolving(Bytes, Option<Mark<Read>>),
    /// Busy with what waited in the stage.
    Delivering(Ticket, Delivery),
    /// It failed in passing, and is tried again at this time.
    Resting(Duration),
    Gone,
}

#[derive(Debug)]
enum CheckpointsHand {
    Idle,
    Saving(Mark<Durable>),
    Gone,
}

/// Whether a run has a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// Every batch goes through the transform.
    Present,
    /// Batches go to the destination as they are.
    Absent,
}

impl Machine {
    /// A machine at the start of a run, with the source open at `resume`.
    pub fn new(settings: StreamSettings, script: Script, shelf: Option<Shelf>, resume: &Resume) -> Self {
        settings.bounds.assert_consistent();
        Self {
            settings,
            phase: Phase::Streaming,
            marks: Marks::new(resume),
            window: Window::default(),
            source: SourceHand::Idle,
            transform: match script {
                Script::Present => TransformHand::Idle,
                Script::Absent => TransformHand::Absent,
            },
            destination: DestinationHand::Idle,
            checkpoints: CheckpointsHand::Idle,
            shelf,
            ended: Vec::new(),
            batch_number: resume.batch,
            saved_at: None,
            confirmed_at: None,
        }
    }

    /// Takes what happened and returns the calls to begin now. The first call of a run is `Woke`.
    ///
    /// # Panics
    ///
    /// On a broken law, and on an answer to a call that is not in flight: both are faults of this crate.
    pub fn apply(&mut self, now: Now, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.take(now, event, &mut effects);
        self.settle_raw(&mut effects);
        self.decide_stage(now, &mut effects);
        self.decide_destination(now, &mut effects);
        self.decide_checkpoints(now, &mut effects);
        self.decide_source(now, &mut effects);
        self.decide_end(&mut effects);
        self.marks.assert_law();
        effects
    }

    /// When `Woke` is to be applied unless something happens before; `None` when only an event can help.
    pub fn wake_at(&self) -> Option<Duration> {
        let direct = matches!(self.destination, DestinationHand::Idle) && self.goes_direct();
        let batch = match self.window.steps.front() {
            Some(Step { work: Work::Write(group), .. }) if direct || self.may_stage() => {
                Some(group.begun.elapsed + self.settings.idle_timeout)
            }
            _ => None,
        };
        let rest = match self.destination {
            DestinationHand::Resting(until) => Some(until),
            _ => None,
        };
        let bounds = &self.settings.bounds;
        let save = match &self.checkpoints {
            CheckpointsHand::Idle if self.is_behind_checkpoint() => {
                self.saved_at.map(|at| at + bounds.heartbeat_checkpoint_interval)
            }
            _ => None,
        };
        let confirm = match &self.source {
            SourceHand::Idle if self.is_behind_confirm() => {
                self.confirmed_at.map(|at| at + bounds.confirm_interval)
            }
            _ => None,
        };
        [batch, rest, save, confirm].into_iter().flatten().min()
    }

    /// How far the run is.
    pub fn watermarks(&self) -> Watermarks {
        self.marks.watermarks()
    }

    /// What is held between source and destination.
    pub fn window_bytes(&self) -> u64 {
        self.window.weight()
    }

    /// Whether the run only ends what it began.
    pub fn is_draining(&self) -> bool {
        !matches!(self.phase, Phase::Streaming)
    }

    /// Ends a run whose drain takes too long: what is in flight is given up, and the next run reads again
    /// what it held.
    pub fn give_up(&mut self) -> Result<Stopped, Failure> {
        let late =
            Failure::retry("drain_deadline", "what was under way did not end within the drain deadline");
        let watermarks = self.watermarks();
        match std::mem::replace(&mut self.phase, Phase::Finished) {
            Phase::Draining(Cause::Failed(failure)) => Err(failure),
            Phase::Draining(Cause::Asked { trouble: Some(trouble) }) => {
                Ok(Stopped { watermarks, trouble: Some(trouble) })
            }
            _ => Ok(Stopped { watermarks, trouble: Some(late) }),
        }
    }

    /// Whether a save would change anything.
    fn is_behind_checkpoint(&self) -> bool {
        !self.ended.is_empty() || self.marks.durable.position != self.marks.checkpointed.position
    }

    /// Whether a confirm would change anything.
    fn is_behind_confirm(&self) -> bool {
        self.marks.checkpointed.number > self.marks.confirmed.number
    }

    /// Whether everything that was read is safe, be it in the stage.
    pub fn is_idle(&self) -> bool {
        use DestinationHand::{Evolving, Flushing, Writing};
        self.window.is_empty()
            && !matches!(self.transform, TransformHand::Applying(..))
            && !matches!(self.destination, Writing(..) | Flushing(..) | Evolving(..))
    }

    /// Whether nothing is on its way.
    fn is_at_rest(&self) -> bool {
        self.window.is_empty()
            && !matches!(self.transform, TransformHand::Applying(..))
            && matches!(self.destination, DestinationHand::Idle)
            && matches!(self.checkpoints, CheckpointsHand::Idle)
            && self.stage_is_at_rest()
    }

    /// Whether no further row can become a checkpoint in this run.
    fn is_hopeless(&self) -> bool {
        matches!(self.destination, DestinationHand::Gone)
            || matches!(self.checkpoints, CheckpointsHand::Gone)
            || self.stage_is_gone()
    }
}

#[cfg(test)]
mod tests;
