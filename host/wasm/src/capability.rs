//! What a guest may ask of the host, one module per interface of `wit/v0.1/capabilities.wit`.

pub mod clickhouse;
mod clock;
pub mod kafka;
mod log;
pub mod postgres;
pub(crate) mod spool;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use crate::log::{LogSink, NoLog};

/// Something that a guest is granted. Without it, a component that imports it is not loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Capability {
    /// Lines in the mirror's log.
    Log,
    /// The time.
    Clock,
    /// SQL, COPY and replication with a PostgreSQL peer.
    Postgres,
    /// Statements and inserts to a ClickHouse peer.
    Clickhouse,
    /// Topics of a Kafka peer, and messages to them.
    Kafka,
    /// Bytes put aside.
    Spool,
}

impl Capability {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Log, Self::Clock, Self::Postgres, Self::Clickhouse, Self::Kafka, Self::Spool];

    /// Its name in manifests, which is the name of its interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Clock => "clock",
            Self::Postgres => "postgres",
            Self::Clickhouse => "clickhouse",
            Self::Kafka => "kafka",
            Self::Spool => "spool",
        }
    }

    pub(crate) fn of_interface(interface: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|capability| capability.name() == interface)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the capabilities of one instance are bound to. A guest that calls one that is bound to nothing
/// gets an error that says so.
#[derive(Clone)]
pub struct Capabilities {
    /// Where its log lines go.
    pub log: Arc<dyn LogSink>,
    /// The peer it may open sessions with.
    pub postgres: Option<tarn_postgres::Client>,
    /// The peer it may send statements to.
    pub clickhouse: Option<tarn_clickhouse::Client>,
    /// The peer it may send messages to.
    pub kafka: Option<tarn_kafka::Client>,
    /// The folder in which it may put bytes aside.
    pub spool: Option<Arc<Path>>,
}

impl Capabilities {
    /// No store, and a log that keeps nothing.
    pub fn none() -> Self {
        Self { log: Arc::new(NoLog), postgres: None, clickhouse: None, kafka: None, spool: None }
    }

    /// No store.
    pub fn log(log: Arc<dyn LogSink>) -> Self {
        Self { log, ..Self::none() }
    }

    /// A PostgreSQL peer.
    pub fn postgres(log: Arc<dyn LogSink>, client: tarn_postgres::Client) -> Self {
        Self { postgres: Some(client), ..Self::log(log) }
    }

    /// A ClickHouse peer.
    pub fn clickhouse(log: Arc<dyn LogSink>, client: tarn_clickhouse::Client) -> Self {
        Self { clickhouse: Some(client), ..Self::log(log) }
    }

    /// A Kafka peer.
    pub fn kafka(log: Arc<dyn LogSink>, client: tarn_kafka::Client) -> Self {
        Self { kafka: Some(client), ..Self::log(log) }
    }
}

impl fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capabilities")
            .field("postgres", &self.postgres.is_some())
            .field("clickhouse", &self.clickhouse.is_some())
            .field("kafka", &self.kafka.is_some())
            .field("spool", &self.spool)
            .finish_non_exhaustive()
    }
}
