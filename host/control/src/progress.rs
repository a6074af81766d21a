//! Rows of partitions that are under way: what people see move between two entries of the ledger.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts by mirror, table and partition. They live as long as the process and are no truth: the ledger
/// has the rows that are durable. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Mutex<HashMap<i64, Tables>>>);

type Tables = HashMap<String, HashMap<u32, u64>>;

impl Progress {
    /// Rows of a table's partitions that are not in the ledger yet.
    pub fn rows(&self, mirror: i64, table: &str) -> u64 {
        let counts = self.counts();
        counts.get(&mirror).and_then(|tables| tables.get(table)).map_or(0, |parts| parts.values().sum())
    }

    pub(crate) fn add(&self, mirror: i64, table: &str, partition: u32, rows: u64) {
        let mut counts = self.counts();
        let tables = counts.entry(mirror).or_default();
        *tables.entry(table.to_owned()).or_default().entry(partition).or_default() += rows;
    }

    /// Forgets a partition: it begins anew, or the ledger has it.
    pub(crate) fn forget_partition(&self, mirror: i64, table: &str, partition: u32) {
        if let Some(partitions) = self.counts().get_mut(&mirror).and_then(|tables| tables.get_mut(table)) {
            partitions.remove(&partition);
        }
    }

    /// Forgets a mirror: no partition of it is under way.
    pub(crate) fn forget(&self, mirror: i64) {
        self.counts().remove(&mirror);
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<i64, Tables>> {
        // A panic while counting leaves at worst a wrong count.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_under_way_are_those_of_partitions_that_neither_ended_nor_began_anew() {
        let progress = Progress::default();
        progress.add(1, "public.t", 0, 10);
        progress.add(1, "public.t", 1, 5);
        progress.add(2, "public.t", 0, 7);
        assert_eq!(progress.rows(1, "public.t"), 15);
        progress.forget_partition(1, "public.t", 0);
        assert_eq!((progress.rows(1, "public.t"), progress.rows(2, "public.t")), (5, 7));
        progress.forget(2);
        assert_eq!(progress.rows(2, "public.t"), 0);
    }
}
