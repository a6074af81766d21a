//! What the workers of one run share: the plan, and whether to go on.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::plan::{Plan, Task};

/// See the module's documentation.
pub(super) struct Board {
    plan: Mutex<Plan>,
    changed: Notify,
    /// No further partition is begun.
    closed: CancellationToken,
    /// Workers stop at their next write.
    halt: CancellationToken,
    /// When the halt was first seen.
    halted_at: OnceLock<Instant>,
}

impl Board {
    pub(super) fn new(plan: Plan, stop: &CancellationToken) -> Self {
        let halt = stop.child_token();
        Self {
            plan: Mutex::new(plan),
            changed: Notify::new(),
            closed: halt.child_token(),
            halt,
            halted_at: OnceLock::new(),
        }
    }

    /// The next thing to do; `None` when there is nothing left for this worker.
    pub(super) async fn next(&self) -> Option<Task> {
        loop {
            let changed = self.changed.notified(); // before the look, so that no change is missed
            if self.closed.is_cancelled() {
                return None;
            }
            match self.plan().next() {
                Some(Task::Wait) => {}
                task => return task,
            }
            tokio::select! {
                biased; // a simulation repeats its seeds exactly
                () = changed => {}
                () = self.closed.cancelled() => {}
            }
        }
    }

    /// Changes the plan and wakes whoever waits for that.
    pub(super) fn update(&self, change: impl FnOnce(&mut Plan)) {
        change(&mut self.plan());
        self.changed.notify_waiters();
    }

    pub(super) fn is_complete(&self) -> bool {
        self.plan().is_complete()
    }

    pub(super) fn close(&self) {
        self.closed.cancel();
    }

    pub(super) fn halt(&self) {
        self.halt.cancel();
    }

    pub(super) fn halt_token(&self) -> &CancellationToken {
        &self.halt
    }

    /// Waits for the halt and returns when it was first seen.
    pub(super) async fn halted_at(&self) -> Instant {
        self.halt.cancelled().await;
        *self.halted_at.get_or_init(Instant::now)
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
