//! The model of a stage: entries that survive the process.

use std::collections::BTreeMap;

use bytes::Bytes;
use tarn_model::Failure;
use tarn_replication::{OpenStage, Stage, Staged, Ticket};

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
pub struct ShelfMemory(BTreeMap<u64, (Ticket, Content)>);

impl ShelfMemory {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The changes that wait, by their versions: the source may have made a delete of one whose row is gone.
    pub fn versions(&self) -> impl Iterator<Item = Version> {
        self.0.values().flat_map(|(_, content)| match content {
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
        let waiting = life.world.shelf().0.values().map(|(ticket, _)| *ticket).collect();
        OpenStage { stage: Self { life: life.clone(), late: None }, waiting, bytes_max }
    }

    fn keep(&self, (ticket, content): (Ticket, Content)) {
        let world = &self.life.world;
        world.count("staged");
        let mut memory = world.shelf();
        if memory.0.keys().next_back().is_some_and(|last| *last > ticket.number) {
            world.violation(format!("{ticket:?} was staged before others"));
        }
        memory.0.insert(ticket.number, (ticket, content));
    }
}

impl Stage for Shelf {
    async fn put(&mut self, ticket: Ticket, staged: &Staged) -> Result<(), Failure> {
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(passing("the disk is full"));
        }
        let content = match staged {
            Staged::Schema(schema) => Content::Schema(schema.to_vec()),
            Staged::Rows(batches) => Content::Rows(batches.iter().map(row::decode).collect()),
        };
        if self.life.world.mutant() == Mutant::StagedLate {
            if let Some(late) = self.late.replace((ticket, content)) {
                self.keep(late);
            }
        } else {
            self.keep((ticket, content));
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
        let content = world.shelf().0.get(&number).map(|(_, content)| content.clone());
        if world.mutant() == Mutant::ForgottenBeforeDelivered {
            world.shelf().0.remove(&number);
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
        self.life.world.shelf().0.remove(&number);
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(passing("the answer of the disk was lost"));
        }
        Ok(())
    }
}
