//! The module `msgpack`: MessagePack of values and rows, with its types chosen by hand where a consumer
//! needs them.
//!
//! Whole numbers are signed integers in their shortest form, other floats singles where nothing is lost;
//! text is `str`, other strings are `bin`; points in time are the timestamp extension.

use std::fmt;

use crate::lua::{Answer, Kind, Lua, Raise};
use crate::session::Session;
use crate::values::exact;
use crate::values::moment::{self, Moment, MomentKind};
use crate::wrapper::{self, Mark};
use crate::{json, row};
use tarn_script::msgpack::Unfit;

mod decode;
mod encode;

/// The function of a metatable that says what is encoded instead of a value.
const METHOD: &str = "__msgpack";

/// What has no MessagePack form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackError {
    /// A function or coroutine.
    Kind(&'static str),
    /// A table with keys that are neither 1 to n nor all names and whole numbers.
    MixedKeys,
    /// Deeper than it may be.
    TooDeep,
    /// More items or bytes than the format counts.
    TooLong,
    /// A time without end.
    Infinite,
    /// A time beyond the form asked for.
    TimeOutOfRange(&'static str),
    /// A row of an earlier record.
    Stale,
    /// A value that is damaged.
    Damaged,
    /// What `json.raw` made.
    Json,
    /// Script code failed; its error is on top of the stack.
    Script,
}

impl fmt::Display for PackError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(out, "a {kind} value has no MessagePack form"),
            Self::MixedKeys => out.write_str("a table with both items and fields has no MessagePack form"),
            Self::TooDeep => out.write_str("the value is nested too deeply for MessagePack"),
            Self::TooLong => out.write_str("the value is too long for MessagePack"),
            Self::Infinite => out.write_str("an infinite time has no MessagePack form"),
            Self::TimeOutOfRange(form) => write!(out, "the time is beyond what msgpack.{form} holds"),
            Self::Stale => out.write_str(row::STALE),
            Self::Damaged => out.write_str("the row is damaged"),
            Self::Json => out.write_str("what json.raw made is JSON, not MessagePack"),
            Self::Script => out.write_str("the function __msgpack failed"),
        }
    }
}

impl From<Unfit> for PackError {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::TooLong => Self::TooLong,
            Unfit::Infinite => Self::Infinite,
            Unfit::TimeOutOfRange(form) => Self::TimeOutOfRange(form),
            Unfit::Damaged => Self::Damaged,
        }
    }
}

/// Pushes the module.
pub fn push_module(lua: Lua) {
    lua.push_table(0, 16);
    lua.set_function(-1, "encode", encode);
    lua.set_function(-1, "decode", decode::decode);
    lua.set_function(-1, "array", |lua| json::mark_table(lua, "msgpack.array", Mark::Array));
    lua.set_function(-1, "map", |lua| json::mark_table(lua, "msgpack.map", Mark::Object));
    lua.set_function(-1, "raw", |lua| json::mark_string(lua, "msgpack.raw", Mark::Packed));
    lua.set_function(-1, "bin", |lua| json::mark_string(lua, "msgpack.bin", Mark::Bytes));
    lua.set_function(-1, "str", |lua| json::mark_string(lua, "msgpack.str", Mark::Text));
    lua.set_function(-1, "signed", signed);
    lua.set_function(-1, "unsigned", unsigned);
    lua.set_function(-1, "f32", |lua| float(lua, "msgpack.f32", Mark::Single));
    lua.set_function(-1, "f64", |lua| float(lua, "msgpack.f64", Mark::Double));
    lua.set_function(-1, "time", |lua| time(lua, "msgpack.time", Mark::Time));
    lua.set_function(-1, "time32", |lua| time(lua, "msgpack.time32", Mark::Time32));
    lua.set_function(-1, "time64", |lua| time(lua, "msgpack.time64", Mark::Time64));
    lua.set_function(-1, "time96", |lua| time(lua, "msgpack.time96", Mark::Time96));
    lua.set_function(-1, "ext", extension);
}

/// `msgpack.encode(value)`.
fn encode(lua: Lua) -> Answer {
    let Session { output, arena, .. } = lua.session();
    let (start, mark) = (output.len(), arena.mark());
    match encode::write(lua, 1) {
        Ok(()) => {
            lua.push_bytes(&lua.session().output[start..]);
            lua.session().output.truncate(start);
            Ok(1)
        }
        Err(error) => {
            let Session { output, arena, .. } = lua.session();
            output.truncate(start);
            arena.back_to(mark);
            Err(if error == PackError::Script { Raise::Value } else { lua.fail(error) })
        }
    }
}

fn wrap_number(lua: Lua, mark: Mark, detail: i64) -> Answer {
    lua.push_nil();
    wrapper::wrap(lua, mark, detail);
    Ok(1)
}

fn not_taken(lua: Lua, name: &str, what: &str) -> Raise {
    lua.fail(format_args!("{name} takes {what}, not this {} value", lua.type_name(1)))
}

/// `msgpack.signed(n)`.
fn signed(lua: Lua) -> Answer {
    let number = lua.integer(1).or_else(|| exact::whole(lua, 1)?.to_i64());
    match number {
        Some(number) => wrap_number(lua, Mark::Signed, number),
        None => Err(not_taken(lua, "msgpack.signed", "a whole number of 64 bits")),
    }
}

/// `msgpack.unsigned(n)`.
fn unsigned(lua: Lua) -> Answer {
    let number = match lua.integer(1) {
        Some(number) => u64::try_from(number).ok(),
        None => exact::whole(lua, 1)
            .filter(|number| number.sign() >= 0)
            .and_then(|number| (number.magnitude().len() <= 8).then(|| number.low_bits())),
    };
    match number {
        Some(number) => wrap_number(lua, Mark::Unsigned, number.cast_signed()),
        None => Err(not_taken(lua, "msgpack.unsigned", "a whole number of 64 bits without a sign")),
    }
}

fn float(lua: Lua, name: &str, mark: Mark) -> Answer {
    let number = lua.number(1).or_else(|| exact::get(lua, 1).map(|number| number.to_float()));
    match number {
        Some(number) if mark == Mark::Single && number.is_finite() && (number as f32).is_infinite() => {
            Err(lua.fail(format_args!("the number is beyond what {name} holds")))
        }
        Some(number) => wrap_number(lua, mark, number.to_bits().cast_signed()),
        None => Err(not_taken(lua, name, "a number")),
    }
}

/// A point in time: seconds since 1970, RFC 3339 text or a `Time`.
fn time(lua: Lua, name: &str, mark: Mark) -> Answer {
    let moment = match lua.bytes(1) {
        Some(text) => {
            std::str::from_utf8(text).ok().and_then(|text| moment::parse(MomentKind::TimestampTz, text))
        }
        None => {
            let seconds = moment::seconds(lua, 1).and_then(Moment::from_seconds);
            seconds.or_else(|| moment::get(lua, 1)?.convert(MomentKind::TimestampTz))
        }
    };
    match moment {
        Some(moment) if moment.is_finite() => wrap_number(lua, mark, moment.value()),
        _ => Err(not_taken(lua, name, "seconds since 1970, the text of a point in time or a Time")),
    }
}

/// `msgpack.ext(type, data)`.
fn extension(lua: Lua) -> Answer {
    let kind = lua.integer(1).filter(|kind| i8::try_from(*kind).is_ok());
    let Some(kind) = kind else {
        return Err(lua.fail("the type of an extension is a whole number from -128 to 127"));
    };
    if lua.kind(2) != Kind::String {
        return Err(
            lua.fail(format_args!("the data of an extension is a string, not a {} value", lua.type_name(2)))
        );
    }
    lua.set_top(2);
    wrapper::wrap(lua, Mark::Extension, kind);
    Ok(1)
}

#[cfg(test)]
mod tests;
