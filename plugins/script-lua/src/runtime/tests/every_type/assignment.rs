//! What a column takes, and what it refuses.

use tarn_batch::Type;

use tarn_script::fixture::numeric;

use super::assigned;

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
                ("-3", "-3"),
                ("7.0", "7"),
                ("'42'", "42"),
                ("1e3", "1000"),
                ("peerdb.Decimal('9.00')", "9"),
            ],
        );
    }
    takes(&Type::Int8, &[("'9223372036854775807'", "9223372036854775807"), ("v - 1", "342161316540874752")]);
    refuses(&Type::Int8, &[("1.5", INEXACT), ("0/0", INEXACT), ("1/0", INEXACT), ("2^63", OUT_OF_RANGE)]);
    refuses(
        &Type::Int8,
        &[
            ("'9223372036854775808'", OUT_OF_RANGE),
            ("peerdb.unix_epoch", "takes a whole number, not a Time value"),
        ],
    );
    refuses(&Type::Int2, &[("40000", OUT_OF_RANGE)]);
    refuses(
        &Type::Int4,
        &[
            ("-2147483649", OUT_OF_RANGE),
            ("peerdb.Decimal('0.5')", INEXACT),
            ("true", "takes a whole number, not a boolean value"),
            ("''", NO_NUMBER),
        ],
    );
}

#[test]
fn decimals_keep_their_scale_and_lose_no_digit() {
    takes(
        &numeric(10, 2),
        &[
            ("5", "5.00"),
            ("'1.5'", "1.50"),
            ("v + 1", "11.20"),
            ("v * '0.5'", "5.10"),
            ("v / 3", "3.40"),
            ("v.float64", "10.20"),
            ("-v", "-10.20"),
            ("(v / 7):round(2)", "1.46"),
            ("0/0", "NaN"),
        ],
    );
    takes(
        &numeric(0, 0),
        &[("0.1", "0.1"), ("1e300", &format!("1{}", "0".repeat(300))), ("-1/0", "-Infinity")],
    );
    takes(&numeric(3, -2), &[("12300", "12300"), ("0", "0")]);
    refuses(
        &numeric(10, 2),
        &[
            ("1.005", "holds 2 digits after the point: round the number first"),
            ("v / 7", "holds 2 digits after the point: round the number first"),
            ("123456789", "holds 10 digits: the number has more"),
            ("1/0", "holds 10 digits: the number has more"),
            ("'x'", NO_NUMBER),
            ("{}", "takes a number, not a table value"),
        ],
    );
    refuses(&numeric(3, -2), &[("12345", "holds -2 digits after the point: round the number first")]);
}

#[test]
fn floats_take_numbers_that_they_can_hold() {
    takes(
        &Type::Float8,
        &[
            ("1", "1"),
            ("0.1", "0.1"),
            ("peerdb.Decimal('0.1')", "0.1"),
            ("'2.5'", "2.5"),
            ("-1/0", "-Infinity"),
        ],
    );
    takes(&Type::Float4, &[("0.1", "0.1"), ("16777216", "1.6777216e+07")]);
    refuses(
        &Type::Float8,
        &[
            ("9007199254740993", INEXACT),
            ("peerdb.Decimal('0.12345678901234567890')", INEXACT),
            ("false", "takes a number, not a boolean value"),
        ],
    );
    refuses(&Type::Float4, &[("16777217", INEXACT), ("1e300", OUT_OF_RANGE)]);
}

#[test]
fn text_takes_what_has_one_text() {
    takes(
        &Type::Text,
        &[
            ("'a'", "a"),
            ("5", "5"),
            ("0.1", "0.1"),
            ("peerdb.Decimal('1.50')", "1.50"),
            ("peerdb.Time('2024-02-29')", "2024-02-29"),
            ("peerdb.Now()", "1970-01-01 01:30:00+00"),
            ("peerdb.Interval(1, 2, 3000000)", "1 mon 2 days 00:00:03"),
            ("peerdb.UUID('00010203-0405-0607-0809-0A0B0C0D0E0F')", "00010203-0405-0607-0809-0a0b0c0d0e0f"),
        ],
    );
    refuses(
        &Type::Text,
        &[
            ("'\\255'", "takes text, and these bytes are not UTF-8"),
            ("true", "takes text, not a boolean value"),
            ("r", "takes text, not a row value"),
        ],
    );
    takes(&Type::Bytes, &[("'\\255'", "\\xff")]);
    refuses(&Type::Bytes, &[("5", "takes a string of bytes, not an integer value")]);
    takes(&Type::Enum, &[("'sad'", "sad")]);
    refuses(&Type::Enum, &[("5", "takes a label as a string, not an integer value")]);
    takes(&Type::Bool, &[("not v", "f")]);
    refuses(&Type::Bool, &[("1", "takes true or false, not an integer value")]);
}

#[test]
fn times_take_times_and_their_text() {
    takes(
        &Type::Date,
        &[
            ("'2024-02-29'", "2024-02-29"),
            ("'0044-03-15 BC'", "0044-03-15 BC"),
            ("'infinity'", "infinity"),
            ("peerdb.unix_epoch", "1970-01-01"),
        ],
    );
    takes(&Type::Time, &[("'24:00:00'", "24:00:00"), ("'12:00'", "12:00:00")]);
    takes(&Type::TimeTz, &[("'12:00:00.5+05:30'", "12:00:00.5+05:30")]);
    takes(
        &Type::Timestamp,
        &[
            ("'2024-02-29 12:00:00.123456'", "2024-02-29 12:00:00.123456"),
            ("peerdb.Now()", "1970-01-01 01:30:00"),
            ("peerdb.Time('2024-02-29')", "2024-02-29 00:00:00"),
        ],
    );
    takes(
        &Type::TimestampTz,
        &[
            ("'2024-02-29T12:00:00Z'", "2024-02-29 12:00:00+00"),
            ("'2024-02-29 12:00:00-08'", "2024-02-29 20:00:00+00"),
            ("tostring(v)", "1969-12-31 23:59:59.999999+00"),
            ("'-infinity'", "-infinity"),
            ("peerdb.Time(0.5)", "1970-01-01 00:00:00.5+00"),
            ("1700000000", "2023-11-14 22:13:20+00"),
            ("1700000000.25", "2023-11-14 22:13:20.25+00"),
        ],
    );
    takes(&Type::Interval, &[("peerdb.Interval(1)", "1 mon")]);
    takes(&Type::Date, &[("86400", "1970-01-02")]);
    takes(&Type::Time, &[("3723.5", "01:02:03.5")]);
    takes(&Type::TimeTz, &[("60", "00:01:00+00")]);
    refuses(&Type::Date, &[("1", "takes a date, and this number of seconds is none")]);
    refuses(&Type::Time, &[("-1", "takes a time of day, and this number of seconds is none")]);
    refuses(
        &Type::Date,
        &[
            ("'2023-02-29'", "takes a date, and this string is none"),
            ("peerdb.Now()", "takes a date, not a Time value"),
        ],
    );
    refuses(&Type::Time, &[("peerdb.Now()", "takes a time of day, not a Time value")]);
    refuses(
        &Type::Timestamp,
        &[("'2024-01-01 00:00:00.1234567'", "takes a timestamp, and this string is none")],
    );
    refuses(
        &Type::TimestampTz,
        &[
            ("'2024-01-01 00:00:00'", "takes a timestamp with its zone, and this string is none"),
            ("1e300", "takes a timestamp with its zone, and this number of seconds is none"),
            ("true", "takes a timestamp with its zone, not a boolean value"),
        ],
    );
    refuses(&Type::Interval, &[("'1 day'", "takes an Interval, not a string value")]);
}

#[test]
fn arrays_take_tables_of_one_shape() {
    takes(
        &Type::Int4.array(),
        &[
            ("{1, 2, 3}", "{1,2,3}"),
            ("{{1}, {2}}", "{{1},{2}}"),
            ("{}", "{}"),
            ("{n = 3, [2] = 5}", "{NULL,5,NULL}"),
        ],
    );
    refuses(
        &Type::Int4.array(),
        &[
            ("{{1}, {2, 3}}", "takes arrays whose rows have one length"),
            ("{1, {2}}", "cannot hold an element of this array"),
            ("{1, 1 << 40}", OUT_OF_RANGE),
            ("5", "takes a table of elements, not an integer value"),
            ("{n = 4000000000, [2] = 5}", TOO_MUCH),
        ],
    );
    const KEYS: &str = "takes a table of the items 1 to its length and nothing else: where there are nulls, a field \
                        n is the length";
    refuses(
        &Type::Int4.array(),
        &[
            ("{x = 1}", KEYS),
            ("{1, 2, x = 3}", KEYS),
            ("{[1] = 1, [3] = 3}", KEYS),
            ("{[2] = 2}", KEYS),
            ("{[0] = 1, 2}", KEYS),
            ("{1, 2, 3, n = 2}", KEYS),
            ("{1, 2, n = 2.5}", KEYS),
            ("{1, 2, n = 'x'}", KEYS),
            ("{{1, x = 2}, {3}}", KEYS),
            ("(function() local t = {1, 2, 3} t[7] = 5 return t end)()", KEYS),
        ],
    );
    takes(&Type::Int4.array(), &[("{1, 2, n = 2.0}", "{1,2}"), ("{1, nil, 3}", "{1,NULL,3}")]);
    let long =
        "(function() local s, t = ('x'):rep(1000000), {} for i = 1, 100 do t[i] = s end return t end)()";
    refuses(&Type::Text.array(), &[(long, TOO_MUCH)]);
}

#[test]
fn arrays_of_json_take_text_and_objects() {
    takes(
        &Type::Json.array(),
        &[
            ("{'1', '[2]'}", "{1,[2]}"),
            ("{{'1'}, {'2'}}", "{{1},{2}}"),
            ("{{a = 1}, {b = {2}}}", "{\"{\\\"a\\\":1}\",\"{\\\"b\\\":[2]}\"}"),
        ],
    );
}

#[test]
fn uuids_take_their_text() {
    takes(&Type::Uuid, &[("'{ffffffffffffffffffffffffffffffff}'", "ffffffff-ffff-ffff-ffff-ffffffffffff")]);
    refuses(
        &Type::Uuid,
        &[
            ("'ffff'", "takes the text of a UUID, and this string is none"),
            ("5", "takes a UUID, not an integer value"),
        ],
    );
}

#[test]
fn json_columns_take_json_and_values() {
    takes(
        &Type::Json,
        &[
            ("'{\"a\": 1}'", "{\"a\": 1}"),
            ("{b = {1, 2}, a = 'x'}", "{\"a\":\"x\",\"b\":[1,2]}"),
            ("5", "5"),
            ("true", "true"),
            ("json.encode(json.decode('{\"id\":9007199254740993}'))", "{\"id\":9007199254740993}"),
        ],
    );
    refuses(
        &Type::Json,
        &[
            ("'nope'", "takes JSON text, and this string is none"),
            ("print", "takes JSON, not a function value"),
            ("{1, a = 1}", "takes JSON: a table with both items and fields has no JSON form"),
            (
                "setmetatable({}, {__json = function() return 1 end})",
                "takes JSON: a table with __json cannot be used here: json.encode it first",
            ),
        ],
    );
}
