//! A peer of a setup, and of a request.

use serde::Deserialize;
use serde_json::{Value, json};
use tarn_json::{InputError, from_value_strictly, snake};
use tarn_model::{
    ClickHouseConfig, Enumerated as _, KafkaConfig, Peer, PeerConfig, PeerKind, PostgresConfig,
};

use super::within;
use crate::reference::{Resolver, has_reference};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    name: String,
    r#type: Option<PeerKind>,
    postgres_config: Option<PostgresConfig>,
    clickhouse_config: Option<ClickHouseConfig>,
    kafka_config: Option<KafkaConfig>,
}

/// The peer that a file holds, or none and problems.
pub(super) fn read(value: &Value, at: &str, resolver: &mut Resolver<'_>) -> Option<Peer> {
    let resolved = resolver.resolved(at, value);
    let peer = match from_value_strictly(&resolved).and_then(peer_of) {
        Ok(peer) => peer,
        Err(mistake) => {
            resolver.problem(within(at, &mistake));
            return None;
        }
    };
    let key = config_key(&peer.config);
    for (path, _) in peer.config.secrets() {
        let path = format!("{key}.{path}");
        if !text_at(value, &path).is_some_and(has_reference) {
            let variable = variable(&peer.name, path.trim_start_matches(key));
            let message = format!("a secret in the clear; write ${{env:{variable}}} or ${{file:PATH}}");
            resolver.problem(within(at, &InputError::new(&path, message)));
        }
    }
    Some(peer)
}

fn peer_of(entry: Entry) -> Result<Peer, InputError> {
    let wrong = |message: &str| Err(InputError::new("", message));
    let Entry { name, r#type, postgres_config, clickhouse_config, kafka_config } = entry;
    let given = [
        postgres_config.map(PeerConfig::Postgres),
        clickhouse_config.map(PeerConfig::Clickhouse),
        kafka_config.map(PeerConfig::Kafka),
    ];
    let mut given: Vec<_> = given.into_iter().flatten().collect();
    let config = match (given.pop(), given.pop()) {
        (Some(config), None) => config,
        (None, _) => return wrong("postgres_config, clickhouse_config or kafka_config is missing"),
        (Some(second), Some(first)) => {
            let (first, second) = (config_key(&first), config_key(&second));
            return wrong(&format!("{first} and {second} are both there; one is needed"));
        }
    };
    if let Some(kind) = r#type.filter(|kind| *kind != config.kind()) {
        let message = format!("it is {}, but the settings are those of {}", kind.name(), config.kind());
        return Err(InputError::new("type", message));
    }
    Ok(Peer { name, config })
}

/// The key of the kind's settings.
pub(super) fn config_key(config: &PeerConfig) -> &'static str {
    match config {
        PeerConfig::Postgres(_) => "postgres_config",
        PeerConfig::Clickhouse(_) => "clickhouse_config",
        PeerConfig::Kafka(_) => "kafka_config",
    }
}

/// The variable that holds a secret of a peer where a setup is exported.
pub(super) fn variable(peer: &str, path: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("TARN_PEER_{}_{}", peer, path.trim_matches('.')).chars().map(plain).collect()
}

/// The peer as a request sends it, with its secrets in the clear: for the wire only.
pub(crate) fn body(peer: &Peer) -> Value {
    let (kind, key) = (peer.config.kind(), config_key(&peer.config));
    let mut settings = shown(&peer.config);
    for (path, secret) in peer.config.secrets() {
        put(&mut settings, path, secret.expose());
    }
    json!({"name": peer.name, "type": kind, key: settings})
}

/// The settings under the API's names, secrets masked.
pub(super) fn shown(config: &PeerConfig) -> Value {
    let shown = match config {
        PeerConfig::Postgres(config) => serde_json::to_value(config),
        PeerConfig::Clickhouse(config) => serde_json::to_value(config),
        PeerConfig::Kafka(config) => serde_json::to_value(config),
    };
    shown.expect("settings are made of what JSON has")
}

/// Puts a text at a path.
pub(super) fn put(settings: &mut Value, path: &str, text: &str) {
    let place = path.split('.').fold(settings, |value, segment| &mut value[segment]);
    *place = Value::String(text.to_owned());
}

/// The text at a path, whose fields may be in either spelling.
fn text_at<'a>(value: &'a Value, path: &str) -> Option<&'a str> {
    let found = path.split('.').try_fold(value, |value, segment| {
        value.as_object()?.iter().find(|(key, _)| snake(key) == segment).map(|(_, value)| value)
    });
    found?.as_str()
}
