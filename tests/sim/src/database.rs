//! The model of a source: tables, a log of transactions, a slot, points to read at.
//!
//! What it has of a real one is what the loop's promises depend on: rows of several transactions reach the
//! log interleaved but are delivered by commit; several rows share a commit; an update may leave out a large
//! value; an updated row moves to another place; the slot forgets what was confirmed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::random::Random;
use crate::row::{Big, Image, Key, Row};

/// Places a row can be at; partitions are ranges of them.
pub const PLACES: u64 = 64;

/// Keys of one table.
const KEYS: u64 = 24;

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
    /// Everything up to here may be forgotten.
    confirmed: u64,
    held: HashMap<String, Arc<Rows>>,
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
        let key = (table, self.random.within(0..KEYS) as u32);
        let (value, place) = (self.value(), self.random.within(0..PLACES));
        let changed = version.0;
        let image = match self.rows.get(&key).copied() {
            Some(_) if self.random.chance(20) => {
                self.rows.remove(&key);
                Image::Deleted
            }
            Some(before) if self.random.chance(60) => {
                self.rows.insert(key, Stored { value, place, changed, ..before });
                Image::Present { value, big: Big::Unchanged }
            }
            _ => {
                let big = self.value();
                self.rows.insert(key, Stored { value, big, place, changed });
                Image::Present { value, big: Big::Value(big) }
            }
        };
        let ballast = *self.random.pick(&[0, 0, 0, 10, 50, 300]);
        Row { key, version, schema: self.schemas[usize::from(table)], image, ballast }
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
        self.held.insert(token.clone(), Arc::new(self.rows.clone()));
        (token, self.lsn.to_string())
    }

    /// The rows at a held point, unless it is lost.
    pub fn held(&self, token: &str) -> Option<Arc<Rows>> {
        self.held.get(token).cloned()
    }

    /// Loses all held points.
    pub fn lose_held(&mut self) {
        self.held.clear();
    }
}
