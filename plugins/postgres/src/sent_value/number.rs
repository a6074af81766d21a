//! Numbers that are not integers.

use super::fixed;
use crate::value::ValueError;

const NUMERIC: ValueError = ValueError::Malformed("numeric");
const FLOAT: &str = "floating point number";

/// Decimal digits of one group of a numeric.
const GROUP: usize = 4;

/// What a numeric is besides a number that is not negative.
const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xC000;
const INFINITY: u16 = 0xD000;
const NEGATIVE_INFINITY: u16 = 0xF000;

/// A number that is none has one form in a batch, as it has one text.
pub(super) fn float8(sent: &[u8], out: &mut Vec<u8>) -> Result<(), ValueError> {
    let float = f64::from_be_bytes(fixed(sent, FLOAT)?);
    out.extend_from_slice(&if float.is_nan() { f64::NAN } else { float }.to_le_bytes());
    Ok(())
}

/// The same in 32 bits.
pub(super) fn float4(sent: &[u8], out: &mut Vec<u8>) -> Result<(), ValueError> {
    let float = f32::from_be_bytes(fixed(sent, FLOAT)?);
    out.extend_from_slice(&if float.is_nan() { f32::NAN } else { float }.to_le_bytes());
    Ok(())
}

/// How many groups there are, the weight of the first (a power of 10,000), the sign, how many digits are
/// behind the point, and the groups. The text is what the server would write.
pub(super) fn numeric(sent: &[u8], out: &mut Vec<u8>) -> Result<(), ValueError> {
    let (head, groups) = sent.split_first_chunk::<8>().ok_or(NUMERIC)?;
    let [c1, c0, w1, w0, s1, s0, d1, d0] = *head;
    let weight = i16::from_be_bytes([w1, w0]);
    let scale = usize::from(u16::from_be_bytes([d1, d0]));
    let (groups, []) = groups.as_chunks::<2>() else { return Err(NUMERIC) };
    if groups.len() != usize::from(u16::from_be_bytes([c1, c0])) {
        return Err(NUMERIC);
    }
    match u16::from_be_bytes([s1, s0]) {
        0 => {}
        // Zero has no sign.
        NEGATIVE if groups.iter().any(|group| *group != [0, 0]) => out.push(b'-'),
        NEGATIVE => {}
        NAN => return text(b"NaN", out),
        INFINITY => return text(b"Infinity", out),
        NEGATIVE_INFINITY => return text(b"-Infinity", out),
        _ => return Err(NUMERIC),
    }
    let group = |place: i32| -> Result<u16, ValueError> {
        // Groups that are not sent are zero.
        let index = usize::try_from(i32::from(weight) - place).ok();
        let group = index.and_then(|index| groups.get(index)).map_or(0, |group| u16::from_be_bytes(*group));
        if group < 10_000 { Ok(group) } else { Err(NUMERIC) }
    };
    let start = out.len();
    for place in (0..=i32::from(weight)).rev() {
        let digits = digits(group(place)?);
        let leading =
            if out.len() == start { digits.iter().take_while(|digit| **digit == b'0').count() } else { 0 };
        out.extend_from_slice(&digits[leading..]);
    }
    if out.len() == start {
        out.push(b'0');
    }
    if scale > 0 {
        out.push(b'.');
        let mut missing = scale;
        let mut place = -1;
        while missing > 0 {
            let digits = digits(group(place)?);
            let taken = missing.min(GROUP);
            out.extend_from_slice(&digits[..taken]);
            missing -= taken;
            place -= 1;
        }
    }
    Ok(())
}

fn text(text: &[u8], out: &mut Vec<u8>) -> Result<(), ValueError> {
    out.extend_from_slice(text);
    Ok(())
}

/// The digits of a group, below 10,000.
#[inline]
fn digits(group: u16) -> [u8; GROUP] {
    let digit = |by: u16| b'0' + (group / by % 10) as u8;
    [digit(1000), digit(100), digit(10), digit(1)]
}
