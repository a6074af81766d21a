//! The model of a script: some rows it changes, some it drops, some it cannot take.

use tarn_model::Failure;
use tarn_replication::{Batch, Rejection, Transform, Transformed};

use crate::row::{self, Image, Key, Row};
use crate::world::{Life, passing};

/// What the script makes of the rows of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// They go on, their value masked.
    Kept,
    /// They are dropped on purpose.
    Dropped,
    /// The script fails on them; the mirror's policy is to keep them aside.
    Rejected,
}

impl Fate {
    /// By the key alone, so that all changes of a row share it.
    pub fn of(key: Key) -> Self {
        match key.1 % 8 {
            3 => Self::Dropped,
            5 => Self::Rejected,
            _ => Self::Kept,
        }
    }
}

/// What the script does to a value.
pub fn mask(value: u32) -> u32 {
    value ^ 0x00ff_00ff
}

/// See the module's documentation.
pub struct Script {
    life: Life,
}

impl Script {
    /// An instance.
    pub fn new(life: &Life) -> Self {
        Self { life: life.clone() }
    }
}

impl Transform for Script {
    async fn apply(&mut self, batch: Batch) -> Result<Transformed, Failure> {
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(passing("the script trapped"));
        }
        let mut kept = Vec::new();
        let (mut dropped, mut rejected) = (0, Vec::new());
        for (index, row) in (0..).zip(row::decode(&batch)) {
            match Fate::of(row.key) {
                // An emptied table has no row that a script could reject.
                Fate::Rejected if row.image == Image::Truncated => kept.push(row),
                Fate::Kept => kept.push(masked(row)),
                Fate::Dropped => dropped += 1,
                Fate::Rejected => rejected.push(Rejection {
                    row: index,
                    table: format!("t{}", row.key.0),
                    key: row.key.1.to_string(),
                    line: 7,
                    message: "attempt to index a nil value".to_owned(),
                    ..Rejection::default()
                }),
            }
        }
        drop(batch);
        self.life.step().await;
        Ok(Transformed { batch: self.life.world.batch(&kept), dropped, rejected })
    }
}

fn masked(row: Row) -> Row {
    match row.image {
        Image::Present { value, big } => Row { image: Image::Present { value: mask(value), big }, ..row },
        Image::Deleted | Image::Truncated => row,
    }
}
