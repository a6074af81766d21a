//! The door to a script.

use tarn_model::Failure;
use tarn_replication::{Batch, Rejection, Transform, Transformed};

use crate::bindings::exports::tarn::plugin::script::Guest;
use crate::capability::Capabilities;
use crate::component::Component;
use crate::config::Limits;
use crate::instance::{Instance, enter};
use crate::manifest::Kind;
use crate::output;

/// One instance of a script: it serves one mirror and one task. [`Self::open`] comes before the first
/// batch.
///
/// Calls fail as those of a source do.
pub struct ScriptInstance(Instance<Guest>);

impl ScriptInstance {
    pub(crate) async fn new(
        component: &Component,
        capabilities: Capabilities,
        limits: Limits,
    ) -> Result<Self, Failure> {
        let indices = component.script().ok_or_else(|| component.is_no(Kind::Script))?;
        let bind = |store: &mut wasmtime::Store<_>, instance: &_| indices.load(store, instance);
        Instance::new(component, capabilities, limits, bind).await.map(Self)
    }

    /// The entry points that the script defines, as JSON.
    pub async fn describe(&mut self) -> Result<String, Failure> {
        Ok(enter!(self.0, "describe", |guest, store| guest.call_describe(store)))
    }

    /// Takes the settings as JSON.
    pub async fn open(&mut self, settings: &str) -> Result<(), Failure> {
        enter!(self.0, "open", |guest, store| guest.call_open(store, settings)).map_err(output::failure)
    }
}

impl Transform for ScriptInstance {
    async fn apply(&mut self, batch: Batch) -> Result<Transformed, Failure> {
        let told = enter!(self.0, "apply", |guest, store| guest.call_apply(store, &batch.bytes));
        let outcome = told.map_err(output::failure)?;
        let transformed = output::counted_batch(self.0.label(), "apply", outcome.batch, outcome.rows)?;
        let rejected = outcome.rejected.into_iter().map(|rejection| Rejection {
            row: rejection.row,
            table: rejection.table,
            key: rejection.key,
            line: rejection.line,
            message: rejection.message,
        });
        Ok(Transformed {
            batch: transformed.unwrap_or_else(|| Batch { bytes: bytes::Bytes::new(), rows: 0 }),
            dropped: outcome.dropped,
            rejected: rejected.collect(),
        })
    }
}
