//! An instance and the one call it may be busy with.
//!
//! ```text
//!   Idle ── begin ──> Busy ── done, Ok ──> Idle
//!                      └───── done, Err, or a panic ──> Gone
//! ```
//!
//! A call runs as a task of its own, so that calls of several instances use several cores and none is
//! dropped halfway because another ended first. The hand owns the task: dropping the hand aborts it.

use std::future::Future;

use tarn_model::Failure;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

/// See the module's documentation.
pub(crate) struct Hand<I, T> {
    state: State<I, T>,
}

enum State<I, T> {
    Idle(I),
    Busy(AbortOnDropHandle<(I, Result<T, Failure>)>),
    Gone,
}

impl<I: Send + 'static, T: Send + 'static> Hand<I, T> {
    pub(crate) fn new(instance: I) -> Self {
        Self { state: State::Idle(instance) }
    }

    /// A hand that never has anything to do.
    pub(crate) fn gone() -> Self {
        Self { state: State::Gone }
    }

    /// Begins a call, which gives the instance back with its answer.
    ///
    /// # Panics
    ///
    /// When the instance is busy or gone: the caller lost count.
    pub(crate) fn begin<F>(&mut self, call: impl FnOnce(I) -> F)
    where
        F: Future<Output = (I, Result<T, Failure>)> + Send + 'static,
    {
        match std::mem::replace(&mut self.state, State::Gone) {
            State::Idle(instance) => {
                let task = tokio::spawn(call(instance).in_current_span());
                self.state = State::Busy(AbortOnDropHandle::new(task));
            }
            State::Busy(_) => panic!("a call while another one is in flight"),
            State::Gone => panic!("a call of an instance that is gone"),
        }
    }

    /// The answer of the call in flight; never ready when there is none. May be dropped and asked for
    /// again: the call goes on meanwhile.
    pub(crate) async fn done(&mut self) -> Result<T, Failure> {
        let State::Busy(task) = &mut self.state else { return std::future::pending().await };
        let answer = task.await;
        match answer {
            Ok((instance, Ok(value))) => {
                self.state = State::Idle(instance);
                Ok(value)
            }
            Ok((_, Err(failure))) => {
                self.state = State::Gone;
                Err(failure)
            }
            Err(fault) => {
                self.state = State::Gone;
                Err(Failure::permanent("call_panicked", format!("a call ended without an answer: {fault}"))
                    .with_hint("this is a fault of the program; the log has the place"))
            }
        }
    }

    /// The instance, for calls that nothing overlaps; `None` while it is busy or gone.
    pub(crate) fn idle_mut(&mut self) -> Option<&mut I> {
        match &mut self.state {
            State::Idle(instance) => Some(instance),
            State::Busy(_) | State::Gone => None,
        }
    }
}
