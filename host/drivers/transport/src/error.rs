//! What goes wrong on the way to a store.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use crate::ssh::SshError;
use crate::tls;

/// Why there is no connection. No text holds a key or a password.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name could not be looked up.
    #[error("cannot resolve host {host:?}")]
    Resolve {
        /// The name as configured.
        host: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// The name has no address.
    #[error("host {host:?} has no address")]
    NoAddress {
        /// The name as configured.
        host: String,
    },
    /// Nobody answered at the last address that was tried.
    #[error("cannot connect to {address}")]
    Connect {
        /// The address.
        address: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
    /// A deadline passed.
    #[error("{what} took longer than {} s", deadline.as_secs())]
    TimedOut {
        /// What was waited for.
        what: String,
        /// How long.
        deadline: Duration,
    },
    /// The server cannot be verified under a name like this one.
    #[error("{name:?} is not a name that a certificate could carry")]
    ServerName {
        /// The name as configured.
        name: String,
    },
    /// A configured certificate or key cannot be read.
    #[error("{field} is not usable: {reason}")]
    Pem {
        /// The field of the peer's settings.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The machine has no certificate authorities, and none were configured.
    #[error("no certificate authorities were found on this machine, and root_ca is empty")]
    NoAuthorities,
    /// The TLS handshake failed, or the server refused what was shown in it.
    #[error("tls handshake failed")]
    Handshake {
        /// What the TLS library said.
        source: io::Error,
    },
    /// There is no way through the SSH server.
    #[error("no way through the ssh server {server}")]
    Ssh {
        /// Its host and port.
        server: String,
        /// The hop that failed, and why.
        source: SshError,
    },
}

impl Error {
    /// Whether trying again with the same settings cannot help.
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::ServerName { .. } | Self::Pem { .. } | Self::NoAuthorities => true,
            // A refused certificate, and not a connection that broke during the handshake.
            Self::Handshake { source } => tls::cause(source).is_some(),
            Self::Ssh { source, .. } => source.is_permanent(),
            Self::Resolve { .. } | Self::NoAddress { .. } | Self::Connect { .. } | Self::TimedOut { .. } => {
                false
            }
        }
    }

    /// What a person does about it; never empty.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Resolve { .. } | Self::NoAddress { .. } => "check the name of the host",
            Self::Connect { .. } | Self::TimedOut { .. } => "check host, port and firewall",
            Self::ServerName { .. } => "set tls_host to a name in the server's certificate",
            Self::Pem { .. } => "paste the whole text, its BEGIN and END lines included",
            Self::NoAuthorities => {
                "set root_ca to the certificate of the server's authority, or install the package \
                 ca-certificates"
            }
            Self::Handshake { source } => tls::hint(source),
            Self::Ssh { source, .. } => source.hint(),
        }
    }

    /// What the error of a connection under way says about the handshake, if anything: with TLS 1.3 a server
    /// judges the client's certificate only after the client has finished.
    pub fn refusal_in(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        let alert = tls::alert_in(error)?;
        Some(Self::Handshake { source: io::Error::new(io::ErrorKind::InvalidData, alert) })
    }
}
