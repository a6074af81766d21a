//! The door to a store's inspection.

use tarn_model::Failure;

use crate::bindings::exports::tarn::plugin::inspection::Guest;
use crate::capability::Capabilities;
use crate::component::Component;
use crate::config::Limits;
use crate::instance::{Instance, enter};
use crate::output;

/// One instance that questions about a store are put to. It needs no settings.
///
/// Calls fail as those of a source do.
pub struct InspectionInstance(Instance<Guest>);

impl InspectionInstance {
    pub(crate) async fn new(
        component: &Component,
        capabilities: Capabilities,
        limits: Limits,
    ) -> Result<Self, Failure> {
        let indices = component.inspection().ok_or_else(|| silent(component.plugin()))?;
        let bind = |store: &mut wasmtime::Store<_>, instance: &_| indices.load(store, instance);
        Instance::new(component, capabilities, limits, bind).await.map(Self)
    }

    /// The answer to a question, both as JSON.
    pub async fn ask(&mut self, question: &str) -> Result<String, Failure> {
        enter!(self.0, "inspect", |guest, store| guest.call_inspect(store, question)).map_err(output::failure)
    }
}

/// The failure of whoever asks a component that answers no questions.
fn silent(plugin: &str) -> Failure {
    let message = format!("the plugin {plugin} answers no questions about its store");
    Failure::permanent("plugin_inspection_missing", message)
        .with_hint("install a version of it that exports the interface inspection")
}
