//! `Decimal`: an exact decimal number, kept as its canonical text.

use std::cmp::Ordering;

use crate::lua::{Answer, Kind, Lua, Raise, Slot};
use crate::number::{ArithmeticError, Finite, Number};

const TAG: u32 = 0x4443_4d4c;

/// What `peerdb.type` says.
pub const TYPE_NAME: &str = "decimal.Decimal";

/// Makes the metatable.
pub fn register(lua: Lua) {
    lua.push_table(0, 16);
    lua.set_function(-1, "__add", |lua| arithmetic(lua, Number::plus));
    lua.set_function(-1, "__sub", |lua| arithmetic(lua, Number::minus));
    lua.set_function(-1, "__mul", |lua| arithmetic(lua, Number::times));
    lua.set_function(-1, "__div", |lua| arithmetic(lua, Number::over));
    lua.set_function(-1, "__mod", |lua| arithmetic(lua, Number::modulo));
    lua.set_function(-1, "__pow", |lua| arithmetic(lua, Number::power));
    lua.set_function(-1, "__unm", negate);
    lua.set_function(-1, "__eq", equal);
    lua.set_function(-1, "__lt", |lua| compare(lua, Ordering::is_lt));
    lua.set_function(-1, "__le", |lua| compare(lua, Ordering::is_le));
    lua.set_function(-1, "__index", index);
    lua.set_function(-1, "__tostring", to_string);
    lua.set_function(-1, "__concat", super::concat);
    lua.push_boolean(false);
    lua.set_field(-2, "__metatable");
    lua.set_slot(Slot::Decimal);
}

/// Pushes a decimal of canonical text.
#[inline]
pub fn push(lua: Lua, text: &[u8]) {
    lua.push_tagged_bytes(TAG, text, Slot::Decimal);
}

/// The decimal's text, if the value is one.
pub fn text<'a>(lua: Lua, index: i32) -> Option<&'a str> {
    let bytes = lua.tagged_bytes(TAG, index)?;
    Some(std::str::from_utf8(bytes).expect("a decimal is ASCII"))
}

/// The decimal, if the value is one.
pub fn get(lua: Lua, index: i32) -> Option<Number> {
    text(lua, index).map(|text| Number::parse(text).expect("a decimal's text is canonical"))
}

/// `peerdb.Decimal(value)`: from a decimal, a number or text.
pub fn create(lua: Lua) -> Answer {
    if text(lua, 1).is_some() {
        lua.push_copy(1);
        return Ok(1);
    }
    match operand(lua, 1) {
        Some(number) => push_number(lua, number),
        None => Err(lua.fail(format_args!("this {} is not a decimal number", lua.type_name(1)))),
    }
}

/// A side of an operation: a decimal, a number or the text of one.
fn operand(lua: Lua, index: i32) -> Option<Number> {
    match lua.kind(index) {
        Kind::Integer => lua.integer(index).and_then(|value| Number::parse(&value.to_string())),
        Kind::Float => lua.number(index).map(Number::from_float),
        Kind::String => Number::parse(std::str::from_utf8(lua.bytes(index)?).ok()?),
        _ => get(lua, index),
    }
}

fn operands(lua: Lua) -> Result<(Number, Number), Raise> {
    let side = |index| {
        operand(lua, index).ok_or_else(|| {
            lua.fail(format_args!("attempt to calculate a decimal with a {} value", lua.type_name(index)))
        })
    };
    Ok((side(1)?, side(2)?))
}

/// Pushes a number whose own memory is given back before Lua allocates.
fn push_number(lua: Lua, number: Number) -> Answer {
    let joined = &mut lua.session().joined;
    joined.clear();
    {
        use std::io::Write;
        write!(joined, "{number}").expect("a vector takes every byte");
        drop(number);
    }
    push(lua, joined);
    Ok(1)
}

fn arithmetic(lua: Lua, operation: fn(&Number, &Number) -> Result<Number, ArithmeticError>) -> Answer {
    let result = {
        let (one, two) = operands(lua)?;
        operation(&one, &two)
    };
    match result {
        Ok(number) => push_number(lua, number),
        Err(error) => Err(lua.fail(error)),
    }
}

fn negate(lua: Lua) -> Answer {
    let (number, _) = operands(lua)?;
    push_number(lua, number.negate())
}

fn compare(lua: Lua, holds: fn(Ordering) -> bool) -> Answer {
    let holds = {
        let (one, two) = operands(lua)?;
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

fn index(lua: Lua) -> Answer {
    let (Some(number), Some(name)) = (get(lua, 1), lua.bytes(2)) else {
        lua.push_nil();
        return Ok(1);
    };
    if name == b"float64" {
        lua.push_number(number.to_float());
        return Ok(1);
    }
    if name == b"round" {
        lua.push_function(round);
        return Ok(1);
    }
    match number {
        Number::Finite(number) => member(lua, name, number),
        Number::Infinity { .. } | Number::NaN => {
            lua.push_nil();
            Ok(1)
        }
    }
}

fn member(lua: Lua, name: &[u8], number: Finite) -> Answer {
    match name {
        b"coefficient" => return push_number(lua, Number::Finite(number.coefficient())),
        b"bigint" => return push_number(lua, Number::Finite(number.truncate())),
        b"coefficient64" => return push_i64(lua, number.coefficient().to_i64()),
        b"int64" => return push_i64(lua, number.truncate().to_i64()),
        b"exponent" => lua.push_integer(-(number.scale() as i64)),
        b"sign" => lua.push_integer(match number.is_zero() {
            true => 0,
            false if number.is_negative() => -1,
            false => 1,
        }),
        b"is64" => lua.push_boolean(number.to_i64().is_some()),
        _ => lua.push_nil(),
    }
    Ok(1)
}

fn push_i64(lua: Lua, value: Option<i64>) -> Answer {
    match value {
        Some(value) => lua.push_integer(value),
        None => return Err(lua.fail("the decimal is beyond 64-bit integers")),
    }
    Ok(1)
}

/// `decimal:round(places)`: half away from zero.
fn round(lua: Lua) -> Answer {
    let places =
        if lua.is_nil(2) { Some(0) } else { lua.integer(2).and_then(|places| usize::try_from(places).ok()) };
    let Some(places) = places.filter(|&places| places <= crate::config::ARITHMETIC_DIGITS_MAX) else {
        return Err(lua.fail("the places to round to are a small whole number"));
    };
    match get(lua, 1) {
        Some(Number::Finite(number)) => push_number(lua, Number::Finite(number.round(places))),
        Some(number) => push_number(lua, number),
        None => Err(lua.fail("round is a method of decimals: decimal:round(places)")),
    }
}
