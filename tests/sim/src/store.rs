//! The model of a destination's store: rows by key and version, durable or not yet.

use std::collections::BTreeMap;

use crate::mutant::Mutant;
use crate::row::{Big, Image, Key, Row, Version};

/// What stands for a large value that never came.
pub const MISSING: u32 = u32::MAX;

/// A row as the destination has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The change it comes from.
    pub version: Version,
    /// The values, `None` once deleted.
    pub values: Option<(u32, u32)>,
    /// The large value last seen, also of a deleted row.
    big: u32,
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Store {
    now: BTreeMap<Key, Held>,
    durable: BTreeMap<Key, Held>,
    schemas: BTreeMap<u8, u32>,
    /// Whether every write is durable at once.
    eager: bool,
    /// Counts the store's own restarts: a session of an earlier one is broken.
    epoch: u64,
}

impl Store {
    /// An empty store.
    pub fn new(eager: bool) -> Self {
        Self { now: BTreeMap::new(), durable: BTreeMap::new(), schemas: BTreeMap::new(), eager, epoch: 0 }
    }

    /// Takes a row, or what a planted bug makes of it. Says what is wrong with it.
    pub fn take(&mut self, row: &Row, mutant: Mutant) -> Result<(), String> {
        let columns = self.schemas.get(&row.key.0).copied().unwrap_or(0);
        if row.schema > columns {
            return Err(format!("{:?} arrived with columns {} over {columns}", row.key, row.schema));
        }
        let before = self.now.get(&row.key).copied();
        let newer = before.is_none_or(|held| held.version < row.version);
        if !newer && !matches!(mutant, Mutant::LastWriterWins | Mutant::NotIdempotent) {
            return Ok(());
        }
        let big_before = before.map_or(MISSING, |held| held.big);
        let (values, big) = match row.image {
            Image::Deleted => (None, big_before),
            Image::Present { value, big } => {
                let big = match big {
                    Big::Value(big) => big,
                    Big::Unchanged => big_before,
                };
                (Some((value, big)), big)
            }
        };
        let values = match (mutant, newer, before.and_then(|held| held.values), values) {
            (Mutant::NotIdempotent, false, Some(old), Some(new)) => Some((old.0 + new.0, new.1)),
            (.., values) => values,
        };
        self.now.insert(row.key, Held { version: row.version, values, big });
        Ok(())
    }

    /// Takes changed columns.
    pub fn evolve(&mut self, table: u8, version: u32) {
        let columns = self.schemas.entry(table).or_default();
        *columns = version.max(*columns);
    }

    /// Makes everything durable.
    pub fn flush(&mut self) {
        self.durable.clone_from(&self.now);
    }

    /// Whether every write is durable at once.
    pub fn is_eager(&self) -> bool {
        self.eager
    }

    /// The store dies and comes back: what was not durable is gone, sessions are broken.
    pub fn restart(&mut self) {
        self.now.clone_from(&self.durable);
        self.epoch += 1;
    }

    /// See [`Store::restart`].
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The durable version of a key, the smallest when there is none.
    pub fn durable_version(&self, key: Key) -> Version {
        self.durable.get(&key).map_or((0, 0), |held| held.version)
    }

    /// Rows as a reader sees them.
    pub fn visible(&self) -> BTreeMap<Key, (u32, u32)> {
        self.durable.iter().filter_map(|(key, held)| held.values.map(|values| (*key, values))).collect()
    }
}
