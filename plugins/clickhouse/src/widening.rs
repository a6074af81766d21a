//! Which changes of a column's type keep every value.

use crate::config::DECIMAL_DIGITS_MAX;
use crate::target_type::TargetType;

/// The type that holds every value of two types as PostgreSQL would show it, where ClickHouse turns those of the first
/// into it; that is the first itself where it holds all of the second's. Both are without NULL and dictionary.
pub(crate) fn common(held: &TargetType, wanted: &TargetType) -> Option<TargetType> {
    use TargetType::{Array, Decimal, Int};
    if held == wanted || widens(wanted, held) {
        return Some(held.clone());
    }
    if widens(held, wanted) {
        return Some(wanted.clone());
    }
    match (held, wanted) {
        (Decimal { precision, scale }, Decimal { precision: other, scale: other_scale }) => {
            decimal((precision - scale).max(other - other_scale), *scale.max(other_scale))
        }
        (Int(width), Decimal { precision, scale }) | (Decimal { precision, scale }, Int(width)) => {
            decimal(digits(*width)?.max(precision - scale), *scale)
        }
        (Array(held), Array(wanted)) => {
            let element = common(held.value_type(), wanted.value_type())?;
            let nullable = held.is_nullable() || wanted.is_nullable();
            Some(Array(Box::new(if nullable { element.nullable() } else { element })))
        }
        _ => None,
    }
}

/// So many digits before the point and after it.
fn decimal(whole: u8, scale: u8) -> Option<TargetType> {
    let precision = whole.checked_add(scale).filter(|precision| *precision <= DECIMAL_DIGITS_MAX)?;
    Some(TargetType::Decimal { precision, scale })
}

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
        // Up to 53 bits are exact.
        (Int(width), Float64) => *width <= 4,
        (Int(width), Decimal { precision, scale }) => {
            digits(*width).is_some_and(|digits| digits <= precision - scale)
        }
        (Decimal { precision, scale }, Decimal { precision: to_precision, scale: to_scale }) => {
            scale <= to_scale && precision - scale <= to_precision - to_scale && from != to
        }
        (DateTime64 { precision, timezone }, DateTime64 { precision: to, timezone: to_zone }) => {
            precision < to && timezone == to_zone
        }
        (Enum { labels, width }, Enum { labels: to_labels, width: to_width }) => {
            from != to && width <= to_width && labels.iter().all(|label| to_labels.contains(label))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn both(held: &str, wanted: &str) -> Option<String> {
        let parse = |text| TargetType::parse(text).expect("a type");
        common(&parse(held), &parse(wanted)).map(|common| common.to_string())
    }

    #[test]
    fn a_type_that_holds_both_is_found_where_there_is_one() {
        for (held, wanted, expected) in [
            ("Int32", "Int64", "Int64"),
            ("Int64", "Int32", "Int64"),
            ("Int32", "String", "String"),
            ("String", "Int32", "String"),
            ("Float32", "Float64", "Float64"),
            ("Int32", "Float64", "Float64"),
            ("Decimal(10, 2)", "Decimal(12, 2)", "Decimal(12, 2)"),
            ("Decimal(10, 2)", "Decimal(10, 4)", "Decimal(12, 4)"),
            ("Decimal(10, 4)", "Decimal(10, 2)", "Decimal(12, 4)"),
            ("Int32", "Decimal(10, 2)", "Decimal(12, 2)"),
            ("Decimal(10, 2)", "Int64", "Decimal(21, 2)"),
            ("Array(Nullable(Int32))", "Array(Nullable(Int64))", "Array(Nullable(Int64))"),
            ("Enum8('a' = 1)", "Enum8('a' = 1, 'b' = 2)", "Enum8('a' = 1, 'b' = 2)"),
        ] {
            assert_eq!(both(held, wanted).as_deref(), Some(expected), "{held} and {wanted}");
        }
        for (held, wanted) in [
            ("Int32", "UUID"),
            ("Int64", "Float64"),
            ("Float64", "String"),
            ("Decimal(10, 2)", "String"),
            ("Decimal(76, 0)", "Decimal(10, 4)"),
            ("Bool", "Int32"),
            ("Date32", "DateTime64(6, 'UTC')"),
            ("Enum8('a' = 1)", "Enum8('a' = 2)"),
        ] {
            assert_eq!(both(held, wanted), None, "{held} and {wanted}");
        }
    }
}
