//! TCP connections that notice when the other side is gone.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::config;
use crate::error::Error;
use crate::stream::Stream;

/// Connects to a host by name or address, trying its addresses in the resolver's order.
///
/// Each address gets an equal share of the time that is left, so that one that never answers does not
/// hide the next. The socket sends at once and is kept alive.
///
/// # Errors
/// [`Error::Resolve`], [`Error::NoAddress`], [`Error::Connect`] for the last address, or
/// [`Error::TimedOut`] after `deadline`.
pub async fn connect(host: &str, port: u16, deadline: Duration) -> Result<Stream, Error> {
    open(host, port, deadline).await.map(Stream::from)
}

/// The same as the bare socket.
pub(crate) async fn open(host: &str, port: u16, deadline: Duration) -> Result<TcpStream, Error> {
    let end = Instant::now() + deadline;
    let addresses = resolve(host, port, end, deadline).await?;
    let mut last = Error::NoAddress { host: host.to_owned() };
    for (index, address) in addresses.iter().enumerate() {
        let left = u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
        let share = end.saturating_duration_since(Instant::now()) / left;
        match timeout_at(Instant::now() + share, TcpStream::connect(address)).await {
            Ok(Ok(socket)) => {
                prepare(&socket).map_err(|source| Error::Connect { address: *address, source })?;
                return Ok(socket);
            }
            Ok(Err(source)) => last = Error::Connect { address: *address, source },
            Err(_) => last = Error::TimedOut { what: format!("connecting to {address}"), deadline },
        }
    }
    Err(last)
}

async fn resolve(host: &str, port: u16, end: Instant, deadline: Duration) -> Result<Vec<SocketAddr>, Error> {
    match timeout_at(end, tokio::net::lookup_host((host, port))).await {
        Ok(Ok(addresses)) => Ok(addresses.collect()),
        Ok(Err(source)) => Err(Error::Resolve { host: host.to_owned(), source }),
        Err(_) => Err(Error::TimedOut { what: format!("resolving host {host:?}"), deadline }),
    }
}

fn prepare(socket: &TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let keepalive =
        TcpKeepalive::new().with_time(config::KEEPALIVE_IDLE).with_interval(config::KEEPALIVE_INTERVAL);
    #[cfg(not(windows))]
    let keepalive = keepalive.with_retries(config::KEEPALIVE_RETRIES);
    let options = SockRef::from(socket);
    options.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    options.set_tcp_user_timeout(Some(config::USER_TIMEOUT))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_closed_port_is_refused_by_address() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let error = connect("127.0.0.1", port, Duration::from_secs(5)).await.expect_err("nobody listens");
        assert_eq!(error.to_string(), format!("cannot connect to 127.0.0.1:{port}"));
        assert!(!error.is_permanent());
    }

    #[tokio::test]
    async fn a_connection_is_kept_alive_and_sends_at_once() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let stream = connect("localhost", port, Duration::from_secs(5)).await.expect("a connection");
        let Stream::Plain(socket) = stream else { panic!("no TLS was asked for") };
        let options = SockRef::from(&socket);
        assert!(options.keepalive().expect("the option"));
        assert!(options.tcp_nodelay().expect("the option"));
    }
}
