//! Numbers, without a float between an integer or a decimal and its value.

use std::str::FromStr;

use tarn_batch::value::{is_canonical_numeric, write_numeric};

use super::ValueError;

const INTEGER: ValueError = ValueError::Malformed("integer");
const FLOAT: ValueError = ValueError::Malformed("floating point number");
const NUMERIC: ValueError = ValueError::Malformed("numeric");

/// Decimal digits that 64 bits hold, whatever they are.
const DIGITS_SAFE: usize = 18;

/// A whole number of the type asked for; one that does not fit is an error.
#[inline]
pub(super) fn integer<T: TryFrom<i64>>(text: &[u8]) -> Result<T, ValueError> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return Err(INTEGER);
    }
    // Negative, because the smallest number has no positive counterpart.
    let mut value: i64 = 0;
    // As many digits never overflow; a checked product costs the sandbox a call.
    let (safe, rest) = digits.split_at(digits.len().min(DIGITS_SAFE));
    for byte in safe {
        value = value * 10 - i64::from(digit(*byte)?);
    }
    for byte in rest {
        let digit = i64::from(digit(*byte)?);
        value = value.checked_mul(10).and_then(|value| value.checked_sub(digit)).ok_or(INTEGER)?;
    }
    if !negative {
        value = value.checked_neg().ok_or(INTEGER)?;
    }
    T::try_from(value).map_err(|_| INTEGER)
}

#[inline]
fn digit(byte: u8) -> Result<u8, ValueError> {
    let digit = byte.wrapping_sub(b'0');
    if digit > 9 { Err(INTEGER) } else { Ok(digit) }
}

/// A floating point number: the shortest text that names it, `NaN`, `Infinity` or `-Infinity`.
pub(super) fn float<T: FromStr>(text: &[u8]) -> Result<T, ValueError> {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(FLOAT)
}

/// An exact decimal.
#[inline]
pub(super) fn numeric(text: &[u8], out: &mut Vec<u8>) -> Result<(), ValueError> {
    if is_canonical_numeric(text) {
        out.extend_from_slice(text);
        return Ok(());
    }
    let text = std::str::from_utf8(text).map_err(|_| NUMERIC)?;
    write_numeric(out, text).map_err(|_| NUMERIC)
}
