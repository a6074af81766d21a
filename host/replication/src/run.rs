//! What every run is given: whom to tell, and when to stop.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use tarn_model::Failure;
use tokio_util::sync::CancellationToken;

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
    observer: Arc<dyn Observer>,
}

impl Failures {
    fn none(observer: &Arc<dyn Observer>) -> Arc<Self> {
        Arc::new(Self { of: LoopId::next(), count: AtomicU32::new(0), observer: Arc::clone(observer) })
    }
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
        let attempts = self.failures.count.swap(0, Ordering::Relaxed);
        if attempts > 0 {
            self.observer.notice(Notice::Recovered { of: self.failures.of, attempts });
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
