//! What goes wrong between us and the server.

use std::io;
use std::time::Duration;

use crate::server_error::ServerError;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The way to the server is closed.
    #[error("cannot reach the server")]
    Connect {
        /// Why.
        #[from]
        source: tarn_transport::Error,
    },
    /// The peer's settings contradict each other.
    #[error("the peer's settings contradict each other: {0}")]
    Settings(&'static str),
    /// The server has no TLS and the peer requires it.
    #[error("the server offers no tls, and the peer requires it")]
    TlsNotOffered,
    /// The server wants what the peer does not have, or cannot prove that it knows the password.
    #[error("authentication failed: {0}")]
    Authentication(String),
    /// The server refused or failed.
    #[error(transparent)]
    Server(Box<ServerError>),
    /// The connection broke.
    #[error("connection lost while {doing}")]
    Lost {
        /// What was being done.
        doing: &'static str,
        /// What the socket said.
        source: io::Error,
    },
    /// A deadline passed.
    #[error("{doing} took longer than {} s", deadline.as_secs())]
    TimedOut {
        /// What was being done.
        doing: &'static str,
        /// How long.
        deadline: Duration,
    },
    /// The server said something that does not belong there.
    #[error("unexpected message from the server: {0}")]
    Protocol(String),
    /// An answer has a text of a database that takes any bytes.
    #[error("the answer's column {column:?} has a text that is none in UTF-8: byte {byte:#04x}")]
    TextNotUtf8 {
        /// What the answer calls the column.
        column: String,
        /// The first byte that does not belong there.
        byte: u8,
    },
    /// An answer that does not fit into memory.
    #[error("the answer is larger than {bytes_max} bytes")]
    AnswerTooLarge {
        /// The limit.
        bytes_max: usize,
    },
    /// The connection is in another state than the call needs.
    #[error("the connection cannot serve this call: {0}")]
    State(&'static str),
}

/// What kind of trouble an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The server is not reachable at the moment, or the connection broke.
    Connection,
    /// The server refuses us, or we refuse the server: certificates, passwords, roles.
    Authentication,
    /// The server answered with an error, or with what cannot be read.
    Server,
}

impl Error {
    /// The SQLSTATE; `08000` when the connection failed or was lost, `28000` when it was refused on
    /// our side.
    pub fn sqlstate(&self) -> &str {
        match self {
            Self::Server(error) => &error.sqlstate,
            // What a server says of text that it cannot send.
            Self::TextNotUtf8 { .. } => "22021",
            _ => match self.class() {
                Class::Authentication => "28000",
                Class::Connection | Class::Server => "08000",
            },
        }
    }

    /// What kind of trouble it is.
    pub fn class(&self) -> Class {
        match self {
            Self::Connect { source } if source.is_permanent() => Class::Authentication,
            Self::Settings(_) | Self::TlsNotOffered | Self::Authentication(_) => Class::Authentication,
            Self::Server(error) => match error.sqlstate.as_str() {
                // Shut down, crashed, starting up, thrown out for idling.
                "57P01" | "57P02" | "57P03" | "57P05" => Class::Connection,
                code if code.starts_with("08") => Class::Connection,
                code if code.starts_with("28") => Class::Authentication,
                _ => Class::Server,
            },
            Self::TextNotUtf8 { .. } => Class::Server,
            Self::Connect { .. }
            | Self::Lost { .. }
            | Self::TimedOut { .. }
            | Self::Protocol(_)
            | Self::AnswerTooLarge { .. }
            | Self::State(_) => Class::Connection,
        }
    }

    /// The server's detail and advice, or what a person does about it; empty where there is none.
    pub fn detail(&self) -> String {
        match self {
            Self::Server(error) => {
                let parts = [error.detail.as_str(), error.hint.as_str(), remedy(&error.sqlstate)];
                parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("; ")
            }
            Self::TextNotUtf8 { .. } => "the database takes any bytes (SQL_ASCII), and a text in its catalog, or in the row that is \
                                         looked up, is none in UTF-8: correct the name, default or label, or the row, at the \
                                         source, then resume the mirror"
                .to_owned(),
            Self::Connect { source } => source.hint().to_owned(),
            Self::TlsNotOffered => {
                "switch TLS on at the server (ssl = on), or leave require_tls, root_ca, tls_host and client_tls \
                 out"
                    .to_owned()
            }
            _ => String::new(),
        }
    }

    /// The error of a greeting: one that broke because the server took our certificate for none of its
    /// authorities' is a refusal, not a lost connection.
    pub(crate) fn into_refusal(self) -> Self {
        let refusal = match &self {
            Self::Lost { source, .. } => tarn_transport::Error::refusal_in(source),
            _ => None,
        };
        refusal.map_or(self, |source| Self::Connect { source })
    }

    /// The whole chain of causes in one line, for a person.
    pub fn chain(&self) -> String {
        match self {
            // The detail has a place of its own.
            Self::Server(error) => error.message.clone(),
            _ => tarn_model::chain(self),
        }
    }
}

/// What a person does about a login that the server refused, or about text that it cannot send: it says nothing of that itself.
fn remedy(sqlstate: &str) -> &'static str {
    match sqlstate {
        "28P01" => "check the user and the password",
        "28000" => "check the user, which may have lost LOGIN, and the server's pg_hba.conf",
        "3D000" => "check the name of the database",
        // It names no table.
        "22021" | "22P05" => {
            "a row has text that the database's encoding does not turn into UTF-8: correct the row at the source, then resync the \
             mirror"
        }
        "53300" => {
            "end sessions that are not needed, or raise what limits them: max_connections, the role's or the database's \
             CONNECTION LIMIT, or max_wal_senders"
        }
        _ => "",
    }
}

impl From<ServerError> for Error {
    fn from(error: ServerError) -> Self {
        Self::Server(Box::new(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_the_server_cannot_send_has_a_remedy() {
        // B044.
        for sqlstate in ["22021", "22P05"] {
            let error = ServerError {
                severity: "ERROR".to_owned(),
                sqlstate: sqlstate.to_owned(),
                message: "invalid byte sequence".to_owned(),
                detail: String::new(),
                hint: String::new(),
            };
            assert!(Error::from(error).detail().contains("correct the row at the source"));
        }
    }
}
