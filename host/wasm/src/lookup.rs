//! The door to a source whose rows can be read by key.

use tarn_model::Failure;
use tarn_replication::{Batch, Limits as ReadLimits, PartitionRead};

use crate::bindings::exports::tarn::plugin::{lookup, source};
use crate::capability::Capabilities;
use crate::component::Component;
use crate::config::Limits;
use crate::instance::{Instance, enter};
use crate::manifest::Kind;
use crate::output;

/// One instance of a source that reads partitions and single rows. [`Self::configure`] comes first.
///
/// Calls fail as those of a source do.
pub struct LookupInstance(Instance<Exports>);

/// What is called of the instance.
struct Exports {
    source: source::Guest,
    lookup: lookup::Guest,
}

/// Rows to read by key at a held point.
#[derive(Clone, Copy, Debug)]
pub struct RowsRead<'a> {
    /// What [`crate::HeldPoint`] gave.
    pub token: &'a str,
    /// The table, as the settings name it.
    pub table: &'a str,
    /// Keys, each the texts of its columns.
    pub keys: &'a [Vec<String>],
    /// Where the mirror's stream starts.
    pub start: &'a tarn_model::Position,
}

impl LookupInstance {
    pub(crate) async fn new(
        component: &Component,
        capabilities: Capabilities,
        limits: Limits,
    ) -> Result<Self, Failure> {
        let source = component.source().ok_or_else(|| component.is_no(Kind::Source))?;
        let lookup = component.lookup().ok_or_else(|| blind(component.plugin()))?;
        let bind = |store: &mut wasmtime::Store<_>, instance: &_| {
            Ok(Exports { source: source.load(&mut *store, instance)?, lookup: lookup.load(store, instance)? })
        };
        Instance::new(component, capabilities, limits, bind).await.map(Self)
    }

    /// Takes the settings as JSON. Opens nothing.
    pub async fn configure(&mut self, settings: &str) -> Result<(), Failure> {
        enter!(self.0, "configure", |guest, store| guest.source.call_configure(store, settings))
            .map_err(output::failure)
    }

    /// Starts to read a partition. What was open before is given up.
    pub async fn open_partition(&mut self, read: &PartitionRead) -> Result<(), Failure> {
        let start = read.start.as_bytes();
        enter!(self.0, "open-snapshot", |guest, store| {
            guest.source.call_open_snapshot(store, &read.token, &read.partition, start, read.generation)
        })
        .map_err(output::failure)
    }

    /// Starts to read rows by key. What was open before is given up.
    pub async fn open_rows(&mut self, read: RowsRead<'_>) -> Result<(), Failure> {
        let keys: Vec<Vec<&str>> =
            read.keys.iter().map(|key| key.iter().map(String::as_str).collect()).collect();
        let keys: Vec<&[&str]> = keys.iter().map(Vec::as_slice).collect();
        let start = read.start.as_bytes();
        enter!(self.0, "open-lookup", |guest, store| {
            guest.lookup.call_open_lookup(store, read.token, read.table, &keys, start, 0)
        })
        .map_err(output::failure)
    }

    /// The next rows of what is open; `None` at its end.
    pub async fn read(&mut self, limits: ReadLimits) -> Result<Option<Batch>, Failure> {
        let limits = output::limits(limits);
        let told =
            enter!(self.0, "read-snapshot", |guest, store| guest.source.call_read_snapshot(store, limits));
        output::batch(self.0.label(), "read-snapshot", told.map_err(output::failure)?)
    }
}

/// The failure of whoever looks for rows by key where that is not offered.
fn blind(plugin: &str) -> Failure {
    let message = format!("the plugin {plugin} reads no rows by key");
    Failure::permanent("plugin_lookup_missing", message)
        .with_hint("install a version of it that exports the interface lookup")
}
