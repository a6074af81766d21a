//! The module `json`: exact in both directions, and valid whatever is encoded.
//!
//! Integers of 64 bits are integers, longer ones big integers; decimals are written digit by digit. A
//! table with the items 1 to n is an array, any other an object, its keys in order. A row is an object
//! with its columns in order, without those that the source did not send.

use std::fmt;

use crate::config::ENCODED_BYTES_MAX;
use crate::lua::{Answer, Kind, Lua, Raise, Slot};
use crate::session::Session;
use crate::shape;
use crate::wrapper::{self, Mark};
use tarn_script::json::Unfit;

mod decode;
mod encode;
mod options;

pub use tarn_script::json::{Options, SETTINGS, is_json};

use encode::Methods;

/// The function of a metatable that says what is encoded instead of a table.
const METHOD: &str = "__json";

/// What has no JSON form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncodeError {
    /// A function or coroutine.
    Kind(&'static str),
    /// `NaN` or an infinity.
    NotFinite,
    /// A string that is not UTF-8.
    NotUtf8,
    /// A table with keys that are neither 1 to n nor all names.
    MixedKeys,
    /// Deeper than it may be.
    TooDeep,
    /// Longer than it may be.
    TooLong,
    /// A row of an earlier record.
    Stale,
    /// A value that is damaged.
    Damaged,
    /// What `json.raw` was given is not JSON.
    RawNotJson,
    /// A wrapper that MessagePack alone knows.
    Packed,
    /// A table with `__json` where no script code may run.
    Method,
    /// Script code failed; its error is on top of the stack.
    Script,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(out, "a {kind} value has no JSON form"),
            Self::NotFinite => out.write_str(
                "NaN and infinities have no JSON form: the option nan = \"null\" or \"text\" gives them one",
            ),
            Self::NotUtf8 => out.write_str(
                "a string of bytes that are not UTF-8 has no JSON form: json.bin(bytes) writes them as base64",
            ),
            Self::MixedKeys => out.write_str("a table with both items and fields has no JSON form"),
            Self::TooDeep => out.write_str("the value is nested too deeply for JSON"),
            Self::TooLong => write!(out, "the value has more than {ENCODED_BYTES_MAX} bytes as JSON"),
            Self::Stale => out.write_str(crate::row::STALE),
            Self::Damaged => out.write_str("the row is damaged"),
            Self::RawNotJson => out.write_str("what json.raw was given is not JSON"),
            Self::Packed => out.write_str("what a function of msgpack marked has no JSON form"),
            Self::Method => out.write_str("a table with __json cannot be used here: json.encode it first"),
            Self::Script => out.write_str("the function __json failed"),
        }
    }
}

impl From<Unfit> for EncodeError {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::NotFinite => Self::NotFinite,
            Unfit::NotUtf8 => Self::NotUtf8,
            Unfit::TooLong => Self::TooLong,
            Unfit::Damaged => Self::Damaged,
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
    lua.push_table(0, 9);
    lua.set_function(-1, "encode", encode);
    lua.set_function(-1, "decode", decode);
    lua.set_function(-1, "options", set_options);
    lua.set_function(-1, "array", |lua| mark_table(lua, "json.array", Mark::Array));
    lua.set_function(-1, "object", mark_object);
    lua.set_function(-1, "raw", |lua| mark_string(lua, "json.raw", Mark::Json));
    lua.set_function(-1, "bin", |lua| mark_string(lua, "json.bin", Mark::Bytes));
    lua.set_function(-1, "unmark", unmark);
    push_null(lua);
    lua.set_field(-2, "null");
    lua.push_copy(-1);
    lua.set_slot(Slot::Json);
}

/// Pushes a wrapper that is written as `null`.
fn push_null(lua: Lua) {
    lua.push_str("null");
    wrapper::wrap(lua, Mark::Json, 1);
}

/// Appends the JSON text of the value at `index` to `out`. Runs no script code.
pub fn write_plain(lua: Lua, index: i32, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let (start, mark, top) = (lua.session().output.len(), lua.session().arena.mark(), lua.top());
    let result = encode::write(lua, index, lua.session().json_options, Methods::Refused);
    lua.set_top(top);
    let output = &mut lua.session().output;
    out.extend_from_slice(&output[start..]);
    output.truncate(start);
    lua.session().arena.back_to(mark);
    result
}

/// `json.encode(value [, options])`.
fn encode(lua: Lua) -> Answer {
    let mut options = lua.session().json_options;
    if !lua.is_nil(2) {
        options = options::changed(options, lua, 2)?;
    }
    let Session { output, arena, .. } = lua.session();
    let (start, mark) = (output.len(), arena.mark());
    match encode::write(lua, 1, options, Methods::Called) {
        Ok(()) => {
            lua.push_bytes(&lua.session().output[start..]);
            lua.session().output.truncate(start);
            Ok(1)
        }
        Err(error) => {
            let Session { output, arena, .. } = lua.session();
            output.truncate(start);
            arena.back_to(mark);
            Err(if error == EncodeError::Script { Raise::Value } else { lua.fail(error) })
        }
    }
}

/// `json.options(options)`: from now on, for this script.
fn set_options(lua: Lua) -> Answer {
    let Session { json_options, .. } = lua.session();
    *json_options = options::changed(*json_options, lua, 1)?;
    Ok(0)
}

/// `json.decode(text [, exact])`.
fn decode(lua: Lua) -> Answer {
    let Some(text) = lua.bytes(1) else {
        return Err(lua.fail(format_args!("json.decode takes a string, not a {} value", lua.type_name(1))));
    };
    decode::push(
        lua,
        text,
        if lua.is_true(2) { decode::Exactness::Marked } else { decode::Exactness::Plain },
    )?;
    Ok(1)
}

/// Wraps the table that the first argument is; `nil` is null.
pub fn mark_table(lua: Lua, name: &str, mark: Mark) -> Answer {
    if !matches!(lua.kind(1), Kind::Table | Kind::Nil | Kind::None) {
        return Err(lua.fail(format_args!("{name} takes a table, not a {} value", lua.type_name(1))));
    }
    lua.set_top(1);
    wrapper::wrap(lua, mark, 0);
    Ok(1)
}

/// `json.object(table [, names])`: with the fields in the order of the names.
fn mark_object(lua: Lua) -> Answer {
    if lua.kind(1) == Kind::Table && lua.kind(2) == Kind::Table {
        lua.set_top(2);
        shape::set_order(lua);
    }
    mark_table(lua, "json.object", Mark::Object)
}

/// Wraps the string that the first argument is.
pub fn mark_string(lua: Lua, name: &str, mark: Mark) -> Answer {
    if lua.kind(1) != Kind::String {
        return Err(lua.fail(format_args!("{name} takes a string, not a {} value", lua.type_name(1))));
    }
    lua.set_top(1);
    wrapper::wrap(lua, mark, 0);
    Ok(1)
}

/// `json.unmark(value)`: what is inside a wrapper, and the function that wraps it so; any other value
/// as it is.
fn unmark(lua: Lua) -> Answer {
    let function = match wrapper::get(lua, 1).map(|wrapper| wrapper.mark) {
        Some(Mark::Array) => "array",
        Some(Mark::Object) => "object",
        Some(Mark::Json) => "raw",
        Some(Mark::Bytes) => "bin",
        _ => {
            lua.set_top(1);
            return Ok(1);
        }
    };
    lua.push_user_value(1);
    lua.get_slot(Slot::Json);
    lua.get_field(-1, function);
    lua.remove(-2);
    Ok(2)
}

#[cfg(test)]
mod tests;
