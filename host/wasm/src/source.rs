//! The door to a source.

use bytes::Bytes;
use tarn_model::{Failure, Position, Problem};
use tarn_replication::{Batch, Changes, Limits as ReadLimits, PartitionRead, SnapshotSource, Source};

use crate::bindings::exports::tarn::plugin::source::Guest;
use crate::capability::Capabilities;
use crate::component::Component;
use crate::config::Limits;
use crate::instance::{Instance, enter};
use crate::manifest::Kind;
use crate::output;

/// One instance of a source: it serves one mirror and one task. [`Self::configure`] comes first.
///
/// Every call fails with what the guest says, or with the failure of a guest that was stopped; after the
/// latter the instance is gone and every later call fails with `plugin_instance_gone`.
pub struct SourceInstance(Instance<Guest>);

/// A point in a source's history that one of its instances holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldPoint {
    /// What other instances need to read at it.
    pub token: String,
    /// Tells rows that changed since from those that did not.
    pub horizon: String,
    /// The sequence of the stream by which everything that it sees was committed; 0 where the stream
    /// starts right at it.
    pub sequence: u64,
}

impl SourceInstance {
    pub(crate) async fn new(
        component: &Component,
        capabilities: Capabilities,
        limits: Limits,
    ) -> Result<Self, Failure> {
        let indices = component.source().ok_or_else(|| component.is_no(Kind::Source))?;
        let bind = |store: &mut wasmtime::Store<_>, instance: &_| indices.load(store, instance);
        Instance::new(component, capabilities, limits, bind).await.map(Self)
    }

    /// Takes the settings as JSON. Opens nothing.
    pub async fn configure(&mut self, settings: &str) -> Result<(), Failure> {
        enter!(self.0, "configure", |guest, store| guest.call_configure(store, settings))
            .map_err(output::failure)
    }

    /// The store's version as it gives it.
    pub async fn version(&mut self) -> Result<String, Failure> {
        enter!(self.0, "version", |guest, store| guest.call_version(store)).map_err(output::failure)
    }

    /// Everything that would keep the mirror from running.
    pub async fn validate(&mut self) -> Result<Vec<Problem>, Failure> {
        enter!(self.0, "validate", |guest, store| guest.call_validate(store))
            .map(output::problems)
            .map_err(output::failure)
    }

    /// The mapped tables: a batch that describes them.
    pub async fn schema(&mut self) -> Result<Bytes, Failure> {
        let told = enter!(self.0, "schema", |guest, store| guest.call_schema(store));
        output::schema(self.0.label(), "schema", told.map_err(output::failure)?)
    }

    /// Makes what the stream needs at the source and returns where the stream starts.
    pub async fn setup(&mut self) -> Result<Position, Failure> {
        enter!(self.0, "setup", |guest, store| guest.call_setup(store))
            .map(Position::new)
            .map_err(output::failure)
    }

    /// A point to read the snapshot at, for as long as this instance lives.
    pub async fn hold_snapshot(&mut self) -> Result<HeldPoint, Failure> {
        enter!(self.0, "hold-snapshot", |guest, store| guest.call_hold_snapshot(store))
            .map(|held| HeldPoint { token: held.token, horizon: held.horizon, sequence: held.sequence })
            .map_err(output::failure)
    }

    /// Takes changed settings and returns from where on added tables are complete once they are loaded.
    pub async fn alter(&mut self, settings: &str) -> Result<Position, Failure> {
        enter!(self.0, "alter", |guest, store| guest.call_alter(store, settings))
            .map(Position::new)
            .map_err(output::failure)
    }

    /// Removes everything that setup made; names what could not be removed.
    pub async fn teardown(&mut self) -> Result<Vec<Problem>, Failure> {
        enter!(self.0, "teardown", |guest, store| guest.call_teardown(store))
            .map(output::problems)
            .map_err(output::failure)
    }
}

impl Source for SourceInstance {
    async fn open(&mut self, start: &Position) -> Result<(), Failure> {
        enter!(self.0, "open", |guest, store| guest.call_open(store, start.as_bytes()))
            .map_err(output::failure)
    }

    async fn read(&mut self, limits: ReadLimits) -> Result<Changes, Failure> {
        let limits = output::limits(limits);
        let told = enter!(self.0, "read", |guest, store| guest.call_read(store, limits));
        let changes = told.map_err(output::failure)?;
        Ok(Changes {
            schema: output::schema_change(self.0.label(), "read", changes.schema)?,
            batch: output::counted_batch(self.0.label(), "read", changes.batch, changes.rows)?,
            position: Position::new(changes.position),
            sequence: changes.sequence,
        })
    }

    async fn confirm(&mut self, position: &Position) -> Result<(), Failure> {
        enter!(self.0, "confirm", |guest, store| guest.call_confirm(store, position.as_bytes()))
            .map_err(output::failure)
    }
}

impl SnapshotSource for SourceInstance {
    async fn plan_snapshot(&mut self, table: &str, rows: u64, parallel: u32) -> Result<Vec<String>, Failure> {
        enter!(self.0, "plan-snapshot", |guest, store| {
            guest.call_plan_snapshot(store, table, rows, parallel)
        })
        .map_err(output::failure)
    }

    async fn plan_catch_up(&mut self, partition: &str, horizon: &str) -> Result<String, Failure> {
        enter!(self.0, "plan-catch-up", |guest, store| {
            guest.call_plan_catch_up(store, partition, horizon)
        })
        .map_err(output::failure)
    }

    async fn open_snapshot(&mut self, read: &PartitionRead) -> Result<(), Failure> {
        let start = read.start.as_bytes();
        enter!(self.0, "open-snapshot", |guest, store| {
            guest.call_open_snapshot(store, &read.token, &read.partition, start, read.generation)
        })
        .map_err(output::failure)
    }

    async fn read_snapshot(&mut self, limits: ReadLimits) -> Result<Option<Batch>, Failure> {
        let limits = output::limits(limits);
        let told =
            enter!(self.0, "read-snapshot", |guest, store| { guest.call_read_snapshot(store, limits) });
        output::batch(self.0.label(), "read-snapshot", told.map_err(output::failure)?)
    }
}
