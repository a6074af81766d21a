//! The types a column can have.

use crate::DecodeError;
use crate::config::TYPE_DEPTH_MAX;
use crate::wire::Cursor;

/// A column's type: it says which form the values in its cells have (see [`crate::value`]).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// True or false.
    Bool,
    /// 16-bit integer.
    Int2,
    /// 32-bit integer.
    Int4,
    /// 64-bit integer.
    Int8,
    /// Single-precision float.
    Float4,
    /// Double-precision float.
    Float8,
    /// Exact decimal number.
    Numeric {
        /// Digits in all; 0 when unbounded.
        precision: u16,
        /// Digits after the point, negative to round before it; 0 when unbounded.
        scale: i16,
    },
    /// Text.
    Text,
    /// Bytes.
    Bytes,
    /// Day of the proleptic Gregorian calendar.
    Date,
    /// Time of day.
    Time,
    /// Time of day with its offset from UTC.
    TimeTz,
    /// Date and time of day without a zone.
    Timestamp,
    /// Point in time.
    TimestampTz,
    /// Months, days and microseconds.
    Interval,
    /// UUID.
    Uuid,
    /// JSON, as its exact text.
    Json,
    /// Label of an enumeration.
    Enum,
    /// A type the format does not know, as the server's text.
    Other,
    /// Array of any dimensions.
    Array(Box<Type>),
}

const ARRAY_TAG: u8 = 20;
const NUMERIC_TAG: u8 = 7;

impl Type {
    /// The type's tag in the bytes.
    pub fn tag(&self) -> u8 {
        match self {
            Self::Bool => 1,
            Self::Int2 => 2,
            Self::Int4 => 3,
            Self::Int8 => 4,
            Self::Float4 => 5,
            Self::Float8 => 6,
            Self::Numeric { .. } => NUMERIC_TAG,
            Self::Text => 8,
            Self::Bytes => 9,
            Self::Date => 10,
            Self::Time => 11,
            Self::TimeTz => 12,
            Self::Timestamp => 13,
            Self::TimestampTz => 14,
            Self::Interval => 15,
            Self::Uuid => 16,
            Self::Json => 17,
            Self::Enum => 18,
            Self::Other => 19,
            Self::Array(_) => ARRAY_TAG,
        }
    }

    /// An array of this type.
    pub fn array(self) -> Self {
        Self::Array(Box::new(self))
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.push(self.tag());
        match self {
            Self::Numeric { precision, scale } => {
                out.extend_from_slice(&precision.to_le_bytes());
                out.extend_from_slice(&scale.to_le_bytes());
            }
            Self::Array(element) => element.write(out),
            _ => {}
        }
    }

    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Self::read_nested(cursor, TYPE_DEPTH_MAX)
    }

    fn read_nested(cursor: &mut Cursor<'_>, depth: usize) -> Result<Self, DecodeError> {
        Ok(match cursor.u8()? {
            1 => Self::Bool,
            2 => Self::Int2,
            3 => Self::Int4,
            4 => Self::Int8,
            5 => Self::Float4,
            6 => Self::Float8,
            NUMERIC_TAG => Self::Numeric { precision: cursor.u16()?, scale: cursor.i16()? },
            8 => Self::Text,
            9 => Self::Bytes,
            10 => Self::Date,
            11 => Self::Time,
            12 => Self::TimeTz,
            13 => Self::Timestamp,
            14 => Self::TimestampTz,
            15 => Self::Interval,
            16 => Self::Uuid,
            17 => Self::Json,
            18 => Self::Enum,
            19 => Self::Other,
            ARRAY_TAG if depth == 0 => return Err(DecodeError::Invalid("nesting of an array type")),
            ARRAY_TAG => Self::read_nested(cursor, depth - 1)?.array(),
            tag => return Err(DecodeError::UnknownType(tag)),
        })
    }
}
