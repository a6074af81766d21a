//! `tarn.msgpack`: MessagePack of values and rows, with its types chosen by hand where a consumer needs them.
//!
//! Whole numbers are signed integers in their shortest form, other numbers singles where nothing is lost;
//! strings are `str`, `Uint8Array` is `bin`; points in time are the timestamp extension.

use std::fmt;

use tarn_script::moment::Moment;
use tarn_script::moment::{MomentKind, Seconds, parse};
use tarn_script::msgpack::Unfit;
use tarn_script::number::{Finite, Number};

use crate::assign;
use crate::js::{Answer, Js, Kind, Throw, Value, View, argument};
use crate::mark::{self, Mark};
use crate::values::time;

mod decode;
mod encode;

/// What has no MessagePack form.
#[derive(Debug)]
pub enum PackError {
    /// A function, a symbol.
    Kind(&'static str),
    /// `undefined` where a value is needed.
    Undefined,
    /// A value that is unfit.
    Unfit(Unfit),
    /// Deeper than it may be.
    TooDeep,
    /// A string with half a pair of surrogates.
    NotUtf8,
    /// What `tarn.json.raw` made.
    Json,
    /// Script code failed.
    Thrown(Throw),
}

impl From<Unfit> for PackError {
    fn from(unfit: Unfit) -> Self {
        Self::Unfit(unfit)
    }
}

impl From<Throw> for PackError {
    fn from(throw: Throw) -> Self {
        Self::Thrown(throw)
    }
}

impl fmt::Display for PackError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(out, "a {kind} has no MessagePack form"),
            Self::Undefined => out.write_str("undefined has no MessagePack form"),
            Self::Unfit(Unfit::TooLong) => out.write_str("the value is too long for MessagePack"),
            Self::Unfit(Unfit::Infinite) => out.write_str("an infinite time has no MessagePack form"),
            Self::Unfit(Unfit::TimeOutOfRange(form)) => {
                write!(out, "the time is beyond what msgpack.{form} holds")
            }
            Self::Unfit(Unfit::Damaged) => out.write_str("the row is damaged"),
            Self::TooDeep => out.write_str("the value is nested too deeply for MessagePack"),
            Self::NotUtf8 => out.write_str("a string with half a pair of surrogates has no MessagePack form"),
            Self::Json => out.write_str("what tarn.json.raw made is JSON, not MessagePack"),
            Self::Thrown(_) => out.write_str("a method failed"),
        }
    }
}

impl From<PackError> for Throw {
    fn from(error: PackError) -> Self {
        match error {
            PackError::Thrown(throw) => throw,
            error => Self::of_type(error),
        }
    }
}

/// Makes the object.
pub fn library(js: Js) -> Answer {
    let library = js.object()?;
    library.method("encode", 1, |js, _, given| {
        let start = js.session().output.len();
        let result = encode::write(js, argument(given, 0));
        let made = match result {
            Ok(()) => js.bytes(&js.session().output[start..]),
            Err(error) => Err(error.into()),
        };
        js.session().output.truncate(start);
        made
    })?;
    library.method("decode", 1, |js, _, given| decode::decode(js, argument(given, 0)))?;
    library.method("raw", 1, |js, _, given| mark_bytes(js, "raw", Mark::Packed, given))?;
    library.method("bin", 1, |js, _, given| mark_string(js, "bin", Mark::Bytes, given))?;
    library.method("str", 1, |js, _, given| mark_bytes(js, "str", Mark::Text, given))?;
    library.method("signed", 1, |js, _, given| {
        let value = argument(given, 0);
        let number = whole(js, value).and_then(|number| number.to_i64());
        number_mark(js, Mark::Signed, number, value, "signed", "a whole number of 64 bits")
    })?;
    library.method("unsigned", 1, |js, _, given| {
        let value = argument(given, 0);
        let number = whole(js, value).filter(|number| number.sign() >= 0);
        let number = number.and_then(|n| (n.magnitude().len() <= 8).then(|| n.low_bits().cast_signed()));
        number_mark(js, Mark::Unsigned, number, value, "unsigned", "a whole number of 64 bits without a sign")
    })?;
    library.method("f32", 1, |js, _, given| float(js, Mark::Single, given, "f32"))?;
    library.method("f64", 1, |js, _, given| float(js, Mark::Double, given, "f64"))?;
    library.method("time", 1, |js, _, given| time_mark(js, Mark::Time, given, "time"))?;
    library.method("time32", 1, |js, _, given| time_mark(js, Mark::Time32, given, "time32"))?;
    library.method("time64", 1, |js, _, given| time_mark(js, Mark::Time64, given, "time64"))?;
    library.method("time96", 1, |js, _, given| time_mark(js, Mark::Time96, given, "time96"))?;
    library.method("ext", 2, |js, _, given| {
        let kind = js.integer_of(argument(given, 0)).filter(|kind| i8::try_from(*kind).is_ok());
        let kind = kind
            .ok_or_else(|| Throw::of_range("the type of an extension is a whole number from -128 to 127"))?;
        let data = argument(given, 1);
        if js.bytes_of(data).is_none() {
            let given = assign::described(js, data);
            return Err(Throw::of_type(format_args!(
                "the data of an extension is a Uint8Array, not {given}"
            )));
        }
        mark::make(js, Mark::Extension, kind, js.own(data))
    })?;
    Ok(library)
}

fn not_taken(js: Js, name: &str, what: &str, value: View) -> Throw {
    Throw::of_type(format_args!("msgpack.{name} takes {what}, not {}", assign::described(js, value)))
}

fn mark_bytes(js: Js, name: &str, mark: Mark, given: &[View]) -> Answer {
    let value = argument(given, 0);
    match js.bytes_of(value) {
        Some(_) => mark::make(js, mark, 0, js.own(value)),
        None => Err(not_taken(js, name, "a Uint8Array", value)),
    }
}

fn mark_string(js: Js, name: &str, mark: Mark, given: &[View]) -> Answer {
    let value = argument(given, 0);
    match value.kind() {
        Kind::String => mark::make(js, mark, 0, js.own(value)),
        _ => Err(not_taken(js, name, "a string", value)),
    }
}

/// The whole number that a value is.
fn whole(js: Js, value: View) -> Option<Finite> {
    match assign::number(js, value)? {
        Number::Finite(number) if number.significant_scale() == 0 => Some(number.truncate()),
        _ => None,
    }
}

fn number_mark(
    js: Js,
    mark: Mark,
    number: Option<i64>,
    value: View,
    name: &str,
    what: &str,
) -> Answer<Value> {
    let number = number.ok_or_else(|| not_taken(js, name, what, value))?;
    mark::make(js, mark, number, js.null())
}

fn float(js: Js, mark: Mark, given: &[View], name: &str) -> Answer {
    let value = argument(given, 0);
    let number = assign::number(js, value).map(|number| number.to_float());
    if mark == Mark::Single
        && number.is_some_and(|number| number.is_finite() && (number as f32).is_infinite())
    {
        return Err(Throw::of_range("the number is beyond what tarn.msgpack.f32 holds"));
    }
    let number = number.map(|number| number.to_bits().cast_signed());
    number_mark(js, mark, number, value, name, "a number")
}

/// A point in time: seconds since 1970, RFC 3339 text, a `Time` or a `Date`.
fn time_mark(js: Js, mark: Mark, given: &[View], name: &str) -> Answer {
    let value = argument(given, 0);
    let moment = match value.kind() {
        Kind::String => js.text(value)?.as_str().and_then(|text| parse(MomentKind::TimestampTz, text)),
        Kind::Integer | Kind::BigInt => {
            js.integer_of(value).map(Seconds::Whole).and_then(Moment::from_seconds)
        }
        Kind::Float => js.number_of(value).map(Seconds::Fraction).and_then(Moment::from_seconds),
        Kind::Object if js.is_date(value) => time::of_date(js, value)?,
        _ => time::get(js, value).and_then(|moment| moment.convert(MomentKind::TimestampTz)),
    };
    let micros = moment.filter(Moment::is_finite).map(|moment| moment.value());
    number_mark(
        js,
        mark,
        micros,
        value,
        name,
        "seconds since 1970, the text of a point in time, a Time or a Date",
    )
}

#[cfg(test)]
mod tests;
