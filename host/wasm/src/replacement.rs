//! The door to a destination that puts tables loaded beside in the place of others.

use tarn_model::Failure;

use crate::bindings::exports::tarn::plugin::{destination, replacement};
use crate::capability::Capabilities;
use crate::component::Component;
use crate::config::Limits;
use crate::instance::{Instance, enter};
use crate::output;

/// One instance of a destination that writes nothing. [`Self::configure`] comes first.
///
/// Calls fail as those of a source do.
pub struct ReplacementInstance(Instance<Exports>);

/// What is called of the instance.
struct Exports {
    destination: destination::Guest,
    replacement: replacement::Guest,
}

impl ReplacementInstance {
    pub(crate) async fn new(
        component: &Component,
        capabilities: Capabilities,
        limits: Limits,
    ) -> Result<Self, Failure> {
        let absent = || absent(component.plugin());
        let destination = component.destination().ok_or_else(absent)?;
        let replacement = component.replacement().ok_or_else(absent)?;
        let bind = |store: &mut wasmtime::Store<_>, instance: &_| {
            Ok(Exports {
                destination: destination.load(&mut *store, instance)?,
                replacement: replacement.load(store, instance)?,
            })
        };
        Instance::new(component, capabilities, limits, bind).await.map(Self)
    }

    /// Takes the settings as JSON. Opens nothing.
    pub async fn configure(&mut self, settings: &str) -> Result<(), Failure> {
        enter!(self.0, "configure", |guest, store| guest.destination.call_configure(store, settings))
            .map_err(output::failure)
    }

    /// Puts tables that were loaded beside in the place of those that the settings name.
    pub async fn replace(&mut self, tables: &[&str]) -> Result<(), Failure> {
        enter!(self.0, "replace", |guest, store| guest.replacement.call_replace(store, tables))
            .map_err(output::failure)
    }
}

/// The failure of whoever asks for it where it is not offered.
fn absent(plugin: &str) -> Failure {
    let message = format!("the plugin {plugin} does not load tables beside others");
    Failure::permanent("plugin_replacement_missing", message)
        .with_hint("install a version of it that exports the interface replacement")
}
