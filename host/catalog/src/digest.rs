//! Digests as text.

use std::fmt::Write as _;

use ring::digest::{SHA256, digest};

/// Hexadecimal SHA-256.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hexadecimal(digest(&SHA256, bytes).as_ref())
}

/// Bytes as lower-case hexadecimal.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes everything");
        text
    })
}
