//! The module `json`: exact in both directions.
//!
//! Integers of 64 bits are integers, longer ones decimals; decimals are written digit by digit. A table
//! with the items 1 to n is an array, and so is an empty one; any other is an object, its keys in
//! order. A row is an object with its columns in order, without those that the source did not send.

use std::fmt;

use crate::lua::{Answer, Lua, Slot};

mod decode;
mod encode;

pub use encode::write_plain;

/// What has no JSON form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncodeError {
    /// A function or coroutine.
    Kind(&'static str),
    /// `NaN` or an infinity.
    NotFinite,
    /// A string that is not UTF-8.
    NotUtf8,
    /// A table with keys that are neither 1 to n nor all strings.
    MixedKeys,
    /// Deeper than it may be.
    TooDeep,
    /// A row of an earlier record.
    Stale,
    /// A value that is damaged.
    Damaged,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(out, "a {kind} value has no JSON form"),
            Self::NotFinite => out.write_str("NaN and infinities have no JSON form"),
            Self::NotUtf8 => out.write_str("a string of bytes that are not UTF-8 has no JSON form"),
            Self::MixedKeys => out.write_str("a table with both items and fields has no JSON form"),
            Self::TooDeep => out.write_str("the value is nested too deeply for JSON"),
            Self::Stale => out.write_str(crate::row::STALE),
            Self::Damaged => out.write_str("the row is damaged"),
        }
    }
}

/// Makes the mark of arrays.
pub fn register(lua: Lua) {
    lua.push_table(0, 1);
    lua.push_boolean(false);
    lua.set_field(-2, "__metatable");
    lua.set_slot(Slot::JsonArray);
}

/// Pushes the module.
pub fn push_module(lua: Lua) {
    lua.push_table(0, 2);
    lua.set_function(-1, "encode", encode);
    lua.set_function(-1, "decode", decode);
}

fn encode(lua: Lua) -> Answer {
    // Taken and put back, so that an error on the way leaves the buffer where it can be reused.
    let mut out = std::mem::take(&mut lua.session().joined);
    out.clear();
    let result = write_plain(lua, 1, &mut out);
    lua.session().joined = out;
    match result {
        Ok(()) => lua.push_bytes(&lua.session().joined),
        Err(error) => return Err(lua.fail(error)),
    }
    Ok(1)
}

fn decode(lua: Lua) -> Answer {
    let Some(text) = lua.bytes(1) else {
        return Err(lua.fail(format_args!("json.decode takes a string, not a {} value", lua.type_name(1))));
    };
    decode::push(lua, text)?;
    Ok(1)
}

#[cfg(test)]
mod tests;
