//! What the values can do.

use tarn_batch::Type;

use super::{numeric, says};

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
    assert!(says("peerdb.UUID()", &Type::Uuid, &bytes).contains("the same row must give the same result"));
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
            ("peerdb.type(v)", "decimal.Decimal"),
            ("'costs ' .. v", "costs 10.2"),
        ],
    );
    for (expression, reason) in [
        ("v / 0", "divide a decimal by zero"),
        ("v + {}", "calculate a decimal with a table value"),
        ("peerdb.Decimal('9223372036854775808').int64", "beyond 64-bit"),
        ("peerdb.Decimal('x')", "not a decimal number"),
    ] {
        let error = says(expression, &numeric(0, 0), b"1");
        assert!(error.contains(reason), "{expression}: {error}");
    }
}
