//! What follows a failure: which remedy, after how long.

use std::time::Duration;

use tarn_model::{Failure, FailureClass};

use crate::config::{RETRY_DELAY_MAX, RETRY_DELAY_MIN};

/// What to do about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Wait, then try again with new instances.
    BackOff,
    /// End FAILED, until a person changed something and resumes.
    AskPerson,
    /// End FAILED: the position is lost and only a resync makes both sides equal again. Never passed over.
    Resync,
}

/// The one place that decides. A failed record ends the run as well: where the mirror's policy is to go on
/// without such records, they were settled before ([`crate::Records`]).
pub fn remedy(failure: &Failure) -> Remedy {
    match failure.class {
        FailureClass::Retry => Remedy::BackOff,
        FailureClass::Permanent | FailureClass::Record => Remedy::AskPerson,
        FailureClass::PositionLost => Remedy::Resync,
    }
}

/// Delays that double from try to try up to a cap, each half fixed and half random, so that mirrors that
/// failed together do not come back together.
#[derive(Debug)]
pub(crate) struct BackOff {
    random: u64,
}

impl BackOff {
    /// The delays of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: seed }
    }

    /// The delay after failure number `attempt` in a row, from 1.
    pub(crate) fn delay(&mut self, attempt: u32) -> Duration {
        let doublings = attempt.saturating_sub(1).min(16);
        let whole = RETRY_DELAY_MIN.saturating_mul(1 << doublings).min(RETRY_DELAY_MAX);
        let half = whole / 2;
        half + half.mul_f64(self.fraction())
    }

    /// The next random number in `0.0..1.0` (splitmix64).
    fn fraction(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_from_the_least_to_the_most_and_stay_there() {
        let mut back_off = BackOff::new(7);
        for (attempt, whole_ms) in
            [(1, 1_000), (2, 2_000), (3, 4_000), (4, 8_000), (5, 16_000), (6, 30_000), (u32::MAX, 30_000)]
        {
            let delay = back_off.delay(attempt);
            assert!(delay >= Duration::from_millis(whole_ms / 2), "{attempt}: {delay:?}");
            assert!(delay <= Duration::from_millis(whole_ms), "{attempt}: {delay:?}");
        }
    }

    #[test]
    fn delays_of_one_attempt_differ_and_a_seed_repeats_them() {
        let mut back_off = BackOff::new(7);
        let first = back_off.delay(5);
        assert_ne!(first, back_off.delay(5));
        assert_ne!(first, BackOff::new(8).delay(5));
        assert_eq!(first, BackOff::new(7).delay(5));
    }

    #[test]
    fn only_passing_trouble_is_tried_again() {
        let of = |class| remedy(&Failure::new(class, "code", "message"));
        assert_eq!(of(FailureClass::Retry), Remedy::BackOff);
        assert_eq!(of(FailureClass::Permanent), Remedy::AskPerson);
        assert_eq!(of(FailureClass::Record), Remedy::AskPerson);
        assert_eq!(of(FailureClass::PositionLost), Remedy::Resync);
    }
}
