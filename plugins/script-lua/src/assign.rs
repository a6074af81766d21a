//! From a value of Lua's to a cell: exactly, or not at all.

use tarn_batch::{Column, Type};
pub use tarn_script::assign::Refusal;
use tarn_script::assign::{Given, write as write_given};

use crate::json::EncodeError;
use crate::lua::{Kind, Lua};
use crate::values;

mod array;

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
        Kind::String => "string",
        Kind::Userdata if values::decimal::text(lua, index).is_some() => "Decimal",
        Kind::Userdata if values::big_integer::text(lua, index).is_some() => "BigInt",
        Kind::Userdata if values::moment::get(lua, index).is_some() => "Time",
        Kind::Userdata if values::interval::get(lua, index).is_some() => "Interval",
        Kind::Userdata if values::uuid::get(lua, index).is_some() => "UUID",
        Kind::Userdata => "row",
        _ => lua.type_name(index),
    }
}

/// The same of a value that is known by now.
#[inline]
fn name_of(value: &Given<'_>, lua: Lua, index: i32) -> &'static str {
    match value {
        Given::Integer(_) => "integer",
        Given::Float(_) => "float",
        Given::Text(_) => "string",
        _ => given(lua, index),
    }
}

/// The value, as the conversions know it.
fn value<'a>(lua: Lua, index: i32) -> Given<'a> {
    match lua.kind(index) {
        Kind::Boolean => Given::Bool(lua.is_true(index)),
        Kind::Integer => Given::Integer(lua.number_as_integer(index)),
        Kind::Float => Given::Float(lua.number(index).unwrap_or(f64::NAN)),
        Kind::String => Given::Text(lua.bytes(index).unwrap_or_default()),
        Kind::Userdata => {
            if let Some(number) = values::exact::get(lua, index) {
                Given::Number(number)
            } else if let Some(moment) = values::moment::get(lua, index) {
                Given::Moment(moment)
            } else if let Some(interval) = values::interval::get(lua, index) {
                Given::Interval(interval.value())
            } else if let Some(uuid) = values::uuid::get(lua, index) {
                Given::Uuid(uuid.bytes)
            } else {
                Given::Other
            }
        }
        _ => Given::Other,
    }
}

fn write(lua: Lua, index: i32, data_type: &Type, out: &mut Vec<u8>) -> Result<(), Refusal> {
    match data_type {
        Type::Json if lua.kind(index) != Kind::String => write_json(lua, index, out),
        Type::Array(element) => array::write(lua, index, element, out),
        _ => {
            let value = value(lua, index);
            write_given(&value, name_of(&value, lua, index), data_type, out)
        }
    }
}

/// Everything but a string, which is JSON text, is turned into JSON.
fn write_json(lua: Lua, index: i32, out: &mut Vec<u8>) -> Result<(), Refusal> {
    crate::json::write_plain(lua, index, out).map_err(|error| match error {
        EncodeError::Kind(_) => takes(lua, index, "JSON"),
        error => Refusal::Json(error.to_string()),
    })
}
