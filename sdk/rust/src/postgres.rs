//! Capability `postgres`: SQL, COPY and replication sessions with the peer. Only a running plugin has
//! a peer: called natively, these functions panic.

use crate::Failure;

pub use crate::bindings::imports::tarn::plugin::postgres::{Error, Row, Session};

/// SQLSTATEs, whole or by class, of trouble that passes: connection lost (08), too few resources
/// (53), serialisation and deadlock (40001, 40P01), slot or object in use (55006), lock time-out
/// (55P03), idle and shutdown disconnections (57P01 to 57P05, 25P03), a system call that failed (58000).
const PASSING: [&str; 12] =
    ["08", "53", "40001", "40P01", "55006", "55P03", "57P01", "57P02", "57P03", "57P05", "25P03", "58000"];

/// The SQLSTATE of a session that is one too many for the server, the role or the database.
const TOO_MANY_CONNECTIONS: &str = "53300";

/// The SQLSTATE of what the server has no other for. Its messages are not translated.
const INTERNAL: &str = "XX000";

/// How messages begin of internal errors that a look at the catalog runs into while somebody changes it. The first three are
/// of logical decoding, which finds tables by the files of their rows.
const PASSING_INTERNAL: [&str; 7] = [
    "could not map filenode",
    "could not map filenumber",
    "unexpected duplicate for tablespace",
    "cache lookup failed",
    "could not open relation with OID",
    "tuple concurrently deleted",
    "tuple concurrently updated",
];

/// What a person does about one of them that does not pass.
const WHERE_INTERNAL_LASTS: &str = "it passes where tables were just being changed. Where it goes on, the server's catalog is damaged at \
     what the message names, or an extension is at fault: look into the server's log, mend or drop that, and the mirror goes on by itself";

impl Error {
    /// Whether the same may succeed when it is tried again.
    pub fn is_passing(&self) -> bool {
        let is_one_of = |beginnings: &[&str]| beginnings.iter().any(|begin| self.message.starts_with(begin));
        PASSING.iter().any(|state| self.sqlstate.starts_with(state))
            || (self.sqlstate == INTERNAL && is_one_of(&PASSING_INTERNAL))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let mut message = format!("{} (SQLSTATE {})", error.message, error.sqlstate);
        if !error.detail.is_empty() {
            message = format!("{message}: {}", error.detail);
        }
        if error.sqlstate == TOO_MANY_CONNECTIONS {
            Failure::retry("no_connection_left", message)
        } else if error.sqlstate == INTERNAL && error.is_passing() {
            Failure::retry("postgres_unavailable", message).with_hint(WHERE_INTERNAL_LASTS)
        } else if error.is_passing() {
            Failure::retry("postgres_unavailable", message)
        } else {
            Failure::permanent("postgres_refused", message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FailureClass;

    #[test]
    fn an_internal_error_is_tried_again_and_says_what_to_do_where_it_goes_on() {
        let of = |sqlstate: &str, message: &str| {
            let (sqlstate, message, detail) = (sqlstate.to_owned(), message.to_owned(), String::new());
            Failure::from(Error { sqlstate, message, detail })
        };
        let internal = of("XX000", "cache lookup failed for relation 16639");
        assert_eq!(internal.class, FailureClass::Retry);
        assert!(internal.message.contains("relation 16639") && internal.hint.contains("catalog is damaged"));
        assert_eq!(of("57P03", "the database system is starting up").hint, "");
    }

    #[test]
    fn internal_errors_of_a_catalog_that_changes_are_tried_again_and_no_others() {
        for (sqlstate, message, is_passing) in [
            ("XX000", "unexpected duplicate for tablespace 0, relfilenode 16782", true),
            ("XX000", "could not map filenode \"base/5/16782\" to relation OID", true),
            ("XX000", "cache lookup failed for relation 16639", true),
            ("XX000", "invalid memory alloc request size 1073741824", false),
            ("XX001", "could not open relation with OID 16639", false),
            ("42P01", "cache lookup failed for relation 16639", false),
            ("57P03", "the database system is starting up", true),
        ] {
            let (sqlstate, message, detail) = (sqlstate.to_owned(), message.to_owned(), String::new());
            assert_eq!(
                Error { sqlstate, message: message.clone(), detail }.is_passing(),
                is_passing,
                "{message}"
            );
        }
    }
}
