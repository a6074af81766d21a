//! Values with a word on how they are to be encoded: `tarn.json.raw(text)`, `tarn.msgpack.ext(5, data)`.

use tarn_script::number::Number;

use crate::js::{Answer, Js, Kind, Value, View};

/// What is said of the value inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Mark {
    /// Text that is JSON.
    Json,
    /// Bytes that are MessagePack.
    Packed,
    /// Bytes that are text.
    Text,
    /// Text that is bytes.
    Bytes,
    /// The detail is an integer.
    Signed,
    /// The detail is the 64 bits of an integer without a sign.
    Unsigned,
    /// The detail is the bits of a float that is to be a single.
    Single,
    /// The detail is the bits of a float.
    Double,
    /// The detail is a point in time, in microseconds, in the shortest form.
    Time,
    /// The same in 32 bits.
    Time32,
    /// The same in 64 bits.
    Time64,
    /// The same in 96 bits.
    Time96,
    /// The bytes are an extension's data; the detail is its type.
    Extension,
}

const ALL: [Mark; 13] = [
    Mark::Json,
    Mark::Packed,
    Mark::Text,
    Mark::Bytes,
    Mark::Signed,
    Mark::Unsigned,
    Mark::Single,
    Mark::Double,
    Mark::Time,
    Mark::Time32,
    Mark::Time64,
    Mark::Time96,
    Mark::Extension,
];

/// Makes what marked values inherit.
pub fn prototype(js: Js) -> Answer {
    let prototype = js.object()?;
    prototype.getter("type", |js, this| match get(js, this) {
        Some((Mark::Extension, kind)) => js.exact_integer(kind),
        _ => Ok(js.undefined()),
    })?;
    prototype.method("toString", 0, |js, this, _| {
        let inner = value(js, this)?;
        js.string(&js.text(*inner)?.to_text())
    })?;
    Ok(prototype)
}

/// A marked value.
pub fn make(js: Js, mark: Mark, detail: i64, value: Value) -> Answer {
    let made = js.with_data(js.session().classes().mark, [&[mark as u8], &detail.to_le_bytes()])?;
    made.hidden("value", value)?;
    Ok(made)
}

/// What is said of a value, if it is marked, and the detail.
pub fn get(js: Js, value: View) -> Option<(Mark, i64)> {
    let (&mark, detail) = js.data_in(value, js.session().classes().mark)?.split_first()?;
    Some((*ALL.get(usize::from(mark))?, i64::from_le_bytes(detail.try_into().ok()?)))
}

/// The number that a marked JSON text is, if it is one.
pub fn number(js: Js, marked: View) -> Option<Number> {
    if get(js, marked)?.0 != Mark::Json {
        return None;
    }
    match value(js, marked) {
        Ok(text) if text.kind() == Kind::String => Number::parse(js.text(*text).ok()?.as_str()?.trim_ascii()),
        _ => None,
    }
}

/// What is inside a marked value.
pub fn value(js: Js, marked: View) -> Answer {
    match &js.session().hooks {
        Some(hooks) => js.get_atom(marked, &hooks.value),
        None => Ok(js.undefined()),
    }
}
