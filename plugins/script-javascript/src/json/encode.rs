//! From values to JSON text, at the end of the session's output.

use tarn_script::config::{ENCODED_BYTES_MAX, JSON_DEPTH_MAX};
use tarn_script::json::{
    Options, RowWriter, Unfit, is_json, names, write_bytes, write_decimal, write_float, write_integer,
    write_quoted, write_string,
};

use super::EncodeError;
use crate::assign;
use crate::js::{Js, Kind, View};
use crate::mark::{self, Mark};
use crate::record;
use crate::row;
use crate::session::Session;
use crate::values::{decimal, interval, time};

/// Appends the JSON text of a value.
pub fn write(js: Js, value: View, options: Options) -> Result<(), EncodeError> {
    Encoder { js, options }.value(value, Key::None, JSON_DEPTH_MAX)
}

/// Where in another value one is: what its method `toJSON` is told.
#[derive(Clone, Copy)]
enum Key {
    None,
    Item(u32),
    Name(View),
}

#[derive(Clone, Copy)]
struct Encoder {
    js: Js,
    options: Options,
}

impl Encoder {
    fn put(self, bytes: &[u8]) {
        self.js.session().output.extend_from_slice(bytes);
    }

    fn value(self, value: View, key: Key, depth: usize) -> Result<(), EncodeError> {
        let js = self.js;
        let out = &mut js.session().output;
        if out.len() > ENCODED_BYTES_MAX {
            return Err(Unfit::TooLong.into());
        }
        match value.kind() {
            Kind::Undefined => return Err(EncodeError::Undefined),
            Kind::Null => self.put(b"null"),
            Kind::Boolean => self.put(if js.is_true(value) { b"true" } else { b"false" }),
            Kind::Integer => write_integer(out, js.integer_of(value).unwrap_or_default()),
            Kind::Float => write_float(out, js.number_of(value).unwrap_or(f64::NAN), self.options)?,
            Kind::BigInt => match js.integer_of(value) {
                Some(value) => write_integer(out, value),
                None => {
                    let digits = js.text(value)?;
                    self.put(&digits);
                }
            },
            Kind::String => {
                let text = js.text(value)?;
                write_string(&mut js.session().output, &text)?;
            }
            Kind::Object if depth == 0 => return Err(EncodeError::TooDeep),
            Kind::Object => self.object(value, key, depth - 1)?,
            Kind::Symbol | Kind::Other => return Err(EncodeError::Kind(assign::given(js, value))),
        }
        Ok(())
    }

    fn object(self, value: View, key: Key, depth: usize) -> Result<(), EncodeError> {
        let js = self.js;
        if let Some(which) = row::which(js, value) {
            return self.row(which?);
        }
        let Session { output, .. } = js.session();
        if let Some(number) = decimal::text_of(js, value) {
            return Ok(write_decimal(output, number.as_bytes(), self.options)?);
        }
        let mut text = String::new();
        if let Some(moment) = time::get(js, value) {
            moment.write_portable(&mut text);
        } else if let Some(interval) = interval::get(js, value) {
            tarn_script::interval::write_text(interval, &mut text);
        }
        if !text.is_empty() {
            write_quoted(output, text.as_bytes());
            return Ok(());
        }
        if let Some(bytes) = js.bytes_of(value) {
            if bytes.len() > ENCODED_BYTES_MAX {
                return Err(Unfit::TooLong.into());
            }
            write_bytes(output, bytes, self.options);
            return Ok(());
        }
        if js.is_array(value) {
            return self.array(value, depth);
        }
        if record::is_record(js, value) {
            return self.record(value, depth);
        }
        if let Some((mark, _)) = mark::get(js, value) {
            return self.marked(value, mark);
        }
        if js.is_function(value) || js.is_map(value) || js.is_collection(value) {
            return Err(EncodeError::Kind(if js.is_function(value) { "function" } else { "collection" }));
        }
        self.plain(value, key, depth)
    }

    /// An object of the script's own, or what its method `toJSON` says.
    fn plain(self, object: View, key: Key, depth: usize) -> Result<(), EncodeError> {
        let js = self.js;
        let method = match &js.session().hooks {
            Some(hooks) => js.get_atom(object, &hooks.to_json)?,
            None => js.undefined(),
        };
        if js.is_function(*method) {
            let key = match key {
                Key::None => js.string("")?,
                Key::Item(at) => js.string(&at.to_string())?,
                Key::Name(name) => js.own(name),
            };
            let said = js.call(*method, object, &[*key])?;
            return self.value(*said, Key::None, depth);
        }
        if let Some(hooks) = &js.session().hooks {
            let class = js.class_number(object);
            if let Some((_, method)) = hooks.boxes.iter().find(|(boxed, _)| *boxed == class) {
                let method = method.clone();
                return self.value(*js.call(*method, object, &[])?, key, depth);
            }
            if js.is_proxy(object) {
                let is_array = hooks.is_array.clone();
                if js.is_true(*js.call(*is_array, View::UNDEFINED, &[object])?) {
                    return self.array(object, depth);
                }
            }
        }
        self.put(b"{");
        let mut first = true;
        for name in js.names(object)? {
            let value = js.get_atom(object, &name)?;
            // As JSON.stringify does: what is undefined is not there.
            if value.kind() == Kind::Undefined {
                continue;
            }
            if !std::mem::take(&mut first) {
                self.put(b",");
            }
            let name = js.value_of_atom(name.number())?;
            let text = js.text(*name)?;
            write_string(&mut js.session().output, &text)?;
            self.put(b":");
            self.value(*value, Key::Name(*name), depth)?;
        }
        self.put(b"}");
        Ok(())
    }

    fn array(self, array: View, depth: usize) -> Result<(), EncodeError> {
        let js = self.js;
        self.put(b"[");
        for at in 0..u32::try_from(js.length(array)?).map_err(|_| Unfit::TooLong)? {
            if at > 0 {
                self.put(b",");
            }
            let item = js.get_item(array, at)?;
            match item.kind() {
                Kind::Undefined => self.put(b"null"),
                _ => self.value(*item, Key::Item(at), depth)?,
            }
        }
        self.put(b"]");
        Ok(())
    }

    /// A row, straight from its cells. What was changed in place is written to them first.
    fn row(self, which: tarn_script::current::Which) -> Result<(), EncodeError> {
        let js = self.js;
        if !js.session().live.is_empty() {
            row::assign_changed(js)?;
        }
        let Session { bindings, current, text, output, .. } = js.session();
        let binding = bindings.get_mut(current.binding());
        let (table, names) = binding.json_names(names);
        Ok(RowWriter { out: output, text, options: self.options }.row(current, which, table, names)?)
    }

    /// A record: what happened and the rows, without what there is not.
    fn record(self, value: View, depth: usize) -> Result<(), EncodeError> {
        let js = self.js;
        let record = record::check(js, value)?;
        self.put(b"{");
        let mut first = true;
        for (_, name, member) in record::ENCODED {
            let value = member(js, record)?;
            if value.is_nothing() || js.is_array(*value) && js.length(*value)? == 0 {
                continue;
            }
            if !std::mem::take(&mut first) {
                self.put(b",");
            }
            write_quoted(&mut js.session().output, name.as_bytes());
            self.put(b":");
            self.value(*value, Key::None, depth)?;
        }
        self.put(b"}");
        Ok(())
    }

    fn marked(self, value: View, mark: Mark) -> Result<(), EncodeError> {
        if mark != Mark::Json {
            return Err(EncodeError::Packed);
        }
        let js = self.js;
        let inner = mark::value(js, value)?;
        let text = js.text(*inner)?;
        if !is_json(&text) {
            return Err(EncodeError::RawNotJson);
        }
        self.put(&text);
        Ok(())
    }
}
