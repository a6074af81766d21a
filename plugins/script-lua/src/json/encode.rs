//! From values to JSON text.

use std::io::Write;

use tarn_batch::text::write_text;
use tarn_batch::value::{ArrayReader, Elements, read_bool, read_f32, read_f64};
use tarn_batch::{Cell, Type};

use super::EncodeError;
use crate::config::JSON_DEPTH_MAX;
use crate::lua::{Kind, Lua, Slot};
use crate::row;
use crate::session::Session;
use crate::values;

/// Appends the JSON text of the value at `index`. Runs no script code.
pub fn write_plain(lua: Lua, index: i32, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let index = lua.absolute(index);
    let top = lua.top();
    let result = write_value(lua, index, out, JSON_DEPTH_MAX);
    lua.set_top(top);
    result
}

fn write_value(lua: Lua, index: i32, out: &mut Vec<u8>, depth: usize) -> Result<(), EncodeError> {
    match lua.kind(index) {
        Kind::Nil | Kind::None => out.extend_from_slice(b"null"),
        Kind::Boolean => out.extend_from_slice(if lua.is_true(index) { b"true" } else { b"false" }),
        Kind::Integer => append(out, format_args!("{}", lua.integer(index).unwrap_or_default())),
        Kind::Float => write_float(lua.number(index).unwrap_or(f64::NAN), out)?,
        Kind::String => write_string(lua.bytes(index).unwrap_or_default(), out)?,
        Kind::Table if depth == 0 || !lua.reserve(8) => return Err(EncodeError::TooDeep),
        Kind::Table => write_table(lua, index, out, depth - 1)?,
        Kind::Userdata => write_userdata(lua, index, out)?,
        Kind::Function | Kind::Other => return Err(EncodeError::Kind(lua.type_name(index))),
    }
    Ok(())
}

fn append(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a vector takes every byte");
}

/// The shortest text that is read back as the same float; whole numbers without a point.
fn write_float(value: f64, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    if !value.is_finite() {
        return Err(EncodeError::NotFinite);
    }
    if value == 0.0 || (1e-6..1e21).contains(&value.abs()) {
        append(out, format_args!("{}", if value == 0.0 { 0.0 } else { value }));
    } else {
        append(out, format_args!("{value:e}"));
    }
    Ok(())
}

fn write_string(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let text = std::str::from_utf8(bytes).map_err(|_| EncodeError::NotUtf8)?;
    // Nearly all text needs no escape.
    if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        out.push(b'"');
        out.extend_from_slice(bytes);
        out.push(b'"');
    } else {
        serde_json::to_writer(out, text).expect("a vector takes every byte");
    }
    Ok(())
}

fn write_table(lua: Lua, table: i32, out: &mut Vec<u8>, depth: usize) -> Result<(), EncodeError> {
    if let Some(length) = array_length(lua, table)? {
        out.push(b'[');
        for item in 1..=length {
            if item > 1 {
                out.push(b',');
            }
            lua.get_item(table, item);
            write_value(lua, lua.top(), out, depth)?;
            lua.pop(1);
        }
        out.push(b']');
        return Ok(());
    }
    let mut keys: Vec<&[u8]> = Vec::new();
    lua.push_nil();
    while lua.next(table) {
        lua.pop(1);
        keys.push(lua.bytes(-1).ok_or(EncodeError::MixedKeys)?);
    }
    // Lua's own order depends on how the table was filled.
    keys.sort_unstable();
    out.push(b'{');
    for (at, key) in keys.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_string(key, out)?;
        out.push(b':');
        lua.get_bytes_field(table, key);
        write_value(lua, lua.top(), out, depth)?;
        lua.pop(1);
    }
    out.push(b'}');
    Ok(())
}

/// The length of a table that is an array: marked as one, empty, or with the items 1 to n alone.
fn array_length(lua: Lua, table: i32) -> Result<Option<i64>, EncodeError> {
    let length = lua.raw_length(table) as i64;
    if lua.get_metatable(table) {
        lua.get_slot(Slot::JsonArray);
        let marked = lua.same(-1, -2);
        lua.pop(2);
        if marked {
            let written = lua.get_field(table, "n");
            let longer = if written == Kind::Integer { lua.integer(-1) } else { None };
            lua.pop(1);
            return Ok(Some(longer.unwrap_or(length).max(0)));
        }
    }
    let mut entries = 0;
    lua.push_nil();
    while lua.next(table) {
        lua.pop(1);
        entries += 1;
        // One key that is no item decides.
        if lua.kind(-1) != Kind::Integer {
            lua.pop(1);
            return if length > 0 { Err(EncodeError::MixedKeys) } else { Ok(None) };
        }
    }
    if entries == length { Ok(Some(length)) } else { Err(EncodeError::MixedKeys) }
}

fn write_userdata(lua: Lua, index: i32, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    if let Some(number) = values::decimal::text(lua, index) {
        return write_decimal(number.as_bytes(), out);
    }
    let mut text = String::new();
    if values::write_text(lua, index, &mut text) {
        return write_string(text.as_bytes(), out);
    }
    match row::handle(lua, index) {
        Some(handle) => write_row(lua, handle, out),
        None => Err(EncodeError::Kind("record")),
    }
}

fn write_decimal(text: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    if text.last().is_none_or(|byte| !byte.is_ascii_digit()) {
        return Err(EncodeError::NotFinite);
    }
    out.extend_from_slice(text);
    Ok(())
}

fn write_row(lua: Lua, handle: row::Handle, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let Session { bindings, current, text, .. } = lua.session();
    current.row(handle.generation()).ok_or(EncodeError::Stale)?;
    let binding = bindings.get(current.binding());
    out.push(b'{');
    let mut first = true;
    for (at, column) in binding.table.columns.iter().enumerate() {
        let cell = current.cell(handle.which(), at).map_err(|_| EncodeError::Damaged)?;
        if cell == Cell::Unchanged {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        write_string(column.name.as_bytes(), out)?;
        out.push(b':');
        match cell.value() {
            Some(value) => write_typed(&column.data_type, value, text, out)?,
            None => out.extend_from_slice(b"null"),
        }
    }
    out.push(b'}');
    Ok(())
}

/// Appends a value by its type. `text` is room to write it as text first.
fn write_typed(
    data_type: &Type,
    value: &[u8],
    text: &mut String,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let damaged = |_| EncodeError::Damaged;
    match data_type {
        Type::Bool => {
            out.extend_from_slice(if read_bool(value).map_err(damaged)? { b"true" } else { b"false" })
        }
        Type::Float4 => {
            let single = read_f32(value).map_err(damaged)?;
            if !single.is_finite() {
                return Err(EncodeError::NotFinite);
            }
            // The shortest text of the single, not of the double it is among.
            write_float(single.to_string().parse().unwrap_or(f64::from(single)), out)?;
        }
        Type::Float8 => write_float(read_f64(value).map_err(damaged)?, out)?,
        Type::Numeric { .. } => write_decimal(value, out)?,
        Type::Text | Type::Enum | Type::Other => write_string(value, out)?,
        Type::Json => out.extend_from_slice(value),
        Type::Bytes => write_base64(value, out),
        Type::Array(element) => {
            let reader = ArrayReader::new(value).map_err(damaged)?;
            let lengths: Vec<u32> = reader.dimensions().collect();
            write_dimension(element, &lengths, &mut reader.elements(), text, out)?;
        }
        _ => {
            text.clear();
            write_text(data_type, value, text).map_err(damaged)?;
            match data_type {
                Type::Int2 | Type::Int4 | Type::Int8 => out.extend_from_slice(text.as_bytes()),
                // The texts of the others hold nothing that is escaped in JSON.
                _ => {
                    out.push(b'"');
                    out.extend_from_slice(text.as_bytes());
                    out.push(b'"');
                }
            }
        }
    }
    Ok(())
}

fn write_dimension(
    element: &Type,
    lengths: &[u32],
    elements: &mut Elements<'_>,
    text: &mut String,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    out.push(b'[');
    let (length, inner) = lengths.split_first().map_or((0, lengths), |(&length, inner)| (length, inner));
    for item in 0..length {
        if item > 0 {
            out.push(b',');
        }
        if !inner.is_empty() {
            write_dimension(element, inner, elements, text, out)?;
            continue;
        }
        match elements.next() {
            Some(Ok(Some(value))) => write_typed(element, value, text, out)?,
            Some(Ok(None)) => out.extend_from_slice(b"null"),
            Some(Err(_)) | None => return Err(EncodeError::Damaged),
        }
    }
    out.push(b']');
    Ok(())
}

fn write_base64(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.push(b'"');
    for group in bytes.chunks(3) {
        let [one, two, three] = [0, 1, 2].map(|at| u32::from(group.get(at).copied().unwrap_or(0)));
        let bits = one << 16 | two << 8 | three;
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            out.push(if place > group.len() { b'=' } else { digit });
        }
    }
    out.push(b'"');
}
