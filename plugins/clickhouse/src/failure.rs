//! From the server's errors to failures with a remedy.

use tarn_sdk::Failure;

use crate::client::Error;
use crate::known_errors::{KNOWN, Known, WhatNow};

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
}
