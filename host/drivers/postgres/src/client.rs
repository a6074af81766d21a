//! Opening connections to a peer.

use std::time::Duration;

use bytes::BytesMut;
use postgres_protocol::message::frontend;
use tarn_model::{PeerConfig, PostgresConfig};
use tarn_transport::{CONNECT_DEADLINE, ClientIdentity, Stream, TlsMode, TlsSettings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};

use crate::authentication::Credentials;
use crate::channel_binding;
use crate::connection::Connection;
use crate::error::Error;
use crate::gathering::Gathering;
use crate::startup::{self, Purpose};

const DOING: &str = "asking for tls";

/// A peer's server: what it takes to open connections to it.
#[derive(Clone, Debug)]
pub struct Client {
    config: PostgresConfig,
}

impl Client {
    /// Binds to a peer. Opens nothing.
    pub fn new(config: PostgresConfig) -> Self {
        Self { config }
    }

    /// Opens a connection for SQL and COPY.
    ///
    /// # Errors
    /// [`Error::Connect`] and the like after [`CONNECT_DEADLINE`] at the latest; [`Error::Server`] when the
    /// server refuses, [`Error::Authentication`] when we refuse the server.
    pub async fn open(&self) -> Result<Connection, Error> {
        self.open_for(Purpose::Sql).await
    }

    /// Opens a connection that speaks the replication protocol, bound to the peer's database.
    ///
    /// # Errors
    /// As [`Client::open`].
    pub async fn open_replication(&self) -> Result<Connection, Error> {
        Ok(self.open_for(Purpose::Replication).await?.with_client(self.clone()))
    }

    async fn open_for(&self, purpose: Purpose) -> Result<Connection, Error> {
        let deadline = Instant::now() + CONNECT_DEADLINE;
        let mode = tls_mode(&self.config)?;
        let opened = match self.open_in(mode, purpose, deadline).await {
            Err(refusal) if mode == TlsMode::Prefer && may_be_for_tls(&refusal) => {
                self.open_in(TlsMode::Disable, purpose, deadline).await.map_err(|_| refusal)
            }
            outcome => outcome,
        };
        opened.map_err(|error| self.without_secrets(error))
    }

    /// The error of a server that was shown a password, and may quote it.
    fn without_secrets(&self, error: Error) -> Error {
        match error {
            Error::Server(told) => {
                let peer = PeerConfig::Postgres(self.config.clone());
                told.rewritten(|text| peer.strike_secrets(text)).into()
            }
            other => other,
        }
    }

    async fn open_in(&self, mode: TlsMode, purpose: Purpose, deadline: Instant) -> Result<Connection, Error> {
        let port = if self.config.port == 0 { 5432 } else { self.config.port };
        let plain = self.reach(port, left(deadline)).await?;
        let stream = self.negotiate(plain, mode, deadline).await?;
        let credentials = Credentials {
            user: &self.config.user,
            password: &self.config.password,
            end_point: stream.server_certificate().and_then(channel_binding::server_end_point),
        };
        let database =
            if self.config.database.is_empty() { &self.config.user } else { &self.config.database };
        let gathering = Gathering::new(stream.low_water());
        let started = startup::start(stream, database, credentials, purpose, deadline);
        let connection = started.await.map_err(Error::into_refusal)?;
        Ok(connection.with_gathering(gathering))
    }

    /// The bare way to the server, through the SSH server where the peer has one.
    async fn reach(&self, port: u16, deadline: Duration) -> Result<Stream, Error> {
        let host = &self.config.host;
        Ok(match &self.config.ssh_config {
            Some(ssh) => tarn_transport::connect_through(ssh, host, port, deadline).await?,
            None => tarn_transport::connect(host, port, deadline).await?,
        })
    }

    /// Asks for TLS as the mode wants it. The server answers with one byte before anything else.
    async fn negotiate(&self, mut plain: Stream, mode: TlsMode, deadline: Instant) -> Result<Stream, Error> {
        if mode == TlsMode::Disable {
            return Ok(plain);
        }
        let mut request = BytesMut::new();
        frontend::ssl_request(&mut request);
        let asked = timeout_at(deadline, async {
            plain.write_all(&request).await?;
            plain.read_u8().await
        });
        let answer = asked
            .await
            .map_err(|_| Error::TimedOut { doing: DOING, deadline: CONNECT_DEADLINE })?
            .map_err(|source| Error::Lost { doing: DOING, source })?;
        match answer {
            b'S' => Ok(plain.encrypt(&self.tls_settings(mode), left(deadline)).await?),
            b'N' if mode == TlsMode::Prefer => Ok(plain),
            b'N' => Err(Error::TlsNotOffered),
            // Not read as an error message: it is not authenticated.
            _ => Err(Error::Protocol("neither yes nor no to the question for tls".to_owned())),
        }
    }

    fn tls_settings(&self, mode: TlsMode) -> TlsSettings {
        let config = &self.config;
        TlsSettings {
            verification: mode.verification(),
            server_name: if config.tls_host.is_empty() { &config.host } else { &config.tls_host }.clone(),
            root_ca: config.root_ca.clone(),
            client: config.client_tls.as_ref().map(|identity| ClientIdentity {
                certificate: identity.certificate.clone(),
                private_key: identity.private_key.clone(),
            }),
        }
    }
}

/// The TLS mode that a peer's settings express.
///
/// | settings | mode |
/// |---|---|
/// | `disable_tls` | disable |
/// | none | prefer |
/// | `skip_cert_verification` | require |
/// | `skip_cert_verification` and `root_ca` | verify-ca |
/// | `require_tls`, `root_ca`, `tls_host` or `client_tls` | verify-full |
fn tls_mode(config: &PostgresConfig) -> Result<TlsMode, Error> {
    let wants_trust = config.require_tls
        || !config.root_ca.is_empty()
        || !config.tls_host.is_empty()
        || config.client_tls.is_some();
    match (config.disable_tls, config.skip_cert_verification) {
        (true, _) if config.require_tls => Err(Error::Settings("tls is both required and disabled")),
        (true, _) => Ok(TlsMode::Disable),
        (false, true) if config.root_ca.is_empty() => Ok(TlsMode::Require),
        (false, true) => Ok(TlsMode::VerifyCa),
        (false, false) if wants_trust => Ok(TlsMode::VerifyFull),
        (false, false) => Ok(TlsMode::Prefer),
    }
}

/// Whether an error may be due to TLS alone, so that "prefer" tries without: a server whose TLS is broken,
/// or one with no rule for encrypted connections (`hostnossl`).
fn may_be_for_tls(error: &Error) -> bool {
    match error {
        Error::Connect { source: tarn_transport::Error::Handshake { .. } } => true,
        Error::Server(error) => error.sqlstate == "28000",
        _ => false,
    }
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

#[cfg(test)]
mod tests {
    use tarn_model::Secret;

    use super::*;

    #[test]
    fn settings_express_every_mode() {
        let mode = |change: fn(&mut PostgresConfig)| {
            let mut config = PostgresConfig::default();
            change(&mut config);
            tls_mode(&config)
        };
        assert!(matches!(mode(|_| {}), Ok(TlsMode::Prefer)));
        assert!(matches!(mode(|c| c.disable_tls = true), Ok(TlsMode::Disable)));
        assert!(matches!(mode(|c| c.skip_cert_verification = true), Ok(TlsMode::Require)));
        assert!(matches!(mode(|c| c.require_tls = true), Ok(TlsMode::VerifyFull)));
        assert!(matches!(mode(|c| c.root_ca = "pem".to_owned()), Ok(TlsMode::VerifyFull)));
        let both = mode(|c| (c.root_ca, c.skip_cert_verification) = ("pem".to_owned(), true));
        assert!(matches!(both, Ok(TlsMode::VerifyCa)));
        assert!(matches!(mode(|c| (c.require_tls, c.disable_tls) = (true, true)), Err(Error::Settings(_))));
    }

    #[test]
    fn a_client_never_shows_its_password() {
        let config = PostgresConfig { password: Secret::new("hunter2"), ..PostgresConfig::default() };
        assert!(!format!("{:?}", Client::new(config)).contains("hunter2"));
    }
}
