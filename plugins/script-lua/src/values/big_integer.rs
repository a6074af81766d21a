//! `BigInt`: a whole number of any length: the coefficient of a decimal, or 64 bits without a sign.

use crate::lua::{Answer, Kind, Lua, Slot};
use crate::members::{self, Members};
use crate::number::{Finite, Number};

use super::exact;

const TAG: u32 = 0x4249_4749;

/// What `peerdb.type` says.
pub const TYPE_NAME: &str = "*big.Int";

/// What scripts may ask a big integer for.
pub const MEMBERS: &Members<Finite> = &[
    ("sign", |lua, number| members::push_integer(lua, number.sign())),
    ("int64", |lua, number| exact::push_i64(lua, number.to_i64())),
    ("is64", |lua, number| {
        lua.push_boolean(number.to_i64().is_some());
        Ok(1)
    }),
    ("float64", |lua, number| {
        lua.push_number(Number::Finite(number).to_float());
        Ok(1)
    }),
    ("i64", |lua, number| members::push_integer(lua, number.low_bits().cast_signed())),
    ("u64", |lua, number| {
        let bits = number.low_bits();
        drop(number);
        push_unsigned(lua, bits);
        Ok(1)
    }),
    ("hi", |lua, number| members::push_integer(lua, (number.low_bits() >> 32).cast_signed())),
    ("lo", |lua, number| members::push_integer(lua, (number.low_bits() & 0xffff_ffff).cast_signed())),
    ("bytes", push_magnitude),
];

/// Makes the metatable.
pub fn register(lua: Lua) {
    lua.push_table(0, 20);
    exact::set_arithmetic(lua);
    lua.set_function(-1, "__index", index);
    lua.set_function(-1, "__len", length);
    lua.set_slot(Slot::BigInteger);
}

/// Pushes a whole number of canonical text.
pub fn push(lua: Lua, text: &[u8]) {
    lua.push_tagged_bytes(TAG, text, Slot::BigInteger);
}

/// Pushes 64 bits without a sign: an integer where it is one.
pub fn push_unsigned(lua: Lua, value: u64) {
    if let Ok(integer) = i64::try_from(value) {
        return lua.push_integer(integer);
    }
    let joined = &mut lua.session().joined;
    joined.clear();
    {
        use std::io::Write;
        write!(joined, "{value}").expect("a vector takes every byte");
    }
    push(lua, joined);
}

/// The number's text, if the value is one.
pub fn text<'a>(lua: Lua, index: i32) -> Option<&'a str> {
    let bytes = lua.tagged_bytes(TAG, index)?;
    Some(std::str::from_utf8(bytes).expect("a big integer is ASCII"))
}

fn get(lua: Lua, index: i32) -> Option<Finite> {
    match text(lua, index).and_then(Number::parse)? {
        Number::Finite(number) => Some(number),
        Number::Infinity { .. } | Number::NaN => None,
    }
}

/// The number's bytes, the greatest first, without a sign.
fn length(lua: Lua) -> Answer {
    let length = get(lua, 1).map_or(0, |number| number.magnitude().len());
    lua.push_integer(length as i64);
    Ok(1)
}

fn push_magnitude(lua: Lua, number: Finite) -> Answer {
    let joined = &mut lua.session().joined;
    joined.clear();
    joined.extend_from_slice(&number.magnitude());
    drop(number);
    lua.push_bytes(joined);
    Ok(1)
}

/// A member by name, or a byte of the magnitude by its place from 0.
fn index(lua: Lua) -> Answer {
    let Some(number) = get(lua, 1) else { return members::push_nil(lua) };
    if lua.kind(2) == Kind::String {
        return members::push(lua, number, MEMBERS);
    }
    let place = lua.integer(2).and_then(|place| usize::try_from(place).ok());
    match place.and_then(|place| number.magnitude().get(place).copied()) {
        Some(byte) => members::push_integer(lua, byte.into()),
        None => members::push_nil(lua),
    }
}
