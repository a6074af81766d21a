//! The way to a store: TCP with deadlines, through an SSH server where there is one, TLS on top, one stream
//! type for all.
//!
//! The crate knows no store's protocol; a driver asks it for a [`Stream`] and speaks over that: nothing
//! above it sees which way the bytes take. Invariants: every wait ends at a deadline, and a mode that
//! verifies never falls back to one that does not.

mod config;
mod error;
mod http;
mod low_water;
mod ssh;
mod stream;
mod tcp;
mod tls;

pub use config::CONNECT_DEADLINE;
pub use error::Error;
pub use http::{HttpStream, NoConnection};
pub use low_water::LowWater;
pub use ssh::{SshError, connect_through};
pub use stream::Stream;
pub use tcp::connect;
pub use tls::{ClientIdentity, TlsMode, TlsSettings, Verification, client_config};
