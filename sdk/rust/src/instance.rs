//! The one value of the plugin's type that a component instance holds; made by the first call, used
//! by the later ones. The export macros implement [`Slot`].

use crate::{Failure, log};

/// The place of the plugin's value.
pub trait Slot {
    /// The plugin's type.
    type Plugin;

    /// Runs `f` on the place.
    fn with<R>(f: impl FnOnce(&mut Option<Self::Plugin>) -> R) -> R;
}

/// Makes the value. Another one takes the place of the first.
pub(crate) fn make<S: Slot>(make: impl FnOnce() -> Result<S::Plugin, Failure>) -> Result<(), Failure> {
    log_panics();
    let plugin = make()?;
    S::with(|slot| *slot = Some(plugin));
    Ok(())
}

/// Calls into the value.
pub(crate) fn call<S: Slot, R>(f: impl FnOnce(&mut S::Plugin) -> Result<R, Failure>) -> Result<R, Failure> {
    S::with(|slot| match slot {
        Some(plugin) => f(plugin),
        None => Err(Failure::permanent("not_configured", "the plugin was called before it was configured")),
    })
}

/// A panic is a trap without words: the last line of the log has them.
pub(crate) fn log_panics() {
    std::panic::set_hook(Box::new(|panic| log::error(&panic.to_string())));
}
