//! Why a command did not do what it was asked, with what to do about it, and the exit code that says so.

use std::fmt::Write as _;
use std::io;

use serde::Deserialize;
use serde_json::{Value, json};

/// One problem of a refusal, as the API's `details` name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Detail {
    /// The field, as in the API and in setup files.
    pub(crate) field: String,
    /// What is wrong with it.
    pub(crate) message: String,
    /// What to do.
    pub(crate) hint: String,
}

/// Why a command failed. No text holds a secret.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// What was asked makes no sense, or a file, a reference or a secret cannot be had. Nothing was sent.
    #[error("{0}")]
    Usage(String),
    /// A file cannot be read.
    #[error("cannot read {path}: {source}")]
    File {
        /// Which one.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {source}")]
    Written {
        /// Which one.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The server refused.
    #[error("{message}")]
    Refused {
        /// Why, in the server's words.
        message: String,
        /// The API's code.
        code: u64,
        /// Each problem.
        details: Vec<Detail>,
    },
    /// The server took the request, and it came to nothing.
    #[error("{0}")]
    Failed(String),
    /// No answer.
    #[error("cannot reach tarn at {address}: {reason}")]
    Unreachable {
        /// Where.
        address: String,
        /// Why, and what to do.
        reason: String,
    },
    /// An answer that is none of this API.
    #[error("what answers at {address} is not tarn's API: {reason}")]
    Answer {
        /// Where.
        address: String,
        /// What is wrong with the answer.
        reason: String,
    },
    /// Name and password are wrong, or missing.
    #[error(
        "tarn at {address} does not take the user name and password; set TARN_PASSWORD or --password-file, and TARN_USERNAME where the server has one"
    )]
    Credentials {
        /// Where.
        address: String,
    },
    /// The output cannot be written.
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
}

impl Error {
    /// The process' exit code: 1 refused or failed, 2 nothing was sent, 3 no server, 4 credentials.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Refused { .. } | Self::Failed(_) | Self::Output(_) | Self::Written { .. } => 1,
            Self::Usage(_) | Self::File { .. } => 2,
            Self::Unreachable { .. } | Self::Answer { .. } => 3,
            Self::Credentials { .. } => 4,
        }
    }

    /// The same error, naming the thing that it is about.
    pub(crate) fn about(self, kind: &str, name: &str) -> Self {
        let named = |message: String| format!("{kind} {name}: {message}");
        match self {
            Self::Refused { message, code, details } => {
                Self::Refused { message: named(message), code, details }
            }
            Self::Failed(message) => Self::Failed(named(message)),
            other => other,
        }
    }

    /// Whether a moment later the same request may be answered.
    pub(crate) fn is_passing(&self) -> bool {
        const UNAVAILABLE: u64 = 14;
        matches!(self, Self::Unreachable { .. } | Self::Refused { code: UNAVAILABLE, .. })
    }

    /// Whether the reader of the output has gone, as `head` does.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The error for a person: the message, then each problem on a line of its own.
    pub(crate) fn for_people(&self) -> String {
        let mut text = self.to_string();
        let Self::Refused { details, .. } = self else { return text };
        // A single problem without a remedy is the message over again.
        for detail in details.iter().filter(|detail| details.len() > 1 || !detail.hint.is_empty()) {
            let Detail { field, message, hint } = detail;
            text.push_str("\n  ");
            if !field.is_empty() {
                let _fits = write!(text, "{field}: ");
            }
            text.push_str(message);
            if !hint.is_empty() {
                let _fits = write!(text, "; {hint}");
            }
        }
        text
    }

    /// The error for a program.
    pub(crate) fn for_programs(&self) -> Value {
        let details = match self {
            Self::Refused { details, .. } => details.as_slice(),
            _ => &[],
        };
        let details: Vec<_> = details
            .iter()
            .map(|detail| json!({"field": detail.field, "message": detail.message, "hint": detail.hint}))
            .collect();
        json!({"error": {"message": self.to_string(), "details": details, "exitCode": self.exit_code()}})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_of_a_refusal_has_its_line_with_the_remedy() {
        let detail = |field: &str, hint: &str| Detail {
            field: field.into(),
            message: "is missing".into(),
            hint: hint.into(),
        };
        let error = Error::Refused {
            message: "the mirror cannot be created".into(),
            code: 9,
            details: vec![detail("source_name", "name a peer"), detail("", "")],
        };
        let expected = "the mirror cannot be created\n  source_name: is missing; name a peer\n  is missing";
        assert_eq!(error.for_people(), expected);
        assert_eq!(error.for_programs()["error"]["details"][0]["field"], "source_name");
        assert_eq!(error.exit_code(), 1);
    }

    #[test]
    fn an_output_that_cannot_be_written_is_no_server_that_is_away() {
        assert_eq!(Error::Output(io::Error::other("no space left")).exit_code(), 1);
    }

    #[test]
    fn one_problem_without_a_remedy_is_not_said_twice() {
        let details = vec![Detail { message: "no".into(), ..Detail::default() }];
        let error = Error::Refused { message: "no".into(), code: 5, details };
        assert_eq!(error.for_people(), "no");
    }
}
