//! The model of a source: tables, a log of transactions, a slot, points to read at.
//!
//! What it has of a real one is what the loop's promises depend on: rows of several transactions reach the
//! log interleaved but are delivered by commit; several rows share a commit; an update may leave out a large
//! value, and may give the row another key; an updated row moves to another place; a table is emptied at once,
//! and then cannot be read at an earlier point any more; the slot forgets what was confirmed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::random::Random;
use crate::row::{Big, Image, Key, Origin, Row};

/// Places a row can be at; partitions are ranges of them.
pub const PLACES: u64 = 64;

/// Keys of one table.
const KEYS: u64 = 24;

/// A row's key changes by a multiple of this, so that the script makes the same of it as before.
const KEY_STEP: u64 = 8;

/// A row as the source has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// A value that always comes along.
    pub value: u32,
    /// A value that may be left out of an update.
    pub big: u32,
    /// Where in the table it is.
    pub place: u64,
    /// The commit that made this version of the row.
    pub changed: u64,
}

/// All rows at one point in time.
pub type Rows = BTreeMap<Key, Stored>;

/// A point that is held for others to read at.
#[derive(Debug)]
pub struct Point {
    /// The last commit that it sees.
    pub lsn: u64,
    /// All rows as it sees them.
    pub rows: Rows,
}

/// A committed transaction.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Its place in the log: a later commit has a greater one.
    pub lsn: u64,
    /// Its changes; their versions are `(lsn, index)`.
    pub rows: Vec<Row>,
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Database {
    random: Random,
    rows: Rows,
    log: Vec<Transaction>,
    /// The end of the log; other databases write to it as well.
    lsn: u64,
    /// Columns' version of each table.
    schemas: Vec<u32>,
    /// From which commit on the slot delivers a table's changes.
    published: Vec<u64>,
    /// The commit that emptied each table last.
    truncated: Vec<u64>,
    /// Everything up to here may be forgotten.
    confirmed: u64,
    held: HashMap<String, Arc<Point>>,
    holds: u64,
    next_value: u32,
}

impl Database {
    /// Tables with some rows, and a slot at the end of the log.
    pub fn new(tables: u8, random: Random) -> Self {
        let mut database = Self {
            random,
            rows: Rows::new(),
            log: Vec::new(),
            lsn: 100,
            schemas: vec![1; usize::from(tables)],
            published: vec![0; usize::from(tables)],
            truncated: vec![0; usize::from(tables)],
            confirmed: 0,
            held: HashMap::new(),
            holds: 0,
            next_value: 1,
        };
        for table in 0..tables {
            for key in 0..KEYS as u32 {
                if database.random.chance(70) {
                    let row = Stored {
                        value: database.value(),
                        big: database.value(),
                        place: database.random.within(0..PLACES),
                        changed: 50,
                    };
                    database.rows.insert((table, key), row);
                }
            }
        }
        database.confirmed = database.lsn;
        database
    }

    fn value(&mut self) -> u32 {
        self.next_value += 1;
        self.next_value
    }

    /// Commits a random transaction, perhaps after traffic elsewhere.
    pub fn commit(&mut self) {
        if self.random.chance(30) {
            self.lsn += self.random.within(1..50); // another database's
        }
        self.lsn += self.random.within(1..5);
        if self.random.chance(5) {
            let table = self.random.within(0..self.schemas.len() as u64) as usize;
            self.schemas[table] += 1;
        }
        let changes = *self.random.pick(&[1, 1, 2, 3, 3, 5, 8, 20]);
        let rows = (0..changes).map(|index| self.change((self.lsn, index))).collect();
        self.log.push(Transaction { lsn: self.lsn, rows });
    }

    /// Traffic that concerns no table of ours.
    pub fn commit_elsewhere(&mut self) {
        self.lsn += self.random.within(1..50);
    }

    fn change(&mut self, version: (u64, u64)) -> Row {
        let table = self.random.within(0..self.schemas.len() as u64) as u8;
        let ballast = *self.random.pick(&[0, 0, 0, 10, 50, 300]);
        let schema = self.schemas[usize::from(table)];
        let (key, moved_from, image) = match self.random.chance(3) {
            true => ((table, 0), None, self.truncate(table, version.0)),
            false => self.change_row(table, version.0),
        };
        Row { key, moved_from, version, schema, image, ballast, origin: Origin::Stream }
    }

    fn truncate(&mut self, table: u8, commit: u64) -> Image {
        self.rows.retain(|key, _| key.0 != table);
        self.truncated[usize::from(table)] = commit;
        Image::Truncated
    }

    /// Changes a row; its key, the number it had before under another one, and what it is now.
    fn change_row(&mut self, table: u8, changed: u64) -> (Key, Option<u32>, Image) {
        let key = (table, self.random.within(0..KEYS) as u32);
        let (value, place) = (self.value(), self.random.within(0..PLACES));
        let Some(before) = self.rows.get(&key).copied() else {
            let big = self.value();
            self.rows.insert(key, Stored { value, big, place, changed });
            return (key, None, Image::Present { value, big: Big::Value(big) });
        };
        if self.random.chance(20) {
            self.rows.remove(&key);
            return (key, None, Image::Deleted);
        }
        let moved = if self.random.chance(15) { self.free_key(key) } else { None };
        let (after, moved_from) = match moved {
            Some(after) => (after, Some(key.1)),
            None => (key, None),
        };
        let (stored, big) = match self.random.chance(60) {
            true => (before.big, Big::Unchanged),
            false => {
                let big = self.value();
                (big, Big::Value(big))
            }
        };
        self.rows.remove(&key);
        self.rows.insert(after, Stored { value, big: stored, place, changed });
        (after, moved_from, Image::Present { value, big })
    }

    /// A key that a row may change to, if one is free.
    fn free_key(&mut self, key: Key) -> Option<Key> {
        let steps = self.random.within(1..KEYS / KEY_STEP);
        let to = (key.0, ((u64::from(key.1) + steps * KEY_STEP) % KEYS) as u32);
        (!self.rows.contains_key(&to)).then_some(to)
    }

    /// Delivers a table's changes from now on only.
    pub fn publish_from_now(&mut self, table: u8) {
        self.published[usize::from(table)] = self.lsn + 1;
    }

    /// Whether the slot delivers a table's change.
    pub fn is_published(&self, table: u8, lsn: u64) -> bool {
        lsn >= self.published[usize::from(table)]
    }

    /// How many tables there are.
    pub fn tables(&self) -> u8 {
        self.schemas.len() as u8
    }

    /// The current rows.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The end of the log.
    pub fn lsn(&self) -> u64 {
        self.lsn
    }

    /// The first transaction after a place in the log.
    pub fn after(&self, lsn: u64) -> Option<&Transaction> {
        self.log.get(self.log.partition_point(|transaction| transaction.lsn <= lsn))
    }

    /// Whether one of the first `rows` changes of the next transaction emptied a table.
    pub fn empties(&self, lsn: u64, rows: u64) -> bool {
        let first = self.after(lsn).into_iter().flat_map(|transaction| transaction.rows.iter());
        first.take(rows as usize).any(|row| row.image == Image::Truncated)
    }

    /// All transactions with `from < lsn <= to`.
    pub fn between(&self, from: u64, to: u64) -> &[Transaction] {
        let start = self.log.partition_point(|transaction| transaction.lsn <= from);
        let end = self.log.partition_point(|transaction| transaction.lsn <= to);
        &self.log[start..end.max(start)]
    }

    /// What the slot may have forgotten.
    pub fn confirmed(&self) -> u64 {
        self.confirmed
    }

    /// Moves the slot.
    pub fn confirm(&mut self, lsn: u64) {
        self.confirmed = self.confirmed.max(lsn);
    }

    /// Holds the current point: a token to read at it, and its horizon.
    pub fn hold(&mut self) -> (String, String) {
        self.holds += 1;
        let token = format!("hold-{}", self.holds);
        self.held.insert(token.clone(), Arc::new(self.point()));
        (token, self.lsn.to_string())
    }

    /// The current point.
    pub fn point(&self) -> Point {
        Point { lsn: self.lsn, rows: self.rows.clone() }
    }

    /// A held point, unless it is lost.
    pub fn held(&self, token: &str) -> Option<Arc<Point>> {
        self.held.get(token).cloned()
    }

    /// Whether a table can be read at a point: emptying it took the rows away for earlier ones too.
    pub fn is_readable(&self, table: u8, point: &Point) -> bool {
        self.truncated[usize::from(table)] <= point.lsn
    }

    /// Loses all held points.
    pub fn lose_held(&mut self) {
        self.held.clear();
    }
}
