//! Watermarks as types: a mark of one level can be made from a mark of the level below only.
//!
//! ```text
//! Mark<Read> ── written ──> Mark<Written> ── durable ──> Mark<Durable> ── checkpointed ──> Mark<Checkpointed>
//!                                                                                          │ confirmed
//!                                                                                          v
//!                                                                                   Mark<Confirmed>
//! ```
//!
//! So a checkpoint of rows that are not durable, or a confirm without checkpoint, does not compile; that a
//! level never passes the one before it in time is asserted by [`Marks::assert_law`].

use std::marker::PhantomData;

use tarn_model::Position;

use crate::checkpoint::Resume;
use crate::observer::Watermarks;

/// Delivered by the source.
#[derive(Debug)]
pub(super) enum Read {}
/// Taken by the destination.
#[derive(Debug)]
pub(super) enum Written {}
/// Safe at the destination.
#[derive(Debug)]
pub(super) enum Durable {}
/// Stored as the position to restart from.
#[derive(Debug)]
pub(super) enum Checkpointed {}
/// Released at the source.
#[derive(Debug)]
pub(super) enum Confirmed {}

/// A place in this run: everything the source delivered up to its answer `number`.
#[derive(Debug)]
pub(super) struct Mark<Level> {
    /// Counts the source's answers; what marks are compared by (positions are opaque).
    pub number: u64,
    pub sequence: u64,
    pub position: Position,
    level: PhantomData<Level>,
}

impl<Level> Mark<Level> {
    fn raise<Next>(self) -> Mark<Next> {
        Mark { number: self.number, sequence: self.sequence, position: self.position, level: PhantomData }
    }
}

impl<Level> Clone for Mark<Level> {
    fn clone(&self) -> Self {
        Self {
            number: self.number,
            sequence: self.sequence,
            position: self.position.clone(),
            level: PhantomData,
        }
    }
}

impl Mark<Read> {
    pub(super) fn written(self) -> Mark<Written> {
        self.raise()
    }
}

impl Mark<Written> {
    pub(super) fn durable(self) -> Mark<Durable> {
        self.raise()
    }
}

impl Mark<Durable> {
    pub(super) fn checkpointed(self) -> Mark<Checkpointed> {
        self.raise()
    }
}

impl Mark<Checkpointed> {
    pub(super) fn confirmed(self) -> Mark<Confirmed> {
        self.raise()
    }
}

/// How far each level is.
#[derive(Debug)]
pub(super) struct Marks {
    pub read: Mark<Read>,
    pub written: Mark<Written>,
    pub durable: Mark<Durable>,
    pub checkpointed: Mark<Checkpointed>,
    pub confirmed: Mark<Confirmed>,
}

impl Marks {
    /// The start of a run: the stored checkpoint is reached on all levels but the last, since the run
    /// before may have ended between its checkpoint and its confirm.
    pub(super) fn new(resume: &Resume) -> Self {
        let read: Mark<Read> = Mark {
            number: 1,
            sequence: resume.sequence,
            position: resume.position.clone(),
            level: PhantomData,
        };
        let written = read.clone().written();
        let durable = written.clone().durable();
        let checkpointed = durable.clone().checkpointed();
        let confirmed = Mark { number: 0, ..checkpointed.clone().confirmed() };
        Self { read, written, durable, checkpointed, confirmed }
    }

    /// Counts one more answer of the source.
    pub(super) fn read_on(&mut self, position: Position, sequence: u64) -> Mark<Read> {
        self.read = Mark { number: self.read.number + 1, sequence, position, level: PhantomData };
        self.read.clone()
    }

    /// The law of this crate.
    pub(super) fn assert_law(&self) {
        let numbers = [
            self.read.number,
            self.written.number,
            self.durable.number,
            self.checkpointed.number,
            self.confirmed.number,
        ];
        let sequences = self.watermarks();
        let sequences = [
            sequences.read,
            sequences.written,
            sequences.durable,
            sequences.checkpointed,
            sequences.confirmed,
        ];
        assert!(
            numbers.is_sorted_by(|a, b| a >= b) && sequences.is_sorted_by(|a, b| a >= b),
            "read >= written >= durable >= checkpointed >= confirmed is broken: {numbers:?} {sequences:?}"
        );
    }

    pub(super) fn watermarks(&self) -> Watermarks {
        Watermarks {
            read: self.read.sequence,
            written: self.written.sequence,
            durable: self.durable.sequence,
            checkpointed: self.checkpointed.sequence,
            confirmed: self.confirmed.sequence,
        }
    }
}
