//! What the host keeps for one instance.

use wasmtime::component::ResourceTable;

use crate::capability::Capabilities;
use crate::config::{Limits, SESSIONS_MAX};
use crate::log::Log;
use crate::meter::Meter;

/// The data of a store: the capabilities the instance was given, and what it used.
pub(crate) struct State {
    pub(crate) log: Log,
    pub(crate) meter: Meter,
    pub(crate) postgres: Option<tarn_postgres::Client>,
    pub(crate) clickhouse: Option<tarn_clickhouse::Client>,
    /// Open sessions.
    pub(crate) sessions: ResourceTable,
}

impl State {
    pub(crate) fn new(capabilities: Capabilities, limits: Limits) -> Self {
        let mut sessions = ResourceTable::new();
        sessions.set_max_capacity(SESSIONS_MAX);
        Self {
            log: Log::new(capabilities.log, limits.log_lines_max),
            meter: Meter::new(limits),
            postgres: capabilities.postgres,
            clickhouse: capabilities.clickhouse,
            sessions,
        }
    }
}

/// The interface `types` has types only.
impl crate::bindings::tarn::plugin::types::Host for State {}
