//! A value as PostgreSQL would say it: the text that people, scripts and text columns see.
//!
//! ISO dates with era, `infinity`, UTC offsets, shortest floats, `{}` arrays, `\x` bytes: what the
//! server answers with `DateStyle` ISO, `IntervalStyle` postgres, `bytea_output` hex and time zone
//! UTC.

mod array;
mod datetime;
mod float;

use crate::value::{
    read_bool, read_f32, read_f64, read_i16, read_i32, read_i64, read_interval, read_text, read_time_tz,
    read_uuid,
};
use crate::{DecodeError, Type};

/// Appends the text of a value of the given type. On an error `out` may hold a part of it.
pub fn write_text(data_type: &Type, value: &[u8], out: &mut String) -> Result<(), DecodeError> {
    match data_type {
        Type::Bool => out.push(if read_bool(value)? { 't' } else { 'f' }),
        Type::Int2 => push_integer(out, read_i16(value)?.into()),
        Type::Int4 => push_integer(out, read_i32(value)?.into()),
        Type::Int8 => push_integer(out, read_i64(value)?),
        Type::Float4 => float::push_f32(out, read_f32(value)?),
        Type::Float8 => float::push_f64(out, read_f64(value)?),
        Type::Numeric { .. } | Type::Text | Type::Json | Type::Enum | Type::Other => {
            out.push_str(read_text(value)?)
        }
        Type::Bytes => {
            out.push_str("\\x");
            push_hex(out, value);
        }
        Type::Date => datetime::push_date(out, read_i32(value)?),
        Type::Time => datetime::push_time(out, read_i64(value)?)?,
        Type::TimeTz => datetime::push_time_tz(out, read_time_tz(value)?)?,
        Type::Timestamp => datetime::push_timestamp(out, read_i64(value)?, ""),
        Type::TimestampTz => datetime::push_timestamp(out, read_i64(value)?, "+00"),
        Type::Interval => datetime::push_interval(out, read_interval(value)?),
        Type::Uuid => push_uuid(out, read_uuid(value)?),
        Type::Array(element) => array::push(out, element, value)?,
    }
    Ok(())
}

fn push_uuid(out: &mut String, bytes: [u8; 16]) {
    let groups = [0..4, 4..6, 6..8, 8..10, 10..16];
    for (at, group) in groups.into_iter().enumerate() {
        if at > 0 {
            out.push('-');
        }
        push_hex(out, &bytes[group]);
    }
}

fn push_hex(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(bytes.len() * 2);
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

fn push_integer(out: &mut String, value: i64) {
    if value < 0 {
        out.push('-');
    }
    push_padded(out, value.unsigned_abs(), 1);
}

/// Appends a number with leading zeros to a width.
fn push_padded(out: &mut String, value: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    let mut left = value;
    while left > 0 || digits.len() - start < width {
        start -= 1;
        digits[start] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    out.extend(digits[start..].iter().map(|&digit| char::from(digit)));
}
