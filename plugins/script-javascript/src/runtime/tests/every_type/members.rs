//! What values have, and what is calculated with them.

use tarn_batch::Type;

use tarn_script::fixture::{interval, numeric, time_tz};

use super::says;

fn all(data_type: &Type, value: &[u8], cases: &[(&str, &str)]) {
    for (expression, said) in cases {
        assert_eq!(says(expression, data_type, value), *said, "{expression}");
    }
}

/// What the error of an expression over `v` says.
fn fails(expression: &str, data_type: &Type, value: &[u8]) -> String {
    says(&format!("(() => {{ try {{ return {expression} }} catch (e) {{ return e }} }})()"), data_type, value)
}

#[test]
fn decimals_are_exact() {
    all(
        &numeric(0, 0),
        b"10.20",
        &[
            ("v.plus('0.1')", "10.30"),
            ("v.minus(1n)", "9.20"),
            ("v.times(v)", "104.0400"),
            ("v.over(3)", "3.4"),
            ("tarn.Decimal('10').over(3)", "3.3333333333333333"),
            ("v.floorOver(3)", "3"),
            ("v.modulo(3)", "1.20"),
            ("v.power(2)", "104.0400"),
            ("v.negate()", "-10.20"),
            ("v.negate().abs()", "10.20"),
            ("v.round(1)", "10.2"),
            ("v.round()", "10"),
            ("v.compare(10)", "1"),
            ("v.equals('10.2')", "true"),
            ("v.equals('x')", "false"),
            ("tarn.Decimal.compare('2', 10)", "-1"),
            ("[3, '1.5', 2n].sort(tarn.Decimal.compare)", "1.5,2,3"),
            ("v.toNumber() + 1", "11.2"),
            ("v.toBigInt() + 1n", "11"),
            ("v.coefficient", "1020"),
            ("v.scale", "2"),
            ("v.sign", "1"),
            ("v.isInteger", "false"),
            ("v.isFinite", "true"),
            ("`${v}`", "10.20"),
            ("JSON.stringify({ v })", "{\"v\":\"10.20\"}"),
            ("new tarn.Decimal(0.1)", "0.1"),
            ("tarn.Decimal.from(v) === v", "true"),
            ("tarn.Decimal('NaN').isFinite", "false"),
            ("tarn.Decimal('Infinity').sign", "null"),
            ("tarn.Decimal('Infinity').toNumber()", "Infinity"),
            ("Object.prototype.toString.call(v)", "[object Decimal]"),
        ],
    );
    for (expression, error) in [
        ("v + 1", "TypeError: operators do not calculate with a Decimal"),
        ("v > 1", "TypeError: operators do not calculate with a Decimal"),
        ("v.over(0)", "RangeError: attempt to divide a decimal by zero"),
        ("v.plus({})", "TypeError: an object is not a decimal number"),
        ("v.round(1e9)", "RangeError: the places to round to"),
        ("v.plus.call(1, 1)", "TypeError: a Decimal is needed here, not a number"),
        ("tarn.Decimal('x')", "TypeError: a string is not a decimal number"),
        ("tarn.Decimal('NaN').coefficient", "RangeError: NaN and the infinities have no digits"),
    ] {
        let said = fails(expression, &numeric(0, 0), b"10.20");
        assert!(said.starts_with(error), "{expression}: {said}");
    }
}

#[test]
fn times_have_their_parts() {
    let point = 1_715_934_600_123_456_i64.to_le_bytes();
    all(
        &Type::TimestampTz,
        &point,
        &[
            ("v", "2024-05-17T08:30:00.123456Z"),
            ("v.kind", "timestamptz"),
            ("v.epochMicroseconds", "1715934600123456"),
            ("v.epochMilliseconds", "1715934600123.456"),
            ("[v.year, v.month, v.day, v.dayOfYear, v.dayOfWeek]", "2024,5,17,138,5"),
            ("[v.hour, v.minute, v.second, v.millisecond, v.microsecond]", "8,30,0,123,456"),
            ("v.offsetSeconds", "0"),
            ("v.toDate().toISOString()", "2024-05-17T08:30:00.123Z"),
            ("v.plus(new tarn.Interval(1)).month", "6"),
            ("v.minus(new tarn.Interval(0, 17)).day", "30"),
            ("v.since(tarn.Time.from('2024-05-16 08:30:00Z'))", "1 day 00:00:00.123456"),
            ("v.compare('2024-05-17')", "1"),
            ("v.equals(tarn.Time.fromEpochMicroseconds(1715934600123456n))", "true"),
            ("tarn.Time.compare('2024-01-01', v)", "-1"),
            ("tarn.Time.fromEpochMilliseconds(1.5)", "1970-01-01T00:00:00.0015Z"),
            ("tarn.Time(new Date(0))", "1970-01-01T00:00:00Z"),
            ("tarn.Time.now().epochMicroseconds", "5400000000"),
            ("Date.now()", "5400000"),
            ("new Date().getTime()", "5400000"),
            ("JSON.stringify([v])", "[\"2024-05-17T08:30:00.123456Z\"]"),
        ],
    );
    all(
        &Type::Time,
        &43_200_000_001_i64.to_le_bytes(),
        &[
            ("v", "12:00:00.000001"),
            ("v.year", "null"),
            ("v.epochMicroseconds", "43200000001"),
            ("v.plus(new tarn.Interval(0, 0, 43200000000n))", "00:00:00.000001"),
        ],
    );
    all(&Type::TimeTz, &time_tz(43_200_000_000, 19_800), &[("v.offsetSeconds", "19800"), ("v.hour", "12")]);
    all(
        &Type::Timestamp,
        &i64::MAX.to_le_bytes(),
        &[("v.isFinite", "false"), ("v.epochMicroseconds", "null"), ("v.year", "null")],
    );
    for (expression, error) in [
        ("v < v", "TypeError: operators do not calculate with a Time"),
        ("tarn.Time('x')", "TypeError: this string is not a time"),
        ("tarn.Time()", "TypeError: this undefined is not a time"),
        ("v.plus(1)", "TypeError: an Interval is needed here, not a number"),
        ("v.compare('12:00')", "TypeError: these times are of different kinds"),
        ("tarn.Time('12:00').toDate()", "RangeError: a time of day or an infinity is no Date"),
        ("v.plus(new tarn.Interval(2 ** 31 - 1))", "RangeError: the time is out of range"),
    ] {
        let said = fails(expression, &Type::TimestampTz, &point);
        assert!(said.starts_with(error), "{expression}: {said}");
    }
}

#[test]
fn intervals_have_their_parts() {
    all(
        &Type::Interval,
        &interval(14, -3, 4_500_000),
        &[
            ("[v.months, v.days, v.microseconds, v.totalSeconds]", "14,-3,4500000,36028804.5"),
            ("v.plus(v).days", "-6"),
            ("v.minus(v)", "00:00:00"),
            ("v.times(2).months", "28"),
            ("v.negate().days", "3"),
            ("v.compare(new tarn.Interval(0, 1))", "1"),
            ("new tarn.Interval(1).equals(tarn.Interval(0, 30))", "true"),
            ("tarn.Interval(0, 0, 2n ** 62n).microseconds", "4611686018427387904"),
        ],
    );
    let said = fails("tarn.Interval(1.5)", &Type::Interval, &interval(0, 0, 0));
    assert!(said.starts_with("TypeError: an interval is made of whole months"), "{said}");
}
