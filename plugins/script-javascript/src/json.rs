//! `tarn.json`: exact in both directions, and valid whatever is encoded.
//!
//! Whole numbers beyond those that are exact as numbers are `BigInt`, decimals are written digit by digit. A
//! row is an object with its columns in order, without those that the source did not send.

use std::fmt;

use tarn_script::config::ENCODED_BYTES_MAX;
pub use tarn_script::json::SETTINGS;
use tarn_script::json::{Options, Unfit};

use crate::assign;
use crate::js::{Answer, Js, Kind, Throw, Value, View, argument};
use crate::mark::{self, Mark};

mod decode;
mod encode;

pub use decode::{Exactness, decode};

/// What has no JSON form.
#[derive(Debug)]
pub enum EncodeError {
    /// A function, a symbol, a map.
    Kind(&'static str),
    /// `undefined` where a value is needed.
    Undefined,
    /// A value that is unfit.
    Unfit(Unfit),
    /// Deeper than it may be.
    TooDeep,
    /// What `json.raw` was given is not JSON.
    RawNotJson,
    /// A mark that MessagePack alone knows.
    Packed,
    /// Script code failed.
    Thrown(Throw),
}

impl From<Unfit> for EncodeError {
    fn from(unfit: Unfit) -> Self {
        Self::Unfit(unfit)
    }
}

impl From<Throw> for EncodeError {
    fn from(throw: Throw) -> Self {
        Self::Thrown(throw)
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(out, "a {kind} has no JSON form"),
            Self::Undefined => out.write_str("undefined has no JSON form"),
            Self::Unfit(Unfit::NotFinite) => out.write_str(
                "NaN and infinities have no JSON form: the option nan: \"null\" or \"text\" gives them one",
            ),
            Self::Unfit(Unfit::NotUtf8) => {
                out.write_str("a string with half a pair of surrogates has no JSON form")
            }
            Self::Unfit(Unfit::TooLong) => {
                write!(out, "the value has more than {ENCODED_BYTES_MAX} bytes as JSON")
            }
            Self::Unfit(Unfit::Damaged) => out.write_str("the row is damaged"),
            Self::TooDeep => out.write_str("the value is nested too deeply for JSON"),
            Self::RawNotJson => out.write_str("what tarn.json.raw was given is not JSON"),
            Self::Packed => out.write_str("what a function of tarn.msgpack marked has no JSON form"),
            Self::Thrown(_) => out.write_str("a method failed"),
        }
    }
}

impl From<EncodeError> for Throw {
    fn from(error: EncodeError) -> Self {
        match error {
            EncodeError::Thrown(throw) => throw,
            error => Self::of_type(error),
        }
    }
}

/// Makes the object.
pub fn library(js: Js) -> Answer {
    let library = js.object()?;
    library.method("encode", 1, |js, _, given| {
        let start = js.session().output.len();
        encode_into(js, argument(given, 0), argument(given, 1))?;
        let made = js.utf8(&js.session().output[start..]);
        js.session().output.truncate(start);
        made
    })?;
    library.method("encodeBytes", 1, |js, _, given| {
        let start = js.session().output.len();
        encode_into(js, argument(given, 0), argument(given, 1))?;
        let made = js.bytes(&js.session().output[start..]);
        js.session().output.truncate(start);
        made
    })?;
    library.method("decode", 1, |js, _, given| {
        let exactness = if js.is_true(argument(given, 1)) { Exactness::Marked } else { Exactness::Plain };
        let text = argument(given, 0);
        if let Some(bytes) = js.bytes_of(text) {
            return decode(js, bytes, exactness);
        }
        if text.kind() != Kind::String {
            let given = assign::described(js, text);
            return Err(Throw::of_type(format_args!(
                "json.decode takes a string or a Uint8Array, not {given}"
            )));
        }
        decode(js, &js.text(text)?, exactness)
    })?;
    library.method("options", 1, |js, _, given| {
        let options = changed(js, js.session().json_options, argument(given, 0))?;
        js.session().json_options = options;
        Ok(js.undefined())
    })?;
    library.method("raw", 1, |js, _, given| {
        let text = argument(given, 0);
        if text.kind() != Kind::String {
            let given = assign::described(js, text);
            return Err(Throw::of_type(format_args!("json.raw takes a string, not {given}")));
        }
        mark::make(js, Mark::Json, 0, js.own(text))
    })?;
    Ok(library)
}

/// Appends the JSON text of a value to the session's output.
fn encode_into(js: Js, value: View, options: View) -> Answer<()> {
    let mut how = js.session().json_options;
    if !options.is_nothing() {
        how = changed(js, how, options)?;
    }
    let start = js.session().output.len();
    let mut result = encode::write(js, value, how);
    let output = &mut js.session().output;
    if result.is_ok() && output.len() - start > ENCODED_BYTES_MAX {
        result = Err(Unfit::TooLong.into());
    }
    result.map_err(|error| {
        output.truncate(start);
        Throw::from(error)
    })
}

/// `options` with what an object asks for.
fn changed(js: Js, mut options: Options, asked: View) -> Answer<Options> {
    if asked.kind() != Kind::Object {
        let given = assign::described(js, asked);
        return Err(Throw::of_type(format_args!("options for JSON are an object, not {given}")));
    }
    for name in js.names(asked)? {
        let value = js.get_atom(asked, &name)?;
        let value = if value.kind() == Kind::String { Some(js.text(*value)?) } else { None };
        let name = js.value_of_atom(name.number())?;
        options.set(&js.text(*name)?, value.as_deref()).map_err(Throw::of_type)?;
    }
    Ok(options)
}

/// Appends the JSON text of a value that is assigned to a column.
pub fn write_document(js: Js, value: View, out: &mut Vec<u8>) -> Result<(), assign::Error> {
    use tarn_script::assign::Refusal;
    use tarn_script::json::{Decimals, Documents, Nonfinite};
    // What other consumers read does not matter here: the column holds JSON.
    let options = Options {
        documents: Documents::Nested,
        decimals: Decimals::Number,
        nonfinite: Nonfinite::Error,
        ..js.session().json_options
    };
    let start = js.session().output.len();
    let result = encode::write(js, value, options);
    let output = &mut js.session().output;
    if result.is_ok() {
        out.extend_from_slice(&output[start..]);
    }
    output.truncate(start);
    result.map_err(|error| match error {
        EncodeError::Thrown(throw) => assign::Error::Thrown(throw),
        EncodeError::Kind(given) => assign::Error::Refused(Refusal::Takes { wanted: "JSON", given }),
        error => assign::Error::Refused(Refusal::Json(error.to_string())),
    })
}

/// The text of a value for the log, where it has a JSON form.
pub fn text_for_log(js: Js, value: View) -> Option<String> {
    use tarn_script::json::Nonfinite;
    let options = Options { nonfinite: Nonfinite::Text, ..js.session().json_options };
    let start = js.session().output.len();
    let result = encode::write(js, value, options);
    let output = &mut js.session().output;
    let text = result.is_ok().then(|| String::from_utf8_lossy(&output[start..]).into_owned());
    output.truncate(start);
    if let Err(EncodeError::Thrown(Throw::Pending)) = result {
        drop::<Value>(js.caught());
    }
    text
}

#[cfg(test)]
mod tests;
