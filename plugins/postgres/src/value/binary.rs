//! Values written in hexadecimal digits.

use super::ValueError;

const BYTES: ValueError = ValueError::Malformed("bytea in hexadecimal form");
const UUID: ValueError = ValueError::Malformed("uuid");

/// `\x` and two digits a byte.
pub(super) fn bytes(text: &[u8], out: &mut Vec<u8>) -> Result<(), ValueError> {
    let digits = text.strip_prefix(b"\\x").ok_or(BYTES)?;
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(BYTES);
    }
    out.reserve(pairs.len());
    for pair in pairs {
        out.push(byte(pair).ok_or(BYTES)?);
    }
    Ok(())
}

/// Groups of 8, 4, 4, 4 and 12 digits.
pub(super) fn uuid(text: &[u8], out: &mut Vec<u8>) -> Result<(), ValueError> {
    const HYPHENS: [usize; 4] = [8, 13, 18, 23];
    if text.len() != 36 || HYPHENS.iter().any(|at| text[*at] != b'-') {
        return Err(UUID);
    }
    let mut at = 0;
    while at < text.len() {
        if text[at] == b'-' {
            at += 1;
            continue;
        }
        // A hyphen is at an even distance from the ones around it, so that pairs never cross one.
        let pair = text[at..].first_chunk::<2>().ok_or(UUID)?;
        out.push(byte(pair).ok_or(UUID)?);
        at += 2;
    }
    Ok(())
}

#[inline]
fn byte(pair: &[u8; 2]) -> Option<u8> {
    Some(digit(pair[0])? << 4 | digit(pair[1])?)
}

#[inline]
fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}
