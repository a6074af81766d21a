//! Destinations.

use tarn_batch::{Batch, Table};

use crate::bindings::destination::exports::tarn::plugin::destination as wit;
use crate::instance::{self, Slot};
use crate::{Description, DestinationConfig, Failure, Problem, config};

pub use crate::bindings::destination::exports::tarn::plugin::destination::Ack;

/// A store that records go to: the interface `destination` of `wit/v0.1`, which says what each
/// function promises. One value serves one mirror and one task.
pub trait Destination: Sized + 'static {
    /// Takes the settings. Opens nothing.
    fn configure(config: DestinationConfig) -> Result<Self, Failure>;
    /// The store's version text.
    fn version(&mut self) -> Result<String, Failure>;
    /// Everything that would keep the mirror from running; `schema` is the source's tables.
    fn validate(&mut self, schema: Vec<Table>) -> Result<Vec<Problem>, Failure>;
    /// Makes the tables that are missing.
    fn prepare(&mut self, schema: Vec<Description>) -> Result<(), Failure>;
    /// Takes changed columns of tables before the rows that have them arrive.
    fn evolve(&mut self, schema: Vec<Description>) -> Result<(), Failure>;
    /// Writes batches in order. One that was written before changes nothing.
    fn write(&mut self, batches: Vec<Vec<u8>>) -> Result<Ack, Failure>;
    /// Makes everything written so far durable.
    fn flush(&mut self) -> Result<(), Failure>;
    /// Removes what this mirror made of the tables (the function `drop` of the interface).
    fn drop_tables(&mut self, tables: Vec<String>) -> Result<(), Failure>;
}

/// The tables of a description.
fn tables(schema: &[u8]) -> Result<Vec<Table>, Failure> {
    Ok(Batch::parse(schema)?.into_tables())
}

impl<S: Slot<Plugin: Destination>> wit::Guest for S {
    fn configure(config: String) -> Result<(), Failure> {
        instance::make::<S>(|| Destination::configure(config::parse(&config)?))
    }

    fn version() -> Result<String, Failure> {
        instance::call::<S, _>(Destination::version)
    }

    fn validate(schema: Vec<u8>) -> Result<Vec<Problem>, Failure> {
        instance::call::<S, _>(|destination| destination.validate(tables(&schema)?))
    }

    fn prepare(schema: Vec<u8>) -> Result<(), Failure> {
        instance::call::<S, _>(|destination| destination.prepare(Description::of_batch(&schema)?))
    }

    fn evolve(schema: Vec<u8>) -> Result<(), Failure> {
        instance::call::<S, _>(|destination| destination.evolve(Description::of_batch(&schema)?))
    }

    fn write(batches: Vec<Vec<u8>>) -> Result<Ack, Failure> {
        instance::call::<S, _>(|destination| destination.write(batches))
    }

    fn flush() -> Result<(), Failure> {
        instance::call::<S, _>(Destination::flush)
    }

    fn drop(tables: Vec<String>) -> Result<(), Failure> {
        instance::call::<S, _>(|destination| destination.drop_tables(tables))
    }
}
