//! By how much the source's clock is ahead.

use std::time::Instant;

use crate::config::LATENCY_WINDOW;

/// The most by which changes seemed to arrive before they were committed, within the last one to two windows in which
/// any arrived. So a clock that was put right is not corrected for any more, and one that is ahead stays known while
/// nothing changes.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    began: Option<Instant>,
    now_us: i64,
    before_us: i64,
}

impl Ahead {
    /// Notes that a change arrived that was committed so much later.
    pub(super) fn seen(&mut self, now: Instant, us: i64) {
        let began = *self.began.get_or_insert(now);
        if now.saturating_duration_since(began) >= LATENCY_WINDOW {
            self.before_us = std::mem::take(&mut self.now_us);
            self.began = Some(now);
        }
        self.now_us = self.now_us.max(us);
    }

    /// Microseconds; 0 where it is not known to be ahead.
    pub(super) fn us(&self) -> i64 {
        self.now_us.max(self.before_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_put_right_is_forgotten_after_two_windows_of_changes() {
        let (mut ahead, begun) = (Ahead::default(), Instant::now());
        ahead.seen(begun, 5_000_000);
        ahead.seen(begun, -20_000);
        assert_eq!(ahead.us(), 5_000_000);
        // A night without a change says nothing of the clock.
        ahead.seen(begun + 100 * LATENCY_WINDOW, -20_000);
        assert_eq!(ahead.us(), 5_000_000);
        ahead.seen(begun + 101 * LATENCY_WINDOW, -20_000);
        assert_eq!(ahead.us(), 0);
        // One that steps ahead later is seen as one that was ahead from the start.
        ahead.seen(begun + 101 * LATENCY_WINDOW, 3_000_000);
        assert_eq!(ahead.us(), 3_000_000);
    }
}
