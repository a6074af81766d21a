//! The model of a stage: entries that survive the process.

use std::collections::BTreeMap;

use bytes::Bytes;
use tarn_model::Failure;
use tarn_replication::{OpenStage, STAGE_FULL, Stage, Staged, Ticket};

use crate::mutant::Mutant;
use crate::row::{self, Row, Version};
use crate::world::{Life, passing};

/// What an entry holds, without the memory that is counted.
#[derive(Clone, Debug)]
enum Content {
    Schema(Vec<u8>),
    Rows(Vec<Vec<Row>>),
}

/// The entries, by number.
#[derive(Debug, Default)]
pub struct ShelfMemory {
    entries: BTreeMap<u64, (Ticket, Content)>,
    /// What a planted bug brings back, or puts there late.
    planted: Vec<(Ticket, Content)>,
}

impl ShelfMemory {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The changes that wait, by their versions: the source may have made a delete of one whose row is gone.
    pub fn versions(&self) -> impl Iterator<Item = Version> {
        self.entries.values().flat_map(|(_, content)| match content {
            Content::Schema(_) => Vec::new(),
            Content::Rows(batches) => batches.iter().flatten().map(|row| row.version).collect(),
        })
    }
}

/// A session of one life with the stage.
pub struct Shelf {
    life: Life,
    /// What a planted bug answered without keeping it.
    late: Option<(Ticket, Content)>,
}

impl Shelf {
    /// The stage as it is now.
    pub fn open(life: &Life, bytes_max: u64) -> OpenStage<Self> {
        let mut memory = life.world.shelf();
        if life.world.mutant() == Mutant::RemovedComesBack {
            let planted = std::mem::take(&mut memory.planted);
            memory.entries.extend(planted.into_iter().map(|entry| (entry.0.number, entry)));
        }
        let waiting = memory.entries.values().map(|(ticket, _)| *ticket).collect();
        drop(memory);
        OpenStage { stage: Self { life: life.clone(), late: None }, waiting, bytes_max }
    }

    fn keep(&self, (ticket, content): (Ticket, Content)) {
        let world = &self.life.world;
        world.count("staged");
        let mut memory = world.shelf();
        if memory.entries.keys().next_back().is_some_and(|last| *last > ticket.number) {
            world.violation(format!("{ticket:?} was staged before others"));
        }
        memory.entries.insert(ticket.number, (ticket, content));
    }

    fn take_away(&self, number: u64) {
        let mut memory = self.life.world.shelf();
        let removed = memory.entries.remove(&number);
        if self.life.world.mutant() == Mutant::RemovedComesBack {
            memory.planted.extend(removed);
        }
    }

    /// Lets puts that were given up end where others are by now, as a planted bug has it.
    fn end_late(&self) {
        if self.life.world.mutant() != Mutant::PutEndsLate {
            return;
        }
        let mut memory = self.life.world.shelf();
        for late in std::mem::take(&mut memory.planted) {
            if let Some(entry) = memory.entries.get_mut(&late.0.number) {
                *entry = late;
            } else {
                memory.planted.push(late);
            }
        }
    }
}

impl Stage for Shelf {
    async fn put(&mut self, ticket: Ticket, staged: &Staged) -> Result<(), Failure> {
        self.life.step().await;
        let faulty = self.life.is_faulty();
        if faulty && self.life.world.mutant() != Mutant::PutEndsLate {
            return Err(Failure::retry(STAGE_FULL, "the disk is full"));
        }
        let content = match staged {
            Staged::Schema(schema) => Content::Schema(schema.to_vec()),
            Staged::Rows(batches) => Content::Rows(batches.iter().map(row::decode).collect()),
        };
        if faulty {
            // It is given up, and goes on.
            self.life.world.shelf().planted.push((ticket, content));
            return Err(passing("the disk is full"));
        }
        if self.life.world.mutant() == Mutant::StagedLate {
            if let Some(late) = self.late.replace((ticket, content)) {
                self.keep(late);
            }
        } else {
            self.keep((ticket, content));
            self.end_late();
        }
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(passing("the answer of the disk was lost"));
        }
        Ok(())
    }

    async fn get(&mut self, number: u64) -> Result<Staged, Failure> {
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(passing("the disk does not answer"));
        }
        let world = &self.life.world;
        if let Some(late) = self.late.take() {
            self.keep(late);
        }
        let content = world.shelf().entries.get(&number).map(|(_, content)| content.clone());
        if world.mutant() == Mutant::ForgottenBeforeDelivered {
            world.shelf().entries.remove(&number);
        }
        match content {
            Some(Content::Schema(schema)) => Ok(Staged::Schema(Bytes::from(schema))),
            Some(Content::Rows(batches)) => {
                Ok(Staged::Rows(batches.iter().map(|rows| world.batch(rows)).collect()))
            }
            None => Err(Failure::permanent("staged_missing", format!("entry {number} is gone"))),
        }
    }

    async fn remove(&mut self, number: u64) -> Result<(), Failure> {
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(passing("the disk does not answer"));
        }
        self.life.world.count("delivered from the stage");
        self.take_away(number);
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(passing("the answer of the disk was lost"));
        }
        Ok(())
    }
}
