//! The last records of every table of a mirror, as they came from the source: what a script is tried out on.
//!
//! They are kept for mirrors that ask for it, in memory alone: no log and no catalog ever has them. Batches
//! are kept whole, which costs the stream nothing but holding on to them, and are cut into records when the
//! room for whole ones is full, or when somebody asks.

mod remembering;
mod ring;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

pub(crate) use remembering::{Remembering, RememberingInstances};
pub(crate) use ring::Ring;

/// Recent records by mirror. They live as long as the process. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct RecentRecords(Arc<Mutex<HashMap<i64, Arc<Ring>>>>);

impl RecentRecords {
    /// Where a mirror's records are kept, `rows` of each table; nowhere for none, and what was kept is
    /// forgotten.
    pub(crate) fn of(&self, mirror: i64, rows: u32) -> Option<Arc<Ring>> {
        let rows_max = rows as usize;
        let mut rings = self.rings();
        if rows_max == 0 {
            rings.remove(&mirror);
            return None;
        }
        let ring = rings.entry(mirror).or_default();
        ring.keep(rows_max);
        Some(Arc::clone(ring))
    }

    /// Forgets a mirror.
    pub(crate) fn forget(&self, mirror: i64) {
        self.rings().remove(&mirror);
    }

    /// The last records of a table, `schema.name`, oldest first: batches of one record each.
    pub(crate) fn last(&self, mirror: i64, table: &str, limit: usize) -> Vec<Bytes> {
        let ring = self.rings().get(&mirror).cloned();
        ring.map_or_else(Vec::new, |ring| ring.last(table, limit))
    }

    fn rings(&self) -> MutexGuard<'_, HashMap<i64, Arc<Ring>>> {
        // A panic while they are changed leaves at worst a ring out.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_kept_where_it_is_asked_for_and_forgotten_with_it() {
        let recent = RecentRecords::default();
        assert!(recent.of(1, 0).is_none());
        let ring = recent.of(1, 2).expect("it is switched on");
        ring.remember(&ring::tests::batch("t", &[1, 2, 3]));
        assert_eq!(recent.last(1, "public.t", 10).len(), 2);
        assert_eq!(recent.last(2, "public.t", 10).len(), 0, "of another mirror");
        assert!(recent.of(1, 5).is_some(), "a run that begins anew keeps what there is");
        assert_eq!(recent.last(1, "public.t", 10).len(), 3, "the batch is still whole");
        assert!(recent.of(1, 0).is_none());
        assert_eq!(recent.last(1, "public.t", 10).len(), 0);
    }
}
