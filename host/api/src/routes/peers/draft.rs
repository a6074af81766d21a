//! A peer as a client sends it: its kind by name or number, its settings under the kind's key.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use tarn_control::{config_key, unserved_kind};
use tarn_model::{
    ClickHouseConfig, Enumerated as _, KafkaConfig, Peer, PeerConfig, PeerKind, PostgresConfig, Secret,
};
use utoipa::ToSchema;

use crate::error::ApiError;
use crate::request::Body;

/// A peer as a client sends it. An update that sends a secret back as `********` keeps it.
#[derive(Deserialize, ToSchema)]
#[schema(as = PeerDraft)]
pub(super) struct Draft {
    /// Its unique name: 1 to 63 letters, digits, `_`, `-`, `.`.
    #[serde(default)]
    name: String,
    /// Its kind.
    #[schema(value_type = PeerKind)]
    r#type: Option<KindName>,
    /// The settings of a PostgreSQL peer.
    postgres_config: Option<PostgresConfig>,
    /// The settings of a ClickHouse peer.
    #[schema(value_type = Option<ClickHouseDraft>)]
    clickhouse_config: Option<ClickHouseConfig>,
    /// The settings of a Kafka peer.
    kafka_config: Option<KafkaConfig>,
}

/// The settings of a ClickHouse peer as a client may send them.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what a request is read into by two looks, and holds nothing")]
struct ClickHouseDraft {
    #[serde(flatten)]
    config: ClickHouseConfig,
    /// The staging area, where a client nests it.
    s3: Option<Staging>,
}

/// A second look at the same body, for the staging settings that some clients nest.
#[derive(Default, Deserialize)]
#[serde(default)]
struct NestedRequest {
    peer: NestedPeer,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NestedPeer {
    clickhouse_config: NestedConfig,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NestedConfig {
    s3: Option<Staging>,
}

/// A staging area.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
struct Staging {
    /// `s3://bucket/prefix`.
    url: String,
    /// Its access key.
    access_key_id: Secret,
    /// Its secret key.
    secret_access_key: Secret,
    /// Its region.
    region: String,
    /// Its endpoint, where it is not the public one.
    endpoint: String,
    /// PEM of the authorities to trust instead of the machine's.
    root_ca: String,
}

/// A kind, also one that does not exist: the answer names it.
enum KindName {
    Known(PeerKind),
    Unknown(String),
}

impl<'de> Deserialize<'de> for KindName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Kinds;

        impl Visitor<'_> for Kinds {
            type Value = KindName;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a kind of peer by name or number")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<KindName, E> {
                let unknown = || KindName::Unknown(name.chars().take(64).collect());
                Ok(PeerKind::from_text(name).map_or_else(unknown, KindName::Known))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<KindName, E> {
                let unknown = || KindName::Unknown(number.to_string());
                Ok(PeerKind::from_number(number).map_or_else(unknown, KindName::Known))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<KindName, E> {
                Ok(KindName::Unknown(number.to_string()))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<KindName, E> {
                let known = PeerKind::ALL.iter().find(|(_, code, _)| f64::from(*code) == number);
                let unknown = || KindName::Unknown(number.to_string());
                Ok(known.map_or_else(unknown, |(kind, ..)| KindName::Known(*kind)))
            }
        }

        deserializer.deserialize_any(Kinds)
    }
}

/// The peer that a request drafts, or why it cannot be one. `body` is the request, for the second look.
///
/// # Errors
/// A malformed request.
pub(super) fn peer_of(draft: Option<Draft>, body: &Body) -> Result<Result<Peer, String>, ApiError> {
    let nested: NestedRequest = body.read()?;
    let mut draft = draft.ok_or_else(|| ApiError::missing("peer"))?;
    if let (Some(config), Some(staging)) = (&mut draft.clickhouse_config, nested.peer.clickhouse_config.s3) {
        unnest(config, staging);
    }
    let kind = match kind_of(&draft) {
        Ok(kind) => kind,
        Err(message) => return Ok(Err(message)),
    };
    let config = match kind {
        PeerKind::Postgres => draft.postgres_config.map(PeerConfig::Postgres),
        PeerKind::ClickHouse => draft.clickhouse_config.map(PeerConfig::Clickhouse),
        PeerKind::Kafka => draft.kafka_config.map(PeerConfig::Kafka),
        other => return Ok(Err(unserved_kind(other.name()))),
    };
    Ok(match config {
        Some(config) => Ok(Peer { name: draft.name, config }),
        None => Err(format!("a peer of kind {kind} needs its settings under peer.{}", config_key(kind))),
    })
}

fn kind_of(draft: &Draft) -> Result<PeerKind, String> {
    match &draft.r#type {
        Some(KindName::Known(kind)) => return Ok(*kind),
        Some(KindName::Unknown(name)) => return Err(unserved_kind(name)),
        None => {}
    }
    let given = [
        (draft.postgres_config.is_some(), PeerKind::Postgres),
        (draft.clickhouse_config.is_some(), PeerKind::ClickHouse),
        (draft.kafka_config.is_some(), PeerKind::Kafka),
    ];
    let mut kinds = given.into_iter().filter(|(given, _)| *given).map(|(_, kind)| kind);
    match (kinds.next(), kinds.next()) {
        (Some(kind), None) => Ok(kind),
        _ => Err("peer.type is missing; 3 is POSTGRES, 8 is CLICKHOUSE, 9 is KAFKA".into()),
    }
}

/// Takes nested staging settings where the flat ones say nothing.
fn unnest(config: &mut ClickHouseConfig, staging: Staging) {
    for (flat, nested) in [
        (&mut config.s3_path, staging.url),
        (&mut config.region, staging.region),
        (&mut config.endpoint, staging.endpoint),
        (&mut config.s3_root_ca, staging.root_ca),
    ] {
        if flat.is_empty() {
            *flat = nested;
        }
    }
    for (flat, nested) in [
        (&mut config.access_key_id, staging.access_key_id),
        (&mut config.secret_access_key, staging.secret_access_key),
    ] {
        if flat.is_empty() {
            *flat = nested;
        }
    }
}
