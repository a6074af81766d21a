//! What every run is given: whom to tell, and when to stop.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tarn_model::Failure;
use tokio_util::sync::CancellationToken;

use crate::config::{STEADY_AFTER, STEADY_AFTER_MAX};
use crate::observer::{LoopId, Notice, Observer};
use crate::retry::BackOff;

/// Shared by the lives of a mirror's stream or snapshot; see [`crate::supervise`].
#[derive(Clone)]
pub struct Run {
    /// Watches.
    pub observer: Arc<dyn Observer>,
    /// Asks for a clean end.
    pub stop: CancellationToken,
    failures: Arc<Failures>,
    /// The seed of the next delays.
    seeds: Arc<AtomicU64>,
}

/// The failures of a loop since its last progress.
struct Failures {
    of: LoopId,
    count: AtomicU32,
    steadiness: Mutex<Steadiness>,
    observer: Arc<dyn Observer>,
}

impl Failures {
    fn none(observer: &Arc<dyn Observer>) -> Arc<Self> {
        Arc::new(Self {
            of: LoopId::next(),
            count: AtomicU32::new(0),
            steadiness: Mutex::default(),
            observer: Arc::clone(observer),
        })
    }

    /// They are over.
    fn end(&self) -> u32 {
        let attempts = self.count.swap(0, Ordering::Relaxed);
        if attempts > 0 {
            self.observer.notice(Notice::Recovered { of: self.of, attempts });
        }
        attempts
    }

    fn steadiness(&self) -> MutexGuard<'_, Steadiness> {
        // A panic while it is changed leaves a duration that was right a moment before.
        self.steadiness.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a life without rows proves.
#[derive(Debug)]
struct Steadiness {
    /// How long it must last to count as recovered.
    after: Duration,
    trust: Trust,
}

impl Default for Steadiness {
    fn default() -> Self {
        Self { after: STEADY_AFTER, trust: Trust::Unneeded }
    }
}

/// Whether failures count as over although nothing came since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    /// They do not, or something came.
    Unneeded,
    /// They do: the life has lasted for long enough.
    Given,
}

impl Drop for Failures {
    fn drop(&mut self) {
        if *self.count.get_mut() > 0 {
            self.observer.notice(Notice::GivenUp { of: self.of });
        }
    }
}

impl Run {
    /// A run without failures so far, whose delays differ from process to process.
    pub fn new(observer: Arc<dyn Observer>, stop: CancellationToken) -> Self {
        Self::seeded(observer, stop, RandomState::new().hash_one(0u8))
    }

    /// The same with delays that the seed decides, for who repeats a run exactly.
    pub fn seeded(observer: Arc<dyn Observer>, stop: CancellationToken, seed: u64) -> Self {
        let failures = Failures::none(&observer);
        Self { observer, stop, failures, seeds: Arc::new(AtomicU64::new(seed)) }
    }

    /// A run beside others of the same mirror: it also stops when this one does, and counts failures with it.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { stop: self.stop.child_token(), ..self.clone() }
    }

    /// The same run with a count of failures of its own, which the progress of others does not reset.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self { failures: Failures::none(&self.observer), ..self.clone() }
    }

    /// The same run with another end.
    #[must_use]
    pub(crate) fn until(self, stop: CancellationToken) -> Self {
        Self { stop, ..self }
    }

    /// Delays of its own for something that is tried again.
    pub(crate) fn back_off(&self) -> BackOff {
        BackOff::new(self.seeds.fetch_add(1, Ordering::Relaxed))
    }

    /// Something is safe now that was not before: delays start small again.
    pub(crate) fn note_progress(&self) {
        self.failures.end();
        *self.failures.steadiness() = Steadiness::default();
    }

    /// A life has lasted for so long without rows. From some time on it counts as recovered.
    pub(crate) fn note_steady(&self, lasted: Duration) {
        let mut steadiness = self.failures.steadiness();
        if lasted >= steadiness.after && self.failures.end() > 0 {
            steadiness.trust = Trust::Given;
        }
    }

    /// A life broke after so long. Where it counted as recovered without a row, later ones have to last for longer.
    pub(crate) fn note_break(&self, lasted: Duration) {
        let mut steadiness = self.failures.steadiness();
        let trust = std::mem::replace(&mut steadiness.trust, Trust::Unneeded);
        if lasted >= STEADY_AFTER_MAX {
            steadiness.after = STEADY_AFTER;
        } else if trust == Trust::Given {
            steadiness.after = steadiness.after.max(2 * lasted).min(STEADY_AFTER_MAX);
        }
    }

    /// Counts a failure, tells of it, and returns how long to wait until the next try.
    pub(crate) fn note_failure(&self, failure: &Failure, delays: &mut BackOff) -> Duration {
        let attempt = self.failures.count.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let delay = delays.delay(attempt);
        self.observer.notice(Notice::Retrying { of: self.failures.of, failure, attempt, delay });
        delay
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("stop", &self.stop)
            .field("failures", &self.failures.count)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The attempts of which it was told, and 0 for each time that it went on.
    #[derive(Debug, Default)]
    struct Told(Mutex<Vec<u32>>);

    impl Observer for Told {
        fn notice(&self, notice: Notice<'_>) {
            let told = match notice {
                Notice::Retrying { attempt, .. } => attempt,
                Notice::Recovered { .. } => 0,
                _ => return,
            };
            self.0.lock().expect("nobody panics").push(told);
        }
    }

    /// A life without rows that breaks after so many seconds.
    fn quiet_life(run: &Run, seconds: u64) {
        for lasted in 0..=seconds {
            run.note_steady(Duration::from_secs(lasted));
        }
        run.note_break(Duration::from_secs(seconds));
        run.note_failure(&Failure::retry("silent", "no sign of the server"), &mut run.back_off());
    }

    #[test]
    fn a_source_that_breaks_again_and_again_without_a_row_does_not_count_as_back() {
        let told = Arc::new(Told::default());
        let observer: Arc<dyn Observer> = Arc::<Told>::clone(&told);
        let run = Run::seeded(observer, CancellationToken::new(), 7);
        let taken = || std::mem::take(&mut *told.0.lock().expect("nobody panics"));
        for _ in 0..5 {
            quiet_life(&run, 60);
        }
        assert_eq!(taken(), [1, 0, 1, 2, 3, 4], "ten seconds are believed once");
        quiet_life(&run, 119);
        quiet_life(&run, 301);
        quiet_life(&run, 11);
        assert_eq!(taken(), [5, 0, 1, 0, 1], "a life that lasted is believed, and so is who comes after it");
        run.note_progress();
        quiet_life(&run, 11);
        assert_eq!(taken(), [0, 1]);
    }
}
