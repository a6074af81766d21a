//! A part of a load: one transaction as long as there is time for it, then one for each write.
//!
//! Brokers give up a transaction that is open for too long, and would give it up again each time that the part is begun
//! anew. So one that takes long is committed piece by piece from some point on, and ends all the same: a failure may then
//! repeat rows of it.
//!
//! ```text
//! Whole ── a write ends late ──▶ Piecewise
//! ```

use tarn_sdk::{clock, log};

/// See the module's documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    id: String,
    pace: Pace,
    /// When the first write of the transaction that is open began, by the clock that only grows.
    open_since_us: Option<u64>,
}

/// How a part is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// At its end.
    Whole,
    /// With each write.
    Piecewise,
}

impl Part {
    /// A part of which nothing is written; its id is that of its transactions.
    pub(crate) fn new(id: String) -> Self {
        Self { id, pace: Pace::Whole, open_since_us: None }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Takes note of a write before it is sent.
    pub(crate) fn note_write(&mut self) {
        self.open_since_us.get_or_insert_with(clock::monotonic);
    }

    /// Takes note of a commit.
    pub(crate) fn note_commit(&mut self) {
        self.open_since_us = None;
    }

    /// Whether what was written is to be committed before the part's end.
    pub(crate) fn is_due(&mut self, whole_ms: u32) -> bool {
        if self.pace == Pace::Whole && self.is_open_for(whole_ms) {
            log::info(
                "a part of the load takes longer than one transaction may: the rest of it is committed piece by piece, \
                 and after a failure rows of it may be there twice; snapshot_num_rows_per_partition makes parts smaller",
            );
            self.pace = Pace::Piecewise;
        }
        self.pace == Pace::Piecewise
    }

    /// Whether the open transaction took so long that brokers have given it up.
    pub(crate) fn is_given_up(&self, timeout_ms: u32) -> bool {
        self.is_open_for(timeout_ms)
    }

    fn is_open_for(&self, ms: u32) -> bool {
        let elapsed = |since: u64| clock::monotonic().saturating_sub(since);
        self.open_since_us.is_some_and(|since| elapsed(since) >= u64::from(ms) * 1_000)
    }
}
