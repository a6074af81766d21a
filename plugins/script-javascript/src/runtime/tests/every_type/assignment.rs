//! What a column takes, and what it refuses.

use tarn_batch::Type;

use tarn_script::fixture::numeric;

use super::{after, assigned};

const INEXACT: &str = "cannot hold this number exactly";
const OUT_OF_RANGE: &str = "cannot hold this number: it is out of range";
const TOO_MUCH: &str = "takes no more: a script assigns at most 67108864 bytes in a record";
const NO_NUMBER: &str = "takes the text of a number, and this string is none";

fn takes(data_type: &Type, cases: &[(&str, &str)]) {
    for (expression, text) in cases {
        assert_eq!(
            assigned(expression, data_type),
            Ok((*text).to_owned()),
            "{expression} into {data_type:?}"
        );
    }
}

fn refuses(data_type: &Type, cases: &[(&str, &str)]) {
    for (expression, reason) in cases {
        assert_eq!(
            assigned(expression, data_type),
            Err((*reason).to_owned()),
            "{expression} into {data_type:?}"
        );
    }
}

#[test]
fn integers_take_what_is_one() {
    for data_type in [Type::Int2, Type::Int4, Type::Int8] {
        takes(
            &data_type,
            &[
                ("5", "5"),
                ("-3n", "-3"),
                ("7.0", "7"),
                ("'42'", "42"),
                ("1e3", "1000"),
                ("new tarn.Decimal('9.00')", "9"),
                ("-0", "0"),
            ],
        );
        refuses(
            &data_type,
            &[
                ("1.5", INEXACT),
                ("NaN", INEXACT),
                ("Infinity", INEXACT),
                ("2n ** 64n", OUT_OF_RANGE),
                ("'9223372036854775808'", OUT_OF_RANGE),
                ("'x'", NO_NUMBER),
                ("{}", "takes a whole number, not an object value"),
                ("[]", "takes a whole number, not an array value"),
                ("true", "takes a whole number, not a boolean value"),
                ("new Date(0)", "takes a whole number, not a Date value"),
            ],
        );
    }
    takes(&Type::Int8, &[("2n ** 63n - 1n", "9223372036854775807"), ("v - 1n", "342161316540874752")]);
    refuses(&Type::Int8, &[("2 ** 63", OUT_OF_RANGE), ("2n ** 63n", OUT_OF_RANGE)]);
    refuses(&Type::Int2, &[("40000", OUT_OF_RANGE)]);
}

#[test]
fn floats_and_decimals_take_what_they_hold() {
    takes(
        &Type::Float8,
        &[("0.1", "0.1"), ("5n", "5"), ("'1e3'", "1000"), ("NaN", "NaN"), ("-Infinity", "-Infinity")],
    );
    refuses(
        &Type::Float8,
        &[("2n ** 53n + 1n", INEXACT), ("new tarn.Decimal('0.12345678901234567890')", INEXACT)],
    );
    takes(&Type::Float4, &[("0.5", "0.5"), ("0.1", "0.1")]);
    refuses(&Type::Float4, &[("1e300", OUT_OF_RANGE), ("16777217", INEXACT)]);
    takes(
        &numeric(10, 2),
        &[
            ("1", "1.00"),
            ("1.5", "1.50"),
            ("0.1 + 0.2 === 0.3 ? 0 : 0.3", "0.30"),
            ("v.times(2)", "20.40"),
            ("'12345678.90'", "12345678.90"),
            ("12345678n", "12345678.00"),
        ],
    );
    refuses(
        &numeric(10, 2),
        &[
            ("0.125", "holds 2 digits after the point: round the number first"),
            ("1e9", "holds 10 digits: the number has more"),
            ("0.1 + 0.2", "holds 2 digits after the point: round the number first"),
        ],
    );
    takes(
        &numeric(0, 0),
        &[("2n ** 100n", "1267650600228229401496703205376"), ("1e21", "1000000000000000000000")],
    );
}

#[test]
fn text_takes_what_has_one() {
    takes(
        &Type::Text,
        &[
            ("'é\\u{1f600}'", "é\u{1f600}"),
            ("5", "5"),
            ("1e21", "1e+21"),
            ("2n ** 70n", "1180591620717411303424"),
            ("new tarn.Decimal('1.50')", "1.50"),
            ("tarn.Time.from('2024-05-17 08:30:00Z')", "2024-05-17 08:30:00+00"),
            ("`${tarn.Time.from('2024-05-17 08:30:00Z')}`", "2024-05-17T08:30:00Z"),
        ],
    );
    refuses(
        &Type::Text,
        &[
            ("'\\ud800'", "takes text, and these bytes are not UTF-8"),
            ("true", "takes text, not a boolean value"),
            ("{}", "takes text, not an object value"),
            ("new Uint8Array(1)", "takes text, not a Uint8Array value"),
            ("r.row", "takes text, not a row value"),
            ("r", "takes text, not a record value"),
            ("() => 1", "takes text, not a function value"),
            ("Symbol()", "takes text, not a symbol value"),
        ],
    );
    takes(&Type::Enum, &[("'sad'", "sad")]);
    refuses(&Type::Enum, &[("5", "takes a label as a string, not a number value")]);
    takes(&Type::Uuid, &[("'{00010203040506070809-0a0b0c0d0e0f}'", "00010203-0405-0607-0809-0a0b0c0d0e0f")]);
    refuses(&Type::Uuid, &[("'x'", "takes the text of a UUID, and this string is none")]);
    takes(&Type::Bytes, &[("new Uint8Array([1, 255])", "\\x01ff"), ("tarn.encodeText('é')", "\\xc3a9")]);
    refuses(&Type::Bytes, &[("'x'", "takes a Uint8Array, not a string value")]);
    takes(&Type::Bool, &[("false", "f")]);
    refuses(&Type::Bool, &[("0", "takes true or false, not a number value")]);
}

#[test]
fn times_take_times_dates_and_their_text() {
    takes(
        &Type::TimestampTz,
        &[
            ("new Date(1500)", "1970-01-01 00:00:01.5+00"),
            ("'2024-05-17 10:30:00+02'", "2024-05-17 08:30:00+00"),
            ("v.plus(new tarn.Interval(0, 1, 1))", "1970-01-02 00:00:00+00"),
            ("'infinity'", "infinity"),
        ],
    );
    refuses(
        &Type::TimestampTz,
        &[
            // Seconds or milliseconds: nobody can tell.
            ("5", "takes a timestamp with its zone, not a number value"),
            ("new Date(NaN)", "takes a timestamp with its zone, not a Date value"),
            ("'x'", "takes a timestamp with its zone, and this string is none"),
        ],
    );
    takes(&Type::Date, &[("'2024-02-29'", "2024-02-29"), ("new Date(86400000)", "1970-01-02")]);
    refuses(&Type::Date, &[("new Date(1)", "takes a date, not a Date value")]);
    takes(&Type::Interval, &[("new tarn.Interval(1, 2, 3000000n)", "1 mon 2 days 00:00:03")]);
    refuses(&Type::Interval, &[("'1 day'", "takes an Interval, not a string value")]);
}

#[test]
fn documents_take_values() {
    takes(
        &Type::Json,
        &[
            ("'text'", "\"text\""),
            (
                "{ b: 1, a: [2n ** 64n, new tarn.Decimal('1.50'), null, undefined], u: undefined }",
                "{\"b\":1,\"a\":[18446744073709551616,1.50,null,null]}",
            ),
            ("tarn.json.raw('{\"x\": 1.10}')", "{\"x\": 1.10}"),
            ("tarn.json.raw('null')", "null"),
            ("[new Date(0), tarn.Time.from('2024-02-29')]", "[\"1970-01-01T00:00:00.000Z\",\"2024-02-29\"]"),
            ("{ toJSON() { return 5 } }", "5"),
            ("null", "~"),
        ],
    );
    refuses(
        &Type::Json,
        &[
            ("undefined", "takes JSON: undefined has no JSON form"),
            ("() => 1", "takes JSON, not a function value"),
            ("new Map()", "takes JSON, not a collection value"),
            (
                "[NaN]",
                "takes JSON: NaN and infinities have no JSON form: the option nan: \"null\" or \"text\" gives them one",
            ),
            ("tarn.json.raw('{')", "takes JSON: what tarn.json.raw was given is not JSON"),
            ("tarn.msgpack.bin('x')", "takes JSON: what a function of tarn.msgpack marked has no JSON form"),
        ],
    );
    assert_eq!(
        after("const a = []; a[0] = a; r.row.v = a", &Type::Json),
        Err("takes JSON: the value is nested too deeply for JSON".to_owned())
    );
}

#[test]
fn arrays_take_arrays_of_one_shape() {
    takes(
        &Type::Int4.array(),
        &[
            ("[]", "{}"),
            ("[1, null, '3']", "{1,NULL,3}"),
            ("[[1, 2], [3, 4]]", "{{1,2},{3,4}}"),
            ("[undefined]", "{NULL}"),
        ],
    );
    refuses(
        &Type::Int4.array(),
        &[
            ("5", "takes an array, not a number value"),
            ("{ 0: 1, length: 1 }", "takes an array, not an object value"),
            ("[[1], [2, 3]]", "takes arrays whose rows have one length"),
            ("[[1], 2]", "takes arrays whose rows have one length"),
            ("[{}]", "cannot hold an element of this array"),
            ("[1.5]", INEXACT),
            ("(() => { const a = [1]; a[4e9] = 1; return a })()", TOO_MUCH),
        ],
    );
    refuses(&Type::Text.array(), &[("new Array(100).fill('x'.repeat(1e6))", TOO_MUCH)]);
    takes(&Type::Json.array(), &[("[1, { a: [2] }, 'x']", "{1,\"{\\\"a\\\":[2]}\",\"\\\"x\\\"\"}")]);
}

#[test]
fn a_refused_value_changes_nothing() {
    assert_eq!(
        after("try { r.row.v = 1.5 } catch {} try { r.row.v = {} } catch {}", &Type::Int4),
        Ok("2147483647".to_owned())
    );
}
