//! One instance of a component and the life of its calls.

use std::sync::Arc;

use tarn_model::Failure;
use wasmtime::{Engine, Store, UpdateDeadline};

use crate::capability::Capabilities;
use crate::component::Component;
use crate::config::{HANDLES_MAX, Limits};
use crate::state::State;
use crate::ticker::Ticker;
use crate::trap;

/// An instance behind the bindings `B` of its world.
///
/// ```text
/// ready --begin--> running --end, the guest returned--> ready
///                     |------end, the guest trapped---> gone
///                     |------the call was dropped-----> gone
/// ```
/// A guest that was stopped halfway has whatever was in its memory at that moment, so it is never
/// entered again: whoever owns the instance makes a new one.
pub(crate) struct Instance<B> {
    label: Arc<str>,
    /// Held because without it nothing would end a call.
    _ticker: Arc<Ticker>,
    ready: Option<Running<B>>,
}

/// A store and its bindings while a call is under way.
pub(crate) struct Running<B> {
    pub(crate) store: Store<State>,
    pub(crate) bindings: B,
}

impl<B> Instance<B> {
    /// An instance of a component, whose exports `bind` finds.
    pub(crate) async fn new(
        component: &Component,
        capabilities: Capabilities,
        limits: Limits,
        bind: impl FnOnce(&mut Store<State>, &wasmtime::component::Instance) -> wasmtime::Result<B>,
    ) -> Result<Self, Failure> {
        let (label, pre) = (component.label(), component.pre());
        let mut store = store(pre.engine(), State::new(capabilities, limits));
        let instantiated = match pre.instantiate_async(&mut store).await {
            Ok(instance) => bind(&mut store, &instance),
            Err(error) => Err(error),
        };
        match instantiated {
            Ok(bindings) => {
                Ok(Self { label, _ticker: component.ticker(), ready: Some(Running { store, bindings }) })
            }
            Err(error) => Err(trap::failure(&label, "its start", &error, &limits, &store.data().log)),
        }
    }

    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// What the guest logged last, oldest line first; nothing of a guest that is gone.
    pub(crate) fn last_log_lines(&self) -> Vec<String> {
        self.ready.as_ref().map_or_else(Vec::new, |running| running.store.data().log.last_lines())
    }

    /// Begins a call of `function`. What it gives must come back through [`Self::end`].
    pub(crate) fn begin(&mut self, function: &str) -> Result<Running<B>, Failure> {
        let Some(mut running) = self.ready.take() else {
            let message =
                format!("{} cannot run {function}: an earlier call of this instance was stopped", self.label);
            return Err(Failure::retry("plugin_instance_gone", message));
        };
        running.store.data_mut().meter.begin_call();
        running.store.set_epoch_deadline(1);
        Ok(running)
    }

    /// Ends a call: keeps the instance if the guest returned, drops it if not.
    pub(crate) fn end<R>(
        &mut self,
        mut running: Running<B>,
        function: &str,
        result: wasmtime::Result<R>,
    ) -> Result<R, Failure> {
        let state = running.store.data_mut();
        state.log.end_call(function);
        match result {
            Ok(returned) => {
                self.ready = Some(running);
                Ok(returned)
            }
            Err(error) => {
                let failure = trap::failure(&self.label, function, &error, state.meter.limits(), &state.log);
                Err(failure)
            }
        }
    }
}

fn store(engine: &Engine, state: State) -> Store<State> {
    let output_bytes_max = state.meter.limits().output_bytes_max;
    let mut store = Store::new(engine, state);
    store.limiter(|state| &mut state.meter);
    store.set_hostcall_fuel(output_bytes_max);
    store.set_max_component_handles(HANDLES_MAX);
    store.set_epoch_deadline(1);
    // At every tick the guest is charged and others have their turn on its thread.
    store.epoch_deadline_callback(|mut store| {
        store.data_mut().meter.tick()?;
        Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())))
    });
    store
}

/// Calls an exported function of an instance from beginning to end; returns early with the failure of a
/// guest that was stopped.
macro_rules! enter {
    ($instance:expr, $function:literal, |$guest:ident, $store:ident| $call:expr) => {{
        let mut running = $instance.begin($function)?;
        let ($guest, $store) = (&running.bindings, &mut running.store);
        let result = $call.await;
        $instance.end(running, $function, result)?
    }};
}

pub(crate) use enter;
