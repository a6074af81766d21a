//! Peers: the registered data stores.

mod kafka;
mod kind;
mod secrets;

use serde::{Deserialize, Serialize};

pub use self::kafka::KafkaConfig;
pub use self::kind::PeerKind;
use crate::failure::Problem;
use crate::secret::Secret;

/// A registered data store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// Its unique name: 1 to 63 letters, digits, `_`, `-`, `.`.
    pub name: String,
    /// Its kind with the settings of that kind.
    pub config: PeerConfig,
}

/// The settings of a peer, by kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerConfig {
    /// PostgreSQL.
    Postgres(PostgresConfig),
    /// ClickHouse.
    Clickhouse(ClickHouseConfig),
    /// Kafka.
    Kafka(KafkaConfig),
}

impl PeerConfig {
    /// The kind these settings are for.
    pub fn kind(&self) -> PeerKind {
        match self {
            Self::Postgres(_) => PeerKind::Postgres,
            Self::Clickhouse(_) => PeerKind::ClickHouse,
            Self::Kafka(_) => PeerKind::Kafka,
        }
    }

    /// Whether the store takes messages rather than rows of tables.
    pub fn is_queue(&self) -> bool {
        matches!(self, Self::Kafka(_))
    }

    /// Puts the usual value where a client left something open.
    pub fn fill_defaults(&mut self) {
        match self {
            Self::Postgres(config) => {
                if config.port == 0 {
                    config.port = 5432;
                }
                if let Some(ssh) = &mut config.ssh_config
                    && ssh.port == 0
                {
                    ssh.port = 22;
                }
            }
            Self::Clickhouse(config) => {
                if config.port == 0 {
                    config.port = if config.disable_tls { 8123 } else { 8443 };
                }
                for field in [&mut config.user, &mut config.database] {
                    if field.is_empty() {
                        *field = "default".into();
                    }
                }
            }
            Self::Kafka(config) => {
                if config.sasl.is_empty() && !config.username.is_empty() {
                    config.sasl = "PLAIN".into();
                }
                if config.max_record_batch_bytes == 0 {
                    config.max_record_batch_bytes = KafkaConfig::MESSAGE_BYTES_MAX;
                }
            }
        }
    }

    /// What of the settings cannot be right, whatever the store says. Paths are within the settings.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut need = |path: &str, value: &str| {
            if value.is_empty() {
                problems.push(Problem::new(path, "is missing", format!("set {path}")));
            }
        };
        match self {
            Self::Postgres(config) => {
                need("host", &config.host);
                need("user", &config.user);
                need("database", &config.database);
                if let Some(ssh) = &config.ssh_config {
                    need("ssh_config.host", &ssh.host);
                    need("ssh_config.user", &ssh.user);
                }
                if let Some(tls) = &config.client_tls {
                    need("client_tls.certificate", &tls.certificate);
                    need("client_tls.private_key", tls.private_key.expose());
                }
                if config.require_tls && config.disable_tls {
                    let message = "is set together with disable_tls";
                    problems.push(Problem::new("require_tls", message, "set one of the two"));
                }
            }
            Self::Clickhouse(config) => {
                need("host", &config.host);
                let key = config.private_key.expose();
                if config.certificate.is_empty() != key.is_empty() {
                    need("certificate", &config.certificate);
                    need("private_key", key);
                }
            }
            Self::Kafka(config) => config.find_problems(&mut problems),
        }
        problems
    }
}

/// How to reach a PostgreSQL server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct PostgresConfig {
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Role to connect as.
    pub user: String,
    /// That role's password.
    pub password: Secret,
    /// Database to connect to.
    pub database: String,
    /// Name the certificate must carry, where it is not `host`. Like `root_ca` and `client_tls`, it asks for
    /// a server that proves who it is.
    pub tls_host: String,
    /// PEM of the authorities to trust instead of the machine's.
    pub root_ca: String,
    /// Refuse a server without TLS, or with a certificate that proves nothing.
    pub require_tls: bool,
    /// Never use TLS, whatever else is set.
    pub disable_tls: bool,
    /// Use TLS without checking who answers; with `root_ca`, check the authority and not the name.
    pub skip_cert_verification: bool,
    /// Certificate to show to the server.
    pub client_tls: Option<ClientTls>,
    /// SSH server to go through.
    pub ssh_config: Option<SshConfig>,
    /// Schema for the service's own tables, unused by this source.
    pub metadata_schema: String,
}

/// A client certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct ClientTls {
    /// PEM of the certificate chain.
    pub certificate: String,
    /// PEM of its key.
    pub private_key: Secret,
}

/// An SSH server in between.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct SshConfig {
    /// Host name or address of the SSH server.
    pub host: String,
    /// Its TCP port.
    pub port: u16,
    /// User there.
    pub user: String,
    /// That user's password.
    pub password: Secret,
    /// PEM or OpenSSH text of a key. With `password` set too, that is the passphrase of an encrypted key.
    pub private_key: Secret,
    /// The server's public key, a line of `known_hosts` or a `SHA256:` fingerprint, one a line: any of them
    /// is taken, and checked. Empty takes every key.
    pub host_key: String,
}

/// How to reach a ClickHouse server, and where batches for it may be staged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct ClickHouseConfig {
    /// Host name or address.
    pub host: String,
    /// TCP port of the HTTP interface; the native defaults 9000 and 9440 mean their HTTP siblings.
    pub port: u16,
    /// User to connect as.
    pub user: String,
    /// That user's password.
    pub password: Secret,
    /// Database of the tables.
    pub database: String,
    /// Speak HTTP without TLS.
    pub disable_tls: bool,
    /// Name the certificate must carry, where it is not `host`.
    pub tls_host: String,
    /// PEM of the authorities to trust instead of the machine's.
    pub root_ca: String,
    /// PEM of a client certificate.
    pub certificate: String,
    /// PEM of its key.
    pub private_key: Secret,
    /// Cluster to create tables on.
    pub cluster: String,
    /// Make replicated tables.
    pub replicated: bool,
    /// Staging area `s3://bucket/prefix`.
    pub s3_path: String,
    /// Access key of the staging area.
    pub access_key_id: Secret,
    /// Secret key of the staging area.
    pub secret_access_key: Secret,
    /// Region of the staging area.
    pub region: String,
    /// Endpoint of the staging area, where it is not the public one.
    pub endpoint: String,
    /// PEM of the authorities to trust for the staging area instead of the machine's.
    pub s3_root_ca: String,
}
