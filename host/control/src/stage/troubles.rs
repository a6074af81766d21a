//! What was wrong with stages lately.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tarn_model::{Failure, Timestamp};

/// By mirror. It lives as long as the process. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Troubles(Arc<Mutex<HashMap<i64, Trouble>>>);

/// Of one mirror's stage.
#[derive(Clone, Debug, Default)]
pub(super) struct Trouble {
    /// What is wrong now, and since when it is known.
    pub(super) now: Option<(String, Timestamp)>,
    /// How often something was.
    pub(super) count: u64,
}

impl Troubles {
    /// Notes how a call ended.
    pub(super) fn note<T>(&self, mirror: i64, outcome: Result<T, Failure>) -> Result<T, Failure> {
        match &outcome {
            Ok(_) => {
                if let Some(trouble) = self.all().get_mut(&mirror) {
                    trouble.now = None;
                }
            }
            Err(failure) => {
                let mut all = self.all();
                let trouble = all.entry(mirror).or_default();
                trouble.now = Some((failure.to_string(), SystemTime::now().into()));
                trouble.count += 1;
            }
        }
        outcome
    }

    pub(super) fn of(&self, mirror: i64) -> Trouble {
        self.all().get(&mirror).cloned().unwrap_or_default()
    }

    pub(super) fn forget(&self, mirror: i64) {
        self.all().remove(&mirror);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<i64, Trouble>> {
        // A panic leaves at worst a wrong count.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
