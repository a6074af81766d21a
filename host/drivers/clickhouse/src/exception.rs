//! The text of a ClickHouse exception, wherever in an answer it stands.
//!
//! A server that has begun to answer when a statement fails can no longer say so in the status. What
//! it does then differs: newer ones (25.11 on) announce a tag in a header and put the exception at the
//! body's end between marks that carry the tag; older ones append the text and break the connection.
//! Requests ask for complete answers (`wait_end_of_query`), so both are rare; neither may pass for a
//! result.

use crate::config::MESSAGE_BYTES_MAX;

/// An exception's code and text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Exception {
    pub(crate) code: u32,
    pub(crate) message: String,
}

/// How much of a body's end may hold an exception; servers cut theirs at 16 KiB.
const TAIL_BYTES_MAX: usize = 20 << 10;

const PREFIX: &str = "Code: ";
const AFTER_CODE: &str = ". DB::Exception: ";

impl Exception {
    /// The exception that a failed answer's body or an insert's answer consists of.
    pub(crate) fn in_text(text: &str) -> Option<Self> {
        text.match_indices(PREFIX).find_map(|(start, _)| {
            let rest = &text[start + PREFIX.len()..];
            let (code, message) = rest.split_once(AFTER_CODE)?;
            Some(Self { code: code.parse().ok()?, message: shortened(message) })
        })
    }

    /// The exception at the end of an answer that began as a success; `tag` is the announced one.
    pub(crate) fn in_tagged_body(body: &[u8], tag: &str) -> Option<Self> {
        let mark = format!("__exception__\r\n{tag}\r\n");
        let text = tail(body);
        let start = text.rfind(&mark)? + mark.len();
        let message = text[start..].split("\r\n").next().unwrap_or_default();
        // The mark is proof enough, also when the text has no code.
        Some(Self::in_text(message).unwrap_or_else(|| Self { code: UNKNOWN, message: shortened(message) }))
    }

    /// The exception at the end of an answer that broke off.
    pub(crate) fn in_broken_body(body: &[u8]) -> Option<Self> {
        let text = tail(body);
        let start = text.rfind(PREFIX)?;
        Self::in_text(&text[start..])
    }
}

/// ClickHouse's `UNKNOWN_EXCEPTION`.
const UNKNOWN: u32 = 1002;

/// The message's beginning, without the server's version and stack.
pub(crate) fn shortened(message: &str) -> String {
    let message = message.split("(version ").next().unwrap_or_default();
    let message = message.split("\nStack trace").next().unwrap_or_default().trim();
    let end = message.floor_char_boundary(MESSAGE_BYTES_MAX);
    if end < message.len() { format!("{}…", &message[..end]) } else { message.to_owned() }
}

fn tail(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[body.len().saturating_sub(TAIL_BYTES_MAX)..]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Code: 60. DB::Exception: Table d.t does not exist. (UNKNOWN_TABLE) (version 26.9.2.1 (official build))\n";

    #[test]
    fn code_and_message_are_told_apart_and_the_version_is_left_out() {
        let exception = Exception::in_text(TEXT).expect("an exception");
        assert_eq!(exception.code, 60);
        assert_eq!(exception.message, "Table d.t does not exist. (UNKNOWN_TABLE)");
    }

    #[test]
    fn a_tagged_exception_is_found_behind_rows_and_only_with_its_tag() {
        let body = format!(
            "1\tx\n2\ty\n\r\n__exception__\r\nabcdefghijklmnop\r\n{TEXT}\r\n103 abcdefghijklmnop\r\n__exception__\r\n"
        );
        let exception = Exception::in_tagged_body(body.as_bytes(), "abcdefghijklmnop");
        assert_eq!(exception.map(|exception| exception.code), Some(60));
        assert_eq!(Exception::in_tagged_body(body.as_bytes(), "another"), None);
        assert_eq!(Exception::in_tagged_body(TEXT.as_bytes(), "abcdefghijklmnop"), None);
    }

    #[test]
    fn a_broken_body_tells_its_last_exception() {
        let body = format!("Code: 1. DB::Exception: a row's text\n{TEXT}");
        assert_eq!(Exception::in_broken_body(body.as_bytes()).map(|found| found.code), Some(60));
        assert_eq!(Exception::in_broken_body(b"1\n2\n"), None);
    }

    #[test]
    fn a_long_message_is_cut_at_a_character() {
        let message = shortened(&"é".repeat(MESSAGE_BYTES_MAX));
        assert!(message.len() <= MESSAGE_BYTES_MAX + 3 && message.ends_with('…'));
    }
}
