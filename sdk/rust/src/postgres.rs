//! Capability `postgres`: SQL, COPY and replication sessions with the peer. Only a running plugin has
//! a peer: called natively, these functions panic.

use crate::Failure;

pub use crate::bindings::imports::tarn::plugin::postgres::{Error, Row, Session};

/// SQLSTATEs, whole or by class, of trouble that passes: connection lost (08), too few resources
/// (53), serialisation and deadlock (40001, 40P01), slot or object in use (55006), lock time-out
/// (55P03), idle and shutdown disconnections (57P01 to 57P05, 25P03), a system call that failed (58000).
const PASSING: [&str; 12] =
    ["08", "53", "40001", "40P01", "55006", "55P03", "57P01", "57P02", "57P03", "57P05", "25P03", "58000"];

impl Error {
    /// Whether the same may succeed when it is tried again.
    pub fn is_passing(&self) -> bool {
        PASSING.iter().any(|state| self.sqlstate.starts_with(state))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let mut message = format!("{} (SQLSTATE {})", error.message, error.sqlstate);
        if !error.detail.is_empty() {
            message = format!("{message}: {}", error.detail);
        }
        if error.is_passing() {
            Failure::retry("postgres_unavailable", message)
        } else {
            Failure::permanent("postgres_refused", message)
        }
    }
}
