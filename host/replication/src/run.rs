//! What every run is given: whom to tell, and when to stop.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tokio_util::sync::CancellationToken;

use crate::observer::{Notice, Observer};
use crate::retry::BackOff;

/// Shared by the lives of a mirror's stream or snapshot; see [`crate::supervise`].
#[derive(Clone)]
pub struct Run {
    /// Watches.
    pub observer: Arc<dyn Observer>,
    /// Asks for a clean end.
    pub stop: CancellationToken,
    /// Failures since the last progress.
    failures: Arc<AtomicU32>,
    /// The seed of the next delays.
    seeds: Arc<AtomicU64>,
}

impl Run {
    /// A run without failures so far, whose delays differ from process to process.
    pub fn new(observer: Arc<dyn Observer>, stop: CancellationToken) -> Self {
        Self::seeded(observer, stop, RandomState::new().hash_one(0u8))
    }

    /// The same with delays that the seed decides, for who repeats a run exactly.
    pub fn seeded(observer: Arc<dyn Observer>, stop: CancellationToken, seed: u64) -> Self {
        Self { observer, stop, failures: Arc::default(), seeds: Arc::new(AtomicU64::new(seed)) }
    }

    /// A run beside others of the same mirror: it also stops when this one does, and counts failures with it.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { stop: self.stop.child_token(), ..self.clone() }
    }

    /// The same run with a count of failures of its own, which the progress of others does not reset.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self { failures: Arc::default(), ..self.clone() }
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
        let attempts = self.failures.swap(0, Ordering::Relaxed);
        if attempts > 0 {
            self.observer.notice(Notice::Recovered { attempts });
        }
    }

    /// Counts a failure and returns how many there were without progress between them.
    pub(crate) fn note_failure(&self) -> u32 {
        self.failures.fetch_add(1, Ordering::Relaxed).saturating_add(1)
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("stop", &self.stop).field("failures", &self.failures).finish()
    }
}
