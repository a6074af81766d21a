//! The model of a destination: slow, failing before, after and in the middle of a write, restarting.

use std::time::Duration;

use bytes::Bytes;
use tarn_model::Failure;
use tarn_replication::{Ack, Batch, Destination};

use crate::mutant::Mutant;
use crate::row::{self, Row};
use crate::store::Store;
use crate::world::{Life, passing};

/// See the module's documentation.
pub struct Sink {
    life: Life,
    /// The store's epoch this session belongs to.
    epoch: u64,
    /// Rows that this mirror may write at once.
    rows_max: u64,
}

impl Sink {
    /// A session with the store as it is now.
    pub fn new(life: &Life, rows_max: u32) -> Self {
        Self { life: life.clone(), epoch: life.world.store().epoch(), rows_max: u64::from(rows_max) }
    }

    /// Trouble that is no answer to a row: the store restarts, the session breaks, a call takes long.
    async fn weather(&mut self) -> Result<(), Failure> {
        self.life.step().await;
        if self.life.is_faulty() {
            let restarts = self.life.world.random().chance(30);
            if restarts {
                self.life.world.count("destination restart");
                self.life.world.store().restart();
            }
            return Err(passing("connection refused"));
        }
        let slow = self.life.world.trouble().dawdle && self.life.world.random().chance(10);
        if slow {
            let seconds = self.life.world.random().within(1..40);
            tokio::time::sleep(Duration::from_secs(seconds)).await;
        }
        if self.life.world.store().epoch() != self.epoch {
            return Err(passing("the session belongs to a server that died"));
        }
        Ok(())
    }

    fn take(&self, rows: &[Row]) {
        let world = &self.life.world;
        let mut store = world.store();
        for row in rows {
            if let Err(fault) = store.take(row, world.mutant()) {
                world.violation(fault);
            }
        }
        if store.is_eager() {
            store.flush();
        }
    }

    fn is_durable(&self, store: &Store) -> bool {
        store.is_eager() || self.life.world.mutant() == Mutant::CheckpointBeforeDurable
    }
}

impl Destination for Sink {
    async fn write(&mut self, batches: Vec<Batch>) -> Result<Ack, Failure> {
        self.weather().await?;
        let bytes = batches.iter().map(Batch::len_bytes).sum();
        let rows: Vec<_> = batches.iter().flat_map(row::decode).collect();
        if batches.is_empty() || rows.is_empty() || rows.len() as u64 > self.rows_max {
            self.life.world.violation(format!("a write of {} rows", rows.len()));
        }
        // What an aborted or failed insert leaves behind: a part of it.
        let part = self.life.world.random().within(0..rows.len() as u64 + 1) as usize;
        self.take(&rows[..part]);
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(passing("connection reset during the insert"));
        }
        if self.life.world.store().epoch() != self.epoch {
            return Err(passing("the session belongs to a server that died"));
        }
        self.take(&rows[part..]);
        drop(batches);
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(passing("the answer to the insert was lost"));
        }
        let durable = self.is_durable(&self.life.world.store());
        Ok(Ack { rows: rows.len() as u64, bytes, durable })
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        self.weather().await?;
        self.life.world.store().flush();
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(passing("the answer to the flush was lost"));
        }
        Ok(())
    }

    async fn evolve(&mut self, schema: Bytes) -> Result<(), Failure> {
        self.weather().await?;
        let world = &self.life.world;
        if world.mutant() != Mutant::SchemaLost {
            for (table, version) in row::decode_schema(&schema) {
                world.store().evolve(table, version);
            }
        }
        self.life.step().await;
        if self.life.is_faulty() {
            return Err(passing("the answer to the statement was lost"));
        }
        Ok(())
    }
}
