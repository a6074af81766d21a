//! One life after another, until one ends well, someone asks to stop, or retrying cannot help.
//!
//! ```text
//!   living ── Ok ──> Ended::Value
//!     │ ^ └── failed, a person is needed ──> Err
//!     │ └──── delay over ──┐
//!     └── failed, passing ──> waiting ── stop ──> Ended::Stopped
//! ```

use std::future::Future;

use tarn_model::Failure;

use crate::retry::{Remedy, remedy};
use crate::run::Run;

/// How a supervised run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended<T> {
    /// A life ended by itself, or cleanly on request.
    Value(T),
    /// Asked to stop while no life was under way, or while one was failing.
    Stopped {
        /// The last failure, where it is news: it was not told to the observer.
        trouble: Option<Failure>,
    },
}

/// Runs `life` until it ends well. After passing trouble it waits (longer each time, short again after
/// progress) and runs the next life, telling the observer of each failure once.
///
/// # Errors
///
/// The first failure that retrying cannot mend.
pub async fn supervise<T, F>(run: &Run, mut life: impl FnMut(Run) -> F) -> Result<Ended<T>, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let mut back_off = run.back_off();
    while !run.stop.is_cancelled() {
        let failure = match life(run.clone()).await {
            Ok(value) => return Ok(Ended::Value(value)),
            Err(failure) => failure,
        };
        match remedy(&failure) {
            Remedy::BackOff if run.stop.is_cancelled() => {
                return Ok(Ended::Stopped { trouble: Some(failure) });
            }
            Remedy::BackOff => {
                let delay = run.note_failure(&failure, &mut back_off);
                run.stop.run_until_cancelled(tokio::time::sleep(delay)).await;
            }
            Remedy::AskPerson | Remedy::Resync => return Err(failure),
        }
    }
    Ok(Ended::Stopped { trouble: None })
}
