//! From the server's text of a value to the value's form in a batch.
//!
//! Snapshot and stream give the same text (session settings fix it), and this is the only way from it
//! to a batch, so that a row is the same whichever way it came. A text that is not what its type
//! promises is an error, never a default. Nothing is allocated for a value.

mod array;
mod binary;
mod datetime;
mod interval;
mod number;

use std::fmt;

use tarn_batch::Type;

/// How the text of one type becomes a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decoder {
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    Numeric,
    /// Text, JSON, enum labels and whatever stays as the server says it.
    Text,
    Bytes,
    Date,
    Time,
    TimeTz,
    Timestamp,
    TimestampTz,
    Interval,
    Uuid,
    Array {
        element: Box<Decoder>,
        /// What stands between elements: a comma, but for boxes a semicolon.
        delimiter: u8,
    },
}

/// A text that is not a value of its type. It does not hold the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueError {
    /// Not in the form of the type named here.
    Malformed(&'static str),
    /// A value that the batch has no place for.
    OutOfRange(&'static str),
    /// Not UTF-8: the database has an encoding that lets any bytes pass.
    NotUtf8,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(what) => write!(f, "the server's text is not a {what}"),
            Self::OutOfRange(what) => write!(f, "the {what} is out of the range that can be replicated"),
            Self::NotUtf8 => f.write_str("the text is not valid UTF-8"),
        }
    }
}

impl Decoder {
    /// The decoder of a type whose values are not arrays.
    pub(crate) fn scalar(data_type: &Type) -> Self {
        match data_type {
            Type::Bool => Self::Bool,
            Type::Int2 => Self::Int2,
            Type::Int4 => Self::Int4,
            Type::Int8 => Self::Int8,
            Type::Float4 => Self::Float4,
            Type::Float8 => Self::Float8,
            Type::Numeric { .. } => Self::Numeric,
            Type::Bytes => Self::Bytes,
            Type::Date => Self::Date,
            Type::Time => Self::Time,
            Type::TimeTz => Self::TimeTz,
            Type::Timestamp => Self::Timestamp,
            Type::TimestampTz => Self::TimestampTz,
            Type::Interval => Self::Interval,
            Type::Uuid => Self::Uuid,
            Type::Text | Type::Json | Type::Enum | Type::Other | Type::Array(_) => Self::Text,
        }
    }

    /// Appends the value of a text to `out`. What it appended before an error is of no use.
    pub(crate) fn write(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), ValueError> {
        match self {
            Self::Text => {
                std::str::from_utf8(text).map_err(|_| ValueError::NotUtf8)?;
                out.extend_from_slice(text);
            }
            Self::Int4 => out.extend_from_slice(&number::integer::<i32>(text)?.to_le_bytes()),
            Self::Int8 => out.extend_from_slice(&number::integer::<i64>(text)?.to_le_bytes()),
            Self::Int2 => out.extend_from_slice(&number::integer::<i16>(text)?.to_le_bytes()),
            Self::Bool => out.push(boolean(text)?),
            Self::Numeric => number::numeric(text, out)?,
            Self::Float8 => out.extend_from_slice(&number::float::<f64>(text)?.to_le_bytes()),
            Self::Float4 => out.extend_from_slice(&number::float::<f32>(text)?.to_le_bytes()),
            Self::Timestamp => out.extend_from_slice(&datetime::timestamp(text)?.to_le_bytes()),
            Self::TimestampTz => out.extend_from_slice(&datetime::timestamp_tz(text)?.to_le_bytes()),
            Self::Date => out.extend_from_slice(&datetime::date(text)?.to_le_bytes()),
            Self::Time => out.extend_from_slice(&datetime::time(text)?.to_le_bytes()),
            Self::TimeTz => datetime::time_tz(text, out)?,
            Self::Interval => interval::interval(text, out)?,
            Self::Uuid => binary::uuid(text, out)?,
            Self::Bytes => binary::bytes(text, out)?,
            Self::Array { element, delimiter } => array::array(text, element, *delimiter, out)?,
        }
        Ok(())
    }
}

fn boolean(text: &[u8]) -> Result<u8, ValueError> {
    match text {
        b"t" => Ok(1),
        b"f" => Ok(0),
        _ => Err(ValueError::Malformed("boolean")),
    }
}

#[cfg(test)]
mod tests;
