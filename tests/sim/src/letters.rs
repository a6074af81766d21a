//! The model of where rejected records are kept: durable or not when a call fails.

use std::sync::Mutex;

use tarn_model::Failure;
use tarn_replication::{Batch, LeavingOut, RecordDesk, Rejection};

use crate::mutant::Mutant;
use crate::row::{self, Origin, Row};
use crate::world::{Letter, Life, passing};

/// A session of one life.
pub struct Letters {
    life: Life,
    /// What a planted bug answered without storing it.
    late: Mutex<Vec<Letter>>,
}

impl Letters {
    /// A session.
    pub fn new(life: &Life) -> Self {
        Self { life: life.clone(), late: Mutex::default() }
    }

    async fn keep(&self, batch: &Batch, rejected: &[Rejection]) -> Result<(), Failure> {
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(passing("the catalog is locked"));
        }
        let world = &self.life.world;
        let rows = row::decode(batch);
        let letters: Vec<_> =
            rejected.iter().map(|rejection| letter(&rows[rejection.row as usize])).collect();
        if world.mutant() == Mutant::LettersLate {
            let late = std::mem::replace(&mut *self.late.lock().expect("no panic inside"), letters);
            world.letters().extend(late);
        } else {
            world.letters().extend(letters);
        }
        world.count("letter");
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(passing("the answer to the commit was lost"));
        }
        Ok(())
    }
}

/// The letter of a rejected record.
pub fn letter(row: &Row) -> Letter {
    match row.origin {
        Origin::Stream => Letter::Change(row.version),
        Origin::Load => Letter::Loaded(row.key),
    }
}

impl RecordDesk for Letters {
    fn leave_out<'a>(&'a self, batch: &'a Batch, rejected: &'a [Rejection]) -> LeavingOut<'a> {
        Box::pin(self.keep(batch, rejected))
    }
}
