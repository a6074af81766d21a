//! From the server's errors to failures with a remedy.

use tarn_sdk::Failure;

use crate::client::Error;

/// ClickHouse's error codes that this plugin decides on.
pub(crate) mod code {
    pub(crate) const NOT_IMPLEMENTED: u32 = 48;
    pub(crate) const UNKNOWN_TABLE: u32 = 60;
    pub(crate) const UNKNOWN_DATABASE: u32 = 81;
    /// Data that is not in the form it says, or says of itself what the table is not.
    pub(crate) const INCORRECT_DATA: u32 = 117;
    pub(crate) const ACCESS_DENIED: u32 = 497;
    /// The host's, for an answer beyond what it holds.
    pub(crate) const TOO_MANY_ROWS_OR_BYTES: u32 = 396;
}

/// Codes of trouble that passes: time-outs and network (159, 160, 209, 210, 279), too many queries or
/// parts (202, 203, 252, 364, 692), memory and disk (241, 243), replicas and keeper (225, 242, 285, 286,
/// 319, 999), shutdown, cancellation and overload (236, 394, 439, 667, 733, 735, 745), concurrent DDL
/// (425, 473, 517; B200), quota (201), object storage (499).
const PASSING: &[u32] = &[
    159, 160, 201, 202, 203, 209, 210, 225, 236, 241, 242, 243, 252, 279, 285, 286, 319, 364, 394, 425, 439,
    473, 499, 517, 667, 692, 733, 735, 745, 999,
];

/// The failure of an insert. Where the header's types are not the table's, somebody changed a column since the
/// rows' plan was made (the stream, while a load runs beside it): another attempt looks at the table anew.
pub(crate) fn of_insert_error(error: Error, doing: &str) -> Failure {
    let of_header = error.message.contains("Type of ") && error.message.contains(" must be ");
    if error.code == code::INCORRECT_DATA && of_header {
        return Failure::retry("target_changed_meanwhile", format!("{doing}: {}", error.message));
    }
    of_error(error, doing)
}

/// The failure of a statement; `doing` is a fragment such as `writing to users`.
pub(crate) fn of_error(error: Error, doing: &str) -> Failure {
    if error.code == 0 {
        return Failure::retry("clickhouse_unreachable", format!("{doing}: {}", error.message));
    }
    let message = format!("{doing}: {} (ClickHouse error {})", error.message, error.code);
    if PASSING.contains(&error.code) {
        return Failure::retry("clickhouse_busy", message);
    }
    let (code, hint) = match error.code {
        192..=195 | 291 | 516 => {
            ("clickhouse_authentication", "check the peer's user and password, then resume")
        }
        code::ACCESS_DENIED => ("clickhouse_privilege", GRANT),
        164 => ("clickhouse_read_only", "give the peer's user a profile that may write, then resume"),
        code::UNKNOWN_DATABASE => ("database_missing", "create the peer's database, then resume"),
        code::UNKNOWN_TABLE => (
            "target_missing",
            "the table was dropped or renamed: bring it back and resume, or resync the mirror",
        ),
        10 | 16 | 47 | 53 => (
            "target_changed",
            "the table's columns were changed by hand: undo that and resume, or resync the mirror",
        ),
        _ => ("clickhouse_refused", ""),
    };
    Failure::permanent(code, message).with_hint(hint)
}

/// What the peer's user needs.
pub(crate) const GRANT: &str =
    "GRANT SELECT, INSERT, CREATE TABLE, ALTER, TRUNCATE, DROP TABLE ON <database>.* TO <user>";

#[cfg(test)]
mod tests {
    use tarn_sdk::FailureClass;

    use super::*;

    #[test]
    fn what_passes_is_tried_again_and_what_does_not_has_a_remedy() {
        // B200: a busy ALTER is no reason to give up.
        for (code, class) in [
            (0, FailureClass::Retry),
            (252, FailureClass::Retry),
            (517, FailureClass::Retry),
            (999, FailureClass::Retry),
            (60, FailureClass::Permanent),
            (516, FailureClass::Permanent),
            (497, FailureClass::Permanent),
        ] {
            let failure = of_error(Error { code, message: "m".to_owned() }, "writing to t");
            assert_eq!(failure.class, class, "{code}");
            assert!(failure.message.starts_with("writing to t: m"));
            assert_eq!(failure.hint.is_empty(), class == FailureClass::Retry, "{code}");
        }
    }
}
