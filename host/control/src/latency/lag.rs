//! What was read and is not at the destination yet, by its age.

use std::collections::VecDeque;

use crate::config::LATENCY_READS_MAX;

/// The reads of a stream's life that the destination does not have yet, oldest first.
#[derive(Debug, Default)]
pub(super) struct Lag {
    /// The sequence after each, and the commit of its first change.
    reads: VecDeque<(u64, i64)>,
    /// The reads are of a life that ended, and will come again.
    stale: bool,
    /// What waits in the stage from earlier lives and does not come again: until which sequence, and since when.
    staged: Option<(u64, i64)>,
}

impl Lag {
    pub(super) fn begin(&mut self) {
        self.stale = true;
    }

    pub(super) fn read(&mut self, sequence: u64, commit_us: i64) {
        if std::mem::take(&mut self.stale) {
            self.reads.clear();
        }
        if self.reads.len() >= LATENCY_READS_MAX {
            // Of two neighbours the age of the older and the end of the later.
            let pairs: Vec<_> = self.reads.drain(..).collect();
            let merged = pairs.chunks(2).map(|pair| (pair[pair.len() - 1].0, pair[0].1));
            self.reads.extend(merged);
        }
        self.reads.push_back((sequence, commit_us));
    }

    pub(super) fn waits_since(&mut self, until: u64, commit_us: i64) {
        self.staged = Some((until, commit_us));
    }

    pub(super) fn has(&mut self, sequence: u64) {
        self.staged = self.staged.filter(|(until, _)| *until > sequence);
        while self.reads.front().is_some_and(|(read, _)| *read <= sequence) {
            self.reads.pop_front();
        }
    }

    pub(super) fn oldest_us(&self) -> Option<i64> {
        let oldest = [self.reads.front(), self.staged.as_ref()];
        oldest.into_iter().flatten().map(|(_, commit_us)| *commit_us).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_what_the_destination_does_not_have() {
        let mut lag = Lag::default();
        assert_eq!(lag.oldest_us(), None);
        for sequence in 1..=3 {
            lag.read(sequence, 100 * i64::try_from(sequence).expect("small"));
        }
        lag.has(1);
        assert_eq!(lag.oldest_us(), Some(200));
        // A store that is away: what was read stays what is missing until it is read again.
        lag.begin();
        assert_eq!(lag.oldest_us(), Some(200));
        lag.read(2, 200);
        lag.has(2);
        assert_eq!(lag.oldest_us(), None);
    }

    #[test]
    fn what_waits_in_the_stage_counts_over_lives() {
        let mut lag = Lag::default();
        lag.begin();
        lag.waits_since(10, 100);
        lag.read(12, 900);
        lag.has(5);
        assert_eq!(lag.oldest_us(), Some(100));
        // The next entry was looked at.
        lag.waits_since(10, 300);
        assert_eq!(lag.oldest_us(), Some(300));
        lag.has(10);
        assert_eq!(lag.oldest_us(), Some(900));
        lag.has(12);
        assert_eq!(lag.oldest_us(), None);
    }

    #[test]
    fn a_stream_that_falls_behind_is_remembered_in_bounded_room() {
        let mut lag = Lag::default();
        for sequence in 0..10 * LATENCY_READS_MAX as u64 {
            lag.read(sequence, i64::try_from(sequence).expect("small"));
        }
        assert!(lag.reads.len() <= LATENCY_READS_MAX);
        assert_eq!(lag.oldest_us(), Some(0));
        lag.has(10 * LATENCY_READS_MAX as u64 - 2);
        assert!(lag.oldest_us().is_some());
    }
}
