//! Exact decimal numbers: canonical text, so that equal numbers of equal scale are equal bytes.

use crate::DecodeError;

const INVALID: DecodeError = DecodeError::Invalid("numeric value");

/// Writes a `Numeric` from text in PostgreSQL's form: an optional sign, digits with an optional
/// point, or `NaN`, `Infinity`, `-Infinity` in any case. The scale stays as written; superfluous
/// leading zeros and the sign of zero do not (`-0.00` is `0.00`). Exponents are refused.
pub fn write_numeric(out: &mut Vec<u8>, text: &str) -> Result<(), DecodeError> {
    let bytes = text.as_bytes();
    if is_canonical_numeric(bytes) {
        out.extend_from_slice(bytes);
        return Ok(());
    }
    let (negative, magnitude) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, bytes),
    };
    if let Some(special) = special(negative, magnitude) {
        out.extend_from_slice(special);
        return Ok(());
    }
    let (whole, fraction) = split(magnitude);
    let digits = whole.iter().chain(fraction.unwrap_or_default());
    if digits.clone().count() == 0 || !digits.clone().all(u8::is_ascii_digit) {
        return Err(INVALID);
    }
    if negative && digits.clone().any(|&digit| digit != b'0') {
        out.push(b'-');
    }
    match whole.iter().position(|&digit| digit != b'0') {
        Some(first) => out.extend_from_slice(&whole[first..]),
        None => out.push(b'0'),
    }
    if let Some(fraction) = fraction.filter(|fraction| !fraction.is_empty()) {
        out.push(b'.');
        out.extend_from_slice(fraction);
    }
    Ok(())
}

/// Whether bytes are a `Numeric` in its one form: `-?digits[.digits]` without superfluous leading
/// zeros and without a negative zero, `NaN`, `Infinity` or `-Infinity`.
pub fn is_canonical_numeric(bytes: &[u8]) -> bool {
    if matches!(bytes, b"NaN" | b"Infinity" | b"-Infinity") {
        return true;
    }
    let (negative, magnitude) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, bytes),
    };
    let (whole, fraction) = split(magnitude);
    let whole_is_canonical = match whole {
        [] => false,
        [b'0'] => true,
        [b'0', ..] => false,
        _ => whole.iter().all(u8::is_ascii_digit),
    };
    let fraction_is_canonical =
        fraction.is_none_or(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit));
    let is_zero = || magnitude.iter().all(|byte| matches!(byte, b'0' | b'.'));
    whole_is_canonical && fraction_is_canonical && !(negative && is_zero())
}

/// What is before the point, and what is after it where there is one.
fn split(magnitude: &[u8]) -> (&[u8], Option<&[u8]>) {
    match magnitude.iter().position(|&byte| byte == b'.') {
        Some(point) => (&magnitude[..point], Some(&magnitude[point + 1..])),
        None => (magnitude, None),
    }
}

fn special(negative: bool, magnitude: &[u8]) -> Option<&'static [u8]> {
    let is = |name: &str| magnitude.eq_ignore_ascii_case(name.as_bytes());
    if is("nan") && !negative {
        Some(b"NaN")
    } else if is("infinity") || is("inf") {
        Some(if negative { b"-Infinity" } else { b"Infinity" })
    } else {
        None
    }
}
