//! A value in a statement.

use tarn_batch::calendar::Civil;
use tarn_batch::text::write_text;
use tarn_batch::value::{ArrayReader, Elements, read_i32, read_i64};
use tarn_batch::{DecodeError, Type};
use tarn_sdk::sql::clickhouse::literal;

use crate::target_type::TargetType;

/// Appends an expression that is the stored value once the server has read it as the column's type: where it
/// is compared with the column, or is to be the column's default.
pub(crate) fn push(
    sql: &mut String,
    source: &Type,
    target: &TargetType,
    value: &[u8],
) -> Result<(), DecodeError> {
    match (source, target.value_type()) {
        (Type::Bool, TargetType::Bool) => sql.push_str(if value == [1] { "true" } else { "false" }),
        (Type::Bool, TargetType::Int(_) | TargetType::UInt(_)) => {
            sql.push_str(if value == [1] { "1" } else { "0" });
        }
        // It has no other digits than zeros after the point.
        (Type::Numeric { .. }, TargetType::Int(_) | TargetType::UInt(_)) => {
            let digits = value.split(|&byte| byte == b'.').next().unwrap_or_default();
            sql.push_str(&literal(&String::from_utf8_lossy(digits)));
        }
        (Type::Date, TargetType::Date | TargetType::Date32) => {
            let Civil { year, month, day } = Civil::from_days(read_i32(value)?.into());
            sql.push_str(&format!("'{year:04}-{month:02}-{day:02}'"));
        }
        (Type::Timestamp | Type::TimestampTz, TargetType::DateTime64 { precision, .. }) => {
            let micros = read_i64(value)?;
            sql.push_str(&format!(
                "CAST(fromUnixTimestamp64Micro({micros}, 'UTC') AS DateTime64({precision}, 'UTC'))"
            ));
        }
        (Type::Timestamp | Type::TimestampTz, TargetType::DateTime { .. }) => {
            sql.push_str(&format!("toDateTime({}, 'UTC')", read_i64(value)?.div_euclid(1_000_000)));
        }
        (Type::Bytes, _) => push_bytes(sql, value),
        (Type::Array(element), TargetType::Array(target)) => {
            let reader = ArrayReader::new(value)?;
            let dimensions: Vec<u32> = reader.dimensions().collect();
            push_array(sql, element, target, &dimensions, &mut reader.elements())?;
        }
        _ => {
            let mut text = String::new();
            match write_text(source, value, &mut text) {
                Ok(()) => sql.push_str(&literal(&text)),
                // Text of a database without an encoding.
                Err(DecodeError::NotUtf8(_)) => push_bytes(sql, value),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// One dimension of an array after another; an empty array has none.
fn push_array(
    sql: &mut String,
    source: &Type,
    target: &TargetType,
    dimensions: &[u32],
    elements: &mut Elements<'_>,
) -> Result<(), DecodeError> {
    let (length, within) =
        dimensions.split_first().map_or((0, dimensions), |(length, within)| (*length, within));
    sql.push('[');
    for at in 0..length {
        if at > 0 {
            sql.push_str(", ");
        }
        match (target, within) {
            (TargetType::Array(target), [_, ..]) => push_array(sql, source, target, within, elements)?,
            _ => match elements.next().transpose()?.flatten() {
                Some(value) => push(sql, source, target, value)?,
                None => sql.push_str("NULL"),
            },
        }
    }
    sql.push(']');
    Ok(())
}

fn push_bytes(sql: &mut String, bytes: &[u8]) {
    sql.push_str("unhex('");
    for byte in bytes {
        sql.push_str(&format!("{byte:02X}"));
    }
    sql.push_str("')");
}
