//! Every type, in and out.

use tarn_batch::{Batch, Cell, Type};

use tarn_script::fixture::{array, interval, numeric, one, rows, time_tz};

use super::{Applied, apply};

mod assignment;
mod members;

fn run(body: &str, data_type: &Type, value: &[u8]) -> Applied {
    apply(&format!("function onRecord(r) {{ const v = r.row.v; {body}; return r }}"), &one(data_type, value))
}

/// What an expression over the value `v` says.
fn says(expression: &str, data_type: &Type, value: &[u8]) -> String {
    let applied = run(&format!("throw String({expression})"), data_type, value);
    applied.rejected[0].message.clone()
}

/// The text that the column holds after a body, or why it was refused.
fn after(body: &str, data_type: &Type) -> Result<String, String> {
    let applied = run(body, data_type, &sample(data_type));
    match applied.rejected.first() {
        Some(rejection) => {
            let reason = rejection.message.trim_start_matches("TypeError: ");
            let reason = reason.strip_prefix("column v (its type) of public.users ").unwrap_or(reason);
            Err(reason.split(" (in onRecord").next().unwrap_or_default().to_owned())
        }
        None => {
            let row = &rows(&applied)[0];
            Ok(row.strip_suffix(",~").expect("the other column is null").to_owned())
        }
    }
}

fn assigned(expression: &str, data_type: &Type) -> Result<String, String> {
    after(&format!("r.row.v = {expression}"), data_type)
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

/// Values of every type, at their ends, and what `String` says of them.
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
        integer(i64::MAX, "9223372036854775807"),
        (Type::Float4, 0.5_f32.to_le_bytes().into(), "0.5"),
        (Type::Float4, 0.1_f32.to_le_bytes().into(), "0.10000000149011612"),
        (Type::Float8, 1.5e300_f64.to_le_bytes().into(), "1.5e+300"),
        (Type::Float8, (-0.0_f64).to_le_bytes().into(), "0"),
        (Type::Float8, f64::INFINITY.to_le_bytes().into(), "Infinity"),
        (Type::Float8, f64::NAN.to_le_bytes().into(), "NaN"),
        (numeric(10, 2), b"10.20".to_vec(), "10.20"),
        number("0"),
        number("0.0012000"),
        number("-12345678901234567890.12345678901234567890"),
        number("10000000000000000000000000"),
        number("NaN"),
        number("-Infinity"),
        text(Type::Text, ""),
        text(Type::Text, "Zürich\u{1f600}"),
        (Type::Bytes, b"a\0\xff".to_vec(), "97,0,255"),
        (Type::Bytes, b"".to_vec(), ""),
        (Type::Date, 0_i32.to_le_bytes().into(), "1970-01-01"),
        (Type::Date, (-719_528_i32).to_le_bytes().into(), "0001-01-01 BC"),
        (Type::Date, i32::MAX.to_le_bytes().into(), "infinity"),
        (Type::Time, 86_400_000_000_i64.to_le_bytes().into(), "24:00:00"),
        (Type::Time, 86_399_999_999_i64.to_le_bytes().into(), "23:59:59.999999"),
        (Type::TimeTz, time_tz(43_200_000_000, 19_800), "12:00:00+05:30"),
        (Type::Timestamp, 1_700_000_000_123_456_i64.to_le_bytes().into(), "2023-11-14T22:13:20.123456Z"),
        (Type::Timestamp, i64::MIN.to_le_bytes().into(), "-infinity"),
        point(-1, "1969-12-31T23:59:59.999999Z"),
        point(-62_167_219_200_000_000, "0001-01-01 00:00:00+00 BC"),
        (Type::Interval, interval(14, -3, 4_500_000), "1 year 2 mons -3 days +00:00:04.5"),
        (Type::Uuid, (0..16).collect(), "00010203-0405-0607-0809-0a0b0c0d0e0f"),
        text(Type::Json, "\"text\""),
        text(Type::Json, "null"),
        text(Type::Json, "1.10"),
        text(Type::Json, "[9007199254740993, 1.10, null]"),
        (Type::Json, b"{\"id\": 9007199254740993, \"a\": [1.10, null]}".to_vec(), "[object Object]"),
        text(Type::Enum, "happy"),
        text(Type::Other, "(1,2),(3,4)"),
    ]
}

/// The column's value after `r.row.v = v`, while another column changes too.
fn carried(data_type: &Type, value: &[u8]) -> Vec<u8> {
    let applied = run("r.row.v = v; r.row.t = 'changed'", data_type, value);
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
        if data_type != Type::Json {
            // It is said by an error, and an error without text says so.
            let told = if said.is_empty() { "(the error has no text)" } else { said };
            assert_eq!(says("v", &data_type, &value), told, "{data_type:?}");
        }
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
fn types_have_the_values_of_the_language() {
    let array_of_ints = array(
        &[2, 2],
        &[Some(&1_i32.to_le_bytes()), Some(&2_i32.to_le_bytes()), None, Some(&4_i32.to_le_bytes())],
    );
    for (data_type, value, expression, said) in [
        (Type::Int8, 5_i64.to_le_bytes().to_vec(), "typeof v + (v + 1n)", "bigint6"),
        (Type::Int4, 5_i32.to_le_bytes().to_vec(), "typeof v + (v + 1)", "number6"),
        (Type::Uuid, (0..16).collect(), "typeof v", "string"),
        (Type::Bytes, vec![1, 2], "v instanceof Uint8Array && v.length", "2"),
        (Type::Json, b"{\"a\": [1, {\"b\": 9007199254740993}]}".to_vec(), "v.a[1].b", "9007199254740993"),
        (
            Type::Json,
            b"[1.5, -0, 9007199254740991, 1e2]".to_vec(),
            "v.map(x => typeof x + x)",
            "number1.5,number0,number9007199254740991,number100",
        ),
        (Type::Json, b"{\"a\": 1.10}".to_vec(), "tarn.text(r.row, 'v')", "{\"a\": 1.10}"),
        (Type::Json, b"{\"__proto__\": 1}".to_vec(), "Object.keys(v)", "__proto__"),
        (Type::Int4.array(), array_of_ints, "Array.isArray(v) && v[1][0] === null && v[1][1]", "4"),
        (numeric(0, 0), b"1.50".to_vec(), "v instanceof tarn.Decimal", "true"),
        (Type::Date, 0_i32.to_le_bytes().to_vec(), "v instanceof tarn.Time && v.kind", "date"),
    ] {
        assert_eq!(says(expression, &data_type, &value), said, "{expression}");
    }
}

#[test]
fn what_is_changed_in_place_goes_on() {
    for (data_type, value, body, after) in [
        (
            Type::Json,
            b"{\"a\": 1.10, \"b\": 2}".to_vec(),
            "v.b = 3n; delete v.a; v.c = [v.b]",
            "{\"b\":3,\"c\":[3]}",
        ),
        (Type::Json, b"[1,2]".to_vec(), "v.push(3)", "[1,2,3]"),
        // What was only read stays as it was, to the blank.
        (Type::Json, b"{\"a\": 1.10,  \"a\": 2}".to_vec(), "v.a", "{\"a\": 1.10,  \"a\": 2}"),
        (Type::Json, b"{\"a\": {\"b\": 1}}".to_vec(), "v.a.b++; r.row.v = v; v.a.b++", "{\"a\":{\"b\":3}}"),
        (Type::Json, b"{\"a\": 1}".to_vec(), "v.a = 2; r.row.v = null", "~"),
        (Type::Json, b"{\"a\": 1}".to_vec(), "r.row.v = { b: 1 }; r.row.v.b = 2; v.a = 5", "{\"b\":2}"),
        // Beside what was changed, numbers stay to the digit.
        (
            Type::Json,
            b"{\"amt\":12345678901234567.125,\"k\":1,\"big\":1e400}".to_vec(),
            "v.k = 2; if (!(v.amt > 1e16) || v.amt + 1 !== 12345678901234568 || `${v.amt}` !== '12345678901234567.125') throw 1",
            "{\"amt\":12345678901234567.125,\"k\":2,\"big\":1e400}",
        ),
        (Type::Json, b"{\"a\": 1e400}".to_vec(), "v.a", "{\"a\": 1e400}"),
        (Type::Json, b"{\"a\": 0.1, \"b\": 1e2}".to_vec(), "v.a += 1; v.b += 1", "{\"a\":1.1,\"b\":101}"),
        (Type::Text.array(), array(&[1], &[Some(b"a")]), "v.push('b', null)", "{a,b,NULL}"),
        (Type::Bytes, vec![1, 2], "v[0] = 255", "\\xff02"),
    ] {
        let applied = run(body, &data_type, &value);
        assert_eq!(applied.rejected, [], "{body}");
        assert_eq!(rows(&applied), [format!("{after},~")], "{body}");
    }
    let json = "r.row.t = JSON.stringify(r.row); r.row.v = 1n";
    let exact = rows(&run(json, &Type::Int8, &9_007_199_254_740_993_i64.to_le_bytes()));
    assert_eq!(exact, [r#"1,{"v":9007199254740993,"t":null}"#]);
    let many = array(&[2], &[Some(&i64::MAX.to_le_bytes()), Some(&1_i64.to_le_bytes())]);
    let exact = rows(&run("r.row.t = JSON.stringify(r.row)", &Type::Int8.array(), &many));
    assert_eq!(exact, [r#"{9223372036854775807,1},{"v":[9223372036854775807,1],"t":null}"#]);
    let decimal = "r.row.t = String(tarn.Decimal(v.a).plus(1)) + JSON.stringify(v)";
    let applied = run(decimal, &Type::Json, b"{\"a\":12345678901234567.125}");
    assert_eq!(
        rows(&applied),
        [r#"{"a":12345678901234567.125},12345678901234568.125{"a":12345678901234567.125}"#]
    );
    let encoded = run("v.a = 2; r.row.t = tarn.json.encode(r.row)", &Type::Json, b"{\"a\": 1}");
    assert_eq!(rows(&encoded), [r#"{"a":2},{"v":"{\"a\":2}","t":null}"#]);
    let failed = run("v.a = () => 1", &Type::Json, b"{\"a\": 1}");
    assert!(failed.rejected[0].message.contains("takes JSON, not a function value"), "{:?}", failed.rejected);
}
