//! What becomes of records that cannot be taken, by a script or by the destination.
//!
//! Whoever meets such a record settles it ([`Records::settle`]) before the rows around it go on. What the
//! desk does about it is durable by then, so it precedes the checkpoint, or the end of the partition, that
//! passes the record: a crash in between brings the record again, and a desk takes that as nothing new.
//!
//! Whatever the policy, too many of them end the run: a script that is wrong would otherwise empty a stream
//! within minutes. The rule is one number, the limit: of the last ten times as many records, not more than so
//! many may be left out. More than the limit in a row breaks it as well.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use tarn_model::{Failure, FailureClass};

use crate::batch::Batch;
use crate::config::RECORD_ERROR_WINDOW_LIMITS;
use crate::observer::{Notice, Observer};
use crate::transform::{Rejection, Transformed};

/// What a [`RecordDesk`] does.
pub type LeavingOut<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;

/// Takes note of records that the mirror goes on without.
pub trait RecordDesk: Send + Sync + 'static {
    /// Takes note of records of a batch, durably, when it returns. Repeatable: the same records may come
    /// again after a crash.
    fn leave_out<'a>(&'a self, batch: &'a Batch, rejected: &'a [Rejection]) -> LeavingOut<'a>;
}

/// What a mirror does about records that cannot be taken. Clones share the count of what was left out.
#[derive(Clone)]
pub struct Records {
    policy: Policy,
}

#[derive(Clone)]
enum Policy {
    Stop,
    LeaveOut { desk: Arc<dyn RecordDesk>, bound: Arc<Mutex<Bound>> },
}

impl Records {
    /// The run ends with the first one.
    pub fn stop() -> Self {
        Self { policy: Policy::Stop }
    }

    /// The desk takes note of them, and the run goes on without them, as long as no more than `limit` of ten
    /// times as many records are.
    pub fn leave_out(desk: Arc<dyn RecordDesk>, limit: u32) -> Self {
        let bound = Arc::new(Mutex::new(Bound::new(u64::from(limit.max(1)))));
        Self { policy: Policy::LeaveOut { desk, bound } }
    }

    /// Whether the run can go on without a record.
    pub fn go_on(&self) -> bool {
        matches!(self.policy, Policy::LeaveOut { .. })
    }

    /// Counts records that were looked at and none of which was rejected.
    pub fn passed(&self, records: u32) {
        if let Policy::LeaveOut { bound, .. } = &self.policy {
            bound.lock().unwrap_or_else(PoisonError::into_inner).seen += u64::from(records);
        }
    }

    /// Decides over rejected records of a batch; `looked_at` counts the records that were looked at,
    /// themselves included.
    ///
    /// # Errors
    /// The failure that ends the run: by the policy, by the limit, or of the desk.
    pub async fn settle(
        &self,
        batch: &Batch,
        rejected: &[Rejection],
        looked_at: u32,
        observer: &dyn Observer,
    ) -> Result<(), Failure> {
        let Some(first) = rejected.first() else {
            self.passed(looked_at);
            return Ok(());
        };
        let Policy::LeaveOut { desk, bound } = &self.policy else { return Err(first.failure()) };
        let broken = bound.lock().unwrap_or_else(PoisonError::into_inner).count(rejected, looked_at);
        if let Some((last, limit)) = broken {
            return Err(too_many(last, limit));
        }
        desk.leave_out(batch, rejected).await?;
        for rejection in rejected {
            observer.notice(Notice::RecordLeftOut(rejection));
        }
        Ok(())
    }

    /// Decides over a transform's answer: the batch that goes on, or the failure that ends the run.
    pub(crate) async fn judge(
        &self,
        given: &Batch,
        answer: Transformed,
        observer: &dyn Observer,
    ) -> Result<Batch, Failure> {
        self.settle(given, &answer.rejected, given.rows, observer).await?;
        if answer.dropped > 0 {
            observer.notice(Notice::RowsDropped { rows: u64::from(answer.dropped) });
        }
        Ok(answer.batch)
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.policy {
            Policy::Stop => "Records(stop)",
            Policy::LeaveOut { .. } => "Records(leave out)",
        })
    }
}

fn too_many(last: &Rejection, limit: u64) -> Failure {
    let window = limit * RECORD_ERROR_WINDOW_LIMITS;
    let cause = last.failure();
    Failure::new(
        FailureClass::Record,
        "record_errors_too_many",
        format!("more than {limit} of the last {window} records could not be taken; the last: {}", cause.message),
    )
    .with_table(cause.table)
    .with_hint(
        "correct the script or the destination's column, or raise record_error_limit, then resume: the mirror \
         goes on with these records",
    )
}

/// Which of the last records were left out.
struct Bound {
    limit: u64,
    /// Records looked at so far.
    seen: u64,
    /// The numbers of those that were rejected last, at most `limit` of them.
    rejected: VecDeque<u64>,
}

impl Bound {
    fn new(limit: u64) -> Self {
        Self { limit, seen: 0, rejected: VecDeque::new() }
    }

    /// Counts a batch; the record that was one too many, with the limit.
    fn count<'a>(&mut self, rejected: &'a [Rejection], looked_at: u32) -> Option<(&'a Rejection, u64)> {
        let (before, window) = (self.seen, self.limit * RECORD_ERROR_WINDOW_LIMITS);
        self.seen += u64::from(looked_at);
        for rejection in rejected {
            let number = before + u64::from(rejection.row);
            self.rejected.push_back(number);
            if self.rejected.len() as u64 > self.limit {
                let earliest = self.rejected.pop_front().unwrap_or(number);
                if number.saturating_sub(earliest) < window {
                    return Some((rejection, self.limit));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejections(rows: impl IntoIterator<Item = u32>) -> Vec<Rejection> {
        rows.into_iter().map(|row| Rejection { row, ..Rejection::default() }).collect()
    }

    /// The row of the batch that is one too many.
    fn broken(bound: &mut Bound, rows: &[u32], looked_at: u32) -> Option<u32> {
        bound.count(&rejections(rows.iter().copied()), looked_at).map(|(rejection, _)| rejection.row)
    }

    #[test]
    fn as_many_as_the_limit_may_be_left_out_of_ten_times_as_many() {
        let mut bound = Bound::new(3);
        assert_eq!(broken(&mut bound, &[0, 1, 2], 10), None);
        // The first of the three is thirty records ago.
        assert_eq!(broken(&mut bound, &[20], 30), None);
        assert_eq!(broken(&mut bound, &[], 30), None);
        assert_eq!(broken(&mut bound, &[0, 1, 2, 29], 30), Some(29));
    }

    #[test]
    fn one_more_than_the_limit_in_a_row_is_too_many_also_across_batches() {
        let mut bound = Bound::new(3);
        assert_eq!(broken(&mut bound, &[8, 9], 10), None);
        assert_eq!(broken(&mut bound, &[0], 1), None);
        assert_eq!(broken(&mut bound, &[0], 1), Some(0));
    }
}
