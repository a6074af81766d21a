//! The bytes of single values.

use super::{TIMESTAMP, Unfit};

/// Appends an integer in its shortest signed form. -32 takes two bytes, as consumers of this family of
/// servers know it.
pub fn write_signed(out: &mut Vec<u8>, value: i64) {
    if (-31..0x80).contains(&value) {
        out.push(value as u8);
    } else if let Ok(value) = i8::try_from(value) {
        out.extend_from_slice(&[0xd0, value.cast_unsigned()]);
    } else if let Ok(value) = i16::try_from(value) {
        out.push(0xd1);
        out.extend_from_slice(&value.to_be_bytes());
    } else if let Ok(value) = i32::try_from(value) {
        out.push(0xd2);
        out.extend_from_slice(&value.to_be_bytes());
    } else {
        out.push(0xd3);
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// Appends an integer in its shortest form without a sign.
pub fn write_unsigned(out: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        out.push(value as u8);
    } else if let Ok(value) = u8::try_from(value) {
        out.extend_from_slice(&[0xcc, value]);
    } else if let Ok(value) = u16::try_from(value) {
        out.push(0xcd);
        out.extend_from_slice(&value.to_be_bytes());
    } else if let Ok(value) = u32::try_from(value) {
        out.push(0xce);
        out.extend_from_slice(&value.to_be_bytes());
    } else {
        out.push(0xcf);
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// Appends a single.
pub fn write_single(out: &mut Vec<u8>, value: f32) {
    out.push(0xca);
    out.extend_from_slice(&value.to_be_bytes());
}

/// Appends a double.
pub fn write_double(out: &mut Vec<u8>, value: f64) {
    out.push(0xcb);
    out.extend_from_slice(&value.to_be_bytes());
}

/// Appends a number of Lua's: a whole one as an integer, others in the shortest form that keeps them.
pub fn write_float(out: &mut Vec<u8>, value: f64) {
    let whole = value as i64;
    // Negative zero is no integer; beyond 64 bits the conversion ends at their ends.
    if whole as f64 == value && whole != i64::MAX && (whole != 0 || value.is_sign_positive()) {
        write_signed(out, whole);
    } else if f64::from(value as f32) == value {
        write_single(out, value as f32);
    } else {
        write_double(out, value);
    }
}

/// Appends a marker and a length in the shortest of its forms. `small` is the marker that has lengths
/// below its limit in its lower bits.
fn write_length(
    out: &mut Vec<u8>,
    length: usize,
    small: Option<(u8, usize)>,
    [byte, short, long]: [Option<u8>; 3],
) -> Result<(), Unfit> {
    if let Some((marker, limit)) = small
        && length < limit
    {
        out.push(marker | length as u8);
        return Ok(());
    }
    if let (Some(marker), Ok(length)) = (byte, u8::try_from(length)) {
        out.extend_from_slice(&[marker, length]);
    } else if let (Some(marker), Ok(length)) = (short, u16::try_from(length)) {
        out.push(marker);
        out.extend_from_slice(&length.to_be_bytes());
    } else if let (Some(marker), Ok(length)) = (long, u32::try_from(length)) {
        out.push(marker);
        out.extend_from_slice(&length.to_be_bytes());
    } else {
        return Err(Unfit::TooLong);
    }
    Ok(())
}

/// Appends text.
pub fn write_text(out: &mut Vec<u8>, text: &[u8]) -> Result<(), Unfit> {
    write_length(out, text.len(), Some((0xa0, 32)), [Some(0xd9), Some(0xda), Some(0xdb)])?;
    out.extend_from_slice(text);
    Ok(())
}

/// Appends bytes.
pub fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Unfit> {
    write_length(out, bytes.len(), None, [Some(0xc4), Some(0xc5), Some(0xc6)])?;
    out.extend_from_slice(bytes);
    Ok(())
}

/// Appends a string of Lua's.
pub fn write_string(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Unfit> {
    if std::str::from_utf8(bytes).is_ok() { write_text(out, bytes) } else { write_bytes(out, bytes) }
}

/// Appends what comes before an array's items.
pub fn begin_array(out: &mut Vec<u8>, length: usize) -> Result<(), Unfit> {
    write_length(out, length, Some((0x90, 16)), [None, Some(0xdc), Some(0xdd)])
}

/// Appends what comes before a map's fields.
pub fn begin_map(out: &mut Vec<u8>, length: usize) -> Result<(), Unfit> {
    write_length(out, length, Some((0x80, 16)), [None, Some(0xde), Some(0xdf)])
}

/// Appends an extension.
pub fn write_extension(out: &mut Vec<u8>, kind: i8, data: &[u8]) -> Result<(), Unfit> {
    match data.len() {
        1 => out.push(0xd4),
        2 => out.push(0xd5),
        4 => out.push(0xd6),
        8 => out.push(0xd7),
        16 => out.push(0xd8),
        length => write_length(out, length, None, [Some(0xc7), Some(0xc8), Some(0xc9)])?,
    }
    out.push(kind.cast_unsigned());
    out.extend_from_slice(data);
    Ok(())
}

/// Appends a point in time in the shortest form that holds it.
pub fn write_time(out: &mut Vec<u8>, micros: i64) -> Result<(), Unfit> {
    write_time32(out, micros, Rest::Kept)
        .or_else(|_| write_time64(out, micros))
        .or_else(|_| write_time96(out, micros))
}

/// Seconds, and nanoseconds of the next one.
fn split(micros: i64) -> (i64, u32) {
    (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000) as u32 * 1_000)
}

/// What becomes of a fraction of a second that a form does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// The form does not do.
    Kept,
    /// It was asked for in whole seconds.
    CutOff,
}

/// Appends a point in time in whole seconds of 32 bits.
pub fn write_time32(out: &mut Vec<u8>, micros: i64, rest: Rest) -> Result<(), Unfit> {
    let (seconds, nanos) = split(micros);
    let seconds = u32::try_from(seconds).map_err(|_| Unfit::TimeOutOfRange("time32"))?;
    if nanos != 0 && rest == Rest::Kept {
        return Err(Unfit::TimeOutOfRange("time32"));
    }
    write_extension(out, TIMESTAMP, &seconds.to_be_bytes())
}

/// Appends a point in time in 34 bits of seconds and 30 of nanoseconds.
pub fn write_time64(out: &mut Vec<u8>, micros: i64) -> Result<(), Unfit> {
    let (seconds, nanos) = split(micros);
    let seconds = u64::try_from(seconds).ok().filter(|seconds| seconds >> 34 == 0);
    let seconds = seconds.ok_or(Unfit::TimeOutOfRange("time64"))?;
    write_extension(out, TIMESTAMP, &(u64::from(nanos) << 34 | seconds).to_be_bytes())
}

/// Appends a point in time in 64 bits of seconds and 32 of nanoseconds.
pub fn write_time96(out: &mut Vec<u8>, micros: i64) -> Result<(), Unfit> {
    let (seconds, nanos) = split(micros);
    let mut data = [0; 12];
    data[..4].copy_from_slice(&nanos.to_be_bytes());
    data[4..].copy_from_slice(&seconds.to_be_bytes());
    write_extension(out, TIMESTAMP, &data)
}

/// A point in time, where it is one of whole microseconds.
pub fn read_timestamp(data: &[u8]) -> Option<i64> {
    let (seconds, nanos) = match data.len() {
        4 => (u32::from_be_bytes(data.try_into().ok()?).into(), 0),
        8 => {
            let both = u64::from_be_bytes(data.try_into().ok()?);
            ((both & 0x3_ffff_ffff).cast_signed(), (both >> 34) as u32)
        }
        12 => {
            let (nanos, seconds) = data.split_first_chunk()?;
            (i64::from_be_bytes(seconds.try_into().ok()?), u32::from_be_bytes(*nanos))
        }
        _ => return None,
    };
    if nanos % 1_000 != 0 || nanos >= 1_000_000_000 {
        return None;
    }
    let micros = seconds.checked_mul(1_000_000)?.checked_add(i64::from(nanos / 1_000))?;
    // The greatest and the least are the infinities.
    (micros != i64::MAX && micros != i64::MIN).then_some(micros)
}
