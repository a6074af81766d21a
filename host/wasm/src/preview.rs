//! The door to a destination that tells what it would do to its tables.

use tarn_model::Failure;

use crate::bindings::exports::tarn::plugin::{destination, preview};
use crate::capability::Capabilities;
use crate::component::Component;
use crate::config::Limits;
use crate::instance::{Instance, enter};
use crate::output;

/// One instance of a destination that changes nothing. [`Self::configure`] comes first.
///
/// Calls fail as those of a source do.
pub struct PreviewInstance(Instance<Exports>);

/// What is called of the instance.
struct Exports {
    destination: destination::Guest,
    preview: preview::Guest,
}

impl PreviewInstance {
    pub(crate) async fn new(
        component: &Component,
        capabilities: Capabilities,
        limits: Limits,
    ) -> Result<Self, Failure> {
        let absent = || absent(component.plugin());
        let destination = component.destination().ok_or_else(absent)?;
        let preview = component.preview().ok_or_else(absent)?;
        let bind = |store: &mut wasmtime::Store<_>, instance: &_| {
            Ok(Exports {
                destination: destination.load(&mut *store, instance)?,
                preview: preview.load(store, instance)?,
            })
        };
        Instance::new(component, capabilities, limits, bind).await.map(Self)
    }

    /// Takes the settings as JSON. Opens nothing.
    pub async fn configure(&mut self, settings: &str) -> Result<(), Failure> {
        enter!(self.0, "configure", |guest, store| guest.destination.call_configure(store, settings))
            .map_err(output::failure)
    }

    /// What would be done for these tables (a batch that describes them), as JSON.
    pub async fn preview(&mut self, schema: &[u8]) -> Result<String, Failure> {
        enter!(self.0, "preview", |guest, store| guest.preview.call_preview(store, schema))
            .map_err(output::failure)
    }
}

/// The failure of whoever asks for it where it is not offered.
fn absent(plugin: &str) -> Failure {
    let message = format!("the plugin {plugin} does not tell what it would do to its tables");
    Failure::permanent("plugin_preview_missing", message).with_hint(
        "install a version of it that exports the interface preview, or let the mirror apply changes",
    )
}
