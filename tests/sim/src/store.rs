//! The model of a destination's store: rows by key and version, durable or not yet.
//!
//! A value that an update left out is that of the row's earlier version. Where there is none, the row is of
//! no use any more (a later one was written, or the table was emptied, in an earlier life), or something was
//! lost.

use std::collections::BTreeMap;

use crate::mutant::Mutant;
use crate::row::{Big, Image, Key, Row, Version};

/// A row as the destination has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    /// The change it comes from.
    version: Version,
    /// The values, `None` once deleted.
    values: Option<(u32, u32)>,
}

/// All that is stored.
#[derive(Clone, Debug, Default)]
struct Content {
    rows: BTreeMap<Key, Held>,
    /// When each table was last emptied.
    emptied: BTreeMap<u8, Version>,
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Store {
    now: Content,
    durable: Content,
    schemas: BTreeMap<u8, u32>,
    /// Whether every write is durable at once.
    eager: bool,
    /// Counts the store's own restarts: a session of an earlier one is broken.
    epoch: u64,
}

impl Store {
    /// An empty store.
    pub fn new(eager: bool) -> Self {
        let (now, durable) = Default::default();
        Self { now, durable, schemas: BTreeMap::new(), eager, epoch: 0 }
    }

    /// Takes a row, or what a planted bug makes of it. Says what is wrong with it.
    pub fn take(&mut self, row: &Row, mutant: Mutant) -> Result<(), String> {
        let columns = self.schemas.get(&row.key.0).copied().unwrap_or(0);
        if row.schema > columns {
            return Err(format!("{:?} arrived with columns {} over {columns}", row.key, row.schema));
        }
        let values = match row.image {
            Image::Truncated => {
                self.now.rows.retain(|key, _| key.0 != row.key.0);
                if mutant != Mutant::EmptiedForgotten {
                    self.now.emptied.insert(row.key.0, row.version);
                }
                return Ok(());
            }
            Image::Deleted => None,
            Image::Present { value, big: Big::Value(big) } => Some((value, big)),
            Image::Present { value, big: Big::Unchanged } => match self.kept(row)? {
                Some(big) => Some((value, big)),
                None => return Ok(()),
            },
        };
        self.put(row.key, row.version, values, mutant);
        if row.moved_from.is_some() && mutant != Mutant::OldKeyStays {
            self.put(row.base(), row.version, None, mutant);
        }
        Ok(())
    }

    /// The large value of the row's earlier version; `None` where nobody could see the row.
    fn kept(&self, row: &Row) -> Result<Option<u32>, String> {
        match self.now.rows.get(&row.base()) {
            Some(earlier) if earlier.version >= row.version => Ok(None),
            Some(Held { values: Some((_, big)), .. }) => Ok(Some(*big)),
            _ if self.now.emptied.get(&row.key.0).is_some_and(|emptied| row.version < *emptied) => Ok(None),
            earlier => Err(format!("a value was left out of {row:?}, and {earlier:?} does not have it")),
        }
    }

    fn put(&mut self, key: Key, version: Version, values: Option<(u32, u32)>, mutant: Mutant) {
        let before = self.now.rows.get(&key).copied();
        let newer = before.is_none_or(|held| held.version < version);
        if !newer && !matches!(mutant, Mutant::LastWriterWins | Mutant::NotIdempotent) {
            return;
        }
        let values = match (mutant, newer, before.and_then(|held| held.values), values) {
            (Mutant::NotIdempotent, false, Some(old), Some(new)) => Some((old.0 + new.0, new.1)),
            (.., values) => values,
        };
        self.now.rows.insert(key, Held { version, values });
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

    /// Whether a change, or a later one that hides it, is durable.
    pub fn is_durable(&self, row: &Row) -> bool {
        let emptied = self.durable.emptied.get(&row.key.0);
        let written = self.durable.rows.get(&row.base()).map(|held| &held.version);
        emptied.max(written).is_some_and(|version| *version >= row.version)
    }

    /// Whether any version of a row is durable, a deleted one too.
    pub fn has(&self, key: Key) -> bool {
        self.durable.rows.contains_key(&key)
    }

    /// Rows as a reader sees them.
    pub fn visible(&self) -> BTreeMap<Key, (u32, u32)> {
        let rows = self.durable.rows.iter();
        rows.filter_map(|(key, held)| held.values.map(|values| (*key, values))).collect()
    }
}
