//! Which ClickHouse type a source's column gets when nobody chose one: the one that holds every value
//! exactly.

use tarn_batch::{Column, Type};
use tarn_sdk::UsualTypes;

use crate::config::DECIMAL_DIGITS_MAX;
use crate::design::chosen_type;
use crate::target_type::{TargetType, Width};

/// The type of a column, with NULL where the source has it (B188).
///
/// Some choices need their reason:
///
/// - `numeric` without bounds is `String`: its values have up to 131,072 digits before the point and
///   16,383 after it, NaN and infinities, and a scale of their own; `Decimal(76, 38)` would refuse
///   values that the source holds and show others with another scale. Who knows the range chooses a decimal,
///   for a column (`destination_type`) or for a mirror (`usual`).
/// - `timestamp` is `DateTime64(6, 'UTC')` like `timestamptz`: without a zone in the type, the server's
///   zone would shift the clock reading that PostgreSQL stores.
/// - `time` is text: ClickHouse's `Time64` exists on recent servers only. Who has one may choose it.
/// - `json` is text: ClickHouse's `JSON` is on recent servers only, and has no key twice, no order and no numbers
///   beyond 64 bits.
/// - An array that may be NULL is text, since ClickHouse has no NULL of arrays, and an empty array is
///   something else (B032, B037). An array that may not is `Array(Nullable(…))`.
pub(crate) fn usual_type(column: &Column, usual: &UsualTypes) -> TargetType {
    let scalar_type = |scalar| of_mirror(scalar, usual).unwrap_or_else(|| scalar_type(scalar));
    match &column.data_type {
        Type::Array(_) if column.nullable => TargetType::String.nullable(),
        Type::Array(element) => TargetType::Array(Box::new(element_type(element).nullable())),
        scalar if column.nullable => scalar_type(scalar).nullable(),
        scalar => scalar_type(scalar),
    }
}

/// What the mirror's settings say of columns that are text otherwise. A wrong setting was told before; elements of
/// arrays have none.
fn of_mirror(data_type: &Type, usual: &UsualTypes) -> Option<TargetType> {
    let text = match data_type {
        Type::Numeric { .. } if scalar_type(data_type) == TargetType::String => &usual.numeric,
        Type::Time => &usual.time,
        Type::Json => &usual.json,
        _ => return None,
    };
    chosen_type(data_type, text).ok()
}

/// Dictionaries of elements gain little and cost a lookup each.
fn element_type(element: &Type) -> TargetType {
    match scalar_type(element) {
        TargetType::LowCardinality(inner) => *inner,
        other => other,
    }
}

/// The type that holds exactly the values of one of the source's: text for those that no other type does.
pub(crate) fn scalar_type(data_type: &Type) -> TargetType {
    const INT2: Width = 2;
    const INT4: Width = 4;
    const INT8: Width = 8;
    match data_type {
        Type::Bool => TargetType::Bool,
        Type::Int2 => TargetType::Int(INT2),
        Type::Int4 => TargetType::Int(INT4),
        Type::Int8 => TargetType::Int(INT8),
        Type::Float4 => TargetType::Float32,
        Type::Float8 => TargetType::Float64,
        Type::Numeric { precision, scale } => numeric_type(*precision, *scale),
        Type::Date => TargetType::Date32,
        Type::Timestamp | Type::TimestampTz => TargetType::microseconds(),
        Type::Uuid => TargetType::Uuid,
        Type::Enum => TargetType::LowCardinality(Box::new(TargetType::String)),
        Type::Text
        | Type::Bytes
        | Type::Time
        | Type::TimeTz
        | Type::Interval
        | Type::Json
        | Type::Other
        | Type::Array(_) => TargetType::String,
    }
}

fn numeric_type(precision: u16, scale: i16) -> TargetType {
    let (precision, scale) = (i32::from(precision), i32::from(scale));
    // A negative scale rounds before the point: the digits there are zeros, but there.
    let digits = precision.max(scale) - scale.min(0);
    if precision == 0 || digits > i32::from(DECIMAL_DIGITS_MAX) {
        return TargetType::String;
    }
    let narrow = |number: i32| u8::try_from(number).expect("at most 76, not negative");
    TargetType::Decimal { precision: narrow(digits), scale: narrow(scale.max(0)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual(data_type: Type, nullable: bool) -> String {
        let column = Column {
            name: "c".to_owned(),
            data_type,
            type_name: String::new(),
            nullable,
            key: 0,
            attribute: 1,
        };
        usual_type(&column, &UsualTypes::default()).to_string()
    }

    fn numeric(precision: u16, scale: i16) -> String {
        usual(Type::Numeric { precision, scale }, false)
    }

    #[test]
    fn null_follows_the_source() {
        // B188.
        assert_eq!(usual(Type::TimestampTz, true), "Nullable(DateTime64(6, 'UTC'))");
        assert_eq!(usual(Type::TimestampTz, false), "DateTime64(6, 'UTC')");
        assert_eq!(usual(Type::Enum, true), "LowCardinality(Nullable(String))");
    }

    #[test]
    fn a_numeric_is_a_decimal_of_its_digits_or_text() {
        // B016, B031, B058, B211.
        assert_eq!(numeric(10, 2), "Decimal(10, 2)");
        assert_eq!(numeric(76, 76), "Decimal(76, 76)");
        assert_eq!(numeric(5, -2), "Decimal(7, 0)");
        assert_eq!(numeric(3, 5), "Decimal(5, 5)");
        for text in [numeric(0, 0), numeric(77, 0), numeric(76, -1), numeric(1000, 1000)] {
            assert_eq!(text, "String");
        }
    }

    #[test]
    fn an_array_that_may_be_null_is_text_and_one_that_may_not_is_an_array() {
        // B032, B037.
        let array = |element| Type::Array(Box::new(element));
        assert_eq!(usual(array(Type::Date), true), "Nullable(String)");
        assert_eq!(usual(array(Type::Date), false), "Array(Nullable(Date32))");
        assert_eq!(usual(array(Type::Enum), false), "Array(Nullable(String))");
    }
}
