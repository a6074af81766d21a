use proptest::prelude::*;
use tarn_batch::Type;
use tarn_batch::text::write_text;
use tarn_batch::value::{ArrayReader, read_bool, read_i64, read_interval, read_time_tz};

use super::{Decoder, ValueError};

fn decoder(data_type: &Type) -> Decoder {
    match data_type {
        Type::Array(element) => Decoder::Array { element: Box::new(decoder(element)), delimiter: b',' },
        scalar => Decoder::scalar(scalar),
    }
}

fn value(data_type: &Type, text: &str) -> Result<Vec<u8>, ValueError> {
    let mut out = Vec::new();
    decoder(data_type).write(text.as_bytes(), &mut out).map(|()| out)
}

/// The text that the batch says the value of a text is.
fn back(data_type: &Type, text: &str) -> String {
    let value = value(data_type, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut back = String::new();
    write_text(data_type, &value, &mut back).expect("a value in the form of its type");
    back
}

#[track_caller]
fn stays(data_type: &Type, texts: &[&str]) {
    for text in texts {
        assert_eq!(back(data_type, text), *text, "{data_type:?}");
    }
}

#[track_caller]
fn refused(data_type: &Type, texts: &[&str]) {
    for text in texts {
        assert!(value(data_type, text).is_err(), "{text} as {data_type:?}");
    }
}

const NUMERIC: Type = Type::Numeric { precision: 0, scale: 0 };

#[test]
fn integers_are_exact_to_their_limits() {
    // B046: no digit passes through a float.
    stays(&Type::Int8, &["9007199254740993", "-9223372036854775808", "9223372036854775807", "0"]);
    stays(&Type::Int4, &["-2147483648", "2147483647"]);
    stays(&Type::Int2, &["-32768", "32767"]);
    stays(&Type::Int8, &["999999999999999999", "1000000000000000000", "-1000000000000000000"]);
    refused(
        &Type::Int8,
        &[
            "99999999999999999999",
            "00000000000000000000x",
            "9223372036854775808",
            "-9223372036854775809",
            "",
            "-",
            "1.0",
            "1e3",
            " 1",
            "+1",
        ],
    );
    refused(&Type::Int4, &["2147483648"]);
    refused(&Type::Int2, &["32768"]);
}

#[test]
fn numerics_keep_every_digit_and_their_scale() {
    // B004, B031, B035, B055, B058, B059.
    let digits = "9".repeat(1000);
    stays(&NUMERIC, &["0.0012000", "0", "0.000", "10000000000000000000000000", "67806780999999999997777"]);
    stays(&NUMERIC, &["NaN", "Infinity", "-Infinity", "-1.50", &digits, &format!("0.{digits}")]);
    assert_eq!(back(&NUMERIC, "-0"), "0");
    assert_eq!(back(&NUMERIC, "-0.000"), "0.000");
    refused(&NUMERIC, &["", "1e5", "0x1F", "1_000", "--1", "."]);
}

#[test]
fn floats_are_the_numbers_the_server_holds() {
    // B055.
    stays(&Type::Float8, &["NaN", "Infinity", "-Infinity", "0.30000000000000004"]);
    for text in ["5e-324", "1.7976931348623157e+308", "-0", "0.1"] {
        let bytes = value(&Type::Float8, text).expect("a number");
        let number: f64 = text.parse().expect("a number");
        assert_eq!(bytes, number.to_le_bytes(), "{text}");
    }
    let bytes = value(&Type::Float4, "3.4028235e+38").expect("a number");
    assert_eq!(bytes, f32::MAX.to_le_bytes());
    refused(&Type::Float8, &["", "1,5", "abc"]);
}

#[test]
fn booleans_are_one_letter() {
    assert_eq!(read_bool(&value(&Type::Bool, "t").expect("true")), Ok(true));
    assert_eq!(read_bool(&value(&Type::Bool, "f").expect("false")), Ok(false));
    refused(&Type::Bool, &["", "true", "1"]);
}

#[test]
fn dates_before_christ_and_at_infinity_are_their_own() {
    // B011, B029, B034.
    stays(&Type::Date, &["2026-03-04", "0001-01-01", "0002-11-30 BC", "1991-02-10 BC", "1991-02-10"]);
    stays(
        &Type::Date,
        &["4714-11-24 BC", "5874897-12-31", "infinity", "-infinity", "2000-02-29", "0001-02-29 BC"],
    );
    assert_ne!(value(&Type::Date, "1991-02-10 BC"), value(&Type::Date, "1991-02-10"));
    refused(
        &Type::Date,
        &["", "2026-02-30", "2026-13-01", "0000-01-01", "26-03-04", "2026-03-04 AD", "2026-3-4"],
    );
}

#[test]
fn timestamps_keep_microseconds_eras_and_infinity() {
    // B010, B011, B028, B056, B062.
    let texts = [
        "2026-03-04 05:06:07.123456",
        "1969-12-31 23:59:59.9",
        "0002-11-30 00:00:00 BC",
        "infinity",
        "-infinity",
    ];
    stays(&Type::Timestamp, &texts);
    stays(&Type::Timestamp, &["4714-11-24 00:00:00 BC", "99999-12-31 23:59:59.999999"]);
    stays(
        &Type::TimestampTz,
        &["2026-03-04 05:06:07+00", "0044-03-15 00:00:00+00 BC", "infinity", "-infinity"],
    );
    assert_eq!(read_i64(&value(&Type::Timestamp, "1970-01-01 00:00:00.000001").expect("a time")), Ok(1));
    assert_eq!(
        value(&Type::TimestampTz, "2026-03-04 10:36:07+05:30"),
        value(&Type::TimestampTz, "2026-03-04 05:06:07+00")
    );
    refused(
        &Type::Timestamp,
        &["", "2026-03-04", "2026-03-04 25:00:00", "2026-03-04 05:06:07+00", "2026-03-04T05:06:07"],
    );
    refused(&Type::TimestampTz, &["2026-03-04 05:06:07", "2026-03-04 05:06:07 UTC"]);
}

#[test]
fn a_timestamp_beyond_the_range_is_an_error_and_never_another_time() {
    assert_eq!(
        value(&Type::Timestamp, "294276-12-31 23:59:59.999999"),
        Err(ValueError::OutOfRange("timestamp"))
    );
    assert_eq!(
        value(&Type::Timestamp, "294247-01-10 04:00:54.775807"),
        Err(ValueError::OutOfRange("timestamp"))
    );
    stays(&Type::Timestamp, &["294247-01-10 04:00:54.775806"]);
}

#[test]
fn times_reach_24_o_clock() {
    // B013, B038, B062.
    stays(&Type::Time, &["00:00:00", "23:59:59.999999", "24:00:00"]);
    stays(&Type::TimeTz, &["24:00:00+00", "12:00:00+05:30", "23:59:59.000001-15:59:59"]);
    let noon = read_time_tz(&value(&Type::TimeTz, "12:00:00-05:30").expect("a time")).expect("a time");
    assert_eq!((noon.micros, noon.offset), (43_200_000_000, -19_800));
    stays(&Type::TimeTz.array(), &["{24:00:00+00,NULL}"]);
    refused(&Type::Time, &["24:00:01", "12:60:00", "12:00", "12:00:00.1234567", "12:00:00."]);
    refused(&Type::TimeTz, &["12:00:00", "12:00:00+5"]);
}

#[test]
fn intervals_keep_months_days_and_microseconds_apart() {
    // B052.
    let read = |text| read_interval(&value(&Type::Interval, text).expect(text)).expect(text);
    for (text, months, days, micros) in [
        ("1 day 00:00:00.123456", 0, 1, 123_456),
        ("1 year 2 mons -3 days +04:05:06.789", 14, -3, 14_706_789_000),
        ("-1 years -2 mons", -14, 0, 0),
        ("1 mon", 1, 0, 0),
        ("-00:00:01", 0, 0, -1_000_000),
        ("00:00:00", 0, 0, 0),
        ("100000:00:00.000001", 0, 0, 360_000_000_000_001),
        ("-2562047788:00:54.775808", 0, 0, i64::MIN),
        ("-178956970 years -8 mons -2147483648 days", i32::MIN, i32::MIN, 0),
        ("infinity", i32::MAX, i32::MAX, i64::MAX),
        ("-infinity", i32::MIN, i32::MIN, i64::MIN),
    ] {
        let interval = read(text);
        assert_eq!((interval.months, interval.days, interval.micros), (months, days, micros), "{text}");
    }
    refused(
        &Type::Interval,
        &["", "P1D", "1", "1 day ago", "1 day 2", "1 fortnight", "00:00", "00:00:00 1 day"],
    );
}

#[test]
fn empty_text_is_a_value_of_its_own() {
    // B043: the caller tells NULL apart.
    assert_eq!(value(&Type::Text, ""), Ok(Vec::new()));
    assert_eq!(value(&Type::Bytes, "\\x"), Ok(Vec::new()));
    stays(&Type::Text.array(), &[r#"{""}"#, r#"{"","NULL",NULL}"#]);
}

#[test]
fn text_stays_as_the_server_says_it() {
    // B014, B025, B041, B047, B049, B050, B053, B064, B065, B067, B176.
    for text in [
        "$1,000.00",
        "[\"2026-03-04 00:00:00+00\",)",
        "(2,3),(1,2)",
        "'it''s' 'test':2",
        r#""a"=>NULL, "k\"q"=>"v""#,
        "{}/5",
        "padded    ",
        "名前 café 😀",
        "\\N",
    ] {
        stays(&Type::Other, &[text]);
        stays(&Type::Text, &[text]);
    }
    stays(&Type::Json, &[r#"{"id": 9007199254740993, "x": "\\a\\b\\ufoobar"}"#, "null"]);
    stays(&Type::Enum, &["it's a \"mood\""]);
}

#[test]
fn bytes_that_are_not_utf8_are_refused_by_name() {
    // B044: an old database lets them in; replacing them would be a wrong value.
    let mut out = Vec::new();
    assert_eq!(Decoder::Text.write(b"caf\xe9", &mut out), Err(ValueError::NotUtf8));
}

#[test]
fn bytes_and_uuids_are_read_from_their_digits() {
    assert_eq!(value(&Type::Bytes, "\\x00ffAb"), Ok(vec![0, 255, 0xab]));
    refused(&Type::Bytes, &["", "00", "\\x0", "\\xzz", "\\000"]);
    stays(&Type::Uuid, &["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]);
    refused(&Type::Uuid, &["", "a0eebc999c0b4ef8bb6d6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1g"]);
    refused(&Type::Uuid, &["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1", "a0eebc9--9c0b-4ef8-bb6d-6bb9bd380a11"]);
}

#[test]
fn arrays_keep_nulls_and_nesting_and_drop_only_their_bounds() {
    // B001, B002, B008, B032, B037.
    let ints = Type::Int8.array();
    assert_eq!(back(&ints, "[0:1]={7,8}"), "{7,8}");
    assert_eq!(back(&ints, "[0:0]={NULL}"), "{NULL}");
    assert_eq!(back(&ints, "[-5:-4][2:3]={{1,2},{3,4}}"), "{{1,2},{3,4}}");
    stays(&ints, &["{}", "{1,NULL,3}", "{{1,2,3},{4,5,6}}", "{{{1},{2}},{{3},{4}}}"]);
    stays(
        &Type::Text.array(),
        &["{{NULL},{NULL}}", r#"{a,"b c","d\"e","f\\g","{h}","i,j","NULL","null",NULL}"#],
    );
    stays(&Type::Text.array(), &["{名前,\"caf é\"}"]);
    let nested = value(&Type::Text.array(), "{{NULL},{NULL}}").expect("an array");
    let reader = ArrayReader::new(&nested).expect("an array");
    assert_eq!(reader.dimensions().collect::<Vec<_>>(), [2, 1]);
    assert!(reader.elements().all(|element| element == Ok(None)));
}

#[test]
fn elements_are_decoded_as_their_own_type() {
    // B023, B061.
    stays(&Type::Timestamp.array(), &[r#"{"2026-03-04 05:06:07.123456",infinity}"#]);
    stays(&Type::Date.array(), &[r#"{2026-03-04,"1991-02-10 BC"}"#]);
    stays(&Type::Enum.array(), &["{happy,\"very sad\"}"]);
    stays(&Type::Bytes.array(), &[r#"{"\\x00ff"}"#]);
    stays(&Type::Json.array(), &[r#"{"{\"a\": 1}"}"#]);
    stays(&NUMERIC.array(), &["{1.50,NaN,NULL}"]);
    stays(&Type::Bool.array(), &["{t,f}"]);
    stays(&Type::Interval.array(), &[r#"{"1 day 00:00:01"}"#]);
    refused(&Type::Int4.array(), &["{1,x}", "{2147483648}"]);
}

#[test]
fn boxes_are_separated_by_semicolons() {
    // B053.
    let boxes = Decoder::Array { element: Box::new(Decoder::Text), delimiter: b';' };
    let mut out = Vec::new();
    boxes.write(b"{(2,3),(1,2);(4,5),(3,4)}", &mut out).expect("an array");
    let elements: Vec<_> = ArrayReader::new(&out).expect("an array").elements().collect();
    assert_eq!(elements, [Ok(Some(&b"(2,3),(1,2)"[..])), Ok(Some(&b"(4,5),(3,4)"[..]))]);
}

#[test]
fn a_damaged_array_is_an_error() {
    let damaged = [
        "",
        "1",
        "{",
        "}",
        "{1",
        "{1,",
        "{1,}",
        "{,1}",
        "{1}x",
        "{{1},{2,3}}",
        "{{1},2}",
        "{1,{2}}",
        "[0:1]",
        "[0:1]{1}",
        "{{}}",
        "{{{{{{{1}}}}}}}",
        "{\"1}",
        "{1}}",
        "{\"1\"2}",
        "{{1}{2}}",
    ];
    refused(&Type::Int4.array(), &damaged);
}

/// An array of texts as the server writes it.
fn array_text(elements: &[Option<String>]) -> String {
    let written: Vec<String> = elements
        .iter()
        .map(|element| match element {
            None => "NULL".to_owned(),
            Some(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
        })
        .collect();
    format!("{{{}}}", written.join(","))
}

proptest! {
    #[test]
    fn no_text_makes_a_decoder_panic(text: Vec<u8>, like in "[-+{}\\[\\]\"\\\\,:=. 0-9a-zBC]{0,30}") {
        let scalars = [
            Type::Bool, Type::Int2, Type::Int4, Type::Int8, Type::Float4, Type::Float8, NUMERIC, Type::Text,
            Type::Bytes, Type::Date, Type::Time, Type::TimeTz, Type::Timestamp, Type::TimestampTz,
            Type::Interval, Type::Uuid, Type::Json, Type::Enum, Type::Other,
        ];
        for scalar in scalars {
            for data_type in [scalar.clone(), scalar.array()] {
                for text in [&text[..], like.as_bytes()] {
                    let mut out = Vec::new();
                    if decoder(&data_type).write(text, &mut out).is_ok() {
                        // What was taken is a value of the type.
                        write_text(&data_type, &out, &mut String::new()).expect("a value");
                    }
                }
            }
        }
    }

    #[test]
    fn arrays_of_any_texts_come_back(elements in prop::collection::vec(prop::option::of(".*"), 1..10)) {
        let value = value(&Type::Text.array(), &array_text(&elements)).expect("an array");
        let read: Vec<Option<String>> = ArrayReader::new(&value)
            .expect("an array")
            .elements()
            .map(|element| element.expect("an element").map(|text| String::from_utf8_lossy(text).into_owned()))
            .collect();
        prop_assert_eq!(read, elements);
    }

    #[test]
    fn every_instant_comes_back(micros in -210_863_520_000_000_000_i64..9_223_371_331_200_000_000) {
        let mut text = String::new();
        write_text(&Type::TimestampTz, &micros.to_le_bytes(), &mut text).expect("a timestamp");
        prop_assert_eq!(value(&Type::TimestampTz, &text), Ok(micros.to_le_bytes().to_vec()));
    }
}
