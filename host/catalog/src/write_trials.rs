//! Whether writing works, tried now and then for everybody who asks.

use std::sync::Arc;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::CatalogError;
use crate::config::{FAILED_WRITE_TRIAL_INTERVAL, WRITE_TRIAL_INTERVAL};

/// The last trial of a write, if there was one.
#[derive(Debug, Default)]
pub(crate) struct WriteTrials(Mutex<Option<Trial>>);

#[derive(Debug)]
struct Trial {
    ended_at: Instant,
    outcome: Result<(), Arc<CatalogError>>,
}

impl Trial {
    fn still_tells(&self) -> bool {
        let interval = match self.outcome {
            Ok(()) => WRITE_TRIAL_INTERVAL,
            Err(_) => FAILED_WRITE_TRIAL_INTERVAL,
        };
        self.ended_at.elapsed() < interval
    }
}

impl WriteTrials {
    /// How the last trial ended; of this one, where that was too long ago. Whoever asks during a trial waits for it.
    pub(crate) async fn outcome(
        &self,
        trial: impl Future<Output = Result<(), CatalogError>>,
    ) -> Result<(), Arc<CatalogError>> {
        let mut last = self.0.lock().await;
        if let Some(last) = last.as_ref().filter(|last| last.still_tells()) {
            return last.outcome.clone();
        }
        let outcome = trial.await.map_err(Arc::new);
        *last = Some(Trial { ended_at: Instant::now(), outcome: outcome.clone() });
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::*;

    /// So many ask within a moment; how many are told that writing works, and how many times it was tried.
    async fn asked(trials: &WriteTrials, times: usize, works: bool) -> (usize, u32) {
        let tried = AtomicU32::new(0);
        let mut told = 0;
        for _ in 0..times {
            let outcome = trials.outcome(async {
                tried.fetch_add(1, Ordering::Relaxed);
                if works { Ok(()) } else { Err(CatalogError::Contention) }
            });
            told += usize::from(outcome.await.is_ok());
        }
        (told, tried.into_inner())
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_is_tried_again_a_while_after_the_last_trial_and_sooner_where_that_failed() {
        let trials = WriteTrials::default();
        assert_eq!(asked(&trials, 10, false).await, (0, 1));
        tokio::time::advance(FAILED_WRITE_TRIAL_INTERVAL).await;
        assert_eq!(asked(&trials, 10, true).await, (10, 1));
        tokio::time::advance(WRITE_TRIAL_INTERVAL - Duration::from_millis(1)).await;
        assert_eq!(asked(&trials, 10, false).await, (10, 0), "not yet");
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(asked(&trials, 10, false).await, (0, 1));
    }
}
