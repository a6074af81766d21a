//! From a cell to a value of Lua's.

use tarn_batch::value::{
    ArrayReader, Elements, read_bool, read_f32, read_f64, read_i16, read_i32, read_i64, read_interval,
    read_time_tz, read_uuid,
};
use tarn_batch::{Cell, DecodeError, Type};

use crate::lua::Lua;
use crate::values::moment::{Moment, MomentKind};
use crate::values::{decimal, interval, moment, uuid};

/// Pushes a cell: `nil` for null and for what the source did not send.
#[inline]
pub fn push_cell(lua: Lua, data_type: &Type, cell: Cell<'_>) -> Result<(), DecodeError> {
    match cell {
        Cell::Value(value) => push_value(lua, data_type, value),
        Cell::Null | Cell::Unchanged => {
            lua.push_nil();
            Ok(())
        }
    }
}

/// Pushes a value: integers and booleans as Lua's, floats as its floats, text, JSON, labels and bytes
/// as strings, the others as this crate's values, arrays as tables.
#[inline]
pub fn push_value(lua: Lua, data_type: &Type, value: &[u8]) -> Result<(), DecodeError> {
    match data_type {
        Type::Bool => lua.push_boolean(read_bool(value)?),
        Type::Int2 => lua.push_integer(read_i16(value)?.into()),
        Type::Int4 => lua.push_integer(read_i32(value)?.into()),
        Type::Int8 => lua.push_integer(read_i64(value)?),
        Type::Float4 => lua.push_number(read_f32(value)?.into()),
        Type::Float8 => lua.push_number(read_f64(value)?),
        Type::Numeric { .. } => {
            if !tarn_batch::value::is_canonical_numeric(value) {
                return Err(DecodeError::Invalid("numeric value"));
            }
            decimal::push(lua, value);
        }
        Type::Text | Type::Json | Type::Enum | Type::Other | Type::Bytes => lua.push_bytes(value),
        Type::Date => moment::push(lua, Moment::new(MomentKind::Date, read_i32(value)?.into())),
        Type::Time => moment::push(lua, Moment::new(MomentKind::Time, read_i64(value)?)),
        Type::TimeTz => moment::push(lua, Moment::time_tz(read_time_tz(value)?)),
        Type::Timestamp => moment::push(lua, Moment::new(MomentKind::Timestamp, read_i64(value)?)),
        Type::TimestampTz => moment::push(lua, Moment::new(MomentKind::TimestampTz, read_i64(value)?)),
        Type::Interval => interval::push(lua, read_interval(value)?),
        Type::Uuid => uuid::push(lua, read_uuid(value)?),
        Type::Array(element) => push_array(lua, element, value)?,
    }
    Ok(())
}

/// Pushes an array as a table, one within another for each dimension. Where there are nulls, the field
/// `n` says how long it is, as that of `table.pack` does.
fn push_array(lua: Lua, element: &Type, value: &[u8]) -> Result<(), DecodeError> {
    let reader = ArrayReader::new(value)?;
    if !lua.reserve(3 * reader.dimensions().len() as i32 + 4) {
        return Err(DecodeError::Invalid("array value: no room on the stack"));
    }
    let mut elements = reader.elements();
    push_dimension(lua, element, reader.dimensions(), &mut elements)
}

fn push_dimension(
    lua: Lua,
    element: &Type,
    mut dimensions: impl ExactSizeIterator<Item = u32> + Clone,
    elements: &mut Elements<'_>,
) -> Result<(), DecodeError> {
    let length = dimensions.next().unwrap_or(0);
    let innermost = dimensions.len() == 0;
    lua.push_table(length as usize, 0);
    lua.get_slot(crate::lua::Slot::JsonArray);
    lua.set_metatable(-2);
    let mut nulls = false;
    for item in 1..=i64::from(length) {
        if !innermost {
            push_inner(lua, element, dimensions.clone(), elements)?;
        } else if let Some(value) = elements.next().unwrap_or(Err(DecodeError::Truncated("array value")))? {
            push_value(lua, element, value)?;
        } else {
            nulls = true;
            continue;
        }
        lua.set_item(-2, item);
    }
    if nulls {
        lua.push_integer(length.into());
        lua.set_field(-2, "n");
    }
    Ok(())
}

/// [`push_dimension`] for the next dimension, behind a pointer: the iterator's type stays one.
fn push_inner(
    lua: Lua,
    element: &Type,
    dimensions: impl ExactSizeIterator<Item = u32> + Clone,
    elements: &mut Elements<'_>,
) -> Result<(), DecodeError> {
    let rest: Vec<u32> = dimensions.collect();
    push_dimension(lua, element, rest.into_iter(), elements)
}
