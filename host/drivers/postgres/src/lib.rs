//! PostgreSQL as a connector's driver sees it: SQL, COPY and the replication stream over one connection
//! type that carries text and bytes and interprets neither.
//!
//! A [`Client`] is bound to a peer and opens [`Connection`]s. The crate knows no table, no type and no
//! decoding plugin: what it hands over is the server's text and the server's frames. Invariants: a
//! password is exposed only while authenticating and is in no error; every wait ends at a deadline; a
//! connection that was left in the middle of a conversation refuses further use; the position confirmed
//! to the server is never one that [`Connection::stream_confirm`] was not given.

mod authentication;
mod channel_binding;
mod client;
mod config;
mod connection;
mod copy;
mod error;
mod frame;
mod gathering;
mod heartbeat;
mod query;
mod replication;
mod server_error;
mod startup;
mod walsender;

pub use client::Client;
pub use connection::Connection;
pub use error::{Class, Error};
pub use query::Row;
pub use server_error::ServerError;
