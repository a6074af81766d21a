//! From a value of Lua's to a cell: exactly, or not at all.

use std::fmt;

use tarn_batch::{Column, Type};

use crate::config::ASSIGNED_BYTES_MAX;
use crate::json::EncodeError;
use crate::lua::{Kind, Lua};
use crate::values;
use crate::values::moment::{self, MomentKind};

mod array;
mod number;

/// Why a column cannot take a value. No value is in it: it is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Another kind of value is needed.
    Takes {
        /// What the column takes.
        wanted: &'static str,
        /// What was given.
        given: &'static str,
    },
    /// A number beyond the type.
    OutOfRange,
    /// A number with digits that the type does not hold.
    Inexact,
    /// More digits after the point than the column's scale.
    Scale(i16),
    /// More digits before the point than the column's precision leaves.
    Precision(u16),
    /// The column cannot be null.
    NotNull,
    /// Bytes that are no text.
    NotUtf8,
    /// A string that does not have the form of the type.
    NotTextOf(&'static str),
    /// A number of seconds that is no time of the type.
    NotSecondsOf(&'static str),
    /// Rows of an array that differ in length.
    Ragged,
    /// A value in an array.
    Element,
    /// A value that has no JSON form.
    Json(EncodeError),
    /// More bytes than may be assigned in one record.
    TooMuch,
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Takes { wanted, given } => {
                let article = if given.starts_with(['i', 'I']) { "an" } else { "a" };
                write!(out, "takes {wanted}, not {article} {given} value")
            }
            Self::OutOfRange => out.write_str("cannot hold this number: it is out of range"),
            Self::Inexact => out.write_str("cannot hold this number exactly"),
            Self::Scale(scale) => {
                write!(out, "holds {scale} digits after the point: round the number first")
            }
            Self::Precision(precision) => write!(out, "holds {precision} digits: the number has more"),
            Self::NotNull => out.write_str("cannot be null"),
            Self::NotUtf8 => out.write_str("takes text, and these bytes are not UTF-8"),
            Self::NotTextOf(what) => write!(out, "takes {what}, and this string is none"),
            Self::NotSecondsOf(what) => write!(out, "takes {what}, and this number of seconds is none"),
            Self::Ragged => out.write_str("takes arrays whose rows have one length"),
            Self::Element => out.write_str("cannot hold an element of this array"),
            Self::Json(error) => write!(out, "takes JSON: {error}"),
            Self::TooMuch => {
                write!(out, "takes no more: a script assigns at most {ASSIGNED_BYTES_MAX} bytes in a record")
            }
        }
    }
}

/// Appends the value at `index` in the form of the column.
pub fn write_column(lua: Lua, index: i32, column: &Column, out: &mut Vec<u8>) -> Result<(), Refusal> {
    write(lua, index, &column.data_type, out)
}

fn takes(lua: Lua, index: i32, wanted: &'static str) -> Refusal {
    Refusal::Takes { wanted, given: given(lua, index) }
}

/// What a person calls the value.
pub fn given(lua: Lua, index: i32) -> &'static str {
    match lua.kind(index) {
        Kind::Integer => "integer",
        Kind::Float => "float",
        Kind::Userdata if values::decimal::text(lua, index).is_some() => "Decimal",
        Kind::Userdata if values::big_integer::text(lua, index).is_some() => "BigInt",
        Kind::Userdata if values::moment::get(lua, index).is_some() => "Time",
        Kind::Userdata if values::interval::get(lua, index).is_some() => "Interval",
        Kind::Userdata if values::uuid::get(lua, index).is_some() => "UUID",
        Kind::Userdata => "row",
        _ => lua.type_name(index),
    }
}

fn write(lua: Lua, index: i32, data_type: &Type, out: &mut Vec<u8>) -> Result<(), Refusal> {
    match data_type {
        Type::Bool => match lua.kind(index) {
            Kind::Boolean => out.push(lua.is_true(index).into()),
            _ => return Err(takes(lua, index, "true or false")),
        },
        Type::Int2 => {
            let value = i16::try_from(number::integer(lua, index)?).map_err(|_| Refusal::OutOfRange)?;
            out.extend_from_slice(&value.to_le_bytes());
        }
        Type::Int4 => {
            let value = i32::try_from(number::integer(lua, index)?).map_err(|_| Refusal::OutOfRange)?;
            out.extend_from_slice(&value.to_le_bytes());
        }
        Type::Int8 => out.extend_from_slice(&number::integer(lua, index)?.to_le_bytes()),
        Type::Float4 => out.extend_from_slice(&number::single(lua, index)?.to_le_bytes()),
        Type::Float8 => out.extend_from_slice(&number::double(lua, index)?.to_le_bytes()),
        Type::Numeric { precision, scale } => number::write_numeric(lua, index, *precision, *scale, out)?,
        Type::Text | Type::Other => write_text(lua, index, out)?,
        Type::Enum => match lua.bytes(index) {
            Some(bytes) => write_utf8(bytes, out)?,
            None => return Err(takes(lua, index, "a label as a string")),
        },
        Type::Bytes => match lua.bytes(index) {
            Some(bytes) => out.extend_from_slice(bytes),
            None => return Err(takes(lua, index, "a string of bytes")),
        },
        Type::Json => write_json(lua, index, out)?,
        Type::Date => write_moment(lua, index, MomentKind::Date, "a date", out)?,
        Type::Time => write_moment(lua, index, MomentKind::Time, "a time of day", out)?,
        Type::TimeTz => write_moment(lua, index, MomentKind::TimeTz, "a time of day with its zone", out)?,
        Type::Timestamp => write_moment(lua, index, MomentKind::Timestamp, "a timestamp", out)?,
        Type::TimestampTz => {
            write_moment(lua, index, MomentKind::TimestampTz, "a timestamp with its zone", out)?;
        }
        Type::Interval => match values::interval::get(lua, index) {
            Some(interval) => tarn_batch::value::write_interval(out, interval.value()),
            None => return Err(takes(lua, index, "an Interval")),
        },
        Type::Uuid => {
            let uuid = values::uuid::get(lua, index)
                .or_else(|| lua.bytes(index).and_then(values::uuid::Uuid::parse));
            match uuid {
                Some(uuid) => out.extend_from_slice(&uuid.bytes),
                None if lua.kind(index) == Kind::String => {
                    return Err(Refusal::NotTextOf("the text of a UUID"));
                }
                None => return Err(takes(lua, index, "a UUID")),
            }
        }
        Type::Array(element) => array::write(lua, index, element, out)?,
    }
    Ok(())
}

fn write_utf8(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
    if std::str::from_utf8(bytes).is_err() {
        return Err(Refusal::NotUtf8);
    }
    out.extend_from_slice(bytes);
    Ok(())
}

/// Strings, and what has exactly one text.
fn write_text(lua: Lua, index: i32, out: &mut Vec<u8>) -> Result<(), Refusal> {
    use std::io::Write;
    match lua.kind(index) {
        Kind::String => return write_utf8(lua.bytes(index).unwrap_or_default(), out),
        Kind::Integer => write!(out, "{}", lua.integer(index).unwrap_or_default()),
        Kind::Float => write!(out, "{}", lua.number(index).unwrap_or_default()),
        Kind::Userdata => {
            let mut text = String::new();
            if !values::write_text(lua, index, &mut text) {
                return Err(takes(lua, index, "text"));
            }
            out.write_all(text.as_bytes())
        }
        _ => return Err(takes(lua, index, "text")),
    }
    .expect("a vector takes every byte");
    Ok(())
}

/// A string is JSON text; everything else is turned into it.
fn write_json(lua: Lua, index: i32, out: &mut Vec<u8>) -> Result<(), Refusal> {
    let Some(text) = lua.bytes(index) else {
        return match crate::json::write_plain(lua, index, out) {
            Ok(()) => Ok(()),
            Err(EncodeError::Kind(_)) => Err(takes(lua, index, "JSON")),
            Err(error) => Err(Refusal::Json(error)),
        };
    };
    if !crate::json::is_json(text) {
        return Err(Refusal::NotTextOf("JSON text"));
    }
    out.extend_from_slice(text);
    Ok(())
}

fn write_moment(
    lua: Lua,
    index: i32,
    kind: MomentKind,
    what: &'static str,
    out: &mut Vec<u8>,
) -> Result<(), Refusal> {
    if matches!(lua.kind(index), Kind::Integer | Kind::Float) {
        moment::Moment::from_number(lua, index, kind).ok_or(Refusal::NotSecondsOf(what))?.write(out);
        return Ok(());
    }
    if let Some(moment) = moment::get(lua, index) {
        moment.convert(kind).ok_or(takes(lua, index, what))?.write(out);
        return Ok(());
    }
    let text = lua.bytes(index).ok_or_else(|| takes(lua, index, what))?;
    let moment = std::str::from_utf8(text).ok().and_then(|text| moment::parse(kind, text));
    moment.ok_or(Refusal::NotTextOf(what))?.write(out);
    Ok(())
}
