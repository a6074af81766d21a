//! Values from the text in which cases have them, and back.

use serde_json::Value;
use tarn_batch::calendar::{Civil, Clock, join_micros};
use tarn_batch::text::write_text;
use tarn_batch::value::write_numeric;
use tarn_batch::{BatchWriter, Cell, Column, Type};

/// A column by what a case says of it: `price numeric(12,2)`, `id bigint key`.
pub fn column(said: &str) -> Column {
    let (name, said) = said.split_once(' ').expect("a column has a type");
    let type_name = said.trim_end_matches(" key");
    let is_key = type_name != said;
    Column {
        name: name.to_owned(),
        data_type: data_type(type_name),
        type_name: type_name.to_owned(),
        nullable: !is_key,
        key: u16::from(is_key),
        attribute: 1,
    }
}

fn data_type(name: &str) -> Type {
    match name {
        "boolean" => Type::Bool,
        "smallint" => Type::Int2,
        "integer" => Type::Int4,
        "bigint" => Type::Int8,
        "text" => Type::Text,
        "jsonb" => Type::Json,
        "bytea" => Type::Bytes,
        "date" => Type::Date,
        "timestamptz" => Type::TimestampTz,
        "uuid" => Type::Uuid,
        _ => numeric(name).unwrap_or_else(|| panic!("no type {name}")),
    }
}

fn numeric(name: &str) -> Option<Type> {
    let (precision, scale) = name.strip_prefix("numeric(")?.strip_suffix(')')?.split_once(',')?;
    Some(Type::Numeric { precision: precision.parse().ok()?, scale: scale.parse().ok()? })
}

/// The text of a value: as it is, or that of a number.
pub fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Bool(value) => Some(if *value { "t" } else { "f" }.to_owned()),
        other => Some(other.to_string()),
    }
}

/// Writes a cell.
pub fn write(writer: &mut BatchWriter, data_type: &Type, value: &Value) {
    let Some(text) = text(value) else { return writer.null() };
    match data_type {
        Type::Bool => writer.value(&[u8::from(text == "t")]),
        Type::Int2 => writer.value(&text.parse::<i16>().expect("an integer").to_le_bytes()),
        Type::Int4 => writer.value(&text.parse::<i32>().expect("an integer").to_le_bytes()),
        Type::Int8 => writer.value(&text.parse::<i64>().expect("an integer").to_le_bytes()),
        Type::Numeric { .. } => writer.value_with(|out| write_numeric(out, &text)).expect("a decimal"),
        Type::Bytes => writer.value(&hex(text.strip_prefix("\\x").expect("bytes begin with \\x"))),
        Type::Uuid => writer.value(&hex(&text.replace('-', ""))),
        Type::TimestampTz => writer.value(&micros(&text).expect("a time in UTC").to_le_bytes()),
        _ => writer.value(text.as_bytes()),
    }
}

/// The bytes of pairs of digits.
pub fn hex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("digits"));
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("digits")).collect()
}

/// Microseconds of `2024-02-29 12:34:56.789+00`.
pub fn micros(text: &str) -> Option<i64> {
    let (date, clock) = text.strip_suffix("+00")?.split_once(' ')?;
    let mut date = date.splitn(3, '-').map(str::parse::<i64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut clock = clock.splitn(3, ':').map(str::parse::<u8>);
    let (hour, minute, second) = (clock.next()?.ok()?, clock.next()?.ok()?, clock.next()?.ok()?);
    let micros = format!("{fraction:0<6}").parse().ok()?;
    join_micros(Civil::new(year, month as u8, day as u8)?, Clock::new(hour, minute, second, micros)?)
}

/// What a cell says.
pub fn say(cell: Cell<'_>, data_type: &Type) -> String {
    match cell {
        Cell::Null => "NULL".to_owned(),
        Cell::Unchanged => "(not sent)".to_owned(),
        Cell::Value(value) => {
            let mut text = String::new();
            write_text(data_type, value, &mut text).expect("the value is sound");
            text
        }
    }
}
