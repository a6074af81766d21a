//! What the server itself reports.

use std::fmt;

/// What a walsender warns with of a publication that does not exist.
const NOT_IN_PREREQUISITE_STATE: &str = "55000";

/// An error message of the server. It may quote names and values of the statement it answers; the peer's
/// secrets, which it is shown when a connection is opened, are struck from the errors of that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    /// `ERROR`, `FATAL` or `PANIC`; of a notice another one.
    pub severity: String,
    /// Five characters.
    pub sqlstate: String,
    /// What went wrong, in one line.
    pub message: String,
    /// More about it; empty where there is nothing more.
    pub detail: String,
    /// The server's advice; empty where there is none.
    pub hint: String,
}

impl ServerError {
    /// Reads the body of an `ErrorResponse` or `NoticeResponse`: fields of a letter and a
    /// zero-terminated text each, ended by a zero.
    pub(crate) fn parse(mut body: &[u8]) -> Self {
        let mut error = Self::default();
        while let [field, rest @ ..] = body {
            if *field == 0 {
                break;
            }
            let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
            let text = String::from_utf8_lossy(&rest[..end]).into_owned();
            match field {
                // `V` is `S` untranslated and comes after it.
                b'S' | b'V' => error.severity = text,
                b'C' => error.sqlstate = text,
                b'M' => error.message = text,
                b'D' => error.detail = text,
                b'H' => error.hint = text,
                _ => {}
            }
            body = rest.get(end + 1..).unwrap_or_default();
        }
        error
    }

    /// Whether it is a stream's warning that changes are passed over: of a publication that did not exist where the server
    /// reads its log. Servers before PostgreSQL 18 end the stream instead.
    pub(crate) fn tells_of_skipping(&self) -> bool {
        self.severity == "WARNING" && self.sqlstate == NOT_IN_PREREQUISITE_STATE
    }

    /// The same with its texts rewritten.
    pub(crate) fn rewritten(self, rewrite: impl Fn(&str) -> String) -> Self {
        Self {
            message: rewrite(&self.message),
            detail: rewrite(&self.detail),
            hint: rewrite(&self.hint),
            ..self
        }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for more in [&self.detail, &self.hint] {
            if !more.is_empty() {
                write!(f, "; {more}")?;
            }
        }
        write!(f, " (sqlstate {})", self.sqlstate)
    }
}

impl std::error::Error for ServerError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_response_is_read_field_by_field() {
        let error = ServerError::parse(
            b"SFEHLER\0VERROR\0C42P01\0Mrelation \"x\" does not exist\0P15\0HMake it.\0\0",
        );
        assert_eq!(error.severity, "ERROR");
        assert_eq!(error.to_string(), "relation \"x\" does not exist; Make it. (sqlstate 42P01)");
    }

    #[test]
    fn a_warning_that_changes_are_passed_over_is_told_from_other_notices() {
        let notice = |severity: &str, sqlstate: &str| {
            let body = format!("SWARNUNG\0V{severity}\0C{sqlstate}\0Mskipped loading publication \"p\"\0\0");
            ServerError::parse(body.as_bytes()).tells_of_skipping()
        };
        assert!(notice("WARNING", "55000"));
        assert!(!notice("NOTICE", "55000") && !notice("WARNING", "01000"));
    }

    #[test]
    fn a_cut_error_response_gives_what_is_there() {
        assert_eq!(ServerError::parse(b"C42P01\0Mhalf a mess").message, "half a mess");
        assert_eq!(ServerError::parse(b""), ServerError::default());
    }
}
