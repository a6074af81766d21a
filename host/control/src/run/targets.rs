//! Making a mirror's targets, several at once.
//!
//! Each takes a statement, and the store some time for each, during which it does nothing else of it. An instance works
//! on one statement at a time, so several are given a part of the tables each. Whatever of it was done when a part
//! fails, or the process ends, is passed over when it is done again.

use std::sync::Arc;

use bytes::Bytes;
use tarn_model::Failure;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::{JoinError, JoinSet};

use super::MirrorRun;
use crate::config::{TARGET_INSTANCES_MAX, TARGETS_AT_ONCE, TARGETS_BY_INSTANCE_MIN};
use crate::described::{split_tables, table_count};
use crate::instances::MirrorInstances;

/// Instances of all mirrors that make targets, beside the one that each mirror has in any case: a store that does not answer
/// keeps those that it has.
static INSTANCES: Semaphore = Semaphore::const_new(TARGET_INSTANCES_MAX);

impl MirrorRun {
    /// Makes the described tables at the destination, and changes those that are there otherwise.
    pub(super) async fn prepare_targets(
        &self,
        instances: &Arc<MirrorInstances>,
        schema: &Bytes,
    ) -> Result<(), Failure> {
        let parts = if instances.is_queue() { 1 } else { parts(table_count(schema)?) };
        let others: Vec<SemaphorePermit<'_>> =
            (1..parts).map_while(|_| INSTANCES.try_acquire().ok()).collect();
        let instances = Arc::clone(instances);
        all_at_once(split_tables(schema, 1 + others.len())?, move |part| {
            let instances = Arc::clone(&instances);
            async move { instances.store().await?.prepare(&part).await }
        })
        .await
    }
}

/// Into how many parts so many tables are cut at most.
fn parts(tables: usize) -> usize {
    (tables / TARGETS_BY_INSTANCE_MIN).clamp(1, TARGETS_AT_ONCE)
}

/// Works on all parts at once until they are done, or until one fails: then the others are given up.
async fn all_at_once<F>(parts: Vec<Bytes>, work: impl Fn(Bytes) -> F) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    for part in parts {
        tasks.spawn(work(part));
    }
    while let Some(ended) = tasks.join_next().await {
        if let Err(failure) = ended.unwrap_or_else(|fault| Err(panicked(&fault))) {
            tasks.shutdown().await;
            return Err(failure);
        }
    }
    Ok(())
}

fn panicked(fault: &JoinError) -> Failure {
    Failure::permanent("call_panicked", format!("making tables ended without an answer: {fault}"))
        .with_hint("this is a fault of the program; the log has the place")
}

#[cfg(test)]
mod tests {
    use tokio::sync::Barrier;

    use super::*;

    #[test]
    fn few_tables_are_not_worth_a_second_instance_and_many_do_not_get_more_than_the_most() {
        let by_instance = TARGETS_BY_INSTANCE_MIN;
        assert_eq!([0, 1, by_instance, 2 * by_instance - 1].map(parts), [1; 4]);
        assert_eq!(parts(2 * by_instance), 2);
        assert_eq!(parts(10_000), TARGETS_AT_ONCE);
    }

    #[tokio::test]
    async fn parts_are_worked_on_at_once() {
        let together = Arc::new(Barrier::new(3));
        let work = |_| {
            let together = Arc::clone(&together);
            async move {
                together.wait().await;
                Ok(())
            }
        };
        assert_eq!(all_at_once(vec![Bytes::new(); 3], work).await, Ok(()));
    }

    #[tokio::test]
    async fn a_part_that_fails_ends_the_others() {
        let work = |part: Bytes| async move {
            match part.is_empty() {
                true => Err(Failure::permanent("denied", "no rights")),
                false => std::future::pending().await,
            }
        };
        let parts = vec![Bytes::from_static(b"1"), Bytes::new()];
        assert_eq!(all_at_once(parts, work).await.expect_err("told").code, "denied");
    }
}
