//! Kinds of peers.

use crate::enumerated::{Enumerated, serde_by_name};

/// What kind of data store a peer is. The number is the one clients send as `type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each variant is the product's name")]
pub enum PeerKind {
    BigQuery,
    Snowflake,
    Mongo,
    Postgres,
    S3,
    SqlServer,
    MySql,
    ClickHouse,
    Kafka,
    PubSub,
    EventHubs,
    Elasticsearch,
    CockroachDb,
    /// A store that a third party's connector speaks to.
    Plugin,
}

impl Enumerated for PeerKind {
    const EXPECTED: &'static str = "a kind of peer";
    const ALL: &'static [(Self, u32, &'static str)] = &[
        (Self::BigQuery, 0, "BIGQUERY"),
        (Self::Snowflake, 1, "SNOWFLAKE"),
        (Self::Mongo, 2, "MONGO"),
        (Self::Postgres, 3, "POSTGRES"),
        (Self::S3, 5, "S3"),
        (Self::SqlServer, 6, "SQLSERVER"),
        (Self::MySql, 7, "MYSQL"),
        (Self::ClickHouse, 8, "CLICKHOUSE"),
        (Self::Kafka, 9, "KAFKA"),
        (Self::PubSub, 10, "PUBSUB"),
        (Self::EventHubs, 11, "EVENTHUBS"),
        (Self::Elasticsearch, 12, "ELASTICSEARCH"),
        (Self::CockroachDb, 13, "COCKROACHDB"),
        (Self::Plugin, 100, "PLUGIN"),
    ];
}

serde_by_name!(PeerKind);

impl std::fmt::Display for PeerKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
