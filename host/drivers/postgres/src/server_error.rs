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
    /// Reads the body of an `ErrorResponse` or `NoticeResponse`.
    pub(crate) fn parse(body: &[u8]) -> Self {
        let mut error = Self::default();
        for (field, text) in fields(body) {
            let text = String::from_utf8_lossy(text).into_owned();
            match field {
                // `V` is `S` untranslated and comes after it.
                b'S' | b'V' => error.severity = text,
                b'C' => error.sqlstate = text,
                b'M' => error.message = text,
                b'D' => error.detail = text,
                b'H' => error.hint = text,
                _ => {}
            }
        }
        error
    }

    /// The warning of a stream, in the body of a `NoticeResponse`, that its changes are passed over: of a publication that did
    /// not exist where the server reads its log. Servers before PostgreSQL 18 end the stream instead. It is told by the file
    /// that it comes from, the output plugin's: the walsender warns with the same code of standbys that it waits for.
    pub(crate) fn of_skipping(body: &[u8]) -> Option<Self> {
        let is_of_plugin = fields(body).any(|(field, text)| field == b'F' && text.ends_with(b"pgoutput.c"));
        let notice = is_of_plugin.then(|| Self::parse(body))?;
        (notice.severity == "WARNING" && notice.sqlstate == NOT_IN_PREREQUISITE_STATE).then_some(notice)
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

/// The fields of a message: a letter and a zero-terminated text each, ended by a zero.
fn fields(mut body: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (field, rest) = body.split_first().filter(|(field, _)| **field != 0)?;
        let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        body = rest.get(end + 1..).unwrap_or_default();
        Some((*field, &rest[..end]))
    })
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
        let is_told = |severity: &str, sqlstate: &str, file: &str| {
            let body = format!("SWARNUNG\0V{severity}\0C{sqlstate}\0Mskipped\0F{file}\0L1789\0\0");
            ServerError::of_skipping(body.as_bytes()).is_some()
        };
        assert!(is_told("WARNING", "55000", "pgoutput.c"));
        assert!(!is_told("WARNING", "55000", "slot.c"), "of a standby that has no walsender");
        assert!(!is_told("LOG", "55000", "pgoutput.c") && !is_told("WARNING", "01000", "pgoutput.c"));
    }

    #[test]
    fn a_cut_error_response_gives_what_is_there() {
        assert_eq!(ServerError::parse(b"C42P01\0Mhalf a mess").message, "half a mess");
        assert_eq!(ServerError::parse(b""), ServerError::default());
    }
}
