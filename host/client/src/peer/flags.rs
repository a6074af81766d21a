//! A peer's settings as flags. What is rarely set has its place in a file; no secret is a flag's value.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use tarn_model::{ClickHouseConfig, KafkaConfig, Peer, PeerConfig, PostgresConfig, Secret, SshConfig};

use super::variable;
use crate::error::Error;
use crate::file;

/// Kinds of peers with their flags.
#[derive(Debug, Subcommand)]
pub enum Kind {
    /// A PostgreSQL server.
    Postgres(Box<PostgresFlags>),
    /// A ClickHouse server.
    Clickhouse(Box<ClickHouseFlags>),
    /// A Kafka cluster.
    Kafka(Box<KafkaFlags>),
}

/// Where a password comes from. Without any of these it is asked for on a terminal.
#[derive(Debug, Args)]
pub struct PasswordFlags {
    /// Environment variable that holds the password.
    #[arg(long, value_name = "VARIABLE")]
    password_env: Option<String>,
    /// File that holds the password.
    #[arg(long, value_name = "FILE", conflicts_with = "password_env")]
    store_password_file: Option<PathBuf>,
    /// There is no password.
    #[arg(long, conflicts_with_all = ["password_env", "store_password_file"])]
    no_password: bool,
}

/// A PostgreSQL peer.
#[derive(Debug, Args)]
pub struct PostgresFlags {
    /// The peer's name.
    name: String,
    /// Host name or address.
    #[arg(long)]
    host: String,
    /// TCP port.
    #[arg(long, default_value_t = 5432)]
    port: u16,
    /// Role to connect as.
    #[arg(long)]
    user: String,
    /// Database to connect to.
    #[arg(long)]
    database: String,
    #[command(flatten)]
    password: PasswordFlags,
    /// Refuse a server without TLS.
    #[arg(long, conflicts_with = "disable_tls")]
    require_tls: bool,
    /// Never use TLS.
    #[arg(long)]
    disable_tls: bool,
    /// Use TLS without checking who answers.
    #[arg(long)]
    skip_cert_verification: bool,
    /// Name the server's certificate must carry, where it is not the host.
    #[arg(long, default_value = "")]
    tls_host: String,
    /// PEM file of the authorities to trust instead of the server machine's.
    #[arg(long, value_name = "FILE")]
    root_ca_file: Option<PathBuf>,
    /// SSH server to go through.
    #[arg(long, value_name = "HOST", requires = "ssh_user")]
    ssh_host: Option<String>,
    /// Its TCP port.
    #[arg(long, default_value_t = 22, requires = "ssh_host")]
    ssh_port: u16,
    /// User at the SSH server.
    #[arg(long, value_name = "USER", requires = "ssh_host")]
    ssh_user: Option<String>,
    /// File that holds the key for the SSH server.
    #[arg(long, value_name = "FILE", requires = "ssh_host")]
    ssh_key_file: Option<PathBuf>,
    /// Environment variable that holds the password at the SSH server.
    #[arg(long, value_name = "VARIABLE", requires = "ssh_host")]
    ssh_password_env: Option<String>,
    /// Public key of the SSH server, to be checked.
    #[arg(long, value_name = "KEY", requires = "ssh_host")]
    ssh_host_key: Option<String>,
}

/// A ClickHouse peer.
#[derive(Debug, Args)]
pub struct ClickHouseFlags {
    /// The peer's name.
    name: String,
    /// Host name or address.
    #[arg(long)]
    host: String,
    /// TCP port of the HTTP interface; 8443, or 8123 with --disable-tls, by default.
    #[arg(long)]
    port: Option<u16>,
    /// User to connect as.
    #[arg(long, default_value = "default")]
    user: String,
    /// Database of the tables.
    #[arg(long, default_value = "default")]
    database: String,
    #[command(flatten)]
    password: PasswordFlags,
    /// Speak HTTP without TLS.
    #[arg(long)]
    disable_tls: bool,
    /// Name the server's certificate must carry, where it is not the host.
    #[arg(long, default_value = "")]
    tls_host: String,
    /// PEM file of the authorities to trust instead of the server machine's.
    #[arg(long, value_name = "FILE")]
    root_ca_file: Option<PathBuf>,
    /// Cluster to create tables on.
    #[arg(long, default_value = "")]
    cluster: String,
    /// Make replicated tables.
    #[arg(long)]
    replicated: bool,
    /// Staging area: s3://bucket/prefix.
    #[arg(long, default_value = "", value_name = "URL")]
    s3_path: String,
    /// Region of the staging area.
    #[arg(long, default_value = "", value_name = "REGION")]
    s3_region: String,
    /// Endpoint of the staging area, where it is not the public one.
    #[arg(long, default_value = "", value_name = "URL")]
    s3_endpoint: String,
    /// File with the authorities to trust for the staging area, PEM; the machine's without it.
    #[arg(long, value_name = "FILE")]
    s3_root_ca_file: Option<PathBuf>,
    /// Environment variable that holds the access key of the staging area.
    #[arg(long, value_name = "VARIABLE")]
    s3_access_key_id_env: Option<String>,
    /// Environment variable that holds the secret key of the staging area.
    #[arg(long, value_name = "VARIABLE")]
    s3_secret_access_key_env: Option<String>,
}

/// A Kafka peer.
#[derive(Debug, Args)]
pub struct KafkaFlags {
    /// The peer's name.
    name: String,
    /// Broker to begin with, host:port; repeat it for more.
    #[arg(long = "server", required = true, value_name = "HOST:PORT")]
    servers: Vec<String>,
    /// User to connect as; none by default.
    #[arg(long, default_value = "")]
    user: String,
    #[command(flatten)]
    password: PasswordFlags,
    /// How the user proves who they are: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
    #[arg(long, default_value = "", value_name = "MECHANISM")]
    sasl: String,
    /// Connect without TLS.
    #[arg(long)]
    disable_tls: bool,
    /// How messages are spread over partitions: StickyKey (the default), Manual, RoundRobin, Sticky, LeastBackup.
    #[arg(long, default_value = "")]
    partitioner: String,
    /// PEM file of the authorities to trust instead of the server machine's.
    #[arg(long, value_name = "FILE")]
    root_ca_file: Option<PathBuf>,
    /// PEM file of a client certificate.
    #[arg(long, value_name = "FILE", requires = "key_file")]
    certificate_file: Option<PathBuf>,
    /// PEM file of its key.
    #[arg(long, value_name = "FILE", requires = "certificate_file")]
    key_file: Option<PathBuf>,
    /// The largest message, in bytes: what the brokers' message.max.bytes is.
    #[arg(long, default_value_t = 0, value_name = "BYTES")]
    message_bytes_max: u32,
}

impl Kind {
    /// The peer that the flags describe. Asks for a password that none of them gives.
    pub(super) fn peer(self) -> Result<Peer, Error> {
        match self {
            Self::Postgres(flags) => flags.peer(),
            Self::Clickhouse(flags) => flags.peer(),
            Self::Kafka(flags) => flags.peer(),
        }
    }
}

impl PasswordFlags {
    fn secret(&self, whose: &str) -> Result<Secret, Error> {
        match (&self.password_env, &self.store_password_file) {
            (Some(name), _) => from_variable(name),
            (None, Some(path)) => file::secret(path),
            (None, None) if self.no_password => Ok(Secret::default()),
            (None, None) => asked(whose),
        }
    }
}

impl PostgresFlags {
    fn peer(self) -> Result<Peer, Error> {
        let password = self.password.secret(&format!("{}@{}", self.user, self.host))?;
        let ssh_config = match self.ssh_host {
            None => None,
            Some(host) => Some(SshConfig {
                host,
                port: self.ssh_port,
                user: self.ssh_user.unwrap_or_default(),
                password: optional(self.ssh_password_env.as_deref())?,
                private_key: match &self.ssh_key_file {
                    Some(path) => Secret::new(file::text(path)?),
                    None => Secret::default(),
                },
                host_key: self.ssh_host_key.unwrap_or_default(),
            }),
        };
        let config = PostgresConfig {
            host: self.host,
            port: self.port,
            user: self.user,
            password,
            database: self.database,
            tls_host: self.tls_host,
            root_ca: text_of(self.root_ca_file)?,
            require_tls: self.require_tls,
            disable_tls: self.disable_tls,
            skip_cert_verification: self.skip_cert_verification,
            ssh_config,
            ..PostgresConfig::default()
        };
        Ok(Peer { name: self.name, config: PeerConfig::Postgres(config) })
    }
}

impl ClickHouseFlags {
    fn peer(self) -> Result<Peer, Error> {
        let password = self.password.secret(&format!("{}@{}", self.user, self.host))?;
        let config = ClickHouseConfig {
            host: self.host,
            // The server knows which port goes with TLS.
            port: self.port.unwrap_or_default(),
            user: self.user,
            password,
            database: self.database,
            disable_tls: self.disable_tls,
            tls_host: self.tls_host,
            root_ca: text_of(self.root_ca_file)?,
            cluster: self.cluster,
            replicated: self.replicated,
            s3_path: self.s3_path,
            region: self.s3_region,
            endpoint: self.s3_endpoint,
            s3_root_ca: text_of(self.s3_root_ca_file)?,
            access_key_id: optional(self.s3_access_key_id_env.as_deref())?,
            secret_access_key: optional(self.s3_secret_access_key_env.as_deref())?,
            ..ClickHouseConfig::default()
        };
        Ok(Peer { name: self.name, config: PeerConfig::Clickhouse(config) })
    }
}

impl KafkaFlags {
    fn peer(self) -> Result<Peer, Error> {
        let password = match self.user.as_str() {
            "" => Secret::default(),
            user => self.password.secret(&format!("{user}@{}", self.servers.join(",")))?,
        };
        let config = KafkaConfig {
            servers: self.servers,
            username: self.user,
            password,
            sasl: self.sasl,
            disable_tls: self.disable_tls,
            partitioner: self.partitioner,
            certificate: text_of(self.certificate_file)?,
            private_key: match &self.key_file {
                Some(path) => Secret::new(file::text(path)?),
                None => Secret::default(),
            },
            root_ca: text_of(self.root_ca_file)?,
            max_record_batch_bytes: self.message_bytes_max,
        };
        Ok(Peer { name: self.name, config: PeerConfig::Kafka(config) })
    }
}

fn optional(name: Option<&str>) -> Result<Secret, Error> {
    name.map(from_variable).transpose().map(Option::unwrap_or_default)
}

fn from_variable(name: &str) -> Result<Secret, Error> {
    let missing = || Error::Usage(format!("the environment variable {name} is not set"));
    variable(name).map(Secret::new).ok_or_else(missing)
}

fn text_of(path: Option<PathBuf>) -> Result<String, Error> {
    path.map(|path| file::text(&path)).transpose().map(Option::unwrap_or_default)
}

/// Asks on the terminal, without showing what is typed.
fn asked(whose: &str) -> Result<Secret, Error> {
    let terminal = console::Term::stderr();
    if !(terminal.is_term() && std::io::stdin().is_terminal()) {
        let message = format!(
            "the password of {whose} is missing; give --password-env, --store-password-file or --no-password"
        );
        return Err(Error::Usage(message));
    }
    terminal.write_str(&format!("Password of {whose}: "))?;
    Ok(Secret::new(terminal.read_secure_line()?))
}
