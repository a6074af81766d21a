//! Values in PostgreSQL's text: what public bugs of tools of this kind got wrong, and what is right.
#![expect(clippy::unwrap_used, reason = "a test says what broke by panicking")]

use tarn_batch::calendar::{Civil, Clock, DAY_US, join_micros, split_micros};
use tarn_batch::text::write_text;
use tarn_batch::value::{
    ArrayReader, ArrayWriter, Interval, TimeTz, is_canonical_numeric, read_bool, read_i64, write_interval,
    write_numeric, write_time_tz,
};
use tarn_batch::{DecodeError, Type};

fn text(data_type: &Type, value: &[u8]) -> String {
    let mut out = String::new();
    write_text(data_type, value, &mut out).unwrap();
    out
}

fn numeric(text: &str) -> Result<String, DecodeError> {
    let mut out = Vec::new();
    write_numeric(&mut out, text)?;
    assert!(is_canonical_numeric(&out), "{text} is written as something else than a numeric");
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn dates_before_christ_keep_their_era() {
    // B011, B029.
    let days = |year, month, day| i32::try_from(Civil::new(year, month, day).unwrap().to_days()).unwrap();
    let date = |year, month, day| text(&Type::Date, &days(year, month, day).to_le_bytes());
    assert_eq!(date(1970, 1, 1), "1970-01-01");
    assert_eq!(date(-1, 11, 30), "0002-11-30 BC");
    assert_eq!(date(0, 2, 29), "0001-02-29 BC");
    assert_eq!(date(-1990, 2, 10), "1991-02-10 BC");
    assert_eq!(date(1991, 2, 10), "1991-02-10");
    assert_eq!(date(-4712, 1, 1), "4713-01-01 BC");
    assert_eq!(date(5_874_897, 12, 31), "5874897-12-31");
    let micros = join_micros(Civil::new(-1, 11, 30).unwrap(), Clock::new(0, 0, 0, 0).unwrap()).unwrap();
    assert_eq!(text(&Type::Timestamp, &micros.to_le_bytes()), "0002-11-30 00:00:00 BC");
    assert_eq!(text(&Type::TimestampTz, &micros.to_le_bytes()), "0002-11-30 00:00:00+00 BC");
}

#[test]
fn the_first_and_the_last_moment_have_no_neighbour_beyond() {
    for micros in [i64::MIN, i64::MIN + 1, i64::MIN + DAY_US, -1, 0, i64::MAX - DAY_US, i64::MAX] {
        let (date, clock) = split_micros(micros);
        assert_eq!(join_micros(date, clock), Some(micros));
    }
    let (date, clock) = split_micros(i64::MAX);
    assert_eq!(join_micros(date, Clock { micros: clock.micros + 1, ..clock }), None);
    let (date, clock) = split_micros(i64::MIN);
    assert_eq!(join_micros(date, Clock { micros: clock.micros - 1, ..clock }), None);
    let midnight = Clock::from_micros(0).unwrap();
    for year in [i64::MIN, -300_000, 300_000, i64::MAX] {
        assert_eq!(join_micros(Civil { year, month: 6, day: 1 }, midnight), None);
    }
}

#[test]
fn infinity_is_no_date() {
    // B010, B028, B034, B056.
    for (value, said) in [(i32::MAX, "infinity"), (i32::MIN, "-infinity")] {
        assert_eq!(text(&Type::Date, &value.to_le_bytes()), said);
    }
    for data_type in [Type::Timestamp, Type::TimestampTz] {
        for (value, said) in [(i64::MAX, "infinity"), (i64::MIN, "-infinity")] {
            assert_eq!(text(&data_type, &value.to_le_bytes()), said);
        }
    }
    assert_eq!(text(&Type::Timestamp, &(i64::MAX - 1).to_le_bytes()), "294247-01-10 04:00:54.775806");
    assert_eq!(text(&Type::Timestamp, &(i64::MIN + 1).to_le_bytes()), "290309-12-21 19:59:05.224193 BC");
}

#[test]
fn the_end_of_the_day_is_not_its_beginning() {
    // B013, B038, B062.
    let time = |micros: i64| text(&Type::Time, &micros.to_le_bytes());
    assert_eq!(time(0), "00:00:00");
    assert_eq!(time(86_400_000_000), "24:00:00");
    assert_eq!(time(86_399_999_999), "23:59:59.999999");
    assert_eq!(time(43_200_120_000), "12:00:00.12");
    let zoned = |micros, offset| {
        let mut value = Vec::new();
        write_time_tz(&mut value, TimeTz { micros, offset });
        text(&Type::TimeTz, &value)
    };
    assert_eq!(zoned(86_400_000_000, 0), "24:00:00+00");
    assert_eq!(zoned(43_200_000_000, 19_800), "12:00:00+05:30");
    assert_eq!(zoned(0, -43_200 - 60 - 1), "00:00:00-12:01:01");
    for outside in [-1_i64, 86_400_000_001, i64::MAX, i64::MIN] {
        let mut out = String::new();
        assert!(write_text(&Type::Time, &outside.to_le_bytes(), &mut out).is_err());
    }
}

#[test]
fn every_day_has_one_date() {
    let mut date = Civil::new(-401, 12, 31).unwrap();
    let first = date.to_days();
    for days in first..first + 2 * 146_097 {
        assert_eq!(Civil::from_days(days), date);
        assert_eq!(date.to_days(), days);
        date = Civil::new(date.year, date.month, date.day + 1)
            .or_else(|| Civil::new(date.year, date.month + 1, 1))
            .or_else(|| Civil::new(date.year + 1, 1, 1))
            .unwrap();
    }
    assert!(Civil::new(1900, 2, 29).is_none());
    assert!(Civil::new(2000, 2, 29).is_some());
    assert!(Civil::new(2001, 13, 1).is_none());
    assert!(Clock::new(24, 0, 0, 1).is_none());
    assert_eq!(
        split_micros(-1),
        (Civil::new(1969, 12, 31).unwrap(), Clock::new(23, 59, 59, 999_999).unwrap())
    );
    // Extremes of the public functions hold, too.
    let _ = (Civil::from_days(i64::MAX).to_days(), Civil::from_days(i64::MIN).to_days());
    let _ = (
        Civil { year: i64::MIN, month: 1, day: 1 }.to_days(),
        Civil { year: i64::MAX, month: 12, day: 1 }.to_days(),
    );
}

#[test]
fn numerics_have_one_form_and_keep_their_scale() {
    // B004, B031, B035, B058.
    for (given, kept) in [
        ("0.0012000", "0.0012000"),
        ("-0", "0"),
        ("-0.000", "0.000"),
        ("+1", "1"),
        ("007.50", "7.50"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("5.", "5"),
        ("-0.01", "-0.01"),
        ("10000000000000000000000000", "10000000000000000000000000"),
        ("67806780999999999997777", "67806780999999999997777"),
        ("nan", "NaN"),
        ("Infinity", "Infinity"),
        ("-inf", "-Infinity"),
    ] {
        assert_eq!(numeric(given).unwrap(), kept, "{given}");
    }
    for refused in ["", "-", ".", "1e5", "0x10", "1,5", "--1", "1.2.3", " 1", "١", "-nan", "infinit"] {
        assert!(numeric(refused).is_err(), "{refused}");
    }
    for other_form in ["-0", "01", "1.", ".1", "-0.0", "", "+1", "nan", "-NaN", "1e5"] {
        assert!(!is_canonical_numeric(other_form.as_bytes()), "{other_form}");
    }
}

#[test]
fn floats_say_the_shortest_digits_that_read_back() {
    for (value, said) in [
        (0.0, "0"),
        (-0.0, "-0"),
        (0.1, "0.1"),
        (1e14, "100000000000000"),
        (123_456_789_012_345.0, "123456789012345"),
        (1e15, "1e+15"),
        (1.234e20, "1.234e+20"),
        (0.0001, "0.0001"),
        (0.000_012_3, "1.23e-05"),
        (1e-7, "1e-07"),
        (-1.5e300, "-1.5e+300"),
        (5e-324, "5e-324"),
        (1e22, "1e+22"),
        // Exactly between two doubles, and as near to one candidate as to another.
        (1e23, "9.999999999999999e+22"),
        (-19_851_637_213_241_368.0, "-1.9851637213241368e+16"),
        (1_291_414_765_743_705.3, "1.2914147657437052e+15"),
        (f64::MAX, "1.7976931348623157e+308"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "Infinity"),
        (f64::NEG_INFINITY, "-Infinity"),
    ] {
        assert_eq!(text(&Type::Float8, &value.to_le_bytes()), said);
    }
    for (value, said) in [
        (0.1_f32, "0.1"),
        (123_456.0, "123456"),
        (1_234_567.0, "1.234567e+06"),
        (1e6, "1e+06"),
        (1e-5, "1e-05"),
    ] {
        assert_eq!(text(&Type::Float4, &value.to_le_bytes()), said);
    }
}

#[test]
fn intervals_keep_every_part_and_microsecond() {
    // B052.
    let interval = |months, days, micros| {
        let mut value = Vec::new();
        write_interval(&mut value, Interval { months, days, micros });
        text(&Type::Interval, &value)
    };
    assert_eq!(interval(0, 0, 0), "00:00:00");
    assert_eq!(interval(0, 1, 123_456), "1 day 00:00:00.123456");
    assert_eq!(interval(14, 3, 14_706_789_000), "1 year 2 mons 3 days 04:05:06.789");
    assert_eq!(interval(-13, 2, -1_000_000), "-1 years -1 mons +2 days -00:00:01");
    assert_eq!(interval(0, -1, 1), "-1 days +00:00:00.000001");
    assert_eq!(interval(1, 0, 0), "1 mon");
    assert_eq!(interval(0, 0, 360_000_000_000), "100:00:00");
    assert_eq!(interval(i32::MAX, i32::MAX, i64::MAX), "infinity");
    assert_eq!(interval(i32::MIN, i32::MIN, i64::MIN), "-infinity");
    assert_eq!(interval(i32::MIN, 0, i64::MIN), "-178956970 years -8 mons -2562047788:00:54.775808");
}

#[test]
fn text_and_json_stay_as_they_are() {
    // B041, B043, B044, B047: no escape is read, and empty is a value.
    for exact in ["", "\u{0}", r#""\\a\\b\\ufoobar""#, r#"{"id":9007199254740993, "a": 1.0}"#] {
        for data_type in [Type::Text, Type::Json, Type::Enum, Type::Other] {
            assert_eq!(text(&data_type, exact.as_bytes()), exact);
        }
    }
    let mut out = String::new();
    assert_eq!(write_text(&Type::Text, b"\xff", &mut out), Err(DecodeError::NotUtf8("text value")));
}

#[test]
fn a_value_of_the_wrong_length_is_no_other_value() {
    // B046: nothing is widened, rounded or filled up.
    assert_eq!(read_i64(&9_007_199_254_740_993_i64.to_le_bytes()), Ok(9_007_199_254_740_993));
    for length in [0, 1, 4, 7, 9, 16] {
        assert!(read_i64(&vec![0; length]).is_err());
    }
    assert!(read_bool(&[2]).is_err());
    assert!(read_bool(&[]).is_err());
}

fn array(dimensions: &[u32], elements: &[Option<&str>]) -> Result<Vec<u8>, DecodeError> {
    let mut out = Vec::new();
    let mut writer = ArrayWriter::new(&mut out, dimensions.len())?;
    for element in elements {
        match element {
            Some(text) => writer.value(text.as_bytes()),
            None => writer.null(),
        }
    }
    writer.finish(dimensions)?;
    Ok(out)
}

#[test]
fn arrays_keep_shape_nulls_and_quotes() {
    // B002, B008, B037.
    let said = |dimensions: &[u32], elements: &[Option<&str>]| {
        text(&Type::Text.array(), &array(dimensions, elements).unwrap())
    };
    assert_eq!(said(&[], &[]), "{}");
    assert_eq!(said(&[2, 1], &[None, None]), "{{NULL},{NULL}}");
    assert_eq!(said(&[3], &[Some("1"), None, Some("3")]), "{1,NULL,3}");
    assert_eq!(
        said(&[4], &[Some("null"), Some(""), Some("a,b"), Some(r#"\""#)]),
        r#"{"null","","a,b","\\\""}"#
    );
    assert_eq!(said(&[2, 2, 1], &[Some("a"), Some("b"), Some("c"), Some("d")]), "{{{a},{b}},{{c},{d}}}");
    assert_eq!(said(&[1], &[Some("tab\there")]), "{\"tab\there\"}");
    let days = Civil::new(0, 1, 1).unwrap().to_days() as i32;
    let mut dates = Vec::new();
    let mut writer = ArrayWriter::new(&mut dates, 1).unwrap();
    writer.value(&days.to_le_bytes());
    writer.finish(&[1]).unwrap();
    assert_eq!(text(&Type::Date.array(), &dates), "{\"0001-01-01 BC\"}");
}

#[test]
fn a_ragged_or_damaged_array_is_refused() {
    assert!(array(&[2, 2], &[None, None, None]).is_err());
    assert!(array(&[0], &[]).is_err());
    assert!(array(&[u32::MAX, u32::MAX], &[]).is_err());
    assert!(array(&[1; 33], &[None]).is_err());
    let whole = array(&[2, 1], &[None, Some("x")]).unwrap();
    let read = |value: &[u8]| write_text(&Type::Text.array(), value, &mut String::new());
    assert!(read(&whole).is_ok());
    for length in 0..whole.len() {
        assert!(read(&whole[..length]).is_err(), "cut after {length} bytes");
    }
    let mut longer = whole.clone();
    longer.push(0);
    assert_eq!(read(&longer), Err(DecodeError::Trailing("the elements of an array")));
    // A count that the bytes cannot hold is found before anyone makes room for it.
    assert!(ArrayReader::new(&[1, 255, 255, 255, 255]).is_err());
    // "Unchanged" is a state of cells, not of elements.
    let mut unchanged = array(&[1], &[None]).unwrap();
    unchanged[5] = 0xfe;
    assert!(read(&unchanged).is_err());
}
