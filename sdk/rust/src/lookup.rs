//! Reading rows by key.

use crate::bindings::lookup::exports::tarn::plugin::lookup as wit;
use crate::instance::{self, Slot};
use crate::{Failure, Source};

/// A source whose rows can be read by key: the interface `lookup` of `wit/v0.1`, which says what the function
/// promises. It is exported with the source: `export_source!(MySource, lookup);`.
pub trait Lookup: Source {
    /// Starts to read the rows that have one of the keys; [`Source::read_snapshot`] brings them.
    fn open_lookup(
        &mut self,
        token: &str,
        table: &str,
        keys: &[Vec<String>],
        start: &[u8],
        generation: u32,
    ) -> Result<(), Failure>;
}

impl<S: Slot<Plugin: Lookup>> wit::Guest for S {
    fn open_lookup(
        token: String,
        table: String,
        keys: Vec<Vec<String>>,
        start: Vec<u8>,
        generation: u32,
    ) -> Result<(), Failure> {
        instance::call::<S, _>(|source| source.open_lookup(&token, &table, &keys, &start, generation))
    }
}
