//! Numbers into numeric columns.

use super::{Refusal, takes};
use crate::lua::{Kind, Lua};
use crate::number::{Finite, Number};
use crate::values::exact;

/// The decimal that a value says, unless it is one of Lua's own numbers.
fn written(lua: Lua, index: i32) -> Option<Number> {
    match lua.kind(index) {
        Kind::String => Number::parse(std::str::from_utf8(lua.bytes(index)?).ok()?.trim_ascii()),
        _ => exact::get(lua, index),
    }
}

fn not_a_number(lua: Lua, index: i32, wanted: &'static str) -> Refusal {
    match lua.kind(index) {
        Kind::String => Refusal::NotTextOf("the text of a number"),
        _ => takes(lua, index, wanted),
    }
}

/// A whole number.
pub(super) fn integer(lua: Lua, index: i32) -> Result<i64, Refusal> {
    match lua.kind(index) {
        Kind::Integer => Ok(lua.integer(index).unwrap_or_default()),
        Kind::Float => {
            let value = lua.number(index).unwrap_or(f64::NAN);
            if !value.is_finite() || value.fract() != 0.0 {
                return Err(Refusal::Inexact);
            }
            // Lua's own conversion knows the ends of the range.
            lua.integer(index).ok_or(Refusal::OutOfRange)
        }
        _ => match written(lua, index).ok_or_else(|| not_a_number(lua, index, "a whole number"))? {
            Number::Finite(number) if number.significant_scale() > 0 => Err(Refusal::Inexact),
            Number::Finite(number) => number.to_i64().ok_or(Refusal::OutOfRange),
            Number::Infinity { .. } | Number::NaN => Err(Refusal::Inexact),
        },
    }
}

/// The nearest double. Whole numbers and decimals must be one: a double is approximate, they are not.
pub(super) fn double(lua: Lua, index: i32) -> Result<f64, Refusal> {
    match lua.kind(index) {
        Kind::Float => Ok(lua.number(index).unwrap_or(f64::NAN)),
        Kind::Integer => {
            let whole = lua.integer(index).unwrap_or_default();
            let value = whole as f64;
            if value as i128 == i128::from(whole) { Ok(value) } else { Err(Refusal::Inexact) }
        }
        _ => {
            let number = written(lua, index).ok_or_else(|| not_a_number(lua, index, "a number"))?;
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
pub(super) fn single(lua: Lua, index: i32) -> Result<f32, Refusal> {
    let value = double(lua, index)?;
    let nearest = value as f32;
    if value.is_finite() && nearest.is_infinite() {
        return Err(Refusal::OutOfRange);
    }
    if lua.kind(index) == Kind::Integer && f64::from(nearest) != value {
        return Err(Refusal::Inexact);
    }
    Ok(nearest)
}

/// Appends a decimal with the column's scale. Digits are never dropped, zeros are added.
pub(super) fn write_numeric(
    lua: Lua,
    index: i32,
    precision: u16,
    scale: i16,
    out: &mut Vec<u8>,
) -> Result<(), Refusal> {
    use std::io::Write;
    let number = match lua.kind(index) {
        Kind::Integer => Number::parse(&lua.integer(index).unwrap_or_default().to_string()),
        Kind::Float => lua.number(index).map(Number::from_float),
        _ => written(lua, index),
    };
    let number = match number.ok_or_else(|| not_a_number(lua, index, "a number"))? {
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
