//! What was read and is not yet written, in order.
//!
//! ```text
//! answers of the source ─> raw ─> (transform) ─> steps ─> (destination)
//! ```
//!
//! An answer without rows and schema needs no place of its own: it moves on the mark of whatever is last
//! in line, since nothing lies between the two.

use std::collections::VecDeque;

use bytes::Bytes;

use super::event::Now;
use super::mark::{Mark, Read};
use crate::batch::Batch;
use crate::config::BATCH_OVERHEAD_BYTES;

/// One answer of the source on its way to the destination.
#[derive(Debug)]
pub(super) struct Item {
    pub schema: Option<Bytes>,
    pub batch: Option<Batch>,
    /// Sequence of the source before this answer.
    pub before: u64,
    pub mark: Mark<Read>,
    pub arrived: Now,
}

/// A destination write in the making.
#[derive(Debug)]
pub(super) struct Group {
    pub number: u64,
    pub batches: Vec<Batch>,
    pub rows: u64,
    pub weight: u64,
    pub begun: Now,
    pub first_sequence: u64,
    pub last_sequence: u64,
}

impl Group {
    /// An empty group, begun by the item that will be its first.
    pub(super) fn begin(number: u64, item: &Item) -> Self {
        Self {
            number,
            batches: Vec::new(),
            rows: 0,
            weight: 0,
            begun: item.arrived,
            first_sequence: item.before,
            last_sequence: item.mark.sequence,
        }
    }

    pub(super) fn push(&mut self, batch: Batch, sequence: u64) {
        self.rows += u64::from(batch.rows);
        self.weight += weight(&batch);
        self.last_sequence = sequence;
        self.batches.push(batch);
    }
}

#[derive(Debug)]
pub(super) enum Work {
    Evolve(Bytes),
    Write(Group),
}

/// Something the destination does, in order.
#[derive(Debug)]
pub(super) struct Step {
    pub work: Work,
    /// What is reached once it is done; `None` for a schema whose rows follow.
    pub through: Option<Mark<Read>>,
}

/// Queues and their weight. The weight also counts what is inside the transform and the destination.
#[derive(Debug, Default)]
pub(super) struct Window {
    pub raw: VecDeque<Item>,
    pub steps: VecDeque<Step>,
    weight: u64,
}

impl Window {
    /// Takes an answer of the source.
    pub(super) fn arrive(&mut self, item: Item) {
        self.weight += item.schema.as_ref().map_or(0, schema_weight);
        self.weight += item.batch.as_ref().map_or(0, weight);
        match self.raw.back_mut() {
            Some(last) if item.schema.is_none() && item.batch.is_none() => last.mark = item.mark,
            _ => self.raw.push_back(item),
        }
    }

    /// Corrects the weight after a transform made a batch larger or smaller.
    pub(super) fn replaced(&mut self, before: u64, after: u64) {
        self.weight = self.weight - before + after;
    }

    /// Something left the window.
    pub(super) fn release(&mut self, weight: u64) {
        self.weight -= weight;
    }

    /// Gives up everything that is queued. What calls in flight hold is released when they end.
    pub(super) fn clear(&mut self) {
        self.clear_raw();
        for step in std::mem::take(&mut self.steps) {
            self.release(step.weight());
        }
    }

    /// Gives up what is not transformed yet.
    pub(super) fn clear_raw(&mut self) {
        for item in std::mem::take(&mut self.raw) {
            self.release(item.schema.as_ref().map_or(0, schema_weight));
            self.release(item.batch.as_ref().map_or(0, weight));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.raw.is_empty() && self.steps.is_empty()
    }

    pub(super) fn weight(&self) -> u64 {
        self.weight
    }
}

impl Step {
    fn weight(&self) -> u64 {
        match &self.work {
            Work::Evolve(schema) => schema_weight(schema),
            Work::Write(group) => group.weight,
        }
    }
}

/// What a batch counts against the window.
pub(super) fn weight(batch: &Batch) -> u64 {
    batch.len_bytes() + BATCH_OVERHEAD_BYTES
}

/// What a schema counts against the window.
pub(super) fn schema_weight(schema: &Bytes) -> u64 {
    schema.len() as u64 + BATCH_OVERHEAD_BYTES
}
