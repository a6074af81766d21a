//! The connections that requests come by: HTTP/1.1 over TCP, with TLS where the server has a certificate.
//!
//! Each connection is a task that [`serve`] owns and awaits. Bounds: how many there are, how long a
//! handshake, a head and an answer that nobody takes may last. A connection too many is told so.

mod connection;
mod refusal;
mod stall;
mod tls;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use self::connection::Connector;
pub use self::tls::{ServerTls, TlsError};
use crate::config::{ACCEPT_PAUSE, Limits, TURNED_AWAY_MAX};

/// Serves connections until `stop`, then lets each finish the request it is in. What goes on for too long
/// after that ends with this future.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    tls: Option<ServerTls>,
    limits: Limits,
    stop: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(limits.connections_max));
    let connector = Connector::new(router, tls, limits, stop.clone());
    let mut connections = JoinSet::new();
    let mut turned_away = JoinSet::new();
    loop {
        // All arms are cancel-safe.
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => continue,
            Some(_) = turned_away.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let Some((socket, address)) = taken(accepted).await else { continue };
        match Arc::clone(&places).try_acquire_owned() {
            Ok(place) => {
                let connection = connector.clone().serve(socket, address.ip());
                connections.spawn(async move {
                    connection.await;
                    drop(place);
                });
            }
            Err(_) if turned_away.len() < TURNED_AWAY_MAX => {
                turned_away.spawn(connector.clone().turn_away(socket));
            }
            // Closed without a word: whoever opens so many does not read either.
            Err(_) => drop(socket),
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// The connection, unless there is none; with a pause where trying again at once would not help.
async fn taken(accepted: io::Result<(TcpStream, SocketAddr)>) -> Option<(TcpStream, SocketAddr)> {
    match accepted {
        Ok(accepted) => Some(accepted),
        Err(error) => {
            let of_the_client = matches!(
                error.kind(),
                io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::ConnectionReset
                    | io::ErrorKind::ConnectionRefused
            );
            if !of_the_client {
                tracing::warn!(%error, "no connection can be taken at the moment");
                sleep(ACCEPT_PAUSE).await;
            }
            None
        }
    }
}
