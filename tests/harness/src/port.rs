//! Free ports.

use std::net::{Ipv4Addr, TcpListener};

/// A port of the loopback address that nothing listens on now.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .expect("the loopback address has a free port")
        .port()
}
