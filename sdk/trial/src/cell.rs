//! Values of cells: from the JSON that people write, and back to it.

mod moment;

use tarn_batch::text::write_text;
use tarn_batch::value::{ArrayReader, ArrayWriter, write_interval, write_numeric, write_time_tz};
use tarn_batch::{DecodeError, Type};

use crate::Json;

/// Appends a value in the form of its type. The error says what was expected, and quotes no value.
pub(crate) fn write(out: &mut Vec<u8>, data_type: &Type, value: &Json) -> Result<(), String> {
    match data_type {
        Type::Bool => out.push(u8::from(truth(value)?)),
        Type::Int2 => out.extend_from_slice(&whole::<i16>(value, "16")?.to_le_bytes()),
        Type::Int4 => out.extend_from_slice(&whole::<i32>(value, "32")?.to_le_bytes()),
        Type::Int8 => out.extend_from_slice(&whole::<i64>(value, "64")?.to_le_bytes()),
        Type::Float4 => {
            let number: f32 = float(value)?;
            if number.is_infinite() && !says_infinity(value) {
                return Err("is larger than the type holds".to_owned());
            }
            out.extend_from_slice(&number.to_le_bytes());
        }
        Type::Float8 => {
            let number: f64 = float(value)?;
            if number.is_infinite() && !says_infinity(value) {
                return Err("is larger than the type holds".to_owned());
            }
            out.extend_from_slice(&number.to_le_bytes());
        }
        Type::Numeric { precision, scale } => decimal(out, *precision, *scale, value)?,
        Type::Text | Type::Enum | Type::Other => out.extend_from_slice(plain(value)?.as_bytes()),
        Type::Json => out.extend_from_slice(document(value)?.as_bytes()),
        Type::Bytes => {
            let digits = text(value)?.strip_prefix("\\x").and_then(unhex);
            out.extend_from_slice(&digits.ok_or("expected pairs of hexadecimal digits after \\x")?);
        }
        Type::Uuid => {
            let digits = unhex(&text(value)?.replace('-', "")).filter(|bytes| bytes.len() == 16);
            out.extend_from_slice(&digits.ok_or("expected a UUID")?);
        }
        Type::Date => {
            out.extend_from_slice(
                &moment::date(text(value)?).ok_or("expected a date, 2024-02-29")?.to_le_bytes(),
            );
        }
        Type::Time => {
            let micros = moment::time(text(value)?).ok_or("expected a time of day, 12:34:56.789")?;
            out.extend_from_slice(&micros.to_le_bytes());
        }
        Type::TimeTz => {
            let time =
                moment::time_tz(text(value)?).ok_or("expected a time of day with its zone, 12:34:56+02")?;
            write_time_tz(out, time);
        }
        Type::Timestamp => {
            let micros =
                moment::timestamp(text(value)?).ok_or("expected a date and time, 2024-02-29 12:34:56")?;
            out.extend_from_slice(&micros.to_le_bytes());
        }
        Type::TimestampTz => {
            let micros = moment::timestamp_tz(text(value)?)
                .ok_or("expected a point in time with its zone, 2024-02-29 12:34:56+00")?;
            out.extend_from_slice(&micros.to_le_bytes());
        }
        Type::Interval => {
            let interval = moment::interval(text(value)?);
            write_interval(out, interval.ok_or("expected an interval, 1 mon 2 days 03:04:05")?);
        }
        Type::Array(element) => array(out, element, value)?,
    }
    Ok(())
}

/// A value as JSON: numbers as numbers with all their digits, arrays as lists, what has no form of JSON's
/// own as the text that PostgreSQL has for it.
pub(crate) fn say(data_type: &Type, value: &[u8]) -> Result<Json, DecodeError> {
    if let Type::Array(element) = data_type {
        let array = ArrayReader::new(value)?;
        let elements = array.elements().map(|element_value| {
            element_value?.map_or(Ok(Json::Null), |element_value| say(element, element_value))
        });
        let dimensions: Vec<u32> = array.dimensions().collect();
        return Ok(nested(elements.collect::<Result<_, _>>()?, &dimensions));
    }
    let mut text = String::new();
    write_text(data_type, value, &mut text)?;
    Ok(match data_type {
        Type::Bool => Json::Bool(text == "t"),
        Type::Int2 | Type::Int4 | Type::Int8 => Json::Number(text),
        Type::Float4 | Type::Float8 | Type::Numeric { .. }
            if text.ends_with(|c: char| c.is_ascii_digit()) =>
        {
            Json::Number(text)
        }
        _ => Json::Text(text),
    })
}

/// The elements of an array as lists within lists.
fn nested(elements: Vec<Json>, dimensions: &[u32]) -> Json {
    let mut level = elements;
    for &length in dimensions.iter().skip(1).rev() {
        let mut rest = level.into_iter();
        let mut lists = Vec::new();
        loop {
            let list: Vec<Json> = rest.by_ref().take(length as usize).collect();
            if list.is_empty() {
                break;
            }
            lists.push(Json::List(list));
        }
        level = lists;
    }
    Json::List(level)
}

fn expected(what: &str, found: &Json) -> String {
    format!("expected {what}, found {}", found.kind())
}

fn text(value: &Json) -> Result<&str, String> {
    match value {
        Json::Text(text) => Ok(text),
        other => Err(expected("a text", other)),
    }
}

/// The text of a value that has one: texts, numbers and truth values.
fn plain(value: &Json) -> Result<&str, String> {
    match value {
        Json::Text(text) | Json::Number(text) => Ok(text),
        Json::Bool(value) => Ok(if *value { "t" } else { "f" }),
        other => Err(expected("a text", other)),
    }
}

fn truth(value: &Json) -> Result<bool, String> {
    match value {
        Json::Bool(value) => Ok(*value),
        Json::Text(text) if matches!(text.as_str(), "t" | "true") => Ok(true),
        Json::Text(text) if matches!(text.as_str(), "f" | "false") => Ok(false),
        other => Err(expected("true or false", other)),
    }
}

fn digits(value: &Json) -> Result<&str, String> {
    match value {
        Json::Number(digits) | Json::Text(digits) => Ok(digits),
        other => Err(expected("a number", other)),
    }
}

fn whole<T: std::str::FromStr>(value: &Json, bits: &str) -> Result<T, String> {
    digits(value)?.parse().map_err(|_| format!("expected a whole number of {bits} bits"))
}

fn float<T: std::str::FromStr>(value: &Json) -> Result<T, String> {
    digits(value)?.parse().map_err(|_| "expected a number".to_owned())
}

fn says_infinity(value: &Json) -> bool {
    matches!(value, Json::Text(text) if text.to_ascii_lowercase().contains("inf"))
}

/// A decimal with the digits that its column has: zeros are added as PostgreSQL does, nothing is rounded.
fn decimal(out: &mut Vec<u8>, precision: u16, scale: i16, value: &Json) -> Result<(), String> {
    let start = out.len();
    write_numeric(out, digits(value)?)
        .map_err(|_| "expected a decimal number without an exponent".to_owned())?;
    let written = &out[start..];
    if precision == 0 || !written.last().is_some_and(u8::is_ascii_digit) {
        return Ok(());
    }
    let point = written.iter().position(|&byte| byte == b'.');
    let fraction = point.map_or(0, |point| written.len() - point - 1);
    let integral = written.iter().take_while(|&&byte| byte != b'.').filter(|byte| byte.is_ascii_digit());
    let integral = integral.skip_while(|&&byte| byte == b'0').count();
    let wanted = usize::try_from(scale).unwrap_or(0);
    if fraction > wanted {
        return Err(format!("has more than {wanted} digits after the point"));
    }
    if integral > usize::try_from(i32::from(precision) - i32::from(scale)).unwrap_or(0) {
        return Err("has more digits than the column".to_owned());
    }
    if fraction == 0 && wanted > 0 {
        out.push(b'.');
    }
    out.resize(out.len() + wanted - fraction, b'0');
    Ok(())
}

/// The text of a document: a text is one already, anything else becomes one.
fn document(value: &Json) -> Result<String, String> {
    match value {
        Json::Text(text) => match serde_json::from_str::<serde::de::IgnoredAny>(text) {
            Ok(_) => Ok(text.clone()),
            Err(_) => Err("expected a JSON document, or its text".to_owned()),
        },
        other => Ok(other.to_string()),
    }
}

fn array(out: &mut Vec<u8>, element: &Type, value: &Json) -> Result<(), String> {
    let Json::List(items) = value else { return Err(expected("a list", value)) };
    let mut dimensions = Vec::new();
    let mut level = items;
    while !level.is_empty() {
        dimensions.push(u32::try_from(level.len()).map_err(|_| "is too long")?);
        // Lists within a list of documents are documents.
        match (&level[0], element) {
            (_, Type::Json) => break,
            (Json::List(inner), _) => level = inner,
            _ => break,
        }
    }
    let ragged = |_| "is a list whose parts have several lengths".to_owned();
    let mut writer = ArrayWriter::new(out, dimensions.len()).map_err(ragged)?;
    elements(&mut writer, element, items, dimensions.len())?;
    writer.finish(&dimensions).map_err(ragged)
}

fn elements(
    writer: &mut ArrayWriter<'_>,
    element: &Type,
    items: &[Json],
    depth: usize,
) -> Result<(), String> {
    for item in items {
        match item {
            Json::List(inner) if depth > 1 => elements(writer, element, inner, depth - 1)?,
            _ if depth > 1 => return Err("is a list whose parts have several depths".to_owned()),
            Json::Null => writer.null(),
            item => writer.value_with(|out| write(out, element, item))?,
        }
    }
    Ok(())
}

/// The bytes of pairs of digits.
fn unhex(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] if pair.iter().all(u8::is_ascii_hexdigit) => {
                let digit =
                    |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                Some(digit(*high)? << 4 | digit(*low)?)
            }
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column;

    fn column_type(name: &str) -> Type {
        column(&format!("c {name}")).expect("a type").data_type
    }

    /// What a value becomes that goes in and comes out.
    fn through(name: &str, value: &str) -> Result<String, String> {
        let data_type = column_type(name);
        let mut bytes = Vec::new();
        write(&mut bytes, &data_type, &serde_json::from_str(value).expect("JSON"))?;
        Ok(say(&data_type, &bytes).expect("what was written can be read").to_string())
    }

    #[test]
    fn every_value_comes_out_as_it_went_in() {
        let cases = [
            ("boolean", "true"),
            ("smallint", "-32768"),
            ("integer", "2147483647"),
            ("bigint", "9223372036854775807"),
            ("real", "0.1"),
            ("double precision", "-1.5e+300"),
            ("double precision", "\"NaN\""),
            ("double precision", "\"-Infinity\""),
            ("numeric", "123456789012345678901234567890.10"),
            ("numeric(12,2)", "\"NaN\""),
            ("numeric(4,2)", "-99.99"),
            ("text", "\"Zoë\""),
            ("jsonb", r#""{\"total\": 1.50}""#),
            ("bytea", r#""\\x00ff""#),
            ("date", "\"0044-03-15 BC\""),
            ("date", "\"infinity\""),
            ("time", "\"24:00:00\""),
            ("timetz", "\"12:34:56.789-03:30\""),
            ("timestamp", "\"2024-02-29 12:34:56.789\""),
            ("timestamptz", "\"2024-02-29 12:34:56+00\""),
            ("interval", "\"-1 years -2 mons +3 days -04:05:06.7\""),
            ("uuid", "\"00010203-0405-0607-0809-0a0b0c0d0e0f\""),
            ("inet", "\"10.0.0.1\""),
            ("bigint[]", "[1,null,3]"),
            ("text[]", r#"[["a","b"],["c",null]]"#),
            ("text[]", "[]"),
        ];
        for (name, value) in cases {
            assert_eq!(through(name, value), Ok(value.to_owned()), "{name}");
        }
    }

    #[test]
    fn other_spellings_become_the_one_that_the_column_has() {
        let cases = [
            ("bigint", "\"342161316540874753\"", "342161316540874753"),
            ("numeric(12,2)", "\"007\"", "7.00"),
            ("numeric(12,2)", "-0", "0.00"),
            ("boolean", "\"f\"", "false"),
            ("jsonb", r#"{"b": [1.50, null]}"#, r#""{\"b\":[1.50,null]}""#),
            ("jsonb[]", "[[1]]", r#"["[1]"]"#),
            ("text", "1.50", "\"1.50\""),
            ("timestamptz", "\"2024-02-29T14:34:56.500+02:00\"", "\"2024-02-29 12:34:56.5+00\""),
            ("timestamptz", "\"2024-02-29T12:34:56Z\"", "\"2024-02-29 12:34:56+00\""),
            ("interval", "\"03:04:05\"", "\"03:04:05\""),
        ];
        for (name, given, expected) in cases {
            assert_eq!(through(name, given), Ok(expected.to_owned()), "{name}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_and_never_becomes_another_value() {
        let cases = [
            ("bigint", "9223372036854775808"),
            ("bigint", "1.0"),
            ("bigint", "1e3"),
            ("smallint", "32768"),
            ("real", "1e39"),
            ("double precision", "1e400"),
            ("double precision", "\"many\""),
            ("numeric(4,2)", "1.234"),
            ("numeric(4,2)", "100"),
            ("numeric", "1e3"),
            ("boolean", "1"),
            ("text", "[1]"),
            ("text", r#"{"a":1}"#),
            ("jsonb", "\"not JSON\""),
            ("bytea", "\"00ff\""),
            ("bytea", r#""\\x0""#),
            ("date", "\"2023-02-29\""),
            ("date", "\"2024-2-9\""),
            ("time", "\"25:00:00\""),
            ("timetz", "\"12:00:00\""),
            ("timestamp", "\"2024-02-29\""),
            ("timestamp", "\"2024-02-29 12:00:00+00\""),
            ("timestamptz", "\"2024-02-29 12:00:00\""),
            ("interval", "\"soon\""),
            ("interval", "\"\""),
            ("uuid", "\"0001\""),
            ("bigint[]", "1"),
            ("bigint[]", "[[1],[2,3]]"),
            ("bigint[]", "[[1],2]"),
            ("bigint[]", "[1,[2]]"),
        ];
        for (name, value) in cases {
            assert!(through(name, value).is_err(), "{name} takes {value}: {:?}", through(name, value));
        }
    }
}
