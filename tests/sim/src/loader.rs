//! The model of a source's existing rows: partitions by place, points that get lost.

use tarn_model::Failure;
use tarn_replication::{Batch, Limits, PartitionRead, SnapshotSource};

use crate::catalog::mark_done;
use crate::database::PLACES;
use crate::mutant::Mutant;
use crate::row::{Big, Image, Origin, Row};
use crate::source::Place;
use crate::world::{Life, passing};

/// The name of a table.
pub fn table_name(table: u8) -> String {
    format!("t{table}")
}

/// Places of a table, and since when a row must have changed: `table/number/from/to/since`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Partition {
    table: u8,
    number: u32,
    from: u64,
    to: u64,
    since: u64,
}

impl Partition {
    fn to_text(self) -> String {
        let Self { table, number, from, to, since } = self;
        format!("{table}/{number}/{from}/{to}/{since}")
    }

    fn parse(text: &str) -> Self {
        let mut numbers = text.split('/').map(|part| part.parse::<u64>().expect("a number"));
        let mut next = || numbers.next().expect("five numbers");
        Self { table: next() as u8, number: next() as u32, from: next(), to: next(), since: next() }
    }
}

/// See the module's documentation.
pub struct Loader {
    life: Life,
    open: Option<Open>,
}

struct Open {
    token: String,
    rows: Vec<Row>,
}

impl Loader {
    /// An instance.
    pub fn new(life: &Life) -> Self {
        Self { life: life.clone(), open: None }
    }
}

impl SnapshotSource for Loader {
    async fn plan_snapshot(
        &mut self,
        table: &str,
        _rows: u64,
        _parallel: u32,
    ) -> Result<Vec<String>, Failure> {
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(passing("connection lost while planning"));
        }
        let table = table[1..].parse().expect("a table's number");
        let width = *self.life.world.random().pick(&[9, 16, 20, PLACES]);
        let partitions = (0..PLACES.div_ceil(width)).map(|number| Partition {
            table,
            number: number as u32,
            from: number * width,
            to: (number + 1) * width,
            since: 0,
        });
        Ok(partitions.map(Partition::to_text).collect())
    }

    async fn plan_catch_up(&mut self, partition: &str, horizon: &str) -> Result<String, Failure> {
        self.life.step().await;
        let mut partition = Partition::parse(partition);
        self.life.world.count("catch-up");
        partition.since = horizon.parse().expect("a place in the log");
        if self.life.world.mutant() == Mutant::NoCatchUp {
            partition.to = partition.from;
        }
        Ok(partition.to_text())
    }

    async fn open_snapshot(&mut self, read: &PartitionRead) -> Result<(), Failure> {
        self.life.step().await;
        let world = &self.life.world;
        let Some(held) = world.database().held(&read.token) else {
            return Err(passing("the snapshot does not exist"));
        };
        let partition = Partition::parse(&read.partition);
        if !world.database().is_readable(partition.table, &held) {
            world.count("truncate before a read");
            return Err(passing("the table was rewritten after the point that the snapshot reads at"));
        }
        let commit = match world.mutant() {
            Mutant::SnapshotWins => 1_000_000,
            _ => Place::of(&read.start).lsn - 1,
        };
        let rows = held
            .rows
            .iter()
            .filter(|(key, _)| key.0 == partition.table)
            .filter(|(_, row)| (partition.from..partition.to).contains(&row.place))
            .filter(|(_, row)| row.changed >= partition.since)
            .map(|(key, row)| Row {
                key: *key,
                moved_from: None,
                version: (commit, u64::from(read.generation)),
                schema: 0,
                image: Image::Present { value: row.value, big: Big::Value(row.big) },
                ballast: (row.value % 3) * 100,
                origin: Origin::Load,
            })
            .collect();
        self.open = Some(Open { token: read.token.clone(), rows });
        if world.mutant() == Mutant::DoneBeforeRead {
            let table = table_name(partition.table);
            mark_done(
                &self.life,
                &table,
                partition.number,
                read.generation,
                &world.database().lsn().to_string(),
            );
        }
        Ok(())
    }

    async fn read_snapshot(&mut self, limits: Limits) -> Result<Option<Batch>, Failure> {
        self.life.step().await;
        let open = self.open.as_mut().expect("a partition is open");
        if self.life.is_faulty() {
            if self.life.world.random().chance(30) {
                self.life.world.database().lose_held();
            }
            return Err(passing("connection lost during the copy"));
        }
        if self.life.world.database().held(&open.token).is_none() {
            return Err(passing("the connection that held the snapshot is gone"));
        }
        let most = self.life.world.random().within(1..8).min(u64::from(limits.rows_max)) as usize;
        let mut bytes = 0;
        let fitting = open.rows.iter().take(most).take_while(|row| {
            bytes += row.len_bytes();
            bytes <= u64::from(limits.bytes_max)
        });
        let count = fitting.count();
        let rows: Vec<_> = open.rows.drain(..count).collect();
        let batch = (!rows.is_empty()).then(|| self.life.world.batch(&rows));
        self.life.step().await;
        Ok(batch)
    }
}
