//! Every type, in and out (B248, B250).

use tarn_batch::{Batch, Cell, Type};

use tarn_script::fixture::{array, interval, numeric, one, rows, time_tz};

use super::{Applied, apply};

mod assignment;
mod members;

fn run(body: &str, data_type: &Type, value: &[u8]) -> Applied {
    let source = format!(
        "local json = require 'json' function onRecord(r) local v = r.row.v {body} if true then return r end end"
    );
    apply(&source, &one(data_type, value))
}

/// What an expression over the value `v` says.
fn says(expression: &str, data_type: &Type, value: &[u8]) -> String {
    let applied = run(&format!("error(tostring({expression}), 0)"), data_type, value);
    applied.rejected[0].message.clone()
}

/// The text that the column holds after an assignment, or why it was refused.
fn assigned(expression: &str, data_type: &Type) -> Result<String, String> {
    let applied = run(&format!("r.row.v = {expression}"), data_type, &sample(data_type));
    match applied.rejected.first() {
        Some(rejection) => {
            let reason = rejection.message.strip_prefix("column v (its type) of public.users ");
            Err(reason.unwrap_or(&rejection.message).to_owned())
        }
        None => {
            let row = &rows(&applied)[0];
            Ok(row.strip_suffix(",~").expect("the other column is null").to_owned())
        }
    }
}

/// Some value of a type.
fn sample(data_type: &Type) -> Vec<u8> {
    let known = values().into_iter().find(|(other, ..)| other == data_type).map(|(_, value, _)| value);
    match (known, data_type) {
        (Some(value), _) => value,
        (None, Type::Numeric { .. }) => b"0".to_vec(),
        (None, _) => array(&[], &[]),
    }
}

/// Values of every type, at their ends, and what `tostring` says of them.
fn values() -> Vec<(Type, Vec<u8>, &'static str)> {
    let number = |text: &'static str| (numeric(0, 0), text.as_bytes().to_vec(), text);
    let text = |data_type: Type, text: &'static str| (data_type, text.as_bytes().to_vec(), text);
    let integer = |value: i64, text: &'static str| (Type::Int8, value.to_le_bytes().to_vec(), text);
    let point = |micros: i64, text: &'static str| (Type::TimestampTz, micros.to_le_bytes().to_vec(), text);
    vec![
        (Type::Bool, vec![1], "true"),
        (Type::Bool, vec![0], "false"),
        (Type::Int2, i16::MIN.to_le_bytes().into(), "-32768"),
        (Type::Int4, i32::MAX.to_le_bytes().into(), "2147483647"),
        integer(342_161_316_540_874_753, "342161316540874753"),
        integer(9_007_199_254_740_993, "9007199254740993"),
        integer(i64::MIN, "-9223372036854775808"),
        (Type::Float4, 0.5_f32.to_le_bytes().into(), "0.5"),
        (Type::Float4, 0.1_f32.to_le_bytes().into(), "0.10000000149011612"),
        (Type::Float4, f32::MIN_POSITIVE.to_le_bytes().into(), "1.1754943508222875e-38"),
        (Type::Float8, 1.5e300_f64.to_le_bytes().into(), "1.5e+300"),
        (Type::Float8, (-0.0_f64).to_le_bytes().into(), "-0"),
        (Type::Float8, f64::INFINITY.to_le_bytes().into(), "inf"),
        (numeric(10, 2), b"10.20".to_vec(), "10.20"),
        number("0"),
        number("0.0012000"),
        number("-12345678901234567890.12345678901234567890"),
        number("10000000000000000000000000"),
        number("NaN"),
        number("-Infinity"),
        text(Type::Text, ""),
        text(Type::Text, "Zürich\u{1f600}"),
        (Type::Bytes, b"a\0\xff".to_vec(), "a\0\u{fffd}"),
        (Type::Date, 0_i32.to_le_bytes().into(), "1970-01-01"),
        (Type::Date, (-719_528_i32).to_le_bytes().into(), "0001-01-01 BC"),
        (Type::Date, i32::MAX.to_le_bytes().into(), "infinity"),
        (Type::Time, 86_400_000_000_i64.to_le_bytes().into(), "24:00:00"),
        (Type::Time, 86_399_999_999_i64.to_le_bytes().into(), "23:59:59.999999"),
        (Type::TimeTz, time_tz(43_200_000_000, 19_800), "12:00:00+05:30"),
        (
            Type::Timestamp,
            1_700_000_000_123_456_i64.to_le_bytes().into(),
            "2023-11-14 22:13:20.123456 +0000 UTC",
        ),
        (Type::Timestamp, i64::MIN.to_le_bytes().into(), "-infinity"),
        point(-1, "1969-12-31 23:59:59.999999 +0000 UTC"),
        point(-62_167_219_200_000_000, "0001-01-01 00:00:00+00 BC"),
        (Type::Interval, interval(14, -3, 4_500_000), "1 year 2 mons -3 days +00:00:04.5"),
        (Type::Uuid, (0..16).collect(), "00010203-0405-0607-0809-0a0b0c0d0e0f"),
        text(Type::Json, "{\"id\": 9007199254740993, \"a\": [1.10, null]}"),
        text(Type::Enum, "happy"),
        text(Type::Other, "(1,2),(3,4)"),
    ]
}

/// The column's value after `r.row.v = v`, while another column changes too.
fn carried(data_type: &Type, value: &[u8]) -> Vec<u8> {
    let applied = run("r.row.v = v r.row.t = 'changed'", data_type, value);
    assert_eq!(applied.rejected, [], "{data_type:?}");
    let batch = Batch::parse(&applied.batch).expect("sound");
    let row = batch.rows().next().expect("one row").expect("sound");
    match row.cell(0).expect("sound") {
        Cell::Value(value) => value.to_vec(),
        cell => panic!("{data_type:?} became {cell:?}"),
    }
}

#[test]
fn every_value_is_read_and_written_back_exactly() {
    for (data_type, value, said) in values() {
        // It is said by an error, and an error without text says so.
        let told = if said.is_empty() { "(the error has no text)" } else { said };
        assert_eq!(says("v", &data_type, &value), told, "{data_type:?}");
        assert_eq!(carried(&data_type, &value), value, "{data_type:?} {said}");
    }
}

#[test]
fn arrays_of_every_type_are_read_and_written_back_exactly() {
    for (element, value, _) in values() {
        let value = Some(&value[..]);
        for (dimensions, elements) in [
            (&[][..], vec![]),
            (&[3], vec![value, value, value]),
            (&[4], vec![None, value, None, None]),
            (&[1, 2], vec![value, None]),
        ] {
            let given = array(dimensions, &elements);
            assert_eq!(carried(&element.clone().array(), &given), given, "{element:?} {dimensions:?}");
        }
    }
}

#[test]
fn arrays_are_tables() {
    let ints = Type::Int4.array();
    let (first, second) = (1_i32.to_le_bytes(), 2_i32.to_le_bytes());
    let given = array(&[2, 2], &[Some(&first), Some(&second), None, Some(&first)]);
    let expression = "#v .. ' ' .. v[1][2] .. ' ' .. tostring(v[2][1]) .. ' ' .. v[2].n";
    assert_eq!(says(expression, &ints, &given), "2 2 nil 2");
}

#[test]
fn rows_are_json_of_their_types() {
    for (data_type, value, json) in [
        (Type::Int8, 1_618_065_507_111_835_497_i64.to_le_bytes().to_vec(), "1618065507111835497"),
        (numeric(0, 0), b"951824235837328.10".to_vec(), "\"951824235837328.10\""),
        (numeric(0, 0), b"NaN".to_vec(), "\"NaN\""),
        (Type::Float4, 0.1_f32.to_le_bytes().to_vec(), "0.1"),
        (Type::Float4, 8_589_973_504_f32.to_le_bytes().to_vec(), "8589973504"),
        (Type::Float8, 1e21_f64.to_le_bytes().to_vec(), "1e+21"),
        (Type::TimestampTz, 500_000_i64.to_le_bytes().to_vec(), "\"1970-01-01 00:00:00.5+0000\""),
        (Type::Timestamp, 0_i64.to_le_bytes().to_vec(), "\"1970-01-01 00:00:00\""),
        (Type::TimestampTz, i64::MAX.to_le_bytes().to_vec(), "\"infinity\""),
        (Type::Bytes, vec![0, 1, 255, 7], "\"AAH/Bw==\""),
        (Type::Json, b"{\"a\": 1.10}".to_vec(), r#""{\"a\": 1.10}""#),
        (Type::Date, 0_i32.to_le_bytes().to_vec(), "\"1970-01-01\""),
        (Type::Text, b"a\"\n".to_vec(), "\"a\\\"\\n\""),
        (Type::Int4.array(), array(&[2], &[Some(&5_i32.to_le_bytes()), None]), "[5,null]"),
    ] {
        let row = says("json.encode(r.row)", &data_type, &value);
        assert_eq!(row, format!("{{\"v\":{json},\"t\":null}}"), "{data_type:?}");
    }
    for (options, data_type, value, json) in [
        ("{json = 'nested'}", Type::Json, b"{\"a\": 1.10}".to_vec(), "{\"a\": 1.10}"),
        ("{numeric = 'number'}", numeric(0, 0), b"10.20".to_vec(), "10.20"),
        ("{bytes = 'hex'}", Type::Bytes, vec![0, 255], r#""\\x00ff""#),
        ("{nan = 'null'}", Type::Float8, f64::NAN.to_le_bytes().to_vec(), "null"),
        ("{nan = 'text'}", Type::Float4, f32::NEG_INFINITY.to_le_bytes().to_vec(), "\"-Infinity\""),
        ("{nan = 'text', numeric = 'number'}", numeric(0, 0), b"NaN".to_vec(), "\"NaN\""),
    ] {
        let row = says(&format!("json.encode(r.row, {options})"), &data_type, &value);
        assert_eq!(row, format!("{{\"v\":{json},\"t\":null}}"), "{data_type:?}");
    }
    assert!(
        says("json.encode(r.row)", &Type::Float8, &f64::NAN.to_le_bytes()).contains("NaN and infinities")
    );
}
