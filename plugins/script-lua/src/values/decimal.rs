//! `Decimal`: an exact decimal number.

use crate::lua::{Answer, Lua, Slot};
use crate::members::{self, Members};
use crate::number::{Finite, Number};

use super::exact::{self, operand, push_decimal, push_i64, push_integer};

const TAG: u32 = 0x4443_4d4c;

/// What `peerdb.type` says.
pub const TYPE_NAME: &str = "decimal.Decimal";

/// What scripts may ask a decimal for. An infinity and NaN have the last two alone.
pub const MEMBERS: &Members<Number> = &[
    ("coefficient", |lua, number| whole(lua, number, |finite| finite.coefficient())),
    ("bigint", |lua, number| whole(lua, number, |finite| finite.truncate())),
    ("coefficient64", |lua, number| {
        finite(lua, number, |lua, number| push_i64(lua, number.coefficient().to_i64()))
    }),
    ("int64", |lua, number| finite(lua, number, |lua, number| push_i64(lua, number.truncate().to_i64()))),
    ("exponent", |lua, number| {
        finite(lua, number, |lua, number| members::push_integer(lua, -(number.scale() as i64)))
    }),
    ("sign", |lua, number| finite(lua, number, |lua, number| members::push_integer(lua, number.sign()))),
    ("is64", |lua, number| {
        finite(lua, number, |lua, number| {
            lua.push_boolean(number.to_i64().is_some());
            Ok(1)
        })
    }),
    ("float64", |lua, number| {
        lua.push_number(number.to_float());
        Ok(1)
    }),
    ("round", |lua, number| {
        drop(number);
        lua.push_function(round);
        Ok(1)
    }),
];

/// Makes the metatable.
pub fn register(lua: Lua) {
    lua.push_table(0, 20);
    exact::set_arithmetic(lua);
    lua.set_function(-1, "__index", index);
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

/// `peerdb.Decimal(value)`: from an exact number, a number or text.
pub fn create(lua: Lua) -> Answer {
    if text(lua, 1).is_some() {
        lua.push_copy(1);
        return Ok(1);
    }
    match operand(lua, 1) {
        Some(number) => push_decimal(lua, number),
        None => Err(lua.fail(format_args!("this {} is not a decimal number", lua.type_name(1)))),
    }
}

fn index(lua: Lua) -> Answer {
    match text(lua, 1).and_then(Number::parse) {
        Some(number) => members::push(lua, number, MEMBERS),
        None => members::push_nil(lua),
    }
}

/// A member that infinities and NaN do not have.
fn finite(lua: Lua, number: Number, member: fn(Lua, Finite) -> Answer) -> Answer {
    match number {
        Number::Finite(number) => member(lua, number),
        Number::Infinity { .. } | Number::NaN => members::push_nil(lua),
    }
}

/// A member that is a whole number.
fn whole(lua: Lua, number: Number, part: fn(&Finite) -> Finite) -> Answer {
    match number {
        Number::Finite(number) => push_integer(lua, Number::Finite(part(&number))),
        Number::Infinity { .. } | Number::NaN => members::push_nil(lua),
    }
}

/// `decimal:round(places)`: half away from zero.
fn round(lua: Lua) -> Answer {
    let places =
        if lua.is_nil(2) { Some(0) } else { lua.integer(2).and_then(|places| usize::try_from(places).ok()) };
    let Some(places) = places.filter(|&places| places <= crate::config::ARITHMETIC_DIGITS_MAX) else {
        return Err(lua.fail("the places to round to are a small whole number"));
    };
    match exact::get(lua, 1) {
        Some(Number::Finite(number)) => push_decimal(lua, Number::Finite(number.round(places))),
        Some(number) => push_decimal(lua, number),
        None => Err(lua.fail("round is a method of decimals: decimal:round(places)")),
    }
}
