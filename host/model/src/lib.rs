//! What the service is about, as plain data: peers, mirrors, states, failures, secrets, positions.
//!
//! This crate is the API's resources defined once, with serde on them. It does no I/O, holds no clock
//! and knows no store. Invariant: a secret leaves it only through [`secret::Secret::expose`].

pub mod failure;
pub mod mirror;
pub mod peer;
pub mod position;
pub mod secret;
pub mod state;
