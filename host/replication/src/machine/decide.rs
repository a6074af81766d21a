//! What is begun now: at most one call of each part, in the order that makes room first.

use super::event::{Effect, Now, Stopped};
use super::window::{Step, Work};
use super::{Cause, CheckpointsHand, DestinationHand, Machine, Phase, SourceHand, TransformHand};
use crate::batch::Limits;
use crate::checkpoint::Checkpoint;
use crate::config::BATCH_OVERHEAD_BYTES;

impl Machine {
    pub(super) fn decide_destination(&mut self, now: Now, effects: &mut Vec<Effect>) {
        let free = matches!(self.destination, DestinationHand::Idle) && self.goes_direct();
        if !free || self.stage_is_gone() || !self.is_front_due(now) {
            return;
        }
        let Some(step) = self.window.steps.pop_front() else { return };
        match step.work {
            Work::Evolve(schema) => {
                self.destination = DestinationHand::Evolving(schema.clone(), step.through);
                effects.push(Effect::Evolve(schema));
            }
            Work::Write(group) => {
                let through = step.through.expect("a group with rows has the mark of its last row");
                // They are kept until they are safe: a stage takes them if the destination fails.
                effects.push(Effect::Write(group.batches.clone()));
                self.destination = DestinationHand::Writing(group, through);
            }
        }
    }

    /// Whether the first step in line may begin now.
    pub(super) fn is_front_due(&self, now: Now) -> bool {
        let Some(Step { work: Work::Write(group), .. }) = self.window.steps.front() else { return true };
        self.window.steps.len() > 1
            || self.is_draining()
            || group.rows >= u64::from(self.settings.batch_rows_max)
            || group.weight >= self.settings.bounds.batch_bytes_max
            || now.elapsed >= group.begun.elapsed + self.settings.idle_timeout
    }

    pub(super) fn decide_checkpoints(&mut self, now: Now, effects: &mut Vec<Effect>) {
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

    pub(super) fn decide_source(&mut self, now: Now, effects: &mut Vec<Effect>) {
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

    pub(super) fn decide_end(&mut self, effects: &mut Vec<Effect>) {
        let at_rest = matches!(self.source, SourceHand::Idle | SourceHand::Gone)
            && !matches!(self.transform, TransformHand::Applying(..))
            && matches!(
                self.destination,
                DestinationHand::Idle | DestinationHand::Gone | DestinationHand::Resting(_)
            )
            && self.stage_is_at_rest()
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
}
