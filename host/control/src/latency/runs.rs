//! Commit times of the changes of one write.

use crate::config::LATENCY_RUNS_MAX;

/// Commit times with how many changes have them, in the order they came in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs(Vec<(i64, u64)>);

impl Runs {
    /// Adds a change.
    pub(crate) fn add(&mut self, commit_us: i64) {
        match self.0.last_mut() {
            // What is later within a millisecond is of the same bucket.
            Some((last, changes)) if (*last..*last + 1000).contains(&commit_us) => *changes += 1,
            _ => {
                self.make_room();
                self.0.push((commit_us, 1));
            }
        }
    }

    /// Adds those of another batch.
    pub(crate) fn append(&mut self, other: Self) {
        for run in other.0 {
            self.make_room();
            self.0.push(run);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (i64, u64)> {
        self.0.iter().copied()
    }

    pub(crate) fn latest(&self) -> Option<i64> {
        self.0.iter().map(|(commit_us, _)| *commit_us).max()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Joins neighbours where there are too many: changes count as the older ones, never as faster than they were.
    fn make_room(&mut self) {
        if self.0.len() >= LATENCY_RUNS_MAX {
            let joined = self.0.chunks(2).map(|pair| {
                let oldest = pair.iter().map(|(commit_us, _)| *commit_us).min().unwrap_or_default();
                (oldest, pair.iter().map(|(_, changes)| changes).sum())
            });
            self.0 = joined.collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_change_is_lost_and_none_becomes_faster_however_many_there_are() {
        let mut runs = Runs::default();
        let count = 5 * LATENCY_RUNS_MAX as i64;
        for at in 0..count {
            runs.add(at * 10_000);
            runs.add(at * 10_000 + 1);
        }
        assert!(runs.0.len() <= LATENCY_RUNS_MAX);
        assert_eq!(runs.iter().map(|(_, changes)| changes).sum::<u64>(), 2 * count as u64);
        assert_eq!(runs.iter().next().map(|(commit, _)| commit), Some(0));
    }
}
