//! The door to a destination.

use bytes::Bytes;
use tarn_model::{Failure, Problem};
use tarn_replication::{Ack, Batch, Destination, PartState};

use crate::bindings::exports::tarn::plugin::{destination, parts};
use crate::capability::Capabilities;
use crate::component::Component;
use crate::config::Limits;
use crate::instance::{Instance, enter};
use crate::manifest::Kind;
use crate::output;

/// One instance of a destination: it serves one mirror and one task. [`Self::configure`] comes first.
///
/// Calls fail as those of a source do.
pub struct DestinationInstance {
    calls: Instance<Exports>,
    loads: Loads,
}

/// How a destination is loaded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loads {
    /// Row by row, some of them perhaps again.
    Rows,
    /// In parts that it is told of.
    Parts,
}

/// What is called of the instance.
struct Exports {
    destination: destination::Guest,
    /// Without it, the destination is told of no parts.
    parts: Option<parts::Guest>,
}

impl DestinationInstance {
    pub(crate) async fn new(
        component: &Component,
        capabilities: Capabilities,
        limits: Limits,
    ) -> Result<Self, Failure> {
        let indices = component.destination().ok_or_else(|| component.is_no(Kind::Destination))?;
        let parts = component.parts();
        let bind = |store: &mut wasmtime::Store<_>, instance: &_| {
            Ok(Exports {
                destination: indices.load(&mut *store, instance)?,
                parts: parts.map(|parts| parts.load(store, instance)).transpose()?,
            })
        };
        let loads = if parts.is_some() { Loads::Parts } else { Loads::Rows };
        let calls = Instance::new(component, capabilities, limits, bind).await?;
        Ok(Self { calls, loads })
    }

    /// Takes the settings as JSON. Opens nothing.
    pub async fn configure(&mut self, settings: &str) -> Result<(), Failure> {
        enter!(self.calls, "configure", |guest, store| guest.destination.call_configure(store, settings))
            .map_err(output::failure)
    }

    /// The store's version as it gives it.
    pub async fn version(&mut self) -> Result<String, Failure> {
        enter!(self.calls, "version", |guest, store| guest.destination.call_version(store))
            .map_err(output::failure)
    }

    /// Everything that would keep the mirror from running. `schema` is what the source says of its tables.
    pub async fn validate(&mut self, schema: &[u8]) -> Result<Vec<Problem>, Failure> {
        enter!(self.calls, "validate", |guest, store| guest.destination.call_validate(store, schema))
            .map(output::problems)
            .map_err(output::failure)
    }

    /// Makes the tables that are missing.
    pub async fn prepare(&mut self, schema: &[u8]) -> Result<(), Failure> {
        enter!(self.calls, "prepare", |guest, store| guest.destination.call_prepare(store, schema))
            .map_err(output::failure)
    }

    /// Removes tables of this mirror, or its rows in them.
    pub async fn drop_tables(&mut self, tables: &[&str]) -> Result<(), Failure> {
        enter!(self.calls, "drop", |guest, store| guest.destination.call_drop(store, tables))
            .map_err(output::failure)
    }
}

impl Destination for DestinationInstance {
    async fn write(&mut self, batches: Vec<Batch>) -> Result<Ack, Failure> {
        let bytes: Vec<&[u8]> = batches.iter().map(|batch| &*batch.bytes).collect();
        enter!(self.calls, "write", |guest, store| guest.destination.call_write(store, &bytes))
            .map(|ack| Ack { rows: ack.rows, bytes: ack.bytes, durable: ack.durable })
            .map_err(output::failure)
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        enter!(self.calls, "flush", |guest, store| guest.destination.call_flush(store))
            .map_err(output::failure)
    }

    async fn evolve(&mut self, schema: Bytes) -> Result<(), Failure> {
        enter!(self.calls, "evolve", |guest, store| guest.destination.call_evolve(store, &schema))
            .map_err(output::failure)
    }

    async fn begin_part(&mut self, part: &str) -> Result<PartState, Failure> {
        if self.loads == Loads::Rows {
            return Ok(PartState::Untold);
        }
        let began = enter!(self.calls, "begin", |guest, store| async {
            match &guest.parts {
                Some(parts) => parts.call_begin(store, part).await,
                None => Ok(Ok(false)),
            }
        });
        began.map(|ended| if ended { PartState::Ended } else { PartState::Missing }).map_err(output::failure)
    }

    async fn end_part(&mut self) -> Result<(), Failure> {
        enter!(self.calls, "end", |guest, store| async {
            match &guest.parts {
                Some(parts) => parts.call_end(store).await,
                None => guest.destination.call_flush(store).await,
            }
        })
        .map_err(output::failure)
    }
}
