//! Counts of times in fixed buckets.

use std::time::Instant;

use crate::config::LATENCY_WINDOW;

/// Times below this have a bucket for each millisecond; above it, eight for each doubling.
const EXACT: u64 = 16;

/// The last bucket is for 49 days and more.
const BUCKETS: usize = 240;

/// Upper bounds of the buckets that metrics have, in milliseconds: from what a stream takes to what an outage does.
const BOUNDS_MS: [u64; 14] = [
    50, 100, 250, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 1_800_000, 3_600_000, 86_400_000,
];

fn bucket(millis: u64) -> usize {
    let millis = millis.min(u64::from(u32::MAX));
    if millis < EXACT {
        return millis as usize;
    }
    let doublings = u64::BITS - 1 - millis.leading_zeros();
    let eighth = (millis >> (doublings - 3)) & 7;
    EXACT as usize + (doublings as usize - 4) * 8 + eighth as usize
}

/// The greatest time of a bucket.
fn greatest(bucket: usize) -> u64 {
    if bucket < EXACT as usize {
        return bucket as u64;
    }
    let (doublings, eighth) = ((bucket - EXACT as usize) / 8 + 4, (bucket - EXACT as usize) % 8);
    ((8 + eighth as u64 + 1) << (doublings - 3)) - 1
}

/// Times of the last one to two windows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    /// When the window began.
    began: Option<Instant>,
    now: Option<Box<[u64; BUCKETS]>>,
    before: Option<Box<[u64; BUCKETS]>>,
}

impl Recent {
    pub(crate) fn add(&mut self, now: Instant, millis: u64, changes: u64) {
        self.turn(now);
        self.now.get_or_insert_with(|| Box::new([0; BUCKETS]))[bucket(millis)] += changes;
    }

    /// The time that so many of a hundred did not exceed, at most an eighth more than it was; 0 of none.
    pub(crate) fn quantile(&mut self, now: Instant, percent: u64) -> u64 {
        self.turn(now);
        let count = |at: usize| {
            [&self.now, &self.before].into_iter().flatten().map(|buckets| buckets[at]).sum::<u64>()
        };
        let all: u64 = (0..BUCKETS).map(count).sum();
        let wanted = (all * percent).div_ceil(100);
        let mut seen = 0;
        for at in 0..BUCKETS {
            seen += count(at);
            if wanted > 0 && seen >= wanted {
                return greatest(at);
            }
        }
        0
    }

    /// Begins a new window where one is over.
    fn turn(&mut self, now: Instant) {
        let began = *self.began.get_or_insert(now);
        let windows = now.saturating_duration_since(began).as_secs() / LATENCY_WINDOW.as_secs();
        if windows > 0 {
            self.before = self.now.take().filter(|_| windows == 1);
            self.began = Some(now);
        }
    }
}

/// All times since the process began, as metrics want them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cumulative {
    /// The last is for what exceeds every bound.
    buckets: [u64; BOUNDS_MS.len() + 1],
    sum_ms: u128,
}

impl Cumulative {
    pub(crate) fn add(&mut self, millis: u64, changes: u64) {
        let at = BOUNDS_MS.partition_point(|bound| *bound < millis);
        self.buckets[at] += changes;
        self.sum_ms += u128::from(millis) * u128::from(changes);
    }

    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// How many took no longer than each of the bounds.
    pub(crate) fn up_to_bounds(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut sum = 0;
        BOUNDS_MS.iter().zip(&self.buckets).map(move |(bound, count)| {
            sum += count;
            (*bound, sum)
        })
    }

    pub(crate) fn sum_seconds(&self) -> f64 {
        self.sum_ms as f64 / 1000.0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_time_is_in_a_bucket_that_is_at_most_an_eighth_above_it() {
        for millis in (0..10_000).chain((4..32).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1])) {
            let told = greatest(bucket(millis));
            assert!(told >= millis && told <= millis + millis / 8, "{millis}: {told}");
        }
        assert!(bucket(u64::MAX) < BUCKETS);
    }

    #[test]
    fn quantiles_are_those_of_the_last_windows() {
        let (mut recent, begun) = (Recent::default(), Instant::now());
        assert_eq!(recent.quantile(begun, 50), 0);
        for millis in 1..=10 {
            recent.add(begun, millis, 10);
        }
        assert_eq!((recent.quantile(begun, 50), recent.quantile(begun, 99)), (5, 10));
        let next = begun + LATENCY_WINDOW;
        recent.add(next, 12, 1_000_000);
        assert_eq!((recent.quantile(next, 50), recent.quantile(next, 1)), (12, 12));
        let after = next + LATENCY_WINDOW + Duration::from_secs(1);
        assert_eq!(recent.quantile(after, 50), 12);
        assert_eq!(recent.quantile(after + LATENCY_WINDOW * 3, 50), 0, "long ago");
    }

    #[test]
    fn metrics_count_what_took_no_longer_than_each_bound() {
        let mut ever = Cumulative::default();
        for millis in [50, 51, 100_000_000] {
            ever.add(millis, 2);
        }
        let counts: Vec<_> = ever.up_to_bounds().map(|(_, count)| count).collect();
        assert_eq!((counts[0], counts[1], counts[13], ever.count()), (2, 4, 4, 6));
    }
}
