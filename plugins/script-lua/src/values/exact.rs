//! What decimals and big integers share: both are exact numbers, kept as their canonical text.

use std::cmp::Ordering;

use crate::lua::{Answer, Kind, Lua, Raise};
use crate::number::{ArithmeticError, Finite, Number};

use super::{big_integer, decimal};

/// Which of the two a number becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Decimal,
    Integer,
}

/// Sets the metamethods for calculating and comparing of the metatable on top.
pub(super) fn set_arithmetic(lua: Lua) {
    lua.set_function(-1, "__add", |lua| calculate(lua, Number::plus));
    lua.set_function(-1, "__sub", |lua| calculate(lua, Number::minus));
    lua.set_function(-1, "__mul", |lua| calculate(lua, Number::times));
    lua.set_function(-1, "__mod", |lua| calculate(lua, Number::modulo));
    lua.set_function(-1, "__idiv", |lua| calculate(lua, Number::floor_over));
    lua.set_function(-1, "__pow", |lua| calculate(lua, Number::power));
    lua.set_function(-1, "__div", divide);
    lua.set_function(-1, "__unm", negate);
    lua.set_function(-1, "__eq", equal);
    lua.set_function(-1, "__lt", |lua| compare(lua, Ordering::is_lt));
    lua.set_function(-1, "__le", |lua| compare(lua, Ordering::is_le));
    lua.set_function(-1, "__tostring", to_string);
    lua.set_function(-1, "__concat", super::concat);
    lua.push_boolean(false);
    lua.set_field(-2, "__metatable");
}

/// The text of a decimal or a big integer, if the value is one.
pub fn text<'a>(lua: Lua, index: i32) -> Option<&'a str> {
    decimal::text(lua, index).or_else(|| big_integer::text(lua, index))
}

/// The number, if the value is one of the two.
pub fn get(lua: Lua, index: i32) -> Option<Number> {
    text(lua, index).map(|text| Number::parse(text).expect("an exact number's text is canonical"))
}

/// A whole number: one of the two, or the text of one.
pub fn whole(lua: Lua, index: i32) -> Option<Finite> {
    match operand(lua, index)? {
        Number::Finite(number) if number.significant_scale() == 0 => Some(number.truncate()),
        Number::Finite(_) | Number::Infinity { .. } | Number::NaN => None,
    }
}

/// A side of an operation: an exact number, a number of Lua's or the text of one.
pub(super) fn operand(lua: Lua, index: i32) -> Option<Number> {
    match lua.kind(index) {
        Kind::Integer => lua.integer(index).and_then(|value| Number::parse(&value.to_string())),
        Kind::Float => lua.number(index).map(Number::from_float),
        Kind::String => Number::parse(std::str::from_utf8(lua.bytes(index)?).ok()?),
        _ => get(lua, index),
    }
}

fn checked_operand(lua: Lua, index: i32) -> Result<Number, Raise> {
    operand(lua, index)
        .ok_or_else(|| lua.fail(format_args!("attempt to calculate with a {} value", lua.type_name(index))))
}

/// Whole numbers give whole numbers.
fn shape(lua: Lua) -> Shape {
    let whole = |index| lua.kind(index) == Kind::Integer || big_integer::text(lua, index).is_some();
    if whole(1) && whole(2) { Shape::Integer } else { Shape::Decimal }
}

/// Pushes a number whose own memory is given back before Lua allocates.
fn push(lua: Lua, number: Number, shape: Shape) -> Answer {
    let joined = &mut lua.session().joined;
    joined.clear();
    {
        use std::io::Write;
        write!(joined, "{number}").expect("a vector takes every byte");
        drop(number);
    }
    // A negative power of a whole number has digits after the point.
    match shape {
        Shape::Integer if !joined.contains(&b'.') => big_integer::push(lua, joined),
        _ => decimal::push(lua, joined),
    }
    Ok(1)
}

/// Pushes a number as a decimal.
pub(super) fn push_decimal(lua: Lua, number: Number) -> Answer {
    push(lua, number, Shape::Decimal)
}

/// Pushes a whole number as a big integer.
pub(super) fn push_integer(lua: Lua, number: Number) -> Answer {
    push(lua, number, Shape::Integer)
}

type Operation = fn(&Number, &Number) -> Result<Number, ArithmeticError>;

fn apply(lua: Lua, operation: Operation) -> Result<Number, Raise> {
    let (one, two) = (checked_operand(lua, 1)?, checked_operand(lua, 2)?);
    operation(&one, &two).map_err(|error| lua.fail(error))
}

fn calculate(lua: Lua, operation: Operation) -> Answer {
    let result = apply(lua, operation)?;
    push(lua, result, shape(lua))
}

fn divide(lua: Lua) -> Answer {
    let result = apply(lua, Number::over)?;
    push_decimal(lua, result)
}

fn negate(lua: Lua) -> Answer {
    let number = checked_operand(lua, 1)?;
    push(lua, number.negate(), shape(lua))
}

fn compare(lua: Lua, holds: fn(Ordering) -> bool) -> Answer {
    let holds = {
        let (one, two) = (checked_operand(lua, 1)?, checked_operand(lua, 2)?);
        holds(one.compare(&two))
    };
    lua.push_boolean(holds);
    Ok(1)
}

/// Lua asks this of two values of this crate; another kind is another value, not an error.
fn equal(lua: Lua) -> Answer {
    let same = get(lua, 1).zip(get(lua, 2)).is_some_and(|(one, two)| one.compare(&two).is_eq());
    lua.push_boolean(same);
    Ok(1)
}

fn to_string(lua: Lua) -> Answer {
    lua.push_str(text(lua, 1).unwrap_or_default());
    Ok(1)
}

/// Pushes an integer that a member promises.
pub(super) fn push_i64(lua: Lua, value: Option<i64>) -> Answer {
    match value {
        Some(value) => lua.push_integer(value),
        None => return Err(lua.fail("the number is beyond 64-bit integers")),
    }
    Ok(1)
}
