//! Loads in parts that are there wholly or not at all.

use crate::bindings::parts::exports::tarn::plugin::parts as wit;
use crate::instance::{self, Slot};
use crate::{Destination, Failure};

/// A destination for which writing a row again changes something: the interface `parts` of `wit/v0.1`, which says
/// what each function promises. It is exported with the destination: `export_destination!(MyDestination, parts);`.
pub trait LoadParts: Destination {
    /// Begins a part; true where it was ended before.
    fn begin_part(&mut self, part: String) -> Result<bool, Failure>;
    /// Ends the part that was begun.
    fn end_part(&mut self) -> Result<(), Failure>;
}

impl<S: Slot<Plugin: LoadParts>> wit::Guest for S {
    fn begin(part: String) -> Result<bool, Failure> {
        instance::call::<S, _>(|destination| destination.begin_part(part))
    }

    fn end() -> Result<(), Failure> {
        instance::call::<S, _>(LoadParts::end_part)
    }
}
