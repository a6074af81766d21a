//! Members of Lua's own numbers: scripts of this family ask 64-bit integers for their parts.

use crate::lua::{Answer, Lua};
use crate::members::{self, Members};

use super::big_integer;

/// What scripts may ask an integer for. A fraction has `float64` alone.
pub const MEMBERS: &Members<i64> = &[
    ("i64", members::push_integer),
    ("u64", |lua, value| {
        big_integer::push_unsigned(lua, value.cast_unsigned());
        Ok(1)
    }),
    ("hi", |lua, value| members::push_integer(lua, (value.cast_unsigned() >> 32).cast_signed())),
    ("lo", |lua, value| members::push_integer(lua, value & 0xffff_ffff)),
    ("float64", push_float),
];

/// Makes the metatable of numbers and sets it.
pub fn register(lua: Lua) {
    lua.push_integer(0);
    lua.push_table(0, 2);
    lua.set_function(-1, "__index", index);
    lua.push_boolean(false);
    lua.set_field(-2, "__metatable");
    lua.set_metatable(-2);
    lua.pop(1);
}

fn push_float(lua: Lua, _: i64) -> Answer {
    lua.push_number(lua.number(1).unwrap_or(f64::NAN));
    Ok(1)
}

fn index(lua: Lua) -> Answer {
    match lua.integer(1) {
        Some(value) => members::push(lua, value, MEMBERS),
        None if lua.bytes(2) == Some(b"float64") => push_float(lua, 0),
        None => members::push_nil(lua),
    }
}
