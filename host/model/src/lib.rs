//! What the service is about, as plain data: peers, mirrors, states, failures, secrets, positions.
//!
//! This crate is the API's resources defined once, with serde on them. It does no I/O, holds no clock
//! and knows no store. Invariant: a secret leaves it only through [`Secret::expose`].

mod failure;
mod mirror;
mod peer;
mod position;
mod secret;
mod state;

pub use failure::{Failure, FailureClass, Problem};
pub use mirror::{ColumnMapping, MirrorSpec, TableMapping};
pub use peer::{ClickHouseConfig, ClientTls, Peer, PeerConfig, PostgresConfig, SshConfig};
pub use position::Position;
pub use secret::{MASK, Secret};
pub use state::{DesiredState, MirrorState};
