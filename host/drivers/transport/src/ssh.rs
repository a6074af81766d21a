//! A connection through an SSH server, which forwards the bytes of one channel to the store.
//!
//! Every connection has a session of its own: a reader that rests holds up itself alone, and a session that
//! dies takes one connection with it, which the driver's caller opens again as it does after any other loss.
//! A failure says which hop it happened at: the way to the SSH server, its greeting, its host key, the login,
//! or the way on from there.

mod credentials;
mod error;
mod host_key;
mod inbox;
mod login;
mod session;
mod socket;
mod tunnel;

use std::sync::Arc;
use std::time::Duration;

use russh::client::{self, Handle};
use tarn_model::SshConfig;
use tokio::time::{Instant, timeout_at};

use self::credentials::Credentials;
pub use self::error::SshError;
use self::host_key::HostKeys;
use self::inbox::{Abandon, Inbox};
use self::session::Watch;
use self::socket::Socket;
use self::tunnel::Tunnel;
pub(crate) use self::tunnel::Tunnel as SshTunnel;
use crate::config;
use crate::error::Error;
use crate::stream::Stream;
use crate::tcp;

/// The port of an SSH server where none is configured.
const DEFAULT_PORT: u16 = 22;

/// Connects to a host as the SSH server sees it: `host` is looked up there.
///
/// # Errors
/// [`Error::Pem`] for a private or host key that cannot be read, else [`Error::Ssh`], which names the SSH
/// server and the hop that failed; after `deadline` at the latest.
pub async fn connect_through(
    ssh: &SshConfig,
    host: &str,
    port: u16,
    deadline: Duration,
) -> Result<Stream, Error> {
    let hop = Hop {
        server: name(&ssh.host, if ssh.port == 0 { DEFAULT_PORT } else { ssh.port }),
        end: Instant::now() + deadline,
        deadline,
    };
    let expected = HostKeys::parse(&ssh.host_key)?;
    let credentials = Credentials::read(ssh).await?;
    let inbox = Arc::new(Inbox::new(&hop.server));
    // A session under way when this future is dropped would wait for a silent server for a while.
    let abandon = Abandon::of(&inbox);
    let mut session = hop.greet(ssh, expected, &inbox).await?;
    let entry = login::log_in(&mut session, &ssh.user, &credentials);
    hop.within("the login", entry).await?;
    let tunnel = hop.forward(session, &inbox, host, port).await?;
    abandon.forgo();
    Ok(Stream::Ssh(Box::new(tunnel)))
}

/// The SSH server, and how long all of it may take.
struct Hop {
    server: String,
    end: Instant,
    deadline: Duration,
}

impl Hop {
    async fn greet(
        &self,
        ssh: &SshConfig,
        expected: HostKeys,
        inbox: &Arc<Inbox>,
    ) -> Result<Handle<Watch>, Error> {
        let port = if ssh.port == 0 { DEFAULT_PORT } else { ssh.port };
        let left = self.end.saturating_duration_since(Instant::now());
        let socket = tcp::open(&ssh.host, port, left).await;
        let socket = socket.map_err(|error| self.failed(SshError::Unreachable(Box::new(error))))?;
        let settings = client::Config {
            keepalive_interval: Some(config::SSH_KEEPALIVE_INTERVAL),
            // The socket tells a dead server from one that we are not reading from.
            keepalive_max: 0,
            preferred: expected.preferred(),
            ..client::Config::default()
        };
        let watch = Watch::new(&self.server, expected, inbox);
        let greeting = client::connect_stream(Arc::new(settings), Socket::new(socket, inbox), watch);
        self.within("the greeting", greeting).await
    }

    async fn forward(
        &self,
        session: Handle<Watch>,
        inbox: &Arc<Inbox>,
        host: &str,
        port: u16,
    ) -> Result<Tunnel, Error> {
        let opening = async {
            let channel = session.channel_open_direct_tcpip(host, u32::from(port), "127.0.0.1", 0).await;
            channel.map_err(|error| error::forward_failure(&error, name(host, port), inbox.refusal()))
        };
        let channel = self.within("the way on", opening).await?;
        Ok(Tunnel::new(session, channel, Arc::clone(inbox)))
    }

    /// Awaits a step of the way until the deadline.
    async fn within<T>(
        &self,
        step: &'static str,
        work: impl Future<Output = Result<T, SshError>>,
    ) -> Result<T, Error> {
        match timeout_at(self.end, work).await {
            Ok(outcome) => outcome.map_err(|error| self.failed(error)),
            Err(_) => Err(self.failed(SshError::Silent { step, deadline: self.deadline })),
        }
    }

    fn failed(&self, source: SshError) -> Error {
        Error::Ssh { server: self.server.clone(), source }
    }
}

/// Host and port for people.
fn name(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}
