//! What the values can do.

use tarn_batch::Type;

use tarn_script::fixture::numeric;

use super::says;

fn say(data_type: &Type, value: &[u8], cases: &[(&str, &str)]) {
    for (expression, said) in cases {
        assert_eq!(says(expression, data_type, value), *said, "{expression}");
    }
}

#[test]
fn times_have_members_and_order() {
    let micros = 1_709_210_096_789_000_i64.to_le_bytes();
    say(
        &Type::TimestampTz,
        &micros,
        &[
            ("v.unix_nano", "1709210096789000000"),
            ("v.unix_micro", "1709210096789000"),
            ("v.unix_milli", "1709210096789"),
            ("v.unix_second", "1709210096"),
            ("v.unix", "1709210096.789"),
            ("v.year", "2024"),
            ("v.month", "2"),
            ("v.day", "29"),
            ("v.yearday", "60"),
            ("v.hour", "12"),
            ("v.minute", "34"),
            ("v.second", "56"),
            ("v.nanosecond", "789000000"),
            ("v.nothing", "nil"),
            ("v > peerdb.unix_epoch", "true"),
            ("v == peerdb.Time(tostring(v))", "true"),
            ("v < peerdb.Time('infinity')", "true"),
            ("peerdb.Time('2024-02-29') < v", "true"),
            ("peerdb.type(v)", "time.Time"),
            ("'at ' .. v", "at 2024-02-29 12:34:56.789 +0000 UTC"),
        ],
    );
    let error = says("v < peerdb.Time('12:00:00')", &Type::TimestampTz, &micros);
    assert!(error.contains("times of different kinds"), "{error}");
    say(&Type::Date, &i32::MAX.to_le_bytes(), &[("tostring(v.year) .. tostring(v.unix)", "nilinf")]);
    say(&Type::Time, &3_723_000_000_i64.to_le_bytes(), &[("v.hour .. v.minute .. v.second", "123")]);
}

#[test]
fn uuids_have_bytes_and_text() {
    let bytes: Vec<u8> = (0..16).collect();
    say(
        &Type::Uuid,
        &bytes,
        &[
            ("v[0] .. ' ' .. v[15] .. ' ' .. #v .. ' ' .. tostring(v[16])", "0 15 16 nil"),
            ("v == peerdb.UUID(tostring(v))", "true"),
            ("peerdb.type(v)", "uuid.UUID"),
        ],
    );
    let derived = says("peerdb.UUID()", &Type::Uuid, &bytes);
    assert_eq!(derived, says("peerdb.UUID()", &Type::Uuid, &bytes), "the same record gives the same");
    assert_eq!(derived.as_bytes()[14], b'8', "{derived}");
    assert_ne!(derived, says("peerdb.UUID()", &Type::Uuid, &[7; 16]));
    say(
        &Type::Uuid,
        &bytes,
        &[
            ("peerdb.UUID() == peerdb.UUID()", "false"),
            ("v < peerdb.UUID('00010203-0405-0607-0809-0a0b0c0d0e10')", "true"),
            ("v <= v", "true"),
        ],
    );
}

#[test]
fn decimals_calculate_and_compare() {
    say(
        &numeric(0, 0),
        b"10.2",
        &[
            ("v + '10.1'", "20.3"),
            ("v - 1", "9.2"),
            ("v * 2", "20.4"),
            ("2 * v", "20.4"),
            ("v / 4", "2.55"),
            ("v % 3", "1.2"),
            ("v ^ 2", "104.04"),
            ("-v", "-10.2"),
            ("v < 11", "true"),
            ("v <= peerdb.Decimal('10.20')", "true"),
            ("v == peerdb.Decimal('10.20')", "true"),
            ("v == peerdb.unix_epoch", "false"),
            ("v.coefficient", "102"),
            ("v.coefficient.is64", "true"),
            ("v.coefficient64 + 1", "103"),
            ("v.exponent", "-1"),
            ("v.bigint", "10"),
            ("v.int64", "10"),
            ("v.float64", "10.2"),
            ("v.sign", "1"),
            ("v.nothing", "nil"),
            ("v // 3", "3"),
            ("-v // 3", "-4"),
            ("peerdb.type(v)", "decimal.Decimal"),
            ("peerdb.type(v.coefficient)", "*big.Int"),
            ("'costs ' .. v", "costs 10.2"),
        ],
    );
    for (expression, reason) in [
        ("v / 0", "divide a decimal by zero"),
        ("v + {}", "calculate with a table value"),
        ("v // 0", "divide a decimal by zero"),
        ("peerdb.Decimal('9223372036854775808').int64", "beyond 64-bit"),
        ("peerdb.Decimal('x')", "not a decimal number"),
    ] {
        let error = says(expression, &numeric(0, 0), b"1");
        assert!(error.contains(reason), "{expression}: {error}");
    }
}

#[test]
fn big_integers_calculate_and_have_bytes() {
    say(
        &numeric(0, 0),
        b"-1844674407370955161.5",
        &[
            ("v.coefficient", "-18446744073709551615"),
            ("-v.coefficient", "18446744073709551615"),
            ("v.coefficient + 1", "-18446744073709551614"),
            ("peerdb.type(v.coefficient * 2)", "*big.Int"),
            ("peerdb.type(v.coefficient / 2)", "decimal.Decimal"),
            ("peerdb.type(v.coefficient + v)", "decimal.Decimal"),
            ("v.coefficient / 2", "-9223372036854775807.5"),
            ("v.coefficient // 10", "-1844674407370955162"),
            ("v.coefficient % 10", "-5"),
            ("peerdb.Decimal('2').bigint ^ 100", "1267650600228229401496703205376"),
            ("v.coefficient.sign", "-1"),
            ("v.coefficient.is64", "false"),
            ("#v.coefficient.bytes", "8"),
            ("v.coefficient.bytes:byte(8)", "255"),
            ("#v.coefficient .. ' ' .. v.coefficient[0] .. tostring(v.coefficient[8])", "8 255nil"),
            ("v.coefficient.i64", "1"),
            ("v.coefficient.hi .. ' ' .. v.coefficient.lo", "0 1"),
            ("v.coefficient.float64", "-18446744073709551616"),
            ("v.coefficient < -5", "true"),
            ("v.coefficient == peerdb.Decimal('-18446744073709551615')", "true"),
            ("v.bigint.int64", "-1844674407370955161"),
            ("v.coefficient.nothing", "nil"),
            ("'n ' .. v.bigint", "n -1844674407370955161"),
        ],
    );
    let error = says("v.coefficient.int64", &numeric(0, 0), b"-1844674407370955161.5");
    assert!(error.contains("beyond 64-bit"), "{error}");
}

#[test]
fn integers_have_the_parts_that_scripts_ask_for() {
    say(
        &Type::Int8,
        &(-5_i64).to_le_bytes(),
        &[
            ("v.i64", "-5"),
            ("v.u64", "18446744073709551611"),
            ("v.u64.i64 == v", "true"),
            ("v.u64.u64 == v.u64", "true"),
            ("v.u64 > 5", "true"),
            ("v.u64 == v", "false"),
            ("v.hi", "4294967295"),
            ("v.lo", "4294967291"),
            ("v.float64", "-5"),
            ("math.type(v.float64)", "float"),
            ("v.nothing", "nil"),
            ("(7).u64 == 7", "true"),
            ("(2 ^ 33).hi", "2"),
            ("(0.5).i64", "nil"),
            ("(0.5).float64", "0.5"),
            ("peerdb.type(v)", "nil"),
            ("getmetatable(v)", "false"),
        ],
    );
}

#[test]
fn times_and_intervals_calculate_as_in_postgres() {
    let micros = 1_706_652_000_000_000_i64.to_le_bytes();
    say(
        &Type::Timestamp,
        &micros,
        &[
            ("v", "2024-01-30 22:00:00 +0000 UTC"),
            ("v + peerdb.Interval(1)", "2024-02-29 22:00:00 +0000 UTC"),
            ("v + peerdb.Interval(1, 1, 7200000000)", "2024-03-02 00:00:00 +0000 UTC"),
            ("peerdb.Interval(0, 1) + v", "2024-01-31 22:00:00 +0000 UTC"),
            ("v - peerdb.Interval(12, 0, 1)", "2023-01-30 21:59:59.999999 +0000 UTC"),
            ("v - peerdb.Time('2024-01-01 20:00:00')", "29 days 02:00:00"),
            ("(v - peerdb.Time('2024-01-01 20:00:00')).seconds", "2512800"),
            ("peerdb.Time('2024-01-01 20:00:00') - v", "-29 days -02:00:00"),
            ("peerdb.Time('2024-03-31') + peerdb.Interval(-1)", "2024-02-29 00:00:00 +0000 UTC"),
            ("peerdb.Time('2024-03-31') - peerdb.Time('2024-03-01')", "30 days"),
            ("peerdb.Time('23:00:00') + peerdb.Interval(0, 0, 7200000000)", "01:00:00"),
            ("peerdb.Time('infinity') + peerdb.Interval(1) == peerdb.Time('infinity')", "true"),
            ("peerdb.Interval(1, 2, 3000000) + peerdb.Interval(0, 1)", "1 mon 3 days 00:00:03"),
            ("peerdb.Interval(1) - peerdb.Interval(0, 30)", "1 mon -30 days"),
            ("-peerdb.Interval(1, 2)", "-1 mons -2 days"),
            ("2 * peerdb.Interval(1, 2)", "2 mons 4 days"),
            ("peerdb.Interval(1) == peerdb.Interval(0, 30)", "true"),
            ("peerdb.Interval(1) < peerdb.Interval(0, 31)", "true"),
            ("peerdb.Interval(0, 0, 1500000).seconds", "1.5"),
            ("peerdb.Time()", "0001-01-01 00:00:00 +0000 UTC"),
            ("peerdb.Time() == peerdb.Time('0001-01-01 00:00:00Z')", "true"),
        ],
    );
    for (expression, reason) in [
        ("v + v", "attempt to add a Time and a Time value"),
        ("v + 1", "attempt to add a Time and a integer value"),
        ("v - peerdb.Time('12:00')", "the interval is out of range"),
        ("v + peerdb.Interval(2147483647)", "the time is out of range"),
        ("peerdb.Interval(2147483647) + peerdb.Interval(1)", "the interval is out of range"),
        ("peerdb.Interval(1) * 1.5", "multiplied by a whole number"),
        ("peerdb.Interval(1) < 5", "compared with an interval only"),
    ] {
        let error = says(expression, &Type::Timestamp, &micros);
        assert!(error.contains(reason), "{expression}: {error}");
    }
}
