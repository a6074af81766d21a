//! Loading tables beside others and putting them in their place.

use crate::bindings::replacement::exports::tarn::plugin::replacement as wit;
use crate::instance::{self, Slot};
use crate::{Destination, Failure};

/// A destination that loads tables beside those that people read: the interface `replacement` of `wit/v0.1`,
/// which says what the function promises. It is exported with the destination:
/// `export_destination!(MyDestination, comparison, replacement);`.
pub trait Replace: Destination {
    /// Puts tables that were loaded beside in the place of those that the settings name.
    fn replace(&mut self, tables: Vec<String>) -> Result<(), Failure>;
}

impl<S: Slot<Plugin: Replace>> wit::Guest for S {
    fn replace(tables: Vec<String>) -> Result<(), Failure> {
        instance::call::<S, _>(|destination| destination.replace(tables))
    }
}
