//! Sources.

use crate::bindings::source::exports::tarn::plugin::source as wit;
use crate::instance::{self, Slot};
use crate::{Description, Failure, Problem, SourceConfig, config};

pub use crate::bindings::imports::tarn::plugin::types::Limits;
pub use crate::bindings::source::exports::tarn::plugin::source::Snapshot;

/// One answer of the stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Tables whose columns differ from what this instance delivered before, in effect before the
    /// rows of `batch`.
    pub schema: Vec<Description>,
    /// Rows in commit order, as a batch; empty when there were none in time.
    pub batch: Vec<u8>,
    /// How many rows the batch has.
    pub rows: u32,
    /// Everything delivered so far is before this position.
    pub position: Vec<u8>,
    /// The position as a number that only grows, for people.
    pub sequence: u64,
}

/// A store that records come from: the interface `source` of `wit/v0.1`, which says what each
/// function promises. One value serves one mirror and one task.
pub trait Source: Sized + 'static {
    /// Takes the settings. Opens nothing.
    fn configure(config: SourceConfig) -> Result<Self, Failure>;
    /// The store's version text.
    fn version(&mut self) -> Result<String, Failure>;
    /// Everything that would keep the mirror from running.
    fn validate(&mut self) -> Result<Vec<Problem>, Failure>;
    /// The mapped tables.
    fn schema(&mut self) -> Result<Vec<Description>, Failure>;

    /// Makes what the stream needs at the source and returns where the stream starts.
    fn setup(&mut self) -> Result<Vec<u8>, Failure>;
    /// Holds a point to read the snapshot at.
    fn hold_snapshot(&mut self) -> Result<Snapshot, Failure>;
    /// Cuts a table into partitions.
    fn plan_snapshot(&mut self, table: &str, rows: u64, parallel: u32) -> Result<Vec<String>, Failure>;
    /// The partition that brings one that was read at `horizon` up to a later point.
    fn plan_catch_up(&mut self, partition: &str, horizon: &str) -> Result<String, Failure>;
    /// Starts to read a partition at a held point.
    fn open_snapshot(
        &mut self,
        token: &str,
        partition: &str,
        start: &[u8],
        generation: u32,
    ) -> Result<(), Failure>;
    /// The next rows of the open partition, as a batch; empty at its end.
    fn read_snapshot(&mut self, limits: Limits) -> Result<Vec<u8>, Failure>;

    /// Starts the stream at a position.
    fn open(&mut self, start: &[u8]) -> Result<(), Failure>;
    /// The next changes.
    fn read(&mut self, limits: Limits) -> Result<Changes, Failure>;
    /// Everything before the position is durable.
    fn confirm(&mut self, position: &[u8]) -> Result<(), Failure>;

    /// Takes changed settings and returns a position from which added tables are complete.
    fn alter(&mut self, config: SourceConfig) -> Result<Vec<u8>, Failure>;
    /// Removes everything `setup` made; names what it could not remove.
    fn teardown(&mut self) -> Result<Vec<Problem>, Failure>;
}

impl From<Changes> for wit::Changes {
    fn from(changes: Changes) -> Self {
        let Changes { schema, batch, rows, position, sequence } = changes;
        let schema = if schema.is_empty() { Vec::new() } else { Description::batch(&schema) };
        Self { schema, batch, rows, position, sequence }
    }
}

impl<S: Slot<Plugin: Source>> wit::Guest for S {
    fn configure(config: String) -> Result<(), Failure> {
        instance::make::<S>(|| Source::configure(config::parse(&config)?))
    }

    fn version() -> Result<String, Failure> {
        instance::call::<S, _>(Source::version)
    }

    fn validate() -> Result<Vec<Problem>, Failure> {
        instance::call::<S, _>(Source::validate)
    }

    fn schema() -> Result<Vec<u8>, Failure> {
        instance::call::<S, _>(Source::schema).map(|schema| Description::batch(&schema))
    }

    fn setup() -> Result<Vec<u8>, Failure> {
        instance::call::<S, _>(Source::setup)
    }

    fn hold_snapshot() -> Result<Snapshot, Failure> {
        instance::call::<S, _>(Source::hold_snapshot)
    }

    fn plan_snapshot(table: String, rows: u64, parallel: u32) -> Result<Vec<String>, Failure> {
        instance::call::<S, _>(|source| source.plan_snapshot(&table, rows, parallel))
    }

    fn plan_catch_up(partition: String, horizon: String) -> Result<String, Failure> {
        instance::call::<S, _>(|source| source.plan_catch_up(&partition, &horizon))
    }

    fn open_snapshot(
        token: String,
        partition: String,
        start: Vec<u8>,
        generation: u32,
    ) -> Result<(), Failure> {
        instance::call::<S, _>(|source| source.open_snapshot(&token, &partition, &start, generation))
    }

    fn read_snapshot(limits: Limits) -> Result<Vec<u8>, Failure> {
        instance::call::<S, _>(|source| source.read_snapshot(limits))
    }

    fn open(start: Vec<u8>) -> Result<(), Failure> {
        instance::call::<S, _>(|source| source.open(&start))
    }

    fn read(limits: Limits) -> Result<wit::Changes, Failure> {
        instance::call::<S, _>(|source| source.read(limits)).map(wit::Changes::from)
    }

    fn confirm(position: Vec<u8>) -> Result<(), Failure> {
        instance::call::<S, _>(|source| source.confirm(&position))
    }

    fn alter(config: String) -> Result<Vec<u8>, Failure> {
        instance::call::<S, _>(|source| source.alter(config::parse(&config)?))
    }

    fn teardown() -> Result<Vec<Problem>, Failure> {
        instance::call::<S, _>(Source::teardown)
    }
}
