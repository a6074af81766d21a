//! What goes wrong at each hop of a tunnel.

use std::time::Duration;

use russh::{AlgorithmKind, ChannelOpenFailure};

use crate::error::Error;

/// Why there is no tunnel. No text holds a key or a password.
#[derive(Debug, thiserror::Error)]
pub enum SshError {
    /// There is no TCP connection to the SSH server.
    #[error("no connection to the ssh server")]
    Unreachable(#[source] Box<Error>),
    /// What answers is no SSH server, or one that has no algorithm in common with us.
    #[error("the ssh greeting failed: {0}")]
    Greeting(String),
    /// The server is another than the settings say, or somebody stands between.
    #[error(
        "the ssh server shows the host key {presented}, and ssh_config.host_key names {expected}: \
         it is another server, or somebody stands in between"
    )]
    HostKey {
        /// Kind and fingerprint of the key that was shown.
        presented: String,
        /// Kinds and fingerprints of the keys that are taken.
        expected: String,
    },
    /// The server has no host key of a kind that is taken: one of those that the settings name, where they
    /// name any.
    #[error("the ssh server has host keys of the kinds {theirs}, and only {ours} can be checked")]
    HostKeyKind {
        /// The kinds that are taken.
        ours: String,
        /// The kinds that the server has.
        theirs: String,
    },
    /// The server does not let the user in.
    #[error("the ssh server refuses user {user:?}: {tried}; it takes {accepted}")]
    Login {
        /// Who asked.
        user: String,
        /// By which methods.
        tried: String,
        /// Which methods the server names.
        accepted: String,
    },
    /// The server does not forward at all, or not to this place.
    #[error("the ssh server refuses to forward to {target}{said}")]
    ForwardRefused {
        /// Host and port of the store.
        target: String,
        /// What the server said, if anything: `: …`.
        said: String,
    },
    /// The server tried to reach the store and could not.
    #[error("the ssh server cannot reach {target}{said}")]
    ForwardFailed {
        /// Host and port of the store.
        target: String,
        /// What the server said, if anything: `: …`.
        said: String,
    },
    /// A step took too long.
    #[error("{step} took longer than {} s", deadline.as_secs())]
    Silent {
        /// Which.
        step: &'static str,
        /// How long all steps together may take.
        deadline: Duration,
    },
    /// The session ended on the way.
    #[error("the ssh session ended: {0}")]
    Ended(String),
}

impl SshError {
    /// Whether trying again with the same settings cannot help.
    pub(crate) fn is_permanent(&self) -> bool {
        match self {
            Self::Unreachable(error) => error.is_permanent(),
            Self::HostKey { .. }
            | Self::HostKeyKind { .. }
            | Self::Login { .. }
            | Self::ForwardRefused { .. } => true,
            Self::Greeting(_) | Self::ForwardFailed { .. } | Self::Silent { .. } | Self::Ended(_) => false,
        }
    }

    /// What a person does about it.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Unreachable(_) | Self::Silent { .. } => {
                "check ssh_config.host, ssh_config.port and the firewall before the ssh server"
            }
            Self::Greeting(_) => "check that ssh_config.port is that of an ssh server, OpenSSH 7.4 or newer",
            Self::HostKeyKind { .. } => {
                "set ssh_config.host_key to a host key of the server that is of one of its kinds"
            }
            Self::HostKey { .. } => {
                "ask the server's operator for its host key (ssh-keyscan shows what it presents) and set \
                 ssh_config.host_key to it"
            }
            Self::Login { .. } => {
                "check ssh_config.user, password and private_key, and that the key is in the user's \
                 authorized_keys"
            }
            Self::ForwardRefused { .. } => {
                "allow it in the ssh server's configuration (AllowTcpForwarding, PermitOpen, DisableForwarding) \
                 and in the key's options"
            }
            Self::ForwardFailed { .. } => {
                "check host and port as the ssh server sees them, and the firewall behind it"
            }
            Self::Ended(_) => "see the ssh server's log",
        }
    }
}

impl From<russh::Error> for SshError {
    fn from(error: russh::Error) -> Self {
        match error {
            russh::Error::Disconnect | russh::Error::HUP | russh::Error::SendError => {
                Self::Ended("the server closed the connection".to_owned())
            }
            russh::Error::IO(error) => Self::Ended(error.to_string()),
            russh::Error::NoCommonAlgo { kind: AlgorithmKind::Key, ours, theirs } => {
                Self::HostKeyKind { ours: ours.join(", "), theirs: theirs.join(", ") }
            }
            error => Self::Greeting(error.to_string()),
        }
    }
}

/// Why the server opened no channel to the target.
pub(super) fn forward_failure(error: &russh::Error, target: String, said: Option<String>) -> SshError {
    let said = said.map(|said| format!(": {said}")).unwrap_or_default();
    match error {
        russh::Error::ChannelOpenFailure(ChannelOpenFailure::ConnectFailed) => {
            SshError::ForwardFailed { target, said }
        }
        russh::Error::ChannelOpenFailure(ChannelOpenFailure::ResourceShortage) => {
            SshError::Ended(format!("it has no room for another channel{said}"))
        }
        russh::Error::ChannelOpenFailure(_) => SshError::ForwardRefused { target, said },
        error => SshError::Ended(error.to_string()),
    }
}
