//! Which changes of a column's type keep every value.

use crate::target_type::TargetType;

/// Whether ClickHouse turns every value of one type into the same value of another, as PostgreSQL
/// would show it.
pub(crate) fn widens(from: &TargetType, to: &TargetType) -> bool {
    use TargetType::{
        Date, Date32, DateTime64, Decimal, Enum, FixedString, Float32, Float64, Int, String, UInt, Uuid,
    };
    match (from, to) {
        (Int(from), Int(to)) | (UInt(from), UInt(to)) => from < to,
        (UInt(from), Int(to)) => from < to,
        (Float32, Float64) | (Date, Date32) => true,
        (Int(width), Decimal { precision, scale }) => {
            digits(*width).is_some_and(|digits| digits <= precision - scale)
        }
        (Decimal { precision, scale }, Decimal { precision: to_precision, scale: to_scale }) => {
            scale <= to_scale && precision - scale <= to_precision - to_scale && from != to
        }
        (DateTime64 { precision, timezone }, DateTime64 { precision: to, timezone: to_zone }) => {
            precision < to && timezone == to_zone
        }
        (Int(_) | UInt(_) | Uuid | Enum { .. } | FixedString(_), String) => true,
        _ => false,
    }
}

/// Decimal digits of the greatest integer.
fn digits(width: usize) -> Option<u8> {
    match width {
        1 => Some(3),
        2 => Some(5),
        4 => Some(10),
        8 => Some(19),
        _ => None,
    }
}
