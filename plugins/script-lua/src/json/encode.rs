//! From values to JSON text, at the end of the session's output.

use tarn_batch::Row;

use tarn_script::json::{
    Options, RowWriter, names, write_bytes, write_decimal, write_float, write_integer, write_quoted,
    write_string,
};

use super::{EncodeError, METHOD};
use crate::config::{ENCODED_BYTES_MAX, JSON_DEPTH_MAX};
use crate::current::Which;
use crate::lua::{Kind, Lua};
use crate::session::Session;
use crate::shape::{self, FieldName, Fields, Shape};
use crate::values::{self, big_integer, decimal};
use crate::wrapper::{self, Mark};
use crate::{record, row};

/// Whether `__json` may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Methods {
    /// It runs script code.
    Called,
    /// Its place does not allow script code to run: it is an error.
    Refused,
}

/// Appends the JSON text of a value. An error of script code leaves its value on top of the stack.
pub fn write(lua: Lua, index: i32, options: Options, methods: Methods) -> Result<(), EncodeError> {
    Encoder { lua, options, methods }.value(lua.absolute(index), JSON_DEPTH_MAX)
}

#[derive(Clone, Copy)]
struct Encoder {
    lua: Lua,
    options: Options,
    methods: Methods,
}

impl Encoder {
    fn put(&self, bytes: &[u8]) {
        self.lua.session().output.extend_from_slice(bytes);
    }

    fn value(self, index: i32, depth: usize) -> Result<(), EncodeError> {
        let lua = self.lua;
        let out = &mut lua.session().output;
        if out.len() > ENCODED_BYTES_MAX {
            return Err(EncodeError::TooLong);
        }
        match lua.kind(index) {
            Kind::Nil | Kind::None => self.put(b"null"),
            Kind::Boolean => self.put(if lua.is_true(index) { b"true" } else { b"false" }),
            Kind::Integer => write_integer(out, lua.integer(index).unwrap_or_default()),
            Kind::Float => write_float(out, lua.number(index).unwrap_or(f64::NAN), self.options)?,
            Kind::String => write_string(out, lua.bytes(index).unwrap_or_default())?,
            Kind::Table | Kind::Userdata if depth == 0 || !lua.reserve(10) => {
                return Err(EncodeError::TooDeep);
            }
            Kind::Table => self.table(index, depth - 1)?,
            Kind::Userdata => self.userdata(index, depth - 1)?,
            Kind::Function | Kind::Other => return Err(EncodeError::Kind(lua.type_name(index))),
        }
        Ok(())
    }

    fn table(self, table: i32, depth: usize) -> Result<(), EncodeError> {
        match shape::of(self.lua, table, METHOD).map_err(|_| EncodeError::MixedKeys)? {
            Shape::Method => self.method(table, depth),
            Shape::Array(length) => self.array(table, length, depth),
            Shape::Object => self.object(table, depth),
        }
    }

    /// Encodes what the function on top says of the value.
    fn method(self, value: i32, depth: usize) -> Result<(), EncodeError> {
        let lua = self.lua;
        if self.methods == Methods::Refused {
            return Err(EncodeError::Method);
        }
        lua.push_copy(value);
        if !lua.protected_call(1, 1, 0) {
            return Err(EncodeError::Script);
        }
        self.value(lua.top(), depth)?;
        lua.pop(1);
        Ok(())
    }

    fn array(self, table: i32, length: i64, depth: usize) -> Result<(), EncodeError> {
        let lua = self.lua;
        self.put(b"[");
        for item in 1..=length {
            if item > 1 {
                self.put(b",");
            }
            lua.get_item(table, item);
            self.value(lua.top(), depth)?;
            lua.pop(1);
        }
        self.put(b"]");
        Ok(())
    }

    fn object(self, table: i32, depth: usize) -> Result<(), EncodeError> {
        let lua = self.lua;
        let fields = Fields::of(lua, table).map_err(|_| EncodeError::MixedKeys)?;
        self.put(b"{");
        for place in 0..fields.count() {
            if place > 0 {
                self.put(b",");
            }
            fields.push(lua, table, place, |name| {
                let out = &mut lua.session().output;
                match name {
                    FieldName::Text(name) => write_string(out, name),
                    FieldName::Integer(item) => {
                        out.push(b'"');
                        write_integer(out, item);
                        out.push(b'"');
                        Ok(())
                    }
                }
            })?;
            self.put(b":");
            self.value(lua.top(), depth)?;
            lua.pop(1);
        }
        self.put(b"}");
        fields.end(lua);
        Ok(())
    }

    fn userdata(self, index: i32, depth: usize) -> Result<(), EncodeError> {
        let lua = self.lua;
        let Session { output, text, .. } = lua.session();
        if let Some(number) = decimal::text(lua, index) {
            return Ok(write_decimal(output, number.as_bytes(), self.options)?);
        }
        if let Some(number) = big_integer::text(lua, index) {
            output.extend_from_slice(number.as_bytes());
            return Ok(());
        }
        text.clear();
        if values::write_portable(lua, index, text) {
            write_quoted(output, text.as_bytes());
            return Ok(());
        }
        if let Some(handle) = row::handle(lua, index) {
            lua.session().current.row(handle.generation()).ok_or(EncodeError::Stale)?;
            return self.row(handle.which());
        }
        if let Some(handle) = record::handle(lua, index) {
            let record = *lua.session().current.row(handle.generation()).ok_or(EncodeError::Stale)?;
            return self.record(record, depth);
        }
        self.wrapper(index, depth)
    }

    fn row(self, which: Which) -> Result<(), EncodeError> {
        let Session { bindings, current, text, output, .. } = self.lua.session();
        let binding = bindings.get_mut(current.binding());
        let (table, names) = binding.json_names(names);
        Ok(RowWriter { out: output, text, options: self.options }.row(current, which, table, names)?)
    }

    /// A record: what happened and the rows, without what there is not.
    fn record(self, record: Row<'static>, depth: usize) -> Result<(), EncodeError> {
        let lua = self.lua;
        self.put(b"{");
        let mut first = true;
        for (name, member) in record::ENCODED {
            member(lua, record).map_err(|_| EncodeError::Damaged)?;
            if !lua.is_nil(-1) {
                if !std::mem::take(&mut first) {
                    self.put(b",");
                }
                write_quoted(&mut lua.session().output, name.as_bytes());
                self.put(b":");
                self.value(lua.top(), depth)?;
            }
            lua.pop(1);
        }
        self.put(b"}");
        Ok(())
    }

    fn wrapper(self, index: i32, depth: usize) -> Result<(), EncodeError> {
        let lua = self.lua;
        let Some(wrapper) = wrapper::get(lua, index) else {
            return Err(EncodeError::Kind(lua.type_name(index)));
        };
        lua.push_user_value(index);
        let inner = lua.top();
        let text = lua.bytes(inner);
        match (wrapper.mark, lua.kind(inner)) {
            (Mark::Array | Mark::Object, Kind::Nil) => self.put(b"null"),
            (Mark::Array, _) => self.array(inner, lua.raw_length(inner) as i64, depth)?,
            (Mark::Object, _) => self.object(inner, depth)?,
            (Mark::Bytes, _) if text.is_some_and(|bytes| bytes.len() > ENCODED_BYTES_MAX) => {
                return Err(EncodeError::TooLong);
            }
            (Mark::Bytes, _) => {
                write_bytes(&mut lua.session().output, text.unwrap_or_default(), self.options);
            }
            (Mark::Text, _) => write_string(&mut lua.session().output, text.unwrap_or_default())?,
            (Mark::Json, _) => {
                let text = text.unwrap_or_default();
                if wrapper.detail == 0 && !super::is_json(text) {
                    return Err(EncodeError::RawNotJson);
                }
                self.put(text);
            }
            _ => return Err(EncodeError::Packed),
        }
        lua.pop(1);
        Ok(())
    }
}
