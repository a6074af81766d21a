//! What the stage holds, and when it is used.
//!
//! ```text
//!   destination  ── failed, passing ──> Resting ── its delay is over ──> Idle
//!   steps        ── Resting, or something waits ──> stage ── Stored: durable
//!   stage        ── destination Idle ── Fetch ──> Delivering ── taken, durable ──> Unstage ── Removed
//! ```
//!
//! While anything waits, or is on its way into the stage, the destination gets nothing but what waits, in its order:
//! what it takes is in the order of the source, as it is without a stage. An entry is forgotten only when the
//! destination has it for good; one that is delivered a second time after a crash is a write that is repeated.

use std::collections::VecDeque;
use std::time::Duration;

use super::event::{Effect, Now, Standing};
use super::window::{Step, Work, schema_weight};
use super::{DestinationHand, Machine};
use crate::stage::{Staged, Ticket};

/// A stage as the machine knows it.
#[derive(Debug)]
pub struct Shelf {
    pub(super) waiting: VecDeque<Ticket>,
    pub(super) hand: StageHand,
    /// The entry that the destination has, and that is not forgotten yet.
    pub(super) delivered: Option<Ticket>,
    bytes: u64,
    bytes_max: u64,
    /// The bytes that waited when there was no room for more: no further entry is tried before as many as it has are gone,
    /// or the destination has failed once more.
    bytes_at_no_room: Option<u64>,
    next_number: u64,
    told_full: bool,
}

#[derive(Debug)]
pub(super) enum StageHand {
    Idle,
    Storing(Step, Ticket),
    Fetching(Ticket),
    Removing(Ticket),
    Gone,
}

/// What of a delivery is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    Rows,
    Flush,
    Schema,
}

impl Shelf {
    /// A stage in which these entries wait, and in which so many bytes may.
    pub fn new(waiting: Vec<Ticket>, bytes_max: u64) -> Self {
        let next_number = waiting.last().map_or(1, |last| last.number + 1);
        let bytes = waiting.iter().map(|ticket| ticket.bytes).sum();
        Self {
            waiting: waiting.into(),
            hand: StageHand::Idle,
            delivered: None,
            bytes,
            bytes_max,
            bytes_at_no_room: None,
            next_number,
            told_full: false,
        }
    }

    fn is_idle(&self) -> bool {
        matches!(self.hand, StageHand::Idle)
    }

    fn is_gone(&self) -> bool {
        matches!(self.hand, StageHand::Gone)
    }

    fn fits(&self, bytes: u64) -> bool {
        // One that is larger than the whole budget goes alone.
        let has_budget =
            self.bytes + bytes <= self.bytes_max || (self.waiting.is_empty() && self.bytes_max > 0);
        has_budget && self.bytes_at_no_room.is_none_or(|room| self.bytes + bytes <= room)
    }
}

impl Step {
    fn staged_bytes(&self) -> u64 {
        match &self.work {
            Work::Evolve(schema) => schema_weight(schema),
            Work::Write(group) => group.weight,
        }
    }

    fn to_stage(&self) -> Staged {
        match &self.work {
            Work::Evolve(schema) => Staged::Schema(schema.clone()),
            Work::Write(group) => Staged::Rows(group.batches.clone()),
        }
    }
}

impl Machine {
    /// Whether passing trouble of the destination is no end of the run.
    pub fn rides_out_trouble(&self) -> bool {
        self.shelf.as_ref().is_some_and(|shelf| !shelf.is_gone())
    }

    /// Whether the destination may be given the next step itself.
    pub(super) fn goes_direct(&self) -> bool {
        self.shelf.as_ref().is_none_or(|shelf| {
            shelf.waiting.is_empty() && shelf.delivered.is_none() && (shelf.is_idle() || shelf.is_gone())
        })
    }

    /// Whether the first step may go into the stage, if it is due.
    pub(super) fn may_stage(&self) -> bool {
        let Some(shelf) = &self.shelf else { return false };
        let resting = matches!(self.destination, DestinationHand::Resting(_));
        let used = resting || !shelf.waiting.is_empty();
        let first = self.window.steps.front();
        shelf.is_idle()
            && shelf.delivered.is_none()
            && used
            && !self.may_fetch()
            && first.is_some_and(|step| shelf.fits(step.staged_bytes()))
    }

    fn may_fetch(&self) -> bool {
        let Some(shelf) = &self.shelf else { return false };
        shelf.is_idle()
            && !self.is_draining()
            && !shelf.waiting.is_empty()
            && matches!(self.destination, DestinationHand::Idle)
    }

    pub(super) fn decide_stage(&mut self, now: Now, effects: &mut Vec<Effect>) {
        if matches!(self.destination, DestinationHand::Resting(until) if now.elapsed >= until) {
            self.destination = DestinationHand::Idle;
        }
        let (fetches, stages) = (self.may_fetch(), self.may_stage() && self.is_front_due(now));
        let draining = self.is_draining();
        let Some(shelf) = &mut self.shelf else { return };
        if !shelf.is_idle() {
            return;
        }
        if let Some(ticket) = shelf.delivered.take() {
            effects.push(Effect::Unstage(ticket.number));
            shelf.hand = StageHand::Removing(ticket);
        } else if fetches && let Some(ticket) = shelf.waiting.front().copied() {
            effects.push(Effect::Fetch(ticket.number));
            shelf.hand = StageHand::Fetching(ticket);
        } else if stages && let Some(step) = self.window.steps.pop_front() {
            let ticket = Ticket {
                number: shelf.next_number,
                bytes: step.staged_bytes(),
                after: self.marks.durable.sequence,
            };
            shelf.next_number += 1;
            effects.push(Effect::Stage(ticket, step.to_stage()));
            shelf.hand = StageHand::Storing(step, ticket);
        } else if !draining
            && !shelf.told_full
            && let Some(step) = self.window.steps.front()
            && !shelf.waiting.is_empty()
            && !shelf.fits(step.staged_bytes())
        {
            shelf.told_full = true;
            effects.push(Effect::Tell(Standing::Full { bytes: shelf.bytes, bytes_max: shelf.bytes_max }));
        }
    }

    /// The destination failed in passing: it rests, and what it was given goes into the stage.
    pub(super) fn take_rest(&mut self, now: Now, delay: Duration) {
        let until = now.elapsed + delay;
        if let Some(shelf) = &mut self.shelf {
            shelf.bytes_at_no_room = None;
        }
        let given = std::mem::replace(&mut self.destination, DestinationHand::Resting(until));
        let step = match given {
            DestinationHand::Writing(group, through) | DestinationHand::Flushing(group, through) => {
                Step { work: Work::Write(group), through: Some(through) }
            }
            DestinationHand::Evolving(schema, through) => Step { work: Work::Evolve(schema), through },
            // The stage still has it.
            DestinationHand::Delivering(..) => return,
            other => panic!("trouble while the destination is {other:?}"),
        };
        self.window.steps.push_front(step);
    }

    /// An entry is durable in the stage.
    pub(super) fn take_staged(&mut self, now: Now, effects: &mut Vec<Effect>) {
        let shelf = self.shelf.as_mut().expect("only a run with a stage stages");
        let StageHand::Storing(step, ticket) = std::mem::replace(&mut shelf.hand, StageHand::Idle) else {
            panic!("staged while nothing was");
        };
        shelf.bytes += ticket.bytes;
        if shelf.waiting.is_empty() {
            shelf.told_full = false;
            effects.push(Effect::Tell(Standing::Engaged));
        }
        shelf.waiting.push_back(ticket);
        self.window.release(step.staged_bytes());
        match (step.work, step.through) {
            (Work::Write(group), through) => {
                self.end_group(now, group, through.expect("a group with rows has the mark of its last row"));
            }
            (Work::Evolve(_), Some(through)) => self.reach_durable(through),
            (Work::Evolve(_), None) => {}
        }
    }

    /// There was no room for an entry: it waits where it was, and what is in the stage is delivered.
    pub(super) fn take_no_room(&mut self, effects: &mut Vec<Effect>) {
        let shelf = self.shelf.as_mut().expect("only a run with a stage stages");
        let StageHand::Storing(step, _) = std::mem::replace(&mut shelf.hand, StageHand::Idle) else {
            panic!("no room for nothing");
        };
        self.window.steps.push_front(step);
        shelf.bytes_at_no_room = Some(shelf.bytes);
        if !shelf.told_full {
            shelf.told_full = true;
            effects.push(Effect::Tell(Standing::NoRoom { bytes: shelf.bytes }));
        }
    }

    /// An entry came back from the stage.
    pub(super) fn take_fetched(&mut self, staged: Staged, effects: &mut Vec<Effect>) {
        let draining = self.is_draining();
        let shelf = self.shelf.as_mut().expect("only a run with a stage fetches");
        let StageHand::Fetching(ticket) = std::mem::replace(&mut shelf.hand, StageHand::Idle) else {
            panic!("fetched what nobody asked for");
        };
        if draining || !matches!(self.destination, DestinationHand::Idle) {
            return; // the next run fetches it again
        }
        let delivery = match staged {
            Staged::Schema(schema) => {
                effects.push(Effect::Evolve(schema));
                Delivery::Schema
            }
            Staged::Rows(batches) => {
                effects.push(Effect::Write(batches));
                Delivery::Rows
            }
        };
        self.destination = DestinationHand::Delivering(ticket, delivery);
    }

    /// The destination has an entry for good.
    pub(super) fn end_delivery(&mut self, ticket: Ticket) {
        self.shelf.as_mut().expect("it was delivered from the stage").delivered = Some(ticket);
    }

    /// An entry is forgotten.
    pub(super) fn take_removed(&mut self, effects: &mut Vec<Effect>) {
        let shelf = self.shelf.as_mut().expect("only a run with a stage removes");
        let StageHand::Removing(ticket) = std::mem::replace(&mut shelf.hand, StageHand::Idle) else {
            panic!("removed what nobody gave up");
        };
        let first = shelf.waiting.pop_front();
        assert_eq!(first, Some(ticket), "entries are delivered in their order");
        shelf.bytes -= ticket.bytes;
        if shelf.waiting.is_empty() {
            shelf.bytes_at_no_room = None;
            shelf.told_full = false;
            effects.push(Effect::Tell(Standing::Emptied));
        }
    }

    /// The stage failed: what was on its way into it is given up.
    pub(super) fn lose_stage(&mut self) {
        let Some(shelf) = &mut self.shelf else { return };
        if let StageHand::Storing(step, _) = std::mem::replace(&mut shelf.hand, StageHand::Gone) {
            let bytes = step.staged_bytes();
            self.window.release(bytes);
        }
        shelf.delivered = None;
        self.window.clear();
    }

    /// Whether the stage is busy with nothing that has to end first.
    pub(super) fn stage_is_at_rest(&self) -> bool {
        self.shelf
            .as_ref()
            .is_none_or(|shelf| shelf.is_gone() || (shelf.is_idle() && (shelf.delivered.is_none())))
    }

    /// Whether the stage is lost.
    pub(super) fn stage_is_gone(&self) -> bool {
        self.shelf.as_ref().is_some_and(Shelf::is_gone)
    }

    /// Everything up to this sequence is at the destination; what is after it may wait.
    pub fn delivered(&self) -> u64 {
        let first = self.shelf.as_ref().and_then(|shelf| shelf.waiting.front());
        first.map_or(self.marks.durable.sequence, |ticket| ticket.after.min(self.marks.durable.sequence))
    }

    /// Bytes that wait in the stage.
    pub fn staged_bytes(&self) -> u64 {
        self.shelf.as_ref().map_or(0, |shelf| shelf.bytes)
    }
}
