//! Comparing a peer with the stored one. Only the server can: a client never sees the stored secrets.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tarn_model::{Peer, PeerConfig, Secret};

use super::config_key;
use crate::error::one_line;
use crate::{Control, ControlError};

/// How a peer differs from the stored one of its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerComparison {
    /// Whether there is a stored one.
    pub exists: bool,
    /// Every field that differs.
    pub differences: Vec<PeerDifference>,
}

/// A field that differs; of a secret both sides are masks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerDifference {
    /// Its path, such as `postgres_config.host`.
    pub field: String,
    /// What is stored; empty where it is not set.
    pub stored: String,
    /// What the client has in mind.
    pub given: String,
}

impl Control {
    /// Compares a peer, completed as creating it would complete it, with the stored one of its name. A
    /// masked secret is the stored one. Whoever may ask this may also send the stored secret to a store of
    /// their own, so that it tells them nothing new.
    ///
    /// # Errors
    /// [`ControlError::InvalidArgument`] with every problem of the peer; [`ControlError::Catalog`].
    pub async fn compare_peer(&self, mut peer: Peer) -> Result<PeerComparison, ControlError> {
        let stored = match self.prepare(&mut peer).await? {
            Ok(stored) => stored,
            Err(problems) => {
                return Err(ControlError::InvalidArgument { message: one_line(&problems), problems });
            }
        };
        Ok(match stored {
            None => PeerComparison::default(),
            Some(stored) => {
                PeerComparison { exists: true, differences: differences(&stored.config, &peer.config) }
            }
        })
    }
}

fn differences(stored: &PeerConfig, given: &PeerConfig) -> Vec<PeerDifference> {
    let (before, after) = (fields(stored), fields(given));
    let (secrets, new_secrets) = (secrets(stored), secrets(given));
    let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let differing = names
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name) || secrets.get(*name) != new_secrets.get(*name));
    let shown = |fields: &BTreeMap<String, String>, name: &str| fields.get(name).cloned().unwrap_or_default();
    differing
        .map(|name| PeerDifference {
            field: name.clone(),
            stored: shown(&before, name),
            given: shown(&after, name),
        })
        .collect()
}

/// Every field that is set, by path; a secret is a mask.
fn fields(config: &PeerConfig) -> BTreeMap<String, String> {
    let shown = match config {
        PeerConfig::Postgres(config) => serde_json::to_value(config),
        PeerConfig::Clickhouse(config) => serde_json::to_value(config),
        PeerConfig::Kafka(config) => serde_json::to_value(config),
    };
    let mut fields = BTreeMap::new();
    collect(config_key(config.kind()), &shown.expect("settings are made of what JSON has"), &mut fields);
    fields
}

fn collect(path: &str, value: &Value, fields: &mut BTreeMap<String, String>) {
    let text = match value {
        Value::Null => return,
        Value::Object(object) => {
            for (key, value) in object {
                collect(&format!("{path}.{key}"), value, fields);
            }
            return;
        }
        Value::String(text) if text.is_empty() => return,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    fields.insert(path.to_owned(), text);
}

/// The secrets that are set, by path.
fn secrets(config: &PeerConfig) -> BTreeMap<String, Secret> {
    let key = config_key(config.kind());
    config.secrets().into_iter().map(|(path, secret)| (format!("{key}.{path}"), secret)).collect()
}
