//! From a value of the script's to a cell: exactly, or not at all.

use tarn_batch::Type;
use tarn_batch::value::ArrayWriter;
use tarn_script::assign::{Given, Refusal, check_lengths, check_written, write as write_given};
use tarn_script::moment::{Moment, MomentKind};
use tarn_script::number::Number;

use crate::js::{Js, Kind, Text, Throw, View};
use crate::json;
use crate::mark;
use crate::values::{decimal, interval, time};
use crate::{record, row};

/// How many dimensions an array of PostgreSQL's may have.
const DIMENSIONS_MAX: usize = 6;

/// Why a value was not written.
#[derive(Debug)]
pub enum Error {
    /// The column does not take it.
    Refused(Refusal),
    /// Script code failed meanwhile.
    Thrown(Throw),
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Throw> for Error {
    fn from(throw: Throw) -> Self {
        Self::Thrown(throw)
    }
}

/// What a person calls a value.
pub fn given(js: Js, value: View) -> &'static str {
    match value.kind() {
        Kind::Undefined => "undefined",
        Kind::Null => "null",
        Kind::Boolean => "boolean",
        Kind::Integer | Kind::Float => "number",
        Kind::BigInt => "bigint",
        Kind::String => "string",
        Kind::Symbol => "symbol",
        Kind::Other => "unknown",
        Kind::Object => {
            let classes = js.session().classes();
            if js.data_in(value, classes.decimal).is_some() {
                "Decimal"
            } else if js.data_in(value, classes.time).is_some() {
                "Time"
            } else if js.data_in(value, classes.interval).is_some() {
                "Interval"
            } else if js.bytes_of(value).is_some() {
                "Uint8Array"
            } else if row::which(js, value).is_some() {
                "row"
            } else if record::is_record(js, value) {
                "record"
            } else if js.is_array(value) {
                "array"
            } else if js.is_function(value) {
                "function"
            } else if js.is_date(value) {
                "Date"
            } else {
                "object"
            }
        }
    }
}

/// A value with its article: `a number`, `undefined`.
pub fn described(js: Js, value: View) -> String {
    match given(js, value) {
        said @ ("undefined" | "null") => said.to_owned(),
        said @ ("array" | "object" | "Interval") => format!("an {said}"),
        said => format!("a {said}"),
    }
}

/// The number that a value is: one of the language's, a `BigInt`, a `Decimal` or the text of a number.
pub fn number(js: Js, value: View) -> Option<Number> {
    match value.kind() {
        Kind::Integer => js.integer_of(value).and_then(|value| Number::parse(&value.to_string())),
        Kind::Float => js.number_of(value).map(Number::from_float),
        Kind::BigInt | Kind::String => Number::parse(js.text(value).ok()?.as_str()?.trim_ascii()),
        _ => decimal::get(js, value).or_else(|| mark::number(js, value)),
    }
}

/// What of a value the conversions need to keep.
struct Kept {
    text: Option<Text>,
}

fn scalar<'a>(js: Js, value: View, data_type: &Type, kept: &'a mut Kept) -> Result<Given<'a>, Error> {
    let of_time =
        matches!(data_type, Type::Date | Type::Time | Type::TimeTz | Type::Timestamp | Type::TimestampTz);
    Ok(match value.kind() {
        Kind::Boolean => Given::Bool(js.is_true(value)),
        // Seconds or milliseconds: nobody can tell.
        Kind::Integer | Kind::Float | Kind::BigInt if of_time => Given::Other,
        Kind::Integer | Kind::Float if matches!(data_type, Type::Text | Type::Other) => {
            Given::Text(kept.text.insert(js.text(value)?))
        }
        Kind::Integer => Given::Integer(js.integer_of(value).unwrap_or_default()),
        Kind::Float => Given::Float(js.number_of(value).unwrap_or(f64::NAN)),
        Kind::BigInt => match js.integer_of(value) {
            Some(value) => Given::Integer(value),
            None => number(js, value).map_or(Given::Other, Given::Number),
        },
        Kind::String => Given::Text(kept.text.insert(js.text(value)?)),
        Kind::Object => {
            if let Some(number) = decimal::get(js, value).or_else(|| mark::number(js, value)) {
                Given::Number(number)
            } else if let Some(moment) = time::get(js, value) {
                Given::Moment(moment)
            } else if let Some(interval) = interval::get(js, value) {
                Given::Interval(interval)
            } else if js.is_date(value) {
                time::of_date(js, value)?.map_or(Given::Other, Given::Moment)
            } else {
                Given::Other
            }
        }
        _ => Given::Other,
    })
}

/// Appends a value in the form of a column's type. May run script code where it is JSON.
pub fn write(js: Js, value: View, data_type: &Type, out: &mut Vec<u8>) -> Result<(), Error> {
    match data_type {
        Type::Json => json::write_document(js, value, out),
        Type::Bytes => match js.bytes_of(value) {
            Some(bytes) => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            None => Err(Refusal::Takes { wanted: "a Uint8Array", given: given(js, value) }.into()),
        },
        Type::Array(element) => write_array(js, value, element, out),
        _ => {
            let mut kept = Kept { text: None };
            let scalar = scalar(js, value, data_type, &mut kept)?;
            Ok(write_given(&scalar, given(js, value), data_type, out)?)
        }
    }
}

/// Appends an array, arrays in arrays for more dimensions.
fn write_array(js: Js, value: View, element: &Type, out: &mut Vec<u8>) -> Result<(), Error> {
    if !js.is_array(value) {
        return Err(Refusal::Takes { wanted: "an array", given: given(js, value) }.into());
    }
    let lengths = shape(js, value, element)?;
    let mut writer = ArrayWriter::new(out, lengths.len()).map_err(|_| Refusal::Ragged)?;
    if !lengths.is_empty() {
        write_dimension(js, value, element, &lengths, &mut writer)?;
    }
    Ok(writer.finish(&lengths).map_err(|_| Refusal::Ragged)?)
}

fn length(js: Js, array: View) -> Result<u32, Error> {
    Ok(u32::try_from(js.length(array)?).map_err(|_| Refusal::Element)?)
}

/// The lengths of the dimensions, as the first elements show them.
fn shape(js: Js, array: View, element: &Type) -> Result<Vec<u32>, Error> {
    let mut lengths = Vec::new();
    let mut at = js.own(array);
    while js.is_array(*at) {
        let length = length(js, *at)?;
        // An empty array has no dimensions; an array is an element of an array of JSON.
        if length == 0 && lengths.is_empty() || *element == Type::Json && !lengths.is_empty() {
            break;
        }
        if lengths.len() == DIMENSIONS_MAX || length == 0 {
            return Err(Refusal::Ragged.into());
        }
        lengths.push(length);
        at = js.get_item(*at, 0)?;
    }
    check_lengths(&lengths)?;
    Ok(lengths)
}

fn write_dimension(
    js: Js,
    array: View,
    element: &Type,
    lengths: &[u32],
    writer: &mut ArrayWriter<'_>,
) -> Result<(), Error> {
    let Some((&expected, inner)) = lengths.split_first() else { return Err(Refusal::Ragged.into()) };
    if length(js, array)? != expected {
        return Err(Refusal::Ragged.into());
    }
    for at in 0..expected {
        let item = js.get_item(array, at)?;
        if !inner.is_empty() {
            if !js.is_array(*item) {
                return Err(Refusal::Ragged.into());
            }
            write_dimension(js, *item, element, inner, writer)?;
        } else if item.is_nothing() {
            writer.null();
        } else {
            let written = writer.value_with(|out| write(js, *item, element, out));
            written.map_err(|error| match error {
                Error::Refused(Refusal::Takes { .. }) => Error::Refused(Refusal::Element),
                error => error,
            })?;
        }
        check_written(writer)?;
    }
    Ok(())
}

/// A point in time in milliseconds since 1970, as `Date` has them.
pub fn of_milliseconds(milliseconds: f64) -> Option<Moment> {
    let micros = (milliseconds * 1e3).round();
    // The greatest and the least are the infinities.
    (micros.abs() < 9.2e18).then(|| Moment::new(MomentKind::TimestampTz, micros as i64))
}
