//! From values to MessagePack, at the end of the session's output.

use tarn_batch::Row;

use tarn_script::msgpack::{
    Rest, RowPacker, begin_array, begin_map, write_big_integer, write_bytes, write_double, write_extension,
    write_float, write_moment, write_signed, write_single, write_string, write_text, write_time,
    write_time32, write_time64, write_time96, write_unsigned,
};

use super::{METHOD, PackError};
use crate::config::{ENCODED_BYTES_MAX, JSON_DEPTH_MAX};
use crate::lua::{Kind, Lua};
use crate::session::Session;
use crate::shape::{self, FieldName, Fields, Shape};
use crate::values::{big_integer, decimal, interval, moment, uuid};
use crate::wrapper::{self, Mark};
use crate::{record, row};

/// Appends a value. An error of script code leaves its value on top of the stack.
pub fn write(lua: Lua, index: i32) -> Result<(), PackError> {
    Packer { lua }.value(lua.absolute(index), JSON_DEPTH_MAX)
}

#[derive(Clone, Copy)]
struct Packer {
    lua: Lua,
}

impl Packer {
    fn value(self, index: i32, depth: usize) -> Result<(), PackError> {
        let lua = self.lua;
        let out = &mut lua.session().output;
        if out.len() > ENCODED_BYTES_MAX {
            return Err(PackError::TooLong);
        }
        match lua.kind(index) {
            Kind::Nil | Kind::None => out.push(0xc0),
            Kind::Boolean => out.push(if lua.is_true(index) { 0xc3 } else { 0xc2 }),
            Kind::Integer => write_signed(out, lua.integer(index).unwrap_or_default()),
            Kind::Float => write_float(out, lua.number(index).unwrap_or(f64::NAN)),
            Kind::String => write_string(out, lua.bytes(index).unwrap_or_default())?,
            Kind::Table | Kind::Userdata if depth == 0 || !lua.reserve(10) => return Err(PackError::TooDeep),
            Kind::Table => self.table(index, depth - 1)?,
            Kind::Userdata => self.userdata(index, depth - 1)?,
            Kind::Function | Kind::Other => return Err(PackError::Kind(lua.type_name(index))),
        }
        Ok(())
    }

    fn table(self, table: i32, depth: usize) -> Result<(), PackError> {
        let lua = self.lua;
        match shape::of(lua, table, METHOD).map_err(|_| PackError::MixedKeys)? {
            Shape::Array(length) => self.array(table, length as usize, depth),
            Shape::Object => self.map(table, depth),
            Shape::Method => {
                lua.push_copy(table);
                if !lua.protected_call(1, 1, 0) {
                    return Err(PackError::Script);
                }
                self.value(lua.top(), depth)?;
                lua.pop(1);
                Ok(())
            }
        }
    }

    fn array(self, table: i32, length: usize, depth: usize) -> Result<(), PackError> {
        let lua = self.lua;
        begin_array(&mut lua.session().output, length)?;
        for item in 1..=length {
            lua.get_item(table, item as i64);
            self.value(lua.top(), depth)?;
            lua.pop(1);
        }
        Ok(())
    }

    fn map(self, table: i32, depth: usize) -> Result<(), PackError> {
        let lua = self.lua;
        let fields = Fields::of(lua, table).map_err(|_| PackError::MixedKeys)?;
        begin_map(&mut lua.session().output, fields.count())?;
        for place in 0..fields.count() {
            fields.push(lua, table, place, |name| {
                let out = &mut lua.session().output;
                match name {
                    FieldName::Text(name) => write_string(out, name),
                    FieldName::Integer(item) => {
                        write_signed(out, item);
                        Ok(())
                    }
                }
            })?;
            self.value(lua.top(), depth)?;
            lua.pop(1);
        }
        fields.end(lua);
        Ok(())
    }

    fn userdata(self, index: i32, depth: usize) -> Result<(), PackError> {
        let lua = self.lua;
        let Session { output, text, .. } = lua.session();
        if let Some(number) = decimal::text(lua, index) {
            return Ok(write_text(output, number.as_bytes())?);
        }
        if let Some(number) = big_integer::text(lua, index) {
            return Ok(write_big_integer(output, number)?);
        }
        if let Some(moment) = moment::get(lua, index) {
            return Ok(write_moment(output, &moment, text)?);
        }
        if let Some(uuid) = uuid::get(lua, index) {
            return Ok(write_bytes(output, &uuid.bytes)?);
        }
        if let Some(interval) = interval::get(lua, index) {
            text.clear();
            interval.write_text(text);
            return Ok(write_text(output, text.as_bytes())?);
        }
        if let Some(handle) = row::handle(lua, index) {
            let Session { bindings, current, text, output, .. } = lua.session();
            current.row(handle.generation()).ok_or(PackError::Stale)?;
            let table = &bindings.get(current.binding()).table;
            return Ok(RowPacker { out: output, text }.row(current, handle.which(), table)?);
        }
        if let Some(handle) = record::handle(lua, index) {
            let record = *lua.session().current.row(handle.generation()).ok_or(PackError::Stale)?;
            return self.record(record, depth);
        }
        self.wrapper(index, depth)
    }

    /// A record: what happened and the rows, without what there is not.
    fn record(self, record: Row<'static>, depth: usize) -> Result<(), PackError> {
        let lua = self.lua;
        let first = lua.top();
        if !lua.reserve(2 * record::ENCODED.len() as i32) {
            return Err(PackError::TooDeep);
        }
        for (_, member) in record::ENCODED {
            member(lua, record).map_err(|_| PackError::Damaged)?;
        }
        let places = first + 1..=lua.top();
        begin_map(&mut lua.session().output, places.clone().filter(|&place| !lua.is_nil(place)).count())?;
        for ((name, _), place) in record::ENCODED.iter().zip(places) {
            if !lua.is_nil(place) {
                write_text(&mut lua.session().output, name.as_bytes())?;
                self.value(place, depth)?;
            }
        }
        lua.set_top(first);
        Ok(())
    }

    fn wrapper(self, index: i32, depth: usize) -> Result<(), PackError> {
        let lua = self.lua;
        let Some(wrapper) = wrapper::get(lua, index) else {
            return Err(PackError::Kind(lua.type_name(index)));
        };
        lua.push_user_value(index);
        let inner = lua.top();
        let bytes = lua.bytes(inner).unwrap_or_default();
        let out = &mut lua.session().output;
        let detail = wrapper.detail;
        let float = f64::from_bits(detail.cast_unsigned());
        match wrapper.mark {
            Mark::Array | Mark::Object if lua.is_nil(inner) => out.push(0xc0),
            Mark::Array => self.array(inner, lua.raw_length(inner), depth)?,
            Mark::Object => self.map(inner, depth)?,
            Mark::Bytes => write_bytes(out, bytes)?,
            Mark::Text => write_text(out, bytes)?,
            Mark::Packed => out.extend_from_slice(bytes),
            Mark::Json => return Err(PackError::Json),
            Mark::Signed => write_signed(out, detail),
            Mark::Unsigned => write_unsigned(out, detail.cast_unsigned()),
            Mark::Single => write_single(out, float as f32),
            Mark::Double => write_double(out, float),
            Mark::Time => write_time(out, detail)?,
            Mark::Time32 => write_time32(out, detail, Rest::CutOff)?,
            Mark::Time64 => write_time64(out, detail)?,
            Mark::Time96 => write_time96(out, detail)?,
            // The type was checked when it was made.
            Mark::Extension => write_extension(out, detail as i8, bytes)?,
        }
        lua.pop(1);
        Ok(())
    }
}
