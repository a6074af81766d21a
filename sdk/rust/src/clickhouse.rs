//! Capability `clickhouse`: statements and inserts to the peer. Only a running plugin has a peer:
//! called natively, these functions panic.

use crate::Failure;

pub use crate::bindings::imports::tarn::plugin::clickhouse::{Error, Insert, query};

/// Codes of trouble that passes: no answer (0), time-outs (159, 209), too many queries (202), network
/// (210, 279), memory (241, 252), read-only and too few replicas (242, 285), insert of unknown
/// outcome (319), concurrent ALTER (517), keeper (999).
const PASSING: [u32; 13] = [0, 159, 202, 209, 210, 241, 242, 252, 279, 285, 319, 517, 999];

impl Error {
    /// Whether the same may succeed when it is tried again.
    pub fn is_passing(&self) -> bool {
        PASSING.contains(&self.code)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = match error.code {
            0 => error.message.clone(),
            code => format!("{} (code {code})", error.message),
        };
        if error.is_passing() {
            Failure::retry("clickhouse_unavailable", message)
        } else {
            Failure::permanent("clickhouse_refused", message)
        }
    }
}
