//! Every secret of a peer by its path: what is sealed, kept on update and struck from texts.

use super::{ClickHouseConfig, KafkaConfig, PeerConfig, PostgresConfig};
use crate::secret::{MASK, Secret};

/// A shorter secret is not struck from texts: replacing every `a` would destroy them and protect nothing.
const STRUCK_LENGTH_MIN: usize = 4;

impl PeerConfig {
    /// Its secrets, set or not, each with its path within the settings, always in the same order.
    pub fn secrets_mut(&mut self) -> Vec<(&'static str, &mut Secret)> {
        match self {
            Self::Postgres(config) => postgres(config),
            Self::Clickhouse(config) => clickhouse(config),
            Self::Kafka(config) => kafka(config),
        }
    }

    /// Copies of its secrets that are set, each with its path.
    pub fn secrets(&self) -> Vec<(&'static str, Secret)> {
        let mut copy = self.clone();
        let all = copy.secrets_mut().into_iter();
        all.filter(|(_, secret)| !secret.is_empty()).map(|(path, secret)| (path, secret.clone())).collect()
    }

    /// Puts the stored secret wherever a client sent the mask back. Of settings of another kind nothing is kept:
    /// a password is for one store.
    pub fn keep_masked(&mut self, stored: &Self) {
        if self.kind() != stored.kind() {
            return;
        }
        let stored = stored.secrets();
        for (path, secret) in self.secrets_mut() {
            if secret.is_mask()
                && let Some((_, kept)) = stored.iter().find(|(known, _)| *known == path)
            {
                *secret = kept.clone();
            }
        }
    }

    /// The text with each of the peer's secrets in it replaced by the mask. For texts that a store or
    /// a library made.
    pub fn strike_secrets(&self, text: &str) -> String {
        let mut struck = text.to_owned();
        for (_, secret) in self.secrets() {
            if secret.expose().len() >= STRUCK_LENGTH_MIN && !secret.is_mask() {
                struck = struck.replace(secret.expose(), MASK);
            }
        }
        struck
    }
}

fn postgres(config: &mut PostgresConfig) -> Vec<(&'static str, &mut Secret)> {
    let mut all = vec![("password", &mut config.password)];
    if let Some(tls) = &mut config.client_tls {
        all.push(("client_tls.private_key", &mut tls.private_key));
    }
    if let Some(ssh) = &mut config.ssh_config {
        all.push(("ssh_config.password", &mut ssh.password));
        all.push(("ssh_config.private_key", &mut ssh.private_key));
    }
    all
}

fn clickhouse(config: &mut ClickHouseConfig) -> Vec<(&'static str, &mut Secret)> {
    vec![
        ("password", &mut config.password),
        ("private_key", &mut config.private_key),
        ("access_key_id", &mut config.access_key_id),
        ("secret_access_key", &mut config.secret_access_key),
    ]
}

fn kafka(config: &mut KafkaConfig) -> Vec<(&'static str, &mut Secret)> {
    vec![("password", &mut config.password), ("private_key", &mut config.private_key)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::{ClientTls, SshConfig};

    fn postgres_with(secret: &str) -> PeerConfig {
        PeerConfig::Postgres(PostgresConfig {
            password: Secret::new(secret),
            client_tls: Some(ClientTls { private_key: Secret::new(secret), ..ClientTls::default() }),
            ssh_config: Some(SshConfig {
                password: Secret::new(secret),
                private_key: Secret::new(secret),
                ..SshConfig::default()
            }),
            ..PostgresConfig::default()
        })
    }

    fn clickhouse_with(secret: &str) -> PeerConfig {
        PeerConfig::Clickhouse(ClickHouseConfig {
            password: Secret::new(secret),
            private_key: Secret::new(secret),
            access_key_id: Secret::new(secret),
            secret_access_key: Secret::new(secret),
            ..ClickHouseConfig::default()
        })
    }

    fn kafka_with(secret: &str) -> PeerConfig {
        PeerConfig::Kafka(KafkaConfig {
            password: Secret::new(secret),
            private_key: Secret::new(secret),
            ..KafkaConfig::default()
        })
    }

    #[test]
    fn every_field_that_serialises_as_the_mask_is_in_the_list() {
        for config in [postgres_with("hunter2"), clickhouse_with("hunter2"), kafka_with("hunter2")] {
            let shown = serde_json::to_string(&config).expect("serialises");
            assert_eq!(shown.matches(MASK).count(), config.secrets().len(), "{shown}");
            assert!(!shown.contains("hunter2"));
        }
    }

    #[test]
    fn a_mask_sent_back_keeps_the_stored_secret_and_anything_else_replaces_it() {
        let stored = clickhouse_with("stored");
        let mut update = clickhouse_with(MASK);
        if let PeerConfig::Clickhouse(config) = &mut update {
            config.password = Secret::new("fresh");
            config.private_key = Secret::default();
        }
        update.keep_masked(&stored);
        let texts: Vec<_> = update.secrets().iter().map(|(p, s)| (*p, s.expose().to_owned())).collect();
        assert_eq!(
            texts,
            [("password", "fresh"), ("access_key_id", "stored"), ("secret_access_key", "stored")]
                .map(|(path, text)| (path, text.to_owned()))
        );
    }

    #[test]
    fn a_mask_keeps_no_secret_of_another_kind_of_peer() {
        let mut update = clickhouse_with(MASK);
        update.keep_masked(&postgres_with("stored"));
        assert!(update.secrets().iter().all(|(_, secret)| secret.is_mask()));
    }

    #[test]
    fn secrets_are_struck_from_a_servers_text() {
        let text = postgres_with("hunter2").strike_secrets("no login with hunter2 for you, hunter2!");
        assert_eq!(text, "no login with ******** for you, ********!");
    }
}
