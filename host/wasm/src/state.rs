//! What the host keeps for one instance.

use wasmtime::component::ResourceTable;

use crate::capability::Capabilities;
use crate::capability::spool::Spool;
use crate::config::{HANDLES_OPEN_MAX, Limits};
use crate::log::Log;
use crate::meter::Meter;

/// The data of a store: the capabilities the instance was given, and what it used.
pub(crate) struct State {
    pub(crate) log: Log,
    pub(crate) meter: Meter,
    pub(crate) postgres: Option<tarn_postgres::Client>,
    pub(crate) clickhouse: Option<tarn_clickhouse::Client>,
    pub(crate) kafka: Option<tarn_kafka::Client>,
    pub(crate) spool: Spool,
    /// Open sessions, inserts and producers.
    pub(crate) handles: ResourceTable,
}

impl State {
    pub(crate) fn new(capabilities: Capabilities, limits: Limits) -> Self {
        let mut handles = ResourceTable::new();
        handles.set_max_capacity(HANDLES_OPEN_MAX);
        Self {
            log: Log::new(capabilities.log, limits.log_lines_max),
            meter: Meter::new(limits),
            postgres: capabilities.postgres,
            clickhouse: capabilities.clickhouse,
            kafka: capabilities.kafka,
            spool: Spool::new(capabilities.spool),
            handles,
        }
    }
}

/// The interface `types` has types only.
impl crate::bindings::tarn::plugin::types::Host for State {}
