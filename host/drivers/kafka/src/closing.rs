//! Producers that end: closing one waits for the library's threads, and gives an open transaction up.

use std::sync::{Mutex, PoisonError};

use tokio::task::JoinHandle;

/// The producers of a client that were dropped where nobody could wait, and have not ended yet. Each ends at a deadline
/// by itself. The client's next producer waits for them; without a next one the runtime does, when it ends.
#[derive(Default)]
pub(crate) struct Closing(Mutex<Vec<JoinHandle<()>>>);

impl Closing {
    /// Lets something end on a thread for blocking work, or here where there is none.
    pub(crate) fn add(&self, ending: impl Send + 'static) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return drop(ending) };
        let mut tasks = self.tasks();
        tasks.retain(|task| !task.is_finished());
        tasks.push(runtime.spawn_blocking(move || drop(ending)));
    }

    /// Waits until all have ended.
    pub(crate) async fn done(&self) {
        let tasks = std::mem::take(&mut *self.tasks());
        for task in tasks {
            // What panicked has nothing left to end.
            drop(task.await);
        }
    }

    fn tasks(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        // A panic leaves at worst a task out of the list.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
