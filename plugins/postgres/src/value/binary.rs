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
    let mut digits = 0;
    out.extend(pairs.iter().map(|pair| byte(pair, &mut digits)));
    if digits < 16 { Ok(()) } else { Err(BYTES) }
}

/// Groups of 8, 4, 4, 4 and 12 digits.
pub(super) fn uuid(text: &[u8], out: &mut Vec<u8>) -> Result<(), ValueError> {
    // Where the digits of each byte are: hyphens stand at 8, 13, 18 and 23.
    const PAIRS: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
    let text: &[u8; 36] = text.try_into().map_err(|_| UUID)?;
    if [8, 13, 18, 23].iter().any(|at| text[*at] != b'-') {
        return Err(UUID);
    }
    let mut digits = 0;
    out.extend_from_slice(&PAIRS.map(|at| byte(&[text[at], text[at + 1]], &mut digits)));
    if digits < 16 { Ok(()) } else { Err(UUID) }
}

/// The byte of two digits. What is no digit makes `digits` 16 or more, which is looked at once for all.
#[inline]
fn byte(pair: &[u8; 2], digits: &mut u8) -> u8 {
    let [upper, lower] = pair.map(|digit| DIGITS[usize::from(digit)]);
    *digits |= upper | lower;
    upper << 4 | lower
}

/// What each byte stands for as a digit; `NO_DIGIT` where it is none.
const DIGITS: [u8; 256] = {
    let mut digits = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 16 {
        digits[b"0123456789abcdef"[value] as usize] = value as u8;
        digits[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    digits
};
const NO_DIGIT: u8 = 0xFF;
