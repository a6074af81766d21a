//! The model of the catalog: checkpoints and the load's progress, stored or not when a call fails.

use tarn_model::Failure;
use tarn_replication::{
    Checkpoint, Checkpoints, PartitionDone, PartitionProgress, PartitionState, SnapshotLedger, TableProgress,
};

use crate::mutant::Mutant;
use crate::source::Place;
use crate::world::{Life, passing};

/// A session of one life with the catalog.
pub struct Catalog {
    life: Life,
    /// What a planted bug answered without storing it.
    late: Option<Checkpoint>,
}

impl Catalog {
    /// A session.
    pub fn new(life: &Life) -> Self {
        Self { life: life.clone(), late: None }
    }

    fn store(&self, checkpoint: &Checkpoint) {
        let world = &self.life.world;
        let place = Place::of(&checkpoint.position);
        let mut memory = world.checkpoints();
        if checkpoint.sequence < memory.sequence {
            world.violation(format!("a checkpoint went back from {} to {place:?}", memory.sequence));
        }
        for batch in &checkpoint.batches {
            let last = memory.batches.last().map_or(0, |last| last.number);
            if batch.number <= last || batch.rows == 0 || batch.last_sequence < batch.first_sequence {
                world.violation(format!("{batch:?} after batch {last}"));
            }
            memory.batches.push(batch.clone());
        }
        world.count(if place.rows > 0 { "checkpoint inside a transaction" } else { "checkpoint" });
        memory.position = Some(checkpoint.position.clone());
        memory.sequence = checkpoint.sequence;
    }
}

impl Checkpoints for Catalog {
    async fn save(&mut self, checkpoint: &Checkpoint) -> Result<(), Failure> {
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(passing("the catalog is locked"));
        }
        let world = self.life.world.clone();
        let (from, place) = (world.checkpoints().place(), Place::of(&checkpoint.position));
        world.check_durable(from.lsn, place.lsn, place.rows, "checkpointed");
        if world.mutant() == Mutant::ConfirmBeforeCheckpoint {
            if let Some(late) = self.late.replace(checkpoint.clone()) {
                self.store(&late);
            }
        } else {
            self.store(checkpoint);
        }
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(passing("the answer to the commit was lost"));
        }
        Ok(())
    }
}

impl SnapshotLedger for Catalog {
    async fn load(&self) -> Result<Vec<TableProgress>, Failure> {
        self.life.step().await;
        let mut tables = self.life.world.ledger().tables.clone();
        if self.life.world.mutant() == Mutant::LoadedAtSeveralPoints {
            tables.iter_mut().for_each(call_loaded);
        }
        Ok(tables)
    }

    async fn planned(&self, table: &str, partitions: &[String]) -> Result<(), Failure> {
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(passing("the catalog is locked"));
        }
        {
            let mut memory = self.life.world.ledger();
            let entry = memory.tables.iter_mut().find(|entry| entry.table == table).expect("a known table");
            if entry.partitions.is_some() {
                self.life.world.violation(format!("{table} was planned twice"));
            }
            let pending = (0..).zip(partitions).map(|(number, partition)| PartitionProgress {
                number,
                partition: partition.clone(),
                state: PartitionState::Pending,
            });
            entry.partitions = Some(pending.collect());
        }
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(passing("the answer to the commit was lost"));
        }
        Ok(())
    }

    async fn done(&self, done: &PartitionDone) -> Result<(), Failure> {
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(passing("the catalog is locked"));
        }
        mark_done(&self.life, &done.table, done.number, done.generation, &done.horizon);
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(passing("the answer to the commit was lost"));
        }
        Ok(())
    }
}

/// What a planted bug makes of a table none of whose partitions is pending.
fn call_loaded(table: &mut TableProgress) {
    if table.partitions.iter().flatten().all(|partition| partition.state != PartitionState::Pending) {
        for partition in table.partitions.iter_mut().flatten() {
            partition.state = PartitionState::Done { generation: 1, horizon: "0".to_owned() };
        }
    }
}

/// Stores that a partition is done.
pub fn mark_done(life: &Life, table: &str, number: u32, generation: u32, horizon: &str) {
    let mut memory = life.world.ledger();
    *memory.reads.entry(generation).or_default() += 1;
    let entry = memory.tables.iter_mut().find(|entry| entry.table == table).expect("a known table");
    let partitions = entry.partitions.as_mut().expect("a planned table");
    let partition = partitions.iter_mut().find(|partition| partition.number == number).expect("a known one");
    if let PartitionState::Done { generation: stored, .. } = partition.state
        && stored > generation
    {
        life.world.violation(format!("{table} {number} went back from generation {stored} to {generation}"));
    }
    partition.state = PartitionState::Done { generation, horizon: horizon.to_owned() };
}
