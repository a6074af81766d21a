//! The door to a destination.

use bytes::Bytes;
use tarn_model::{Failure, Problem};
use tarn_replication::{Ack, Batch, Destination};

use crate::bindings::exports::tarn::plugin::destination::Guest;
use crate::capability::Capabilities;
use crate::component::Component;
use crate::config::Limits;
use crate::instance::{Instance, enter};
use crate::manifest::Kind;
use crate::output;

/// One instance of a destination: it serves one mirror and one task. [`Self::configure`] comes first.
///
/// Calls fail as those of a source do.
pub struct DestinationInstance(Instance<Guest>);

impl DestinationInstance {
    pub(crate) async fn new(
        component: &Component,
        capabilities: Capabilities,
        limits: Limits,
    ) -> Result<Self, Failure> {
        let indices = component.destination().ok_or_else(|| component.is_no(Kind::Destination))?;
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

    /// Everything that would keep the mirror from running. `schema` is what the source says of its tables.
    pub async fn validate(&mut self, schema: &[u8]) -> Result<Vec<Problem>, Failure> {
        enter!(self.0, "validate", |guest, store| guest.call_validate(store, schema))
            .map(output::problems)
            .map_err(output::failure)
    }

    /// Makes the tables that are missing.
    pub async fn prepare(&mut self, schema: &[u8]) -> Result<(), Failure> {
        enter!(self.0, "prepare", |guest, store| guest.call_prepare(store, schema)).map_err(output::failure)
    }

    /// Removes tables of this mirror, or its rows in them.
    pub async fn drop_tables(&mut self, tables: &[&str]) -> Result<(), Failure> {
        enter!(self.0, "drop", |guest, store| guest.call_drop(store, tables)).map_err(output::failure)
    }
}

impl Destination for DestinationInstance {
    async fn write(&mut self, batches: Vec<Batch>) -> Result<Ack, Failure> {
        let bytes: Vec<&[u8]> = batches.iter().map(|batch| &*batch.bytes).collect();
        enter!(self.0, "write", |guest, store| guest.call_write(store, &bytes))
            .map(|ack| Ack { rows: ack.rows, bytes: ack.bytes, durable: ack.durable })
            .map_err(output::failure)
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        enter!(self.0, "flush", |guest, store| guest.call_flush(store)).map_err(output::failure)
    }

    async fn evolve(&mut self, schema: Bytes) -> Result<(), Failure> {
        enter!(self.0, "evolve", |guest, store| guest.call_evolve(store, &schema)).map_err(output::failure)
    }
}
