//! Capability `spool`: bytes put aside with the host, more than a guest could hold. Only a running plugin has a spool:
//! called natively, these functions panic.

use crate::Failure;

pub use crate::bindings::imports::tarn::plugin::spool::{Error, append, clear, read, remove};

impl Error {
    /// The code of the failure that says that there was no room.
    pub const FULL: &str = "spool_full";
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if error.full {
            return Failure::permanent(Error::FULL, error.message);
        }
        Failure::retry("spool_unavailable", error.message)
    }
}
