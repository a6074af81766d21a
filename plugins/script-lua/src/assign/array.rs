//! Tables into array columns.

use tarn_batch::Type;
use tarn_batch::value::ArrayWriter;
use tarn_script::assign::{check_lengths, check_written};

use super::{Refusal, takes};
use crate::lua::{Kind, Lua};

/// How many dimensions an array of PostgreSQL's may have.
const DIMENSIONS_MAX: usize = 6;

/// Appends a table as an array: a sequence, or tables in tables for more dimensions. A field `n` says
/// the length where there are nulls.
pub(super) fn write(lua: Lua, index: i32, element: &Type, out: &mut Vec<u8>) -> Result<(), Refusal> {
    if lua.kind(index) != Kind::Table {
        return Err(takes(lua, index, "a table of elements"));
    }
    if !lua.reserve(2 * DIMENSIONS_MAX as i32 + 4) {
        return Err(Refusal::Element);
    }
    let index = lua.absolute(index);
    let lengths = shape(lua, index, element)?;
    let mut writer = ArrayWriter::new(out, lengths.len()).map_err(|_| Refusal::Ragged)?;
    if !lengths.is_empty() {
        write_dimension(lua, index, element, &lengths, &mut writer)?;
    }
    writer.finish(&lengths).map_err(|_| Refusal::Ragged)
}

/// The lengths of the dimensions, as the first elements show them.
fn shape(lua: Lua, table: i32, element: &Type) -> Result<Vec<u32>, Refusal> {
    let top = lua.top();
    let mut lengths = Vec::new();
    lua.push_copy(table);
    while lua.kind(-1) == Kind::Table {
        let length = match length(lua, -1) {
            Err(Refusal::Keys) if *element == Type::Json && !lengths.is_empty() => break,
            length => length?,
        };
        // An empty array has no dimensions; an object is an element of an array of JSON.
        if length == 0 && (lengths.is_empty() || *element == Type::Json) {
            break;
        }
        if lengths.len() == DIMENSIONS_MAX || length == 0 {
            return Err(Refusal::Ragged);
        }
        lengths.push(length);
        lua.get_item(-1, 1);
    }
    lua.set_top(top);
    check_lengths(&lengths)?;
    Ok(lengths)
}

/// How long a table says it is, which holds its items and nothing else: what is beside them would be lost.
fn length(lua: Lua, table: i32) -> Result<u32, Refusal> {
    let table = lua.absolute(table);
    let length = match lua.get_field(table, "n") {
        Kind::Nil => u32::try_from(lua.raw_length(table)).ok(),
        _ => lua.integer(-1).and_then(|length| u32::try_from(length).ok()),
    };
    lua.pop(1);
    let length = length.ok_or(Refusal::Keys)?;
    lua.push_nil();
    while lua.next(table) {
        lua.pop(1);
        let is_item = match lua.kind(-1) {
            Kind::Integer => (1..=i64::from(length)).contains(&lua.number_as_integer(-1)),
            Kind::String => lua.bytes(-1) == Some(b"n"),
            _ => false,
        };
        if !is_item {
            lua.pop(1);
            return Err(Refusal::Keys);
        }
    }
    Ok(length)
}

fn write_dimension(
    lua: Lua,
    table: i32,
    element: &Type,
    lengths: &[u32],
    writer: &mut ArrayWriter<'_>,
) -> Result<(), Refusal> {
    let Some((&expected, inner)) = lengths.split_first() else { return Err(Refusal::Ragged) };
    if length(lua, table)? != expected {
        return Err(Refusal::Ragged);
    }
    for item in 1..=i64::from(expected) {
        let kind = lua.get_item(table, item);
        let index = lua.top();
        match (kind, inner.is_empty()) {
            (Kind::Nil, true) => writer.null(),
            (_, true) => {
                writer.value_with(|out| super::write(lua, index, element, out)).map_err(|refusal| {
                    if let Refusal::Takes { .. } = refusal { Refusal::Element } else { refusal }
                })?
            }
            (Kind::Table, false) => write_dimension(lua, index, element, inner, writer)?,
            (_, false) => return Err(Refusal::Ragged),
        }
        lua.pop(1);
        check_written(writer)?;
    }
    Ok(())
}
