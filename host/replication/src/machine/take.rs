//! What an event changes. Nothing is begun here but the flush that a write asks for.

use tarn_model::Failure;

use super::event::{Effect, Event, Now, Part};
use super::shelf::Delivery;
use super::window::{Item, schema_weight, weight};
use super::{Cause, CheckpointsHand, DestinationHand, Machine, Phase, SourceHand, TransformHand};
use crate::batch::Batch;
use crate::destination::Ack;
use crate::source::Changes;

impl Machine {
    pub(super) fn take(&mut self, now: Now, event: Event, effects: &mut Vec<Effect>) {
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
                DestinationHand::Flushing(group, through) => {
                    if self.shelf.is_some() {
                        self.window.release(group.weight);
                    }
                    self.end_group(now, group, through);
                }
                DestinationHand::Delivering(ticket, Delivery::Flush) => self.end_delivery(ticket),
                other => panic!("flushed while the destination is {other:?}"),
            },
            Event::Evolved => match std::mem::replace(&mut self.destination, DestinationHand::Idle) {
                DestinationHand::Delivering(ticket, Delivery::Schema) => self.end_delivery(ticket),
                DestinationHand::Evolving(schema, through) => {
                    self.window.release(schema_weight(&schema));
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
            Event::Staged => self.take_staged(now, effects),
            Event::NoRoom(failure) if self.is_draining() => self.take_failed(Part::Stage, failure),
            Event::NoRoom(_) => self.take_no_room(effects),
            Event::Fetched(staged) => self.take_fetched(staged, effects),
            Event::Unstaged => self.take_removed(effects),
            Event::Rests(delay) => self.take_rest(now, delay),
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
            DestinationHand::Delivering(ticket, Delivery::Rows) if ack.durable => self.end_delivery(ticket),
            DestinationHand::Delivering(ticket, Delivery::Rows) => {
                self.destination = DestinationHand::Delivering(ticket, Delivery::Flush);
                effects.push(Effect::Flush);
            }
            DestinationHand::Writing(mut group, through) => {
                if ack.durable {
                    self.window.release(group.weight);
                    self.end_group(now, group, through);
                } else {
                    if self.shelf.is_none() {
                        // Nobody needs them any more: what fails from here on is read again.
                        group.batches = Vec::new();
                        self.window.release(group.weight);
                    }
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
                    DestinationHand::Flushing(group, _) if self.shelf.is_some() => {
                        self.window.release(group.weight);
                    }
                    DestinationHand::Evolving(schema, _) => self.window.release(schema_weight(&schema)),
                    _ => {}
                }
                self.window.clear();
            }
            Part::Stage => self.lose_stage(),
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
}
