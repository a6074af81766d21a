//! From a script's value to a cell: exactly, or not at all.

use std::fmt;
use std::io::Write;

use tarn_batch::Type;
use tarn_batch::value::{ArrayWriter, Interval, write_interval};

use crate::config::ASSIGNED_BYTES_MAX;
use crate::json::is_json;
use crate::moment::{self, Moment, MomentKind, Seconds};
use crate::number::Number;
use crate::{interval, uuid};

mod number;

/// Why a column cannot take a value. No value is in it: it is logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Another kind of value is needed.
    Takes {
        /// What the column takes.
        wanted: &'static str,
        /// What was given.
        given: &'static str,
    },
    /// A number beyond the type.
    OutOfRange,
    /// A number with digits that the type does not hold.
    Inexact,
    /// More digits after the point than the column's scale.
    Scale(i16),
    /// More digits before the point than the column's precision leaves.
    Precision(u16),
    /// The column cannot be null.
    NotNull,
    /// Bytes that are no text.
    NotUtf8,
    /// A string that does not have the form of the type.
    NotTextOf(&'static str),
    /// A number of seconds that is no time of the type.
    NotSecondsOf(&'static str),
    /// Rows of an array that differ in length.
    Ragged,
    /// A table with other keys than its items.
    Keys,
    /// A value in an array.
    Element,
    /// A value that has no JSON form, and why.
    Json(String),
    /// More bytes than may be assigned in one record.
    TooMuch,
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Takes { wanted, given } => {
                let article = if given.starts_with(['a', 'i', 'I', 'o', 'u']) { "an" } else { "a" };
                write!(out, "takes {wanted}, not {article} {given} value")
            }
            Self::OutOfRange => out.write_str("cannot hold this number: it is out of range"),
            Self::Inexact => out.write_str("cannot hold this number exactly"),
            Self::Scale(scale) => {
                write!(out, "holds {scale} digits after the point: round the number first")
            }
            Self::Precision(precision) => write!(out, "holds {precision} digits: the number has more"),
            Self::NotNull => out.write_str("cannot be null"),
            Self::NotUtf8 => out.write_str("takes text, and these bytes are not UTF-8"),
            Self::NotTextOf(what) => write!(out, "takes {what}, and this string is none"),
            Self::NotSecondsOf(what) => write!(out, "takes {what}, and this number of seconds is none"),
            Self::Ragged => out.write_str("takes arrays whose rows have one length"),
            Self::Keys => out.write_str(
                "takes a table of the items 1 to its length and nothing else: where there are nulls, a field n is the \
                 length",
            ),
            Self::Element => out.write_str("cannot hold an element of this array"),
            Self::Json(reason) => write!(out, "takes JSON: {reason}"),
            Self::TooMuch => {
                write!(out, "takes no more: a script assigns at most {ASSIGNED_BYTES_MAX} bytes in a record")
            }
        }
    }
}

/// Bytes that an element of an array takes at least: its length.
const ELEMENT_BYTES_MIN: usize = 4;

/// What a script gives: a value of its language, without what is in it.
#[derive(Debug, Clone, PartialEq)]
pub enum Given<'a> {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number that may have a fraction.
    Float(f64),
    /// A string: text, or bytes where the language has one type for both.
    Text(&'a [u8]),
    /// A decimal, or a whole number of any length.
    Number(Number),
    /// A time.
    Moment(Moment),
    /// An interval.
    Interval(Interval),
    /// A UUID.
    Uuid([u8; 16]),
    /// Anything else.
    Other,
}

/// Refuses an array that takes more than a record may assign even with nothing in it: a script makes one
/// of billions of elements by assigning the last.
///
/// # Errors
/// [`Refusal::TooMuch`].
pub fn check_lengths(lengths: &[u32]) -> Result<(), Refusal> {
    let elements = lengths.iter().try_fold(1_usize, |product, &length| product.checked_mul(length as usize));
    match elements.and_then(|elements| elements.checked_mul(ELEMENT_BYTES_MIN)) {
        Some(bytes) if bytes <= ASSIGNED_BYTES_MAX => Ok(()),
        _ => Err(Refusal::TooMuch),
    }
}

/// Refuses an array that has become longer than what a record may assign.
///
/// # Errors
/// [`Refusal::TooMuch`].
pub fn check_written(writer: &ArrayWriter<'_>) -> Result<(), Refusal> {
    if writer.written_bytes() > ASSIGNED_BYTES_MAX { Err(Refusal::TooMuch) } else { Ok(()) }
}

/// Appends a value in the form of a column's type. `kind` is what people call the value. Arrays, and JSON
/// that is no text, are the caller's: their values are the language's own.
///
/// # Errors
/// Why the column cannot hold exactly this value.
pub fn write(
    given: &Given<'_>,
    kind: &'static str,
    data_type: &Type,
    out: &mut Vec<u8>,
) -> Result<(), Refusal> {
    let takes = |wanted| Refusal::Takes { wanted, given: kind };
    match data_type {
        Type::Bool => match given {
            Given::Bool(value) => out.push(u8::from(*value)),
            _ => return Err(takes("true or false")),
        },
        Type::Int2 => {
            let value = i16::try_from(number::integer(given, kind)?).map_err(|_| Refusal::OutOfRange)?;
            out.extend_from_slice(&value.to_le_bytes());
        }
        Type::Int4 => {
            let value = i32::try_from(number::integer(given, kind)?).map_err(|_| Refusal::OutOfRange)?;
            out.extend_from_slice(&value.to_le_bytes());
        }
        Type::Int8 => out.extend_from_slice(&number::integer(given, kind)?.to_le_bytes()),
        Type::Float4 => out.extend_from_slice(&number::single(given, kind)?.to_le_bytes()),
        Type::Float8 => out.extend_from_slice(&number::double(given, kind)?.to_le_bytes()),
        Type::Numeric { precision, scale } => number::write_numeric(given, kind, *precision, *scale, out)?,
        Type::Text | Type::Other => write_text(given, kind, out)?,
        Type::Enum => match given {
            Given::Text(bytes) => write_utf8(bytes, out)?,
            _ => return Err(takes("a label as a string")),
        },
        Type::Bytes => match given {
            Given::Text(bytes) => out.extend_from_slice(bytes),
            _ => return Err(takes("a string of bytes")),
        },
        Type::Json => match given {
            Given::Text(text) if is_json(text) => out.extend_from_slice(text),
            Given::Text(_) => return Err(Refusal::NotTextOf("JSON text")),
            _ => return Err(takes("JSON")),
        },
        Type::Date => write_moment(given, kind, MomentKind::Date, "a date", out)?,
        Type::Time => write_moment(given, kind, MomentKind::Time, "a time of day", out)?,
        Type::TimeTz => write_moment(given, kind, MomentKind::TimeTz, "a time of day with its zone", out)?,
        Type::Timestamp => write_moment(given, kind, MomentKind::Timestamp, "a timestamp", out)?,
        Type::TimestampTz => {
            write_moment(given, kind, MomentKind::TimestampTz, "a timestamp with its zone", out)?;
        }
        Type::Interval => match given {
            Given::Interval(interval) => write_interval(out, *interval),
            _ => return Err(takes("an Interval")),
        },
        Type::Uuid => match given {
            Given::Uuid(bytes) => out.extend_from_slice(bytes),
            Given::Text(text) => match uuid::parse(text) {
                Some(bytes) => out.extend_from_slice(&bytes),
                None => return Err(Refusal::NotTextOf("the text of a UUID")),
            },
            _ => return Err(takes("a UUID")),
        },
        Type::Array(_) => return Err(takes("an array")),
    }
    Ok(())
}

fn write_utf8(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
    if std::str::from_utf8(bytes).is_err() {
        return Err(Refusal::NotUtf8);
    }
    out.extend_from_slice(bytes);
    Ok(())
}

/// Strings, and what has exactly one text.
fn write_text(given: &Given<'_>, kind: &'static str, out: &mut Vec<u8>) -> Result<(), Refusal> {
    let mut text = String::new();
    match given {
        Given::Text(bytes) => return write_utf8(bytes, out),
        Given::Moment(moment) => moment.write_text(&mut text),
        Given::Interval(interval) => interval::write_text(*interval, &mut text),
        Given::Uuid(bytes) => uuid::write_text(bytes, &mut text),
        Given::Integer(_) | Given::Float(_) | Given::Number(_) | Given::Bool(_) | Given::Other => {}
    }
    match given {
        Given::Integer(value) => write!(out, "{value}"),
        Given::Float(value) => write!(out, "{value}"),
        Given::Number(number) => write!(out, "{number}"),
        Given::Bool(_) | Given::Other => return Err(Refusal::Takes { wanted: "text", given: kind }),
        _ => out.write_all(text.as_bytes()),
    }
    .expect("a vector takes every byte");
    Ok(())
}

fn write_moment(
    given: &Given<'_>,
    name: &'static str,
    kind: MomentKind,
    what: &'static str,
    out: &mut Vec<u8>,
) -> Result<(), Refusal> {
    let seconds = match given {
        Given::Integer(seconds) => Seconds::Whole(*seconds),
        Given::Float(seconds) => Seconds::Fraction(*seconds),
        Given::Moment(moment) => {
            let refusal = Refusal::Takes { wanted: what, given: name };
            moment.convert(kind).ok_or(refusal)?.write(out);
            return Ok(());
        }
        Given::Text(text) => {
            let moment = std::str::from_utf8(text).ok().and_then(|text| moment::parse(kind, text));
            moment.ok_or(Refusal::NotTextOf(what))?.write(out);
            return Ok(());
        }
        _ => return Err(Refusal::Takes { wanted: what, given: name }),
    };
    Moment::from_number(seconds, kind).ok_or(Refusal::NotSecondsOf(what))?.write(out);
    Ok(())
}
