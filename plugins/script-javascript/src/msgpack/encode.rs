//! From values to MessagePack, at the end of the session's output.

use tarn_script::config::{ENCODED_BYTES_MAX, JSON_DEPTH_MAX};
use tarn_script::msgpack::{
    Rest, RowPacker, Unfit, begin_array, begin_map, write_big_integer, write_bytes, write_double,
    write_extension, write_float, write_moment, write_signed, write_single, write_text, write_time,
    write_time32, write_time64, write_time96, write_unsigned,
};

use super::PackError;
use crate::assign;
use crate::js::{Js, Kind, Value, View};
use crate::mark::{self, Mark};
use crate::record;
use crate::row;
use crate::session::Session;
use crate::values::{decimal, interval, time};

/// Appends a value.
pub fn write(js: Js, value: View) -> Result<(), PackError> {
    Packer { js }.value(value, JSON_DEPTH_MAX)
}

#[derive(Clone, Copy)]
struct Packer {
    js: Js,
}

impl Packer {
    fn string(self, value: View) -> Result<(), PackError> {
        let text = self.js.text(value)?;
        if text.as_str().is_none() {
            return Err(PackError::NotUtf8);
        }
        Ok(write_text(&mut self.js.session().output, &text)?)
    }

    fn value(self, value: View, depth: usize) -> Result<(), PackError> {
        let js = self.js;
        let out = &mut js.session().output;
        if out.len() > ENCODED_BYTES_MAX {
            return Err(Unfit::TooLong.into());
        }
        match value.kind() {
            Kind::Undefined => return Err(PackError::Undefined),
            Kind::Null => out.push(0xc0),
            Kind::Boolean => out.push(if js.is_true(value) { 0xc3 } else { 0xc2 }),
            Kind::Integer => write_signed(out, js.integer_of(value).unwrap_or_default()),
            Kind::Float => write_float(out, js.number_of(value).unwrap_or(f64::NAN)),
            Kind::BigInt => match js.integer_of(value) {
                Some(value) => write_signed(out, value),
                None => {
                    let digits = js.text(value)?;
                    write_big_integer(&mut js.session().output, digits.as_str().unwrap_or_default())?;
                }
            },
            Kind::String => self.string(value)?,
            Kind::Object if depth == 0 => return Err(PackError::TooDeep),
            Kind::Object => self.object(value, depth - 1)?,
            Kind::Symbol | Kind::Other => return Err(PackError::Kind(assign::given(js, value))),
        }
        Ok(())
    }

    fn object(self, value: View, depth: usize) -> Result<(), PackError> {
        let js = self.js;
        if let Some(which) = row::which(js, value) {
            return self.row(which?);
        }
        let Session { output, text, .. } = js.session();
        if let Some(number) = decimal::text_of(js, value) {
            return Ok(write_text(output, number.as_bytes())?);
        }
        if let Some(moment) = time::get(js, value) {
            return Ok(write_moment(output, &moment, text)?);
        }
        if let Some(interval) = interval::get(js, value) {
            text.clear();
            tarn_script::interval::write_text(interval, text);
            return Ok(write_text(output, text.as_bytes())?);
        }
        if let Some(bytes) = js.bytes_of(value) {
            if bytes.len() > ENCODED_BYTES_MAX {
                return Err(Unfit::TooLong.into());
            }
            return Ok(write_bytes(output, bytes)?);
        }
        if js.is_array(value) {
            return self.array(value, depth);
        }
        if record::is_record(js, value) {
            return self.record(value, depth);
        }
        if let Some((mark, detail)) = mark::get(js, value) {
            return self.marked(value, mark, detail);
        }
        if js.is_date(value) {
            let moment = time::of_date(js, value)?.ok_or(Unfit::Infinite)?;
            return Ok(write_time(&mut js.session().output, moment.value())?);
        }
        if js.is_function(value) || js.is_collection(value) {
            return Err(PackError::Kind(if js.is_function(value) { "function" } else { "collection" }));
        }
        self.plain(value, depth)
    }

    /// An object of the script's own, or what its method `toMsgpack` says.
    fn plain(self, object: View, depth: usize) -> Result<(), PackError> {
        let js = self.js;
        let method = match &js.session().hooks {
            Some(hooks) => js.get_atom(object, &hooks.to_msgpack)?,
            None => js.undefined(),
        };
        if js.is_function(*method) {
            let said = js.call(*method, object, &[])?;
            return self.value(*said, depth);
        }
        if js.is_map(object) {
            return self.map(object, depth);
        }
        let mut fields: Vec<(Value, Value)> = Vec::new();
        for name in js.names(object)? {
            let value = js.get_atom(object, &name)?;
            if value.kind() != Kind::Undefined {
                fields.push((js.value_of_atom(name.number())?, value));
            }
        }
        begin_map(&mut js.session().output, fields.len())?;
        for (name, value) in &fields {
            self.string(**name)?;
            self.value(**value, depth)?;
        }
        Ok(())
    }

    /// A `Map`, whose keys may be of any type.
    fn map(self, map: View, depth: usize) -> Result<(), PackError> {
        let js = self.js;
        let from = js.global().get("Array")?.get("from")?;
        let entries = js.call(*from, View::UNDEFINED, &[map])?;
        let count = js.length(*entries)?;
        begin_map(&mut js.session().output, count)?;
        for at in 0..count as u32 {
            let entry = js.get_item(*entries, at)?;
            self.value(*js.get_item(*entry, 0)?, depth)?;
            self.value(*js.get_item(*entry, 1)?, depth)?;
        }
        Ok(())
    }

    fn array(self, array: View, depth: usize) -> Result<(), PackError> {
        let js = self.js;
        let length = js.length(array)?;
        begin_array(&mut js.session().output, length)?;
        for at in 0..u32::try_from(length).map_err(|_| Unfit::TooLong)? {
            let item = js.get_item(array, at)?;
            match item.kind() {
                Kind::Undefined => js.session().output.push(0xc0),
                _ => self.value(*item, depth)?,
            }
        }
        Ok(())
    }

    fn row(self, which: tarn_script::current::Which) -> Result<(), PackError> {
        let js = self.js;
        if !js.session().live.is_empty() {
            row::assign_changed(js)?;
        }
        let Session { bindings, current, text, output, .. } = js.session();
        let table = &bindings.get(current.binding()).table;
        Ok(RowPacker { out: output, text }.row(current, which, table)?)
    }

    /// A record: what happened and the rows, without what there is not.
    fn record(self, value: View, depth: usize) -> Result<(), PackError> {
        let js = self.js;
        let record = record::check(js, value)?;
        let mut members = Vec::new();
        for (_, name, member) in record::ENCODED {
            let value = member(js, record)?;
            if !(value.is_nothing() || js.is_array(*value) && js.length(*value)? == 0) {
                members.push((name, value));
            }
        }
        begin_map(&mut js.session().output, members.len())?;
        for (name, value) in &members {
            write_text(&mut js.session().output, name.as_bytes())?;
            self.value(**value, depth)?;
        }
        Ok(())
    }

    fn marked(self, value: View, mark: Mark, detail: i64) -> Result<(), PackError> {
        let js = self.js;
        let inner = mark::value(js, value)?;
        let float = f64::from_bits(detail.cast_unsigned());
        if mark == Mark::Bytes {
            let text = js.text(*inner)?;
            return Ok(write_bytes(&mut js.session().output, &text)?);
        }
        let bytes = js.bytes_of(*inner).unwrap_or_default();
        let out = &mut js.session().output;
        match mark {
            Mark::Json => return Err(PackError::Json),
            Mark::Packed => out.extend_from_slice(bytes),
            Mark::Text => write_text(out, bytes)?,
            Mark::Bytes => {}
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
        Ok(())
    }
}
