//! The model of a source's stream: batches cut anywhere, heartbeats, lost connections, re-sends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tarn_model::{Failure, Position};
use tarn_replication::{Changes, Limits, Source};
use tokio::time::Instant;

use crate::database::{Database, Point};
use crate::mutant::Mutant;
use crate::row::{self, Big, Image, Row};
use crate::world::{Life, passing};

/// What a position says: everything up to a commit, and so many rows of the next transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// All commits up to here.
    pub lsn: u64,
    /// Rows of the next one.
    pub rows: u64,
}

impl Place {
    /// Reads a position this model made.
    pub fn of(position: &Position) -> Self {
        let (lsn, rows) = position.as_bytes().split_at(8);
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        Self { lsn: number(lsn), rows: number(rows) }
    }

    /// The position of this place.
    pub fn position(self) -> Position {
        Position::new([self.lsn.to_le_bytes(), self.rows.to_le_bytes()].concat())
    }
}

/// Of which tables the destination may lack rows, and when values that changes left out are read.
#[derive(Clone, Debug)]
pub enum Completion {
    /// It has all rows.
    None,
    /// These tables load beside the stream: now.
    BesideLoad(Vec<u8>),
    /// All were loaded at a later point than the stream is at: at this point, for changes up to it.
    AtPoint(Arc<Point>),
}

/// See the module's documentation.
pub struct StreamSource {
    life: Life,
    completion: Completion,
    state: State,
    /// Columns this instance delivered.
    schemas: BTreeMap<u8, u32>,
}

enum State {
    Closed,
    Open { at: Place },
    Broken,
}

impl StreamSource {
    /// An instance, not open.
    pub fn new(life: &Life, completion: Completion) -> Self {
        Self { life: life.clone(), completion, state: State::Closed, schemas: BTreeMap::new() }
    }

    /// Whether a change must wait until its table is loaded.
    fn waits(&self, row: &Row) -> bool {
        let loads = matches!(&self.completion, Completion::BesideLoad(tables) if tables.contains(&row.key.0));
        let waits = loads && row.image == Image::Truncated;
        if waits {
            self.life.world.count("truncate while loading");
        }
        waits && self.life.world.mutant() != Mutant::TruncateWhileLoading
    }

    /// The row with the value that the change left out, where the destination may not have it. A row that is
    /// gone counts as deleted: what took it away is in the stream too.
    fn completed(&self, row: Row, database: &Database) -> Row {
        let Image::Present { value, big: Big::Unchanged } = row.image else { return row };
        let found = match &self.completion {
            Completion::BesideLoad(tables) if tables.contains(&row.key.0) => database.rows().get(&row.key),
            Completion::AtPoint(point) if row.version.0 <= point.lsn => point.rows.get(&row.key),
            _ => return row,
        };
        let what = if found.is_some() { "fetch of a value left out" } else { "fetch of a row that is gone" };
        self.life.world.count(what);
        match found {
            Some(stored) => Row { image: Image::Present { value, big: Big::Value(stored.big) }, ..row },
            None => Row { key: row.base(), moved_from: None, image: Image::Deleted, ..row },
        }
    }

    fn at(&self) -> Result<Place, Failure> {
        match self.state {
            State::Open { at } => Ok(at),
            State::Closed => panic!("a call before open"),
            State::Broken => panic!("a call after a failure"),
        }
    }

    fn fail(&mut self, what: &str) -> Failure {
        self.state = State::Broken;
        passing(what)
    }

    /// The position that goes with rows: the place after them, or what a planted bug makes of it.
    fn told(&self, mut after: Place, rows: &[Row]) -> Place {
        let world = &self.life.world;
        let Some(last) = rows.last() else { return after };
        match world.mutant() {
            Mutant::PositionAhead if world.random().chance(20) => after.rows += 1,
            Mutant::PositionByRow => after = Place { lsn: after.lsn.max(last.version.0), rows: 0 },
            _ => {}
        }
        after
    }

    /// The next rows from `at`, and the place after them.
    fn next_rows(&mut self, mut at: Place, limits: Limits) -> (Vec<Row>, Place) {
        let world = &self.life.world;
        let database = world.database();
        let mut random = world.random();
        let (mut rows, mut bytes) = (Vec::new(), 0);
        while let Some(transaction) = database.after(at.lsn) {
            for (index, row) in (0..).zip(&transaction.rows).skip(at.rows as usize) {
                let published = database.is_published(row.key.0, transaction.lsn);
                let changed = published && self.schemas.get(&row.key.0).copied().unwrap_or(0) < row.schema;
                let full = rows.len() as u64 >= u64::from(limits.rows_max)
                    || bytes + row.len_bytes() > u64::from(limits.bytes_max);
                if full
                    || random.chance(10)
                    || (changed && !rows.is_empty())
                    || (published && self.waits(row))
                {
                    return (rows, at);
                }
                at.rows = index + 1;
                if !published {
                    continue;
                }
                self.schemas
                    .insert(row.key.0, row.schema.max(self.schemas.get(&row.key.0).copied().unwrap_or(0)));
                let row = self.completed(*row, &database);
                bytes += row.len_bytes();
                rows.push(row);
            }
            at = Place { lsn: transaction.lsn, rows: 0 };
        }
        (rows, at)
    }
}

impl Source for StreamSource {
    async fn open(&mut self, start: &Position) -> Result<(), Failure> {
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(self.fail("connection refused"));
        }
        let world = &self.life.world;
        let mut at = Place::of(start);
        let confirmed = world.database().confirmed();
        if at.lsn < confirmed {
            world.violation(format!("opened at {at:?}, but the slot kept only what is after {confirmed}"));
        }
        match world.mutant() {
            Mutant::SkipOneMore if at.rows > 0 => at.rows += 1,
            // More than the contract allows a source, and harmless: rows come again. Not so what emptied a table,
            // for what follows it would have to come again as well.
            _ if at.rows > 0 && world.random().chance(20) && !world.database().empties(at.lsn, at.rows) => {
                world.count("re-send");
                at.rows = 0;
            }
            _ => {}
        }
        self.state = State::Open { at };
        self.life.step().await;
        Ok(())
    }

    async fn read(&mut self, limits: Limits) -> Result<Changes, Failure> {
        let at = self.at()?;
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(self.fail("connection reset"));
        }
        let until = Instant::now() + limits.wait;
        let before = self.schemas.clone();
        let (rows, mut after) = loop {
            let (rows, after) = self.next_rows(at, limits);
            if !rows.is_empty() || Instant::now() >= until {
                break (rows, after);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        let world = &self.life.world;
        if rows.is_empty() && after.rows == 0 && world.database().after(after.lsn).is_none() {
            after.lsn = after.lsn.max(world.database().lsn()); // the keepalive's end of the log
        }
        self.state = State::Open { at: after };
        let changed: Vec<_> = self
            .schemas
            .iter()
            .filter(|(table, version)| before.get(table) != Some(version))
            .map(|(table, version)| (*table, *version))
            .collect();
        let told = self.told(after, &rows);
        let changes = Changes {
            schema: (!changed.is_empty()).then(|| row::encode_schema(&changed)),
            batch: (!rows.is_empty()).then(|| world.batch(&rows)),
            position: told.position(),
            sequence: told.lsn,
        };
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(self.fail("connection lost while reading"));
        }
        Ok(changes)
    }

    async fn confirm(&mut self, position: &Position) -> Result<(), Failure> {
        self.at()?;
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(self.fail("connection lost before the confirm"));
        }
        let world = &self.life.world;
        let place = Place::of(position);
        let confirmed = world.database().confirmed();
        world.check_durable(confirmed, place.lsn, 0, "confirmed");
        let stored = world.checkpoints().place();
        if place > stored {
            world.violation(format!("confirmed {place:?}, but the checkpoint is {stored:?}"));
        }
        world.database().confirm(place.lsn);
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(self.fail("connection lost after the confirm"));
        }
        Ok(())
    }
}
