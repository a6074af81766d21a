//! Numbers into numeric columns.

use super::{Given, Refusal};
use crate::number::{Finite, Number};

/// The decimal that a value says, unless it is one of the language's own numbers.
fn written(given: &Given<'_>) -> Option<Number> {
    match given {
        Given::Text(text) => Number::parse(std::str::from_utf8(text).ok()?.trim_ascii()),
        Given::Number(number) => Some(number.clone()),
        _ => None,
    }
}

fn not_a_number(given: &Given<'_>, kind: &'static str, wanted: &'static str) -> Refusal {
    match given {
        Given::Text(_) => Refusal::NotTextOf("the text of a number"),
        _ => Refusal::Takes { wanted, given: kind },
    }
}

/// NaN and the infinities as languages and databases write them.
fn not_finite(given: &Given<'_>) -> Option<f64> {
    let Given::Text(text) = given else { return None };
    let text = text.trim_ascii();
    let (is_negative, name) = match text.split_first()? {
        (b'-', name) => (true, name),
        _ => (false, text),
    };
    let value = match name.to_ascii_lowercase().as_slice() {
        b"nan" => f64::NAN,
        b"inf" | b"infinity" => f64::INFINITY,
        _ => return None,
    };
    Some(if is_negative && !value.is_nan() { -value } else { value })
}

/// A whole number.
pub(super) fn integer(given: &Given<'_>, kind: &'static str) -> Result<i64, Refusal> {
    /// The first float beyond 64 bits.
    const END: f64 = 9_223_372_036_854_775_808.0;
    match given {
        Given::Integer(value) => Ok(*value),
        Given::Float(value) => {
            if !value.is_finite() || value.fract() != 0.0 {
                return Err(Refusal::Inexact);
            }
            if (-END..END).contains(value) { Ok(*value as i64) } else { Err(Refusal::OutOfRange) }
        }
        _ => match written(given).ok_or_else(|| not_a_number(given, kind, "a whole number"))? {
            Number::Finite(number) if number.significant_scale() > 0 => Err(Refusal::Inexact),
            Number::Finite(number) => number.to_i64().ok_or(Refusal::OutOfRange),
            Number::Infinity { .. } | Number::NaN => Err(Refusal::Inexact),
        },
    }
}

/// The nearest double. Whole numbers and decimals must be one: a double is approximate, they are not.
pub(super) fn double(given: &Given<'_>, kind: &'static str) -> Result<f64, Refusal> {
    match given {
        Given::Float(value) => Ok(*value),
        Given::Integer(whole) => {
            let value = *whole as f64;
            if value as i128 == i128::from(*whole) { Ok(value) } else { Err(Refusal::Inexact) }
        }
        _ => {
            if let Some(value) = not_finite(given) {
                return Ok(value);
            }
            let number = written(given).ok_or_else(|| not_a_number(given, kind, "a number"))?;
            let value = number.to_float();
            let finite = matches!(number, Number::Finite(_));
            if finite && value.is_infinite() {
                return Err(Refusal::OutOfRange);
            }
            let back = Number::from_float(value);
            if back.compare(&number).is_eq() { Ok(value) } else { Err(Refusal::Inexact) }
        }
    }
}

/// The nearest single, as the column's type means it; beyond its range there is none.
pub(super) fn single(given: &Given<'_>, kind: &'static str) -> Result<f32, Refusal> {
    let value = double(given, kind)?;
    let nearest = value as f32;
    if value.is_finite() && nearest.is_infinite() {
        return Err(Refusal::OutOfRange);
    }
    if matches!(given, Given::Integer(_)) && f64::from(nearest) != value {
        return Err(Refusal::Inexact);
    }
    Ok(nearest)
}

/// Appends a decimal with the column's scale. Digits are never dropped, zeros are added.
pub(super) fn write_numeric(
    given: &Given<'_>,
    kind: &'static str,
    precision: u16,
    scale: i16,
    out: &mut Vec<u8>,
) -> Result<(), Refusal> {
    use std::io::Write;
    let number = match given {
        Given::Integer(value) => Number::parse(&value.to_string()),
        Given::Float(value) => Some(Number::from_float(*value)),
        _ => written(given),
    };
    let number = match number.ok_or_else(|| not_a_number(given, kind, "a number"))? {
        Number::Finite(number) if precision > 0 => Number::Finite(fit(&number, precision, scale)?),
        Number::Infinity { .. } if precision > 0 => return Err(Refusal::Precision(precision)),
        number => number,
    };
    write!(out, "{number}").expect("a vector takes every byte");
    Ok(())
}

fn fit(number: &Finite, precision: u16, scale: i16) -> Result<Finite, Refusal> {
    let places = usize::try_from(scale).unwrap_or(0);
    if number.significant_scale() > places {
        return Err(Refusal::Scale(scale));
    }
    let fitted = number.round(places);
    // A negative scale leaves more room before the point, but only for zeros at the end.
    let zeros = usize::try_from(-i32::from(scale)).unwrap_or(0);
    if zeros > 0 && !number.is_zero() && fitted.trailing_zeros() < zeros {
        return Err(Refusal::Scale(scale));
    }
    let room = i32::from(precision) - i32::from(scale);
    if fitted.whole_digits() as i32 > room.max(0) {
        return Err(Refusal::Precision(precision));
    }
    Ok(fitted)
}
