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
//! All four may be busy at the same time: that is how decode, script and write overlap.
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

mod event;
mod mark;
mod window;

use std::time::Duration;

pub use event::{Effect, Event, Now, Part, Stopped};
use mark::{Checkpointed, Durable, Mark, Marks, Read};
use tarn_model::Failure;
use window::{Group, Item, Step, Window, Work, schema_weight, weight};

use crate::batch::{Batch, Limits};
use crate::checkpoint::{BatchRecord, Checkpoint, Resume};
use crate::config::BATCH_OVERHEAD_BYTES;
use crate::destination::Ack;
use crate::observer::Watermarks;
use crate::settings::StreamSettings;
use crate::source::Changes;

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
    /// The schema's weight; the mark is missing while the rows of the same answer are in line behind.
    Evolving(u64, Option<Mark<Read>>),
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
    pub fn new(settings: StreamSettings, script: Script, resume: &Resume) -> Self {
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
        self.decide_destination(now, &mut effects);
        self.decide_checkpoints(now, &mut effects);
        self.decide_source(now, &mut effects);
        self.decide_end(&mut effects);
        self.marks.assert_law();
        effects
    }

    /// When `Woke` is to be applied unless something happens before; `None` when only an event can help.
    pub fn wake_at(&self) -> Option<Duration> {
        let batch = match (&self.destination, self.window.steps.front()) {
            (DestinationHand::Idle, Some(Step { work: Work::Write(group), .. })) => {
                Some(group.begun.elapsed + self.settings.idle_timeout)
            }
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
        [batch, save, confirm].into_iter().flatten().min()
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

    fn take(&mut self, now: Now, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Read(changes) => self.take_read(now, changes),
            Event::Confirmed => match std::mem::replace(&mut self.source, SourceHand::Idle) {
                SourceHand::Confirming(mark) => {
                    self.marks.confirmed = mark.confirmed();
                    self.confirmed_at = Some(now.elapsed);
                }
                other => panic!("confirmed while the source is {other:?}"),
            },
            Event::Transformed(batch) => self.take_transformed(batch, effects),
            Event::Written(ack) => self.take_written(now, ack, effects),
            Event::Flushed => match std::mem::replace(&mut self.destination, DestinationHand::Idle) {
                DestinationHand::Flushing(group, through) => self.end_group(now, group, through),
                other => panic!("flushed while the destination is {other:?}"),
            },
            Event::Evolved => match std::mem::replace(&mut self.destination, DestinationHand::Idle) {
                DestinationHand::Evolving(bytes, through) => {
                    self.window.release(bytes);
                    if let Some(through) = through {
                        self.reach_durable(through);
                    }
                }
                other => panic!("evolved while the destination is {other:?}"),
            },
            Event::Saved => match std::mem::replace(&mut self.checkpoints, CheckpointsHand::Idle) {
                CheckpointsHand::Saving(mark) => {
                    self.marks.checkpointed = mark.checkpointed();
                    self.saved_at = Some(now.elapsed);
                }
                other => panic!("saved while the checkpoints are {other:?}"),
            },
            Event::Failed(part, failure) => self.take_failed(part, failure),
            Event::Stop => {
                if matches!(self.phase, Phase::Streaming) {
                    self.phase = Phase::Draining(Cause::Asked { trouble: None });
                }
            }
            Event::Woke => {}
        }
    }

    fn take_read(&mut self, now: Now, changes: Changes) {
        assert!(
            matches!(self.source, SourceHand::Reading),
            "an answer while the source is {:?}",
            self.source
        );
        self.source = SourceHand::Idle;
        if self.is_draining() {
            return; // the next run reads it again
        }
        let before = self.marks.read.sequence;
        if changes.sequence < before {
            let message = format!("the source went back from sequence {before} to {}", changes.sequence);
            self.take_failed(Part::Source, Failure::permanent("sequence_went_back", message));
            return;
        }
        let mark = self.marks.read_on(changes.position, changes.sequence);
        let batch = changes.batch.filter(|batch| batch.rows > 0);
        self.window.arrive(Item { schema: changes.schema, batch, before, mark, arrived: now });
    }

    fn take_transformed(&mut self, batch: Batch, effects: &mut Vec<Effect>) {
        match std::mem::replace(&mut self.transform, TransformHand::Idle) {
            TransformHand::Applying(mut item, before) => {
                let rest = (batch.rows > 0).then_some(batch);
                self.window.replaced(before, rest.as_ref().map_or(0, weight));
                item.batch = rest;
                self.line_up(item, effects);
            }
            other => panic!("transformed while the transform is {other:?}"),
        }
    }

    fn take_written(&mut self, now: Now, ack: Ack, effects: &mut Vec<Effect>) {
        match std::mem::replace(&mut self.destination, DestinationHand::Idle) {
            DestinationHand::Writing(group, through) => {
                self.window.release(group.weight);
                if ack.durable {
                    self.end_group(now, group, through);
                } else {
                    self.marks.written = through.clone().written();
                    self.destination = DestinationHand::Flushing(group, through);
                    effects.push(Effect::Flush);
                }
            }
            other => panic!("written while the destination is {other:?}"),
        }
    }

    fn take_failed(&mut self, part: Part, failure: Failure) {
        match part {
            Part::Source => self.source = SourceHand::Gone,
            Part::Transform => {
                if let TransformHand::Applying(_, bytes) =
                    std::mem::replace(&mut self.transform, TransformHand::Gone)
                {
                    self.window.release(bytes);
                }
                self.window.clear_raw();
            }
            Part::Destination => {
                match std::mem::replace(&mut self.destination, DestinationHand::Gone) {
                    DestinationHand::Writing(group, _) => self.window.release(group.weight),
                    DestinationHand::Evolving(bytes, _) => self.window.release(bytes),
                    _ => {}
                }
                self.window.clear();
            }
            Part::Checkpoints => {
                self.checkpoints = CheckpointsHand::Gone;
                self.window.clear();
            }
        }
        match &mut self.phase {
            Phase::Streaming => self.phase = Phase::Draining(Cause::Failed(failure)),
            Phase::Draining(Cause::Asked { trouble }) if trouble.is_none() => *trouble = Some(failure),
            Phase::Draining(_) | Phase::Finished => {} // the first cause is the one to report
        }
    }

    /// Moves answers on to the steps, through the transform where there is one.
    fn settle_raw(&mut self, effects: &mut Vec<Effect>) {
        while matches!(self.transform, TransformHand::Absent | TransformHand::Idle) {
            let Some(mut item) = self.window.raw.pop_front() else { break };
            match (&self.transform, item.batch.take()) {
                (TransformHand::Idle, Some(batch)) => {
                    self.transform = TransformHand::Applying(item, weight(&batch));
                    effects.push(Effect::Transform(batch));
                }
                (_, batch) => {
                    item.batch = batch;
                    self.line_up(item, effects);
                }
            }
        }
    }

    /// Appends what is left of an answer to the steps.
    fn line_up(&mut self, item: Item, effects: &mut Vec<Effect>) {
        if self.is_hopeless() {
            self.window.release(item.schema.as_ref().map_or(0, schema_weight));
            self.window.release(item.batch.as_ref().map_or(0, weight));
            return;
        }
        if let Some(schema) = item.schema.clone() {
            self.window.steps.push_back(Step { work: Work::Evolve(schema), through: None });
        }
        let Some(batch) = item.batch.clone() else { return self.pass(item.mark) };
        let (bounds, rows_max) = (&self.settings.bounds, u64::from(self.settings.batch_rows_max));
        let fits = match self.window.steps.back() {
            Some(Step { work: Work::Write(group), .. }) => {
                group.rows + u64::from(batch.rows) <= rows_max
                    && group.weight + weight(&batch) <= bounds.batch_bytes_max
            }
            _ => false,
        };
        if !fits {
            self.batch_number += 1;
            let group = Group::begin(self.batch_number, &item);
            effects.push(Effect::Begun { number: group.number, first_sequence: group.first_sequence });
            self.window.steps.push_back(Step { work: Work::Write(group), through: None });
        }
        if let Some(Step { work: Work::Write(group), through }) = self.window.steps.back_mut() {
            group.push(batch, item.mark.sequence);
            *through = Some(item.mark);
        }
    }

    /// An answer without rows: nothing lies between the last step in line and its mark.
    fn pass(&mut self, mark: Mark<Read>) {
        if let Some(last) = self.window.steps.back_mut() {
            last.through = Some(mark);
            return;
        }
        match &mut self.destination {
            DestinationHand::Writing(_, through) | DestinationHand::Flushing(_, through) => *through = mark,
            DestinationHand::Evolving(_, through) => *through = Some(mark),
            DestinationHand::Idle => self.reach_durable(mark),
            DestinationHand::Gone => {}
        }
    }

    fn reach_durable(&mut self, mark: Mark<Read>) {
        self.marks.written = mark.written();
        self.marks.durable = self.marks.written.clone().durable();
    }

    fn end_group(&mut self, now: Now, group: Group, through: Mark<Read>) {
        self.reach_durable(through);
        self.ended.push(BatchRecord {
            number: group.number,
            rows: group.rows,
            first_sequence: group.first_sequence,
            last_sequence: group.last_sequence,
            started: group.begun.wall,
            ended: now.wall,
        });
    }

    fn decide_destination(&mut self, now: Now, effects: &mut Vec<Effect>) {
        if !matches!(self.destination, DestinationHand::Idle) || !self.is_front_due(now) {
            return;
        }
        let Some(step) = self.window.steps.pop_front() else { return };
        match step.work {
            Work::Evolve(schema) => {
                self.destination = DestinationHand::Evolving(schema_weight(&schema), step.through);
                effects.push(Effect::Evolve(schema));
            }
            Work::Write(mut group) => {
                let through = step.through.expect("a group with rows has the mark of its last row");
                effects.push(Effect::Write(std::mem::take(&mut group.batches)));
                self.destination = DestinationHand::Writing(group, through);
            }
        }
    }

    /// Whether the first step in line may begin now.
    fn is_front_due(&self, now: Now) -> bool {
        let Some(Step { work: Work::Write(group), .. }) = self.window.steps.front() else { return true };
        self.window.steps.len() > 1
            || self.is_draining()
            || group.rows >= u64::from(self.settings.batch_rows_max)
            || group.weight >= self.settings.bounds.batch_bytes_max
            || now.elapsed >= group.begun.elapsed + self.settings.idle_timeout
    }

    fn decide_checkpoints(&mut self, now: Now, effects: &mut Vec<Effect>) {
        if !matches!(self.checkpoints, CheckpointsHand::Idle) || !self.is_behind_checkpoint() {
            return;
        }
        let rested = self
            .saved_at
            .is_none_or(|at| now.elapsed >= at + self.settings.bounds.heartbeat_checkpoint_interval);
        if self.ended.is_empty() && !self.is_draining() && !rested {
            return;
        }
        let mark = self.marks.durable.clone();
        effects.push(Effect::Save(Checkpoint {
            position: mark.position.clone(),
            sequence: mark.sequence,
            batches: std::mem::take(&mut self.ended),
        }));
        self.checkpoints = CheckpointsHand::Saving(mark);
    }

    fn decide_source(&mut self, now: Now, effects: &mut Vec<Effect>) {
        if !matches!(self.source, SourceHand::Idle) {
            return;
        }
        let bounds = &self.settings.bounds;
        if self.is_behind_confirm() {
            let rested = self.confirmed_at.is_none_or(|at| now.elapsed >= at + bounds.confirm_interval);
            if rested || self.is_draining() || self.is_at_rest() {
                let mark = self.marks.checkpointed.clone();
                effects.push(Effect::Confirm(mark.position.clone()));
                self.source = SourceHand::Confirming(mark);
                return;
            }
        }
        // An answer may bring a schema and a batch.
        let answer = u64::from(bounds.read_bytes_max) + 2 * BATCH_OVERHEAD_BYTES;
        let full = self.window.weight() + answer;
        if !self.is_draining() && full <= bounds.window_bytes_max {
            effects.push(Effect::Read(Limits {
                rows_max: self.settings.batch_rows_max,
                bytes_max: bounds.read_bytes_max,
                wait: bounds.read_wait,
            }));
            self.source = SourceHand::Reading;
        }
    }

    fn decide_end(&mut self, effects: &mut Vec<Effect>) {
        let at_rest = matches!(self.source, SourceHand::Idle | SourceHand::Gone)
            && !matches!(self.transform, TransformHand::Applying(..))
            && matches!(self.destination, DestinationHand::Idle | DestinationHand::Gone)
            && matches!(self.checkpoints, CheckpointsHand::Idle | CheckpointsHand::Gone);
        if !at_rest || !self.is_draining() {
            return;
        }
        let watermarks = self.watermarks();
        match std::mem::replace(&mut self.phase, Phase::Finished) {
            Phase::Draining(Cause::Asked { trouble }) => {
                effects.push(Effect::Finish(Ok(Stopped { watermarks, trouble })));
            }
            Phase::Draining(Cause::Failed(failure)) => effects.push(Effect::Finish(Err(failure))),
            Phase::Streaming | Phase::Finished => {}
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

    /// Whether nothing is on its way.
    fn is_at_rest(&self) -> bool {
        self.window.is_empty()
            && !matches!(self.transform, TransformHand::Applying(..))
            && matches!(self.destination, DestinationHand::Idle)
            && matches!(self.checkpoints, CheckpointsHand::Idle)
    }

    /// Whether no further row can become a checkpoint in this run.
    fn is_hopeless(&self) -> bool {
        matches!(self.destination, DestinationHand::Gone) || matches!(self.checkpoints, CheckpointsHand::Gone)
    }
}

#[cfg(test)]
mod tests;
