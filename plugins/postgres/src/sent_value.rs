//! From the server's binary form of a value to the value's form in a batch.
//!
//! Cheaper on both sides than the text, and offered only for types whose binary form surely gives the cell
//! that their text gives (`tests/e2e` compares both for each): the stream has text, and a row must not
//! depend on the way it came. A form that is not what its type promises is an error, never a default.

mod array;
mod number;

use tarn_batch::Type;
use tarn_batch::value::{
    DATE_INFINITY, DATE_NEGATIVE_INFINITY, Interval, TIMESTAMP_INFINITY, TIMESTAMP_NEGATIVE_INFINITY, TimeTz,
    write_interval, write_time_tz,
};

use crate::value::ValueError;

/// Days from 1970 to 2000, where the server's calendar starts.
const SERVER_EPOCH_DAYS: i32 = 10_957;
/// The same in microseconds.
const SERVER_EPOCH_US: i64 = 946_684_800_000_000;
/// The version of the form of a `jsonb`, before its text.
const JSONB_VERSION: u8 = 1;

/// How the binary form of one type becomes a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SentDecoder {
    Bool,
    Int2,
    Int4,
    Int8,
    /// An unsigned number of 32 bits, as an `int8`.
    Oid,
    Float4,
    Float8,
    Numeric,
    /// Text, JSON and labels of enums: their text.
    Text,
    Jsonb,
    Bytes,
    Date,
    Time,
    TimeTz,
    Timestamp,
    Interval,
    Uuid,
    Array(Box<SentDecoder>),
}

impl SentDecoder {
    /// The decoder of a type that is neither a domain nor an array; nothing where only the text is sure.
    pub(crate) fn scalar(data_type: &Type, oid: u32) -> Option<Self> {
        Some(match (data_type, oid) {
            // "char": its text has escapes.
            (_, 18) => return None,
            (_, 26) => Self::Oid,
            (_, 3802) => Self::Jsonb,
            (Type::Bool, _) => Self::Bool,
            (Type::Int2, _) => Self::Int2,
            (Type::Int4, _) => Self::Int4,
            (Type::Int8, _) => Self::Int8,
            (Type::Float4, _) => Self::Float4,
            (Type::Float8, _) => Self::Float8,
            (Type::Numeric { .. }, _) => Self::Numeric,
            (Type::Text | Type::Json | Type::Enum, _) => Self::Text,
            (Type::Bytes, _) => Self::Bytes,
            (Type::Date, _) => Self::Date,
            (Type::Time, _) => Self::Time,
            (Type::TimeTz, _) => Self::TimeTz,
            (Type::Timestamp | Type::TimestampTz, _) => Self::Timestamp,
            (Type::Interval, _) => Self::Interval,
            (Type::Uuid, _) => Self::Uuid,
            (Type::Other | Type::Array(_), _) => return None,
        })
    }

    /// Appends a value to `out`. What it appended before an error is of no use.
    #[inline]
    pub(crate) fn write(&self, sent: &[u8], out: &mut Vec<u8>) -> Result<(), ValueError> {
        match self {
            Self::Text => text(sent, out)?,
            Self::Int4 => out.extend_from_slice(&i32::from_be_bytes(fixed(sent, "integer")?).to_le_bytes()),
            Self::Int8 => out.extend_from_slice(&i64::from_be_bytes(fixed(sent, "integer")?).to_le_bytes()),
            Self::Int2 => out.extend_from_slice(&i16::from_be_bytes(fixed(sent, "integer")?).to_le_bytes()),
            Self::Oid => {
                let number = u32::from_be_bytes(fixed(sent, "integer")?);
                out.extend_from_slice(&i64::from(number).to_le_bytes());
            }
            Self::Bool => match sent {
                [flag @ (0 | 1)] => out.push(*flag),
                _ => return Err(ValueError::Malformed("boolean")),
            },
            Self::Numeric => number::numeric(sent, out)?,
            Self::Float8 => number::float8(sent, out)?,
            Self::Float4 => number::float4(sent, out)?,
            Self::Timestamp => out.extend_from_slice(&timestamp(sent)?.to_le_bytes()),
            Self::Date => out.extend_from_slice(&date(sent)?.to_le_bytes()),
            Self::Time => out.extend_from_slice(&i64::from_be_bytes(fixed(sent, "time")?).to_le_bytes()),
            Self::TimeTz => time_tz(sent, out)?,
            Self::Interval => interval(sent, out)?,
            Self::Uuid => out.extend_from_slice(&fixed::<16>(sent, "uuid")?),
            Self::Bytes => out.extend_from_slice(sent),
            Self::Jsonb => match sent {
                [JSONB_VERSION, rest @ ..] => text(rest, out)?,
                _ => return Err(ValueError::Malformed("jsonb")),
            },
            Self::Array(element) => array::array(sent, element, out)?,
        }
        Ok(())
    }
}

/// The bytes of a form that always has as many.
#[inline]
fn fixed<const N: usize>(sent: &[u8], what: &'static str) -> Result<[u8; N], ValueError> {
    sent.try_into().map_err(|_| ValueError::Malformed(what))
}

#[inline]
fn text(sent: &[u8], out: &mut Vec<u8>) -> Result<(), ValueError> {
    std::str::from_utf8(sent).map_err(|_| ValueError::NotUtf8)?;
    out.extend_from_slice(sent);
    Ok(())
}

/// Days since 2000, the greatest and the least of which are infinite.
fn date(sent: &[u8]) -> Result<i32, ValueError> {
    match i32::from_be_bytes(fixed(sent, "date")?) {
        i32::MAX => Ok(DATE_INFINITY),
        i32::MIN => Ok(DATE_NEGATIVE_INFINITY),
        days => days.checked_add(SERVER_EPOCH_DAYS).ok_or(ValueError::OutOfRange("date")),
    }
}

/// Microseconds since 2000, the most and the least of which are infinite. Those that would be infinite in
/// a batch have no place in it.
#[inline]
fn timestamp(sent: &[u8]) -> Result<i64, ValueError> {
    match i64::from_be_bytes(fixed(sent, "timestamp")?) {
        i64::MAX => Ok(TIMESTAMP_INFINITY),
        i64::MIN => Ok(TIMESTAMP_NEGATIVE_INFINITY),
        micros => micros
            .checked_add(SERVER_EPOCH_US)
            .filter(|micros| *micros != TIMESTAMP_INFINITY)
            .ok_or(ValueError::OutOfRange("timestamp")),
    }
}

/// A time, and how far its zone is west of UTC, in seconds.
fn time_tz(sent: &[u8], out: &mut Vec<u8>) -> Result<(), ValueError> {
    const TIME: ValueError = ValueError::Malformed("time");
    let (micros, west) = sent.split_first_chunk::<8>().ok_or(TIME)?;
    let west = i32::from_be_bytes(fixed(west, "time")?);
    let offset = west.checked_neg().ok_or(TIME)?;
    write_time_tz(out, TimeTz { micros: i64::from_be_bytes(*micros), offset });
    Ok(())
}

/// Microseconds, days and months.
fn interval(sent: &[u8], out: &mut Vec<u8>) -> Result<(), ValueError> {
    const INTERVAL: ValueError = ValueError::Malformed("interval");
    let (micros, rest) = sent.split_first_chunk::<8>().ok_or(INTERVAL)?;
    let (days, rest) = rest.split_first_chunk::<4>().ok_or(INTERVAL)?;
    let months = i32::from_be_bytes(fixed(rest, "interval")?);
    let (days, micros) = (i32::from_be_bytes(*days), i64::from_be_bytes(*micros));
    write_interval(out, Interval { months, days, micros });
    Ok(())
}

#[cfg(test)]
mod tests;
