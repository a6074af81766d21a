//! ClickHouse over its HTTP interface: statements, inserts, and errors a program can decide on.
//!
//! The driver carries bytes: it knows neither tables nor types, and no format but the text of an
//! exception. Inserts and their retries are the caller's; nothing here is tried twice, except a
//! request that provably never left. Invariants: credentials travel in headers only, never in URLs,
//! logs or errors; every wait ends at a deadline; an answer is held up to 64 MiB; a 200 that carries
//! an exception is an error.

mod address;
mod body;
mod client;
mod config;
mod connector;
mod error;
mod exception;
mod insert;

pub use client::Client;
pub use error::{Error, ErrorClass};
pub use insert::Insert;
