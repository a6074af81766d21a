//! From the server's errors to failures with a remedy.

use tarn_sdk::Failure;

use crate::client::Error;
use crate::known_errors::{KNOWN, Known, WhatNow};

/// ClickHouse's error codes that this plugin decides on.
pub(crate) mod code {
    /// Also of a column that is to be renamed.
    pub(crate) const NOT_FOUND_COLUMN: u32 = 10;
    pub(crate) const DUPLICATE_COLUMN: u32 = 15;
    pub(crate) const NO_SUCH_COLUMN: u32 = 16;
    pub(crate) const NOT_IMPLEMENTED: u32 = 48;
    pub(crate) const UNKNOWN_TABLE: u32 = 60;
    pub(crate) const UNKNOWN_DATABASE: u32 = 81;
    /// Data that is not in the form it says, or says of itself what the table is not.
    pub(crate) const INCORRECT_DATA: u32 = 117;
    pub(crate) const READONLY: u32 = 164;
    pub(crate) const VIOLATED_CONSTRAINT: u32 = 469;
    pub(crate) const ACCESS_DENIED: u32 = 497;
    /// The host's, for an answer beyond what it holds.
    pub(crate) const TOO_MANY_ROWS_OR_BYTES: u32 = 396;
}

/// Refusals that a value of a row is the reason of. The connector checks what it encodes; these are what only the
/// server knows: a table's constraints, and what its materialised columns and views make of a row.
const OF_VALUES: &[(u32, &str)] = &[
    (6, "CANNOT_PARSE_TEXT"),
    (25, "CANNOT_PARSE_ESCAPE_SEQUENCE"),
    (26, "CANNOT_PARSE_QUOTED_STRING"),
    (27, "CANNOT_PARSE_INPUT_ASSERTION_FAILED"),
    (38, "CANNOT_PARSE_DATE"),
    (41, "CANNOT_PARSE_DATETIME"),
    (69, "ARGUMENT_OUT_OF_BOUND"),
    (72, "CANNOT_PARSE_NUMBER"),
    (117, "INCORRECT_DATA"),
    (128, "TOO_LARGE_ARRAY_SIZE"),
    (131, "TOO_LARGE_STRING_SIZE"),
    (153, "ILLEGAL_DIVISION"),
    (190, "SIZES_OF_ARRAYS_DONT_MATCH"),
    (321, "VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE"),
    (349, "CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN"),
    (376, "CANNOT_PARSE_UUID"),
    (395, "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO"),
    (407, "DECIMAL_OVERFLOW"),
    (441, "CANNOT_PARSE_DOMAIN_VALUE_FROM_STRING"),
    (467, "CANNOT_PARSE_BOOL"),
    (469, "VIOLATED_CONSTRAINT"),
    (675, "CANNOT_PARSE_IPV4"),
    (676, "CANNOT_PARSE_IPV6"),
    (691, "UNKNOWN_ELEMENT_OF_ENUM"),
];

/// The failure of an insert that a value of one of its rows is the reason of. The server's own text quotes values; of
/// a constraint its name and its expression stand before them.
fn of_values(error: &Error, name: &str, doing: &str) -> Failure {
    let told = match error.code {
        code::VIOLATED_CONSTRAINT => error.message.split(" Column values").next().unwrap_or_default(),
        _ => "a value of the row cannot be taken",
    };
    let message =
        format!("{doing}: {} (ClickHouse error {}, {name})", told.trim_end_matches('.'), error.code);
    Failure::record("clickhouse_refused_row", message).with_hint(
        "correct the row at the source, or the table's constraints, materialised columns and views, then resume",
    )
}

/// The failure of an insert. Where the header's types are not the table's, somebody changed a column since the
/// rows' plan was made (the stream, while a load runs beside it): another attempt looks at the table anew.
pub(crate) fn of_insert_error(error: Error, doing: &str) -> Failure {
    let of_header = error.message.contains("Type of ") && error.message.contains(" must be ");
    if error.code == code::INCORRECT_DATA && of_header {
        return Failure::retry("target_changed_meanwhile", format!("{doing}: {}", error.message));
    }
    match OF_VALUES.iter().find(|(code, _)| *code == error.code) {
        Some((_, name)) => of_values(&error, name, doing),
        None => of_error(error, doing),
    }
}

/// The failure of a statement that changes a table's columns. Where one of them is not, or already, there, somebody changed
/// the table since it was looked at (the stream, while a load beside it is prepared): another attempt looks anew, and does
/// what is left to do.
pub(crate) fn of_alteration_error(error: Error, doing: &str) -> Failure {
    if [code::NOT_FOUND_COLUMN, code::DUPLICATE_COLUMN, code::NO_SUCH_COLUMN].contains(&error.code) {
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
    let known = KNOWN.iter().find(|known| known.code == error.code);
    let Some(Known { what_now, hint, .. }) = known else {
        return Failure::permanent("clickhouse_refused", message);
    };
    match what_now {
        WhatNow::Retry => Failure::retry("clickhouse_busy", message),
        WhatNow::Later => Failure::retry("clickhouse_waiting", message).with_hint(*hint),
        WhatNow::Never(code) => Failure::permanent(code, message).with_hint(*hint),
    }
}

/// What helps against a known error.
pub(crate) fn remedy(code: u32) -> Option<&'static str> {
    KNOWN.iter().find(|known| known.code == code).map(|known| known.hint).filter(|hint| !hint.is_empty())
}

/// What the peer's user needs.
pub(crate) const GRANT: &str =
    "GRANT SELECT, INSERT, CREATE TABLE, ALTER, TRUNCATE, DROP TABLE ON <database>.* TO <user>";

#[cfg(test)]
mod tests {
    use tarn_sdk::FailureClass;

    use super::*;
    use crate::known_errors::HEAD;

    fn of(code: u32) -> Failure {
        of_error(Error { code, message: "m".to_owned() }, "writing to t")
    }

    #[test]
    fn a_column_that_somebody_renamed_first_is_looked_at_again() {
        let of = |code| of_alteration_error(Error { code, message: "m".to_owned() }, "preparing table t");
        for code in [code::NOT_FOUND_COLUMN, code::DUPLICATE_COLUMN, code::NO_SUCH_COLUMN] {
            assert_eq!(of(code).class, FailureClass::Retry);
        }
        assert_eq!(of(code::ACCESS_DENIED).class, FailureClass::Permanent);
    }

    #[test]
    fn what_passes_is_tried_again_and_what_does_not_has_a_remedy() {
        // B200: a busy ALTER is no reason to give up.
        assert_eq!((of(517).class, of(517).hint.as_str()), (FailureClass::Retry, ""));
        for known in KNOWN {
            let failure = of(known.code);
            assert!(failure.message.starts_with("writing to t: m"));
            let (class, has_hint) = match known.what_now {
                WhatNow::Retry => (FailureClass::Retry, false),
                WhatNow::Later => (FailureClass::Retry, true),
                WhatNow::Never(_) => (FailureClass::Permanent, true),
            };
            assert_eq!((failure.class, !failure.hint.is_empty()), (class, has_hint), "{}", known.name);
        }
        assert_eq!(of(0).class, FailureClass::Retry);
        assert_eq!(of(77_777).class, FailureClass::Permanent, "nobody knows whether it passes");
    }

    #[test]
    fn the_page_has_the_table() {
        let page = include_str!("../FAILURES.md");
        let (before, rest) = page.split_once(&format!("{HEAD}\n")).expect("the page has a table");
        let found: Vec<_> = rest.lines().take_while(|line| line.starts_with('|')).collect();
        let wanted: Vec<_> = KNOWN.iter().map(Known::line).collect();
        assert!(before.contains("## "), "it has a title");
        assert_eq!(found.join("\n"), wanted.join("\n"));
    }

    #[test]
    fn codes_are_in_order_and_each_once() {
        assert!(KNOWN.is_sorted_by(|a, b| a.code < b.code));
    }

    #[test]
    fn what_a_row_is_refused_for_is_told_without_its_values() {
        let message = "Constraint `low` for table shop.t is violated at row 2. Expression: (n < 10). \
                       Column values: n = 4242";
        let refused = of_insert_error(Error { code: 469, message: message.to_owned() }, "writing to table t");
        assert_eq!(refused.class, FailureClass::Record);
        assert!(refused.message.contains("`low`") && refused.message.contains("(n < 10)"), "{refused:?}");
        assert!(!refused.message.contains("4242") && !refused.hint.is_empty(), "{refused:?}");
        let message = "Cannot parse string '4242x' as Int32: while converting".to_owned();
        let refused = of_insert_error(Error { code: 6, message }, "writing to table t");
        assert_eq!(refused.class, FailureClass::Record);
        assert!(
            refused.message.contains("CANNOT_PARSE_TEXT") && !refused.message.contains("4242"),
            "{refused:?}"
        );
        // A statement of ours that the server cannot read is no record's doing.
        let failure = of_error(Error { code: 6, message: "m".to_owned() }, "changing table t");
        assert_eq!(failure.class, FailureClass::Permanent);
    }
}
