//! The way to a store: TCP with deadlines, TLS on top, one stream type for both.
//!
//! The crate knows no store's protocol; a driver asks it for a [`Stream`] and speaks over that. A
//! connection through an SSH server will be one more variant of [`Stream`]: nothing above it sees which
//! way the bytes take. Invariants: every wait ends at a deadline, and a mode that verifies never falls
//! back to one that does not.

mod config;
mod error;
mod low_water;
mod stream;
mod tcp;
mod tls;

pub use config::CONNECT_DEADLINE;
pub use error::Error;
pub use low_water::LowWater;
pub use stream::Stream;
pub use tcp::connect;
pub use tls::{ClientIdentity, TlsMode, TlsSettings, Verification, client_config};
