//! Comparing what a destination holds with what it should.

use tarn_batch::{Batch, Table};

use crate::bindings::comparison::exports::tarn::plugin::comparison as wit;
use crate::instance::{self, Slot};
use crate::{Destination, Failure};

pub use crate::bindings::comparison::exports::tarn::plugin::comparison::{
    Compared, Finding, KeyPage, Outcome,
};

/// A destination that compares rows with what it holds: the interface `comparison` of `wit/v0.1`, which says
/// what each function promises. It is exported with the destination:
/// `export_destination!(MyDestination, comparison);`.
pub trait Compare: Destination {
    /// Compares rows with what is there as of a sequence.
    fn compare(&mut self, rows: &[u8], sequence: u64, hash_max: u64) -> Result<Compared, Failure>;
    /// Looks for keys of which there should be no row.
    fn find(&mut self, table: &Table, keys: &[Vec<String>], sequence: u64) -> Result<Vec<Finding>, Failure>;
    /// A part of the keys that are there.
    fn list_keys(&mut self, table: &Table, after: &[String], count_max: u32) -> Result<KeyPage, Failure>;
}

/// The only table of a description.
fn table(schema: &[u8]) -> Result<Table, Failure> {
    let table = Batch::parse(schema)?.into_tables().into_iter().next();
    table.ok_or_else(|| Failure::permanent("table_missing", "the description has no table"))
}

impl<S: Slot<Plugin: Compare>> wit::Guest for S {
    fn compare(rows: Vec<u8>, sequence: u64, hash_max: u64) -> Result<Compared, Failure> {
        instance::call::<S, _>(|destination| destination.compare(&rows, sequence, hash_max))
    }

    fn find(schema: Vec<u8>, keys: Vec<Vec<String>>, sequence: u64) -> Result<Vec<Finding>, Failure> {
        instance::call::<S, _>(|destination| destination.find(&table(&schema)?, &keys, sequence))
    }

    fn list_keys(schema: Vec<u8>, after: Vec<String>, count_max: u32) -> Result<KeyPage, Failure> {
        instance::call::<S, _>(|destination| destination.list_keys(&table(&schema)?, &after, count_max))
    }
}
