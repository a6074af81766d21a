//! What goes wrong, and what a program does about it.

use std::sync::Arc;
use std::time::Duration;

use tarn_model::{Failure, FailureClass};

/// Why a request has no result. No text holds a credential.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The peer's settings cannot be used.
    #[error("{field}: {reason}")]
    Settings {
        /// The field of the peer's settings.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no connection: nothing was sent.
    #[error("cannot reach ClickHouse at {address}")]
    Connect {
        /// Host and port.
        address: String,
        /// Why.
        source: Arc<tarn_transport::Error>,
    },
    /// The connection ended before the answer did: whether the statement ran is unknown.
    #[error("the connection to ClickHouse at {address} was lost")]
    Lost {
        /// Host and port.
        address: String,
        /// What the HTTP library said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// No answer in time: whether the statement ran is unknown.
    #[error("ClickHouse at {address} did not answer within {} s", deadline.as_secs())]
    TimedOut {
        /// Host and port.
        address: String,
        /// How long it was waited for.
        deadline: Duration,
    },
    /// The answer is larger than what is held.
    #[error("the answer is larger than {} MiB", limit_bytes >> 20)]
    TooLarge {
        /// The limit.
        limit_bytes: usize,
    },
    /// The server refused or failed the statement.
    #[error("ClickHouse error {code}: {message}")]
    Server {
        /// ClickHouse's error code.
        code: u32,
        /// The server's message, shortened, secrets struck out.
        message: String,
    },
    /// Something answered that is not ClickHouse, or not its HTTP interface.
    #[error("{address} answered HTTP status {status} without a ClickHouse error: {message}")]
    NotClickHouse {
        /// Host and port.
        address: String,
        /// The HTTP status.
        status: u16,
        /// The beginning of the body.
        message: String,
    },
}

/// What to do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The way to the server failed; where a statement was sent, its outcome is unknown. Try again what
    /// may be done twice.
    Connection,
    /// The server cannot now, but may later.
    Retryable,
    /// The server does not accept the user.
    Auth,
    /// Trying again cannot help.
    Permanent,
}

impl Error {
    /// The error of a connection that ended before the answer: lost, unless the server refused our
    /// certificate, which it does only after the handshake.
    pub(crate) fn broken(address: String, source: Box<dyn std::error::Error + Send + Sync>) -> Self {
        match tarn_transport::Error::refusal_in(source.as_ref()) {
            Some(refusal) => Self::Connect { address, source: Arc::new(refusal) },
            None => Self::Lost { address, source },
        }
    }

    /// ClickHouse's error code; 0 when ClickHouse gave none, so that the outcome is unknown. An answer
    /// that is too large has the code that ClickHouse's own limit on results has.
    pub fn code(&self) -> u32 {
        match self {
            Self::Server { code, .. } => *code,
            Self::TooLarge { .. } => TOO_MANY_ROWS_OR_BYTES,
            _ => 0,
        }
    }

    /// What to do about it.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Settings { .. } | Self::TooLarge { .. } => ErrorClass::Permanent,
            Self::Connect { source, .. } if source.is_permanent() => ErrorClass::Permanent,
            Self::Connect { .. } | Self::Lost { .. } | Self::TimedOut { .. } => ErrorClass::Connection,
            Self::Server { code, .. } => class_of_code(*code),
            // Proxies in between: time-outs, overload, nothing behind them.
            Self::NotClickHouse { status: 408 | 429 | 500..=599, .. } => ErrorClass::Retryable,
            Self::NotClickHouse { status: 401 | 403, .. } => ErrorClass::Auth,
            Self::NotClickHouse { .. } => ErrorClass::Permanent,
        }
    }

    /// The error with its causes, for people.
    pub fn report(&self) -> String {
        tarn_model::chain(self)
    }

    /// The error as a failure with its remedy.
    pub fn to_failure(&self) -> Failure {
        let (class, code) = match self.class() {
            ErrorClass::Connection => (FailureClass::Retry, "clickhouse_unreachable"),
            ErrorClass::Retryable => (FailureClass::Retry, "clickhouse_busy"),
            ErrorClass::Auth => (FailureClass::Permanent, "clickhouse_authentication"),
            ErrorClass::Permanent => (FailureClass::Permanent, "clickhouse_error"),
        };
        Failure::new(class, code, self.report()).with_hint(self.hint())
    }

    fn hint(&self) -> &'static str {
        match (self, self.class()) {
            (Self::Connect { source, .. }, _) if !source.is_permanent() => match **source {
                tarn_transport::Error::Handshake { .. } => {
                    "check that the port is that of HTTPS (8443); for a server without TLS set disable_tls and \
                     its HTTP port (8123)"
                }
                _ => "check host, port (HTTP: 8123, HTTPS: 8443) and firewall",
            },
            (Self::Connect { source, .. }, _) => source.hint(),
            (Self::NotClickHouse { status: 400, .. }, _) => {
                "check that the port is that of the HTTP interface (8123, with TLS 8443)"
            }
            (Self::Settings { .. }, _) => "correct the field; of a PEM text, paste the whole",
            (_, ErrorClass::Auth) => "check user and password, and the networks the user may come from",
            _ => "",
        }
    }
}

const TOO_MANY_ROWS_OR_BYTES: u32 = 396;

/// Codes that say who may not.
const AUTH: &[u32] = &[
    192, // UNKNOWN_USER
    193, // WRONG_PASSWORD
    194, // REQUIRED_PASSWORD
    195, // IP_ADDRESS_NOT_ALLOWED
    291, // DATABASE_ACCESS_DENIED
    516, // AUTHENTICATION_FAILED
];

/// Codes that pass by themselves.
const RETRYABLE: &[u32] = &[
    159, // TIMEOUT_EXCEEDED
    160, // TOO_SLOW
    201, // QUOTA_EXCEEDED
    202, // TOO_MANY_SIMULTANEOUS_QUERIES
    203, // NO_FREE_CONNECTION
    209, // SOCKET_TIMEOUT
    210, // NETWORK_ERROR
    225, // NO_ZOOKEEPER
    236, // ABORTED
    241, // MEMORY_LIMIT_EXCEEDED
    242, // TABLE_IS_READ_ONLY
    243, // NOT_ENOUGH_SPACE
    252, // TOO_MANY_PARTS
    279, // ALL_CONNECTION_TRIES_FAILED
    285, // TOO_FEW_LIVE_REPLICAS
    286, // UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE
    319, // UNKNOWN_STATUS_OF_INSERT
    364, // RECEIVED_ERROR_TOO_MANY_REQUESTS
    394, // QUERY_WAS_CANCELLED
    425, // SYSTEM_ERROR
    439, // CANNOT_SCHEDULE_TASK
    473, // DEADLOCK_AVOIDED
    499, // S3_ERROR
    517, // CANNOT_ASSIGN_ALTER (B200)
    667, // NOT_INITIALIZED
    692, // TOO_MANY_MUTATIONS
    733, // TABLE_IS_BEING_RESTARTED
    735, // QUERY_WAS_CANCELLED_BY_CLIENT
    745, // SERVER_OVERLOADED
    999, // KEEPER_EXCEPTION
];

fn class_of_code(code: u32) -> ErrorClass {
    if AUTH.contains(&code) {
        ErrorClass::Auth
    } else if RETRYABLE.contains(&code) {
        ErrorClass::Retryable
    } else {
        ErrorClass::Permanent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(code: u32) -> Error {
        Error::Server { code, message: String::new() }
    }

    #[test]
    fn codes_that_pass_by_themselves_are_tried_again() {
        for code in [159, 202, 209, 210, 241, 242, 252, 319, 425, 517, 999] {
            assert_eq!(server(code).class(), ErrorClass::Retryable, "{code}");
        }
        for code in [60, 62, 47, 53, 16, 44] {
            assert_eq!(server(code).class(), ErrorClass::Permanent, "{code}");
        }
        assert_eq!(server(516).class(), ErrorClass::Auth);
    }

    #[test]
    fn an_unknown_outcome_has_the_code_zero_and_is_tried_again() {
        let error = Error::TimedOut { address: "db:8123".to_owned(), deadline: Duration::from_secs(3) };
        assert_eq!((error.code(), error.to_failure().class), (0, FailureClass::Retry));
        assert_eq!(error.to_string(), "ClickHouse at db:8123 did not answer within 3 s");
    }
}
