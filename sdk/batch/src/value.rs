//! The value inside a cell: one form for each type, read without a copy.
//!
//! Fixed-size forms are exactly as long as they are; a value of another length is an error, never
//! another value.

mod array;
mod numeric;

pub use array::{ArrayReader, ArrayWriter, Elements};
pub use numeric::{is_canonical_numeric, write_numeric};

use crate::DecodeError;

/// The date `infinity`; `-infinity` is [`DATE_NEGATIVE_INFINITY`].
pub const DATE_INFINITY: i32 = i32::MAX;
/// The date `-infinity`.
pub const DATE_NEGATIVE_INFINITY: i32 = i32::MIN;
/// The timestamp `infinity`, with and without zone.
pub const TIMESTAMP_INFINITY: i64 = i64::MAX;
/// The timestamp `-infinity`, with and without zone.
pub const TIMESTAMP_NEGATIVE_INFINITY: i64 = i64::MIN;

/// A time of day and its zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeTz {
    /// Local microseconds since midnight, 0 to 86,400,000,000 (24:00 is its own time).
    pub micros: i64,
    /// Seconds that the zone is east of UTC.
    pub offset: i32,
}

/// An interval: three counts that do not turn into one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interval {
    /// Months.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}

impl Interval {
    /// The interval `infinity`.
    pub const INFINITY: Self = Self { months: i32::MAX, days: i32::MAX, micros: i64::MAX };
    /// The interval `-infinity`.
    pub const NEGATIVE_INFINITY: Self = Self { months: i32::MIN, days: i32::MIN, micros: i64::MIN };
}

#[inline]
fn exactly<const N: usize>(value: &[u8], what: &'static str) -> Result<[u8; N], DecodeError> {
    value.try_into().map_err(|_| DecodeError::Invalid(what))
}

/// Reads a `Bool`.
#[inline]
pub fn read_bool(value: &[u8]) -> Result<bool, DecodeError> {
    match value {
        [0] => Ok(false),
        [1] => Ok(true),
        _ => Err(DecodeError::Invalid("bool value")),
    }
}

/// Reads an `Int2`.
#[inline]
pub fn read_i16(value: &[u8]) -> Result<i16, DecodeError> {
    exactly(value, "int2 value").map(i16::from_le_bytes)
}

/// Reads an `Int4`, or the days of a `Date`.
#[inline]
pub fn read_i32(value: &[u8]) -> Result<i32, DecodeError> {
    exactly(value, "int4 or date value").map(i32::from_le_bytes)
}

/// Reads an `Int8`, or the microseconds of a `Time`, `Timestamp` or `TimestampTz`.
#[inline]
pub fn read_i64(value: &[u8]) -> Result<i64, DecodeError> {
    exactly(value, "int8, time or timestamp value").map(i64::from_le_bytes)
}

/// Reads a `Float4`.
#[inline]
pub fn read_f32(value: &[u8]) -> Result<f32, DecodeError> {
    exactly(value, "float4 value").map(f32::from_le_bytes)
}

/// Reads a `Float8`.
#[inline]
pub fn read_f64(value: &[u8]) -> Result<f64, DecodeError> {
    exactly(value, "float8 value").map(f64::from_le_bytes)
}

/// Reads a `Numeric`, `Text`, `Json`, `Enum` or `Other`: forms that are text.
#[inline]
pub fn read_text(value: &[u8]) -> Result<&str, DecodeError> {
    std::str::from_utf8(value).map_err(|_| DecodeError::NotUtf8("text value"))
}

/// Reads a `Uuid`: its bytes in the order they are written in.
#[inline]
pub fn read_uuid(value: &[u8]) -> Result<[u8; 16], DecodeError> {
    exactly(value, "uuid value")
}

/// Reads a `TimeTz`.
#[inline]
pub fn read_time_tz(value: &[u8]) -> Result<TimeTz, DecodeError> {
    let (micros, offset) = value.split_first_chunk().ok_or(DecodeError::Invalid("timetz value"))?;
    let offset = exactly(offset, "timetz value")?;
    Ok(TimeTz { micros: i64::from_le_bytes(*micros), offset: i32::from_le_bytes(offset) })
}

/// Reads an `Interval`.
#[inline]
pub fn read_interval(value: &[u8]) -> Result<Interval, DecodeError> {
    let bytes: [u8; 16] = exactly(value, "interval value")?;
    let [m0, m1, m2, m3, d0, d1, d2, d3, micros @ ..] = bytes;
    Ok(Interval {
        months: i32::from_le_bytes([m0, m1, m2, m3]),
        days: i32::from_le_bytes([d0, d1, d2, d3]),
        micros: i64::from_le_bytes(micros),
    })
}

/// Writes a `TimeTz`.
#[inline]
pub fn write_time_tz(out: &mut Vec<u8>, value: TimeTz) {
    out.extend_from_slice(&value.micros.to_le_bytes());
    out.extend_from_slice(&value.offset.to_le_bytes());
}

/// Writes an `Interval`.
#[inline]
pub fn write_interval(out: &mut Vec<u8>, value: Interval) {
    out.extend_from_slice(&value.months.to_le_bytes());
    out.extend_from_slice(&value.days.to_le_bytes());
    out.extend_from_slice(&value.micros.to_le_bytes());
}
