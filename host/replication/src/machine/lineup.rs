//! How an answer of the source finds its place in line, and how a mark moves when its work is done.

use super::event::{Effect, Now};
use super::mark::{Mark, Read};
use super::shelf::{Shelf, StageHand};
use super::window::{Group, Item, Step, Work, schema_weight, weight};
use super::{DestinationHand, Machine, TransformHand};
use crate::checkpoint::BatchRecord;

impl Machine {
    /// Moves answers on to the steps, through the transform where there is one.
    pub(super) fn settle_raw(&mut self, effects: &mut Vec<Effect>) {
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
    pub(super) fn line_up(&mut self, item: Item, effects: &mut Vec<Effect>) {
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
            DestinationHand::Idle | DestinationHand::Resting(_) | DestinationHand::Delivering(..) => {
                match &mut self.shelf {
                    Some(Shelf { hand: StageHand::Storing(step, _), .. }) => step.through = Some(mark),
                    // What waits in the stage is durable.
                    _ => self.reach_durable(mark),
                }
            }
            DestinationHand::Gone => {}
        }
    }

    pub(super) fn reach_durable(&mut self, mark: Mark<Read>) {
        self.marks.written = mark.written();
        self.marks.durable = self.marks.written.clone().durable();
    }

    pub(super) fn end_group(&mut self, now: Now, group: Group, through: Mark<Read>) {
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
}
