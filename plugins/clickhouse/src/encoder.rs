//! From a value of a batch to its bytes in RowBinary.
//!
//! For each column one function is chosen when the table is first seen, so that a row is a walk over
//! cells and functions. A pair of types without a function is refused before any row is written; a
//! value that the target's type cannot hold is a [`Fault`], never another value.

mod array;
mod decimal;
mod moment;
mod number;
mod text;

use std::cell::RefCell;

use tarn_batch::Type;

use crate::calendar_range::CalendarRange;
use crate::column_type::scalar_type;
use crate::fault::Fault;
use crate::target_type::TargetType;
use crate::widening::widens;

/// Writes values of one source type as one target type.
#[derive(Debug)]
pub(crate) struct Encoder {
    /// Whether a flag stands before each value.
    nullable: bool,
    write: Write,
    pair: Pair,
}

/// Appends one value. What it appended before a fault is taken back by the caller.
type Write = fn(&Pair, &[u8], &mut Vec<u8>) -> Result<(), Fault>;

/// What a function may need to know about the two types.
#[derive(Debug)]
struct Pair {
    source: Type,
    target: TargetType,
    range: CalendarRange,
    /// How elements of an array are written.
    element: Option<Box<Encoder>>,
    /// Text is put together here.
    scratch: RefCell<String>,
}

impl Encoder {
    /// The encoder for a pair of types; `None` when values of the source's cannot go there.
    pub(crate) fn new(source: &Type, target: &TargetType, range: CalendarRange) -> Option<Self> {
        let value_type = target.value_type();
        let write = write_for(source, value_type)?;
        let element = match (source, value_type) {
            (Type::Array(element), TargetType::Array(_)) => {
                Some(Box::new(Self::new(element, array::innermost(value_type), range)?))
            }
            _ => None,
        };
        let pair = Pair {
            source: source.clone(),
            target: value_type.clone(),
            range,
            element,
            scratch: RefCell::default(),
        };
        Some(Self { nullable: target.is_nullable(), write, pair })
    }

    /// The encoder for a column of the key: what ClickHouse sorts as one value has one form. Rows are told
    /// apart by it in more than one way (sorting, hashes of lookups and groups), and the forms of zero and
    /// of NaN are one in some of them only. PostgreSQL has one of them at a time, too.
    pub(crate) fn of_key(source: &Type, target: &TargetType, range: CalendarRange) -> Option<Self> {
        let encoder = Self::new(source, target, range)?;
        let is_float = matches!(target.value_type(), TargetType::Float32 | TargetType::Float64);
        Some(if is_float { Self { write: number::float_of_key, ..encoder } } else { encoder })
    }

    /// Appends a value.
    #[inline]
    pub(crate) fn value(&self, value: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        if self.nullable {
            out.push(0);
        }
        (self.write)(&self.pair, value, out)
    }

    /// Appends NULL.
    #[inline]
    pub(crate) fn null(&self, out: &mut Vec<u8>) -> Result<(), Fault> {
        if self.nullable {
            out.push(1);
            Ok(())
        } else {
            Err(Fault::Null)
        }
    }
}

fn write_for(source: &Type, target: &TargetType) -> Option<Write> {
    match (source, target) {
        // Integers and truth values.
        (Type::Bool, TargetType::Bool) => Some(number::fixed::<1>),
        (Type::Int2, TargetType::Int(2)) => Some(number::fixed::<2>),
        (Type::Int4, TargetType::Int(4)) => Some(number::fixed::<4>),
        (Type::Int8, TargetType::Int(8)) => Some(number::fixed::<8>),
        (Type::Bool | Type::Int2 | Type::Int4 | Type::Int8, TargetType::Int(_) | TargetType::UInt(_)) => {
            Some(number::integer)
        }
        (Type::Int2 | Type::Int4, TargetType::Float64) => Some(number::integer_as_float),
        // Floats: never a narrower one.
        (Type::Float4, TargetType::Float32) => Some(number::fixed::<4>),
        (Type::Float4, TargetType::Float64) => Some(number::widened_float),
        (Type::Float8, TargetType::Float64) => Some(number::fixed::<8>),
        // Exact decimals: never a float.
        (Type::Numeric { .. }, TargetType::Decimal { .. }) => Some(decimal::decimal),
        (Type::Numeric { .. }, TargetType::Int(_) | TargetType::UInt(_)) => Some(decimal::integer),
        (Type::Int2 | Type::Int4 | Type::Int8, TargetType::Decimal { .. }) => Some(decimal::of_integer),
        // Days and moments.
        (Type::Date, TargetType::Date32) => Some(moment::date32),
        (Type::Date, TargetType::Date) => Some(moment::date),
        (Type::Timestamp | Type::TimestampTz, TargetType::DateTime64 { .. }) => Some(moment::date_time_64),
        (Type::Timestamp | Type::TimestampTz, TargetType::DateTime { .. }) => Some(moment::date_time),
        (Type::Time, TargetType::Time64 { .. }) => Some(moment::time_64),
        // Texts. Those that are bytes already are copied.
        (
            Type::Text | Type::Bytes | Type::Json | Type::Enum | Type::Other | Type::Numeric { .. },
            TargetType::String,
        ) => Some(text::copied),
        (Type::Json, TargetType::Json(_)) => Some(text::copied),
        (_, TargetType::String) => Some(text::written),
        (Type::Text | Type::Bytes | Type::Enum | Type::Other, TargetType::FixedString(_)) => {
            Some(text::fixed)
        }
        (Type::Text | Type::Enum, TargetType::Enum { .. }) => Some(text::label),
        (Type::Uuid, TargetType::Uuid) => Some(text::uuid),
        (Type::Array(_), TargetType::Array(_)) => Some(array::array),
        _ => None,
    }
}

/// Whether every value of the source's type has a place in the target's, rather than being a fault here and there. How far
/// days and moments reach is the server's, for all types of them alike.
pub(crate) fn holds_every(source: &Type, target: &TargetType) -> bool {
    match (source, target.value_type()) {
        (_, TargetType::String) | (Type::Bool, TargetType::Int(_) | TargetType::UInt(_)) => true,
        (Type::Array(element), target @ TargetType::Array(_)) => {
            holds_every(element, array::innermost(target))
        }
        (_, target) => {
            let exact = scalar_type(source);
            exact.value_type() == target || widens(exact.value_type(), target)
        }
    }
}

#[cfg(test)]
mod tests;
