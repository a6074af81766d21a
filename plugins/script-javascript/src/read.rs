//! From a cell to a value of the script's.

use tarn_batch::value::{
    ArrayReader, Elements, read_bool, read_f32, read_f64, read_i16, read_i32, read_i64, read_interval,
    read_time_tz, read_uuid,
};
use tarn_batch::{DecodeError, Type};
use tarn_script::moment::{Moment, MomentKind};
use tarn_script::uuid;

use crate::js::{Answer, Js, Throw, Value};
use crate::json;
use crate::values::{decimal, interval, time};

impl From<DecodeError> for Throw {
    fn from(error: DecodeError) -> Self {
        Self::of_type(error)
    }
}

/// The value of a cell: integers of 64 bits as `BigInt`, smaller ones and floats as numbers, text, labels and
/// UUIDs as strings, bytes as `Uint8Array`, JSON as what it says, arrays as arrays, the others as this crate's.
#[inline]
pub fn value(js: Js, data_type: &Type, value: &[u8]) -> Answer {
    Ok(match data_type {
        Type::Bool => js.boolean(read_bool(value)?),
        Type::Int2 => js.integer(read_i16(value)?.into()),
        Type::Int4 => js.integer(read_i32(value)?),
        Type::Int8 => js.big_int(read_i64(value)?)?,
        Type::Float4 => js.number(read_f32(value)?.into()),
        Type::Float8 => js.number(read_f64(value)?),
        Type::Numeric { .. } => {
            if !tarn_batch::value::is_canonical_numeric(value) {
                return Err(DecodeError::Invalid("numeric value").into());
            }
            decimal::of_text(js, value)?
        }
        Type::Text | Type::Enum | Type::Other => js.utf8(value)?,
        Type::Json => json::decode(js, value, json::Exactness::Lossless)?,
        Type::Bytes => js.bytes(value)?,
        Type::Date => time::make(js, Moment::new(MomentKind::Date, read_i32(value)?.into()))?,
        Type::Time => time::make(js, Moment::new(MomentKind::Time, read_i64(value)?))?,
        Type::TimeTz => time::make(js, Moment::time_tz(read_time_tz(value)?))?,
        Type::Timestamp => time::make(js, Moment::new(MomentKind::Timestamp, read_i64(value)?))?,
        Type::TimestampTz => time::make(js, Moment::new(MomentKind::TimestampTz, read_i64(value)?))?,
        Type::Interval => interval::make(js, read_interval(value)?)?,
        Type::Uuid => {
            let mut text = String::with_capacity(36);
            uuid::write_text(&read_uuid(value)?, &mut text);
            js.string(&text)?
        }
        Type::Array(element) => {
            let reader = ArrayReader::new(value)?;
            let lengths: Vec<u32> = reader.dimensions().collect();
            array(js, element, &lengths, &mut reader.elements())?
        }
    })
}

/// An array, one within another for each dimension.
fn array(js: Js, element: &Type, lengths: &[u32], elements: &mut Elements<'_>) -> Answer<Value> {
    let array = js.array()?;
    let (length, inner) = lengths.split_first().map_or((0, lengths), |(&length, inner)| (length, inner));
    for at in 0..length {
        let item = if inner.is_empty() {
            match elements.next().unwrap_or(Err(DecodeError::Truncated("array value")))? {
                Some(bytes) => value(js, element, bytes)?,
                None => js.null(),
            }
        } else {
            self::array(js, element, inner, elements)?
        };
        array.item(at, item)?;
    }
    Ok(array)
}
