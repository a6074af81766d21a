//! A peer as a client sends it: its kind by name or number, its settings under the kind's key.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use tarn_control::{config_key, unserved_kind};
use tarn_model::{ClickHouseConfig, Enumerated as _, Peer, PeerConfig, PeerKind, PostgresConfig, Secret};

use crate::error::ApiError;
use crate::request::Body;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Request {
    peer: Option<Draft>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Draft {
    name: String,
    r#type: Option<KindName>,
    postgres_config: Option<PostgresConfig>,
    clickhouse_config: Option<ClickHouseConfig>,
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

#[derive(Default, Deserialize)]
#[serde(default)]
struct Staging {
    url: String,
    access_key_id: Secret,
    secret_access_key: Secret,
    region: String,
    endpoint: String,
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
                Ok(PeerKind::from_name(name).map_or_else(unknown, KindName::Known))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<KindName, E> {
                let unknown = || KindName::Unknown(number.to_string());
                Ok(PeerKind::from_number(number).map_or_else(unknown, KindName::Known))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<KindName, E> {
                Ok(KindName::Unknown(number.to_string()))
            }
        }

        deserializer.deserialize_any(Kinds)
    }
}

/// The peer of a request, or why it cannot be one.
///
/// # Errors
/// A malformed request.
pub(super) fn draft(body: &Body) -> Result<Result<Peer, String>, ApiError> {
    let request: Request = body.read()?;
    let nested: NestedRequest = body.read()?;
    let mut draft = request.peer.ok_or_else(|| ApiError::missing("peer"))?;
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
        other => return Ok(Err(unserved_kind(other.name()))),
    };
    Ok(match config {
        Some(config) => Ok(Peer { name: draft.name, config }),
        None => Err(format!("a peer of kind {kind} needs its settings under peer.{}", config_key(kind))),
    })
}

fn kind_of(draft: &Draft) -> Result<PeerKind, String> {
    match (&draft.r#type, &draft.postgres_config, &draft.clickhouse_config) {
        (Some(KindName::Known(kind)), ..) => Ok(*kind),
        (Some(KindName::Unknown(name)), ..) => Err(unserved_kind(name)),
        (None, Some(_), None) => Ok(PeerKind::Postgres),
        (None, None, Some(_)) => Ok(PeerKind::ClickHouse),
        (None, ..) => Err("peer.type is missing; 3 is POSTGRES, 8 is CLICKHOUSE".into()),
    }
}

/// Takes nested staging settings where the flat ones say nothing.
fn unnest(config: &mut ClickHouseConfig, staging: Staging) {
    for (flat, nested) in [
        (&mut config.s3_path, staging.url),
        (&mut config.region, staging.region),
        (&mut config.endpoint, staging.endpoint),
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
