use proptest::prelude::*;

use super::*;

fn encoded(source: &Type, target: &str, value: &[u8]) -> Result<Vec<u8>, Fault> {
    let target = TargetType::parse(target).expect("a type");
    let encoder = Encoder::new(source, &target, CalendarRange::CENTURIES).expect("a pair that goes together");
    let mut out = Vec::new();
    encoder.value(value, &mut out).map(|()| out)
}

fn numeric(target: &str, text: &str) -> Result<Vec<u8>, Fault> {
    encoded(&Type::Numeric { precision: 0, scale: 0 }, target, text.as_bytes())
}

/// The digits of a little-endian two's complement number.
fn shown(bytes: &[u8]) -> String {
    let negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
    let mut magnitude = bytes.to_vec();
    if negative {
        let mut carry = true;
        for byte in &mut magnitude {
            (*byte, carry) = (!*byte).overflowing_add(carry.into());
        }
    }
    let mut digits = Vec::new();
    while magnitude.iter().any(|&byte| byte != 0) {
        let mut rest = 0u32;
        for byte in magnitude.iter_mut().rev() {
            rest = rest << 8 | u32::from(*byte);
            *byte = (rest / 10) as u8;
            rest %= 10;
        }
        digits.push(b'0' + rest as u8);
    }
    let digits = digits.into_iter().rev().map(char::from).collect::<String>();
    let digits = if digits.is_empty() { "0".to_owned() } else { digits };
    if negative { format!("-{digits}") } else { digits }
}

proptest! {
    #[test]
    fn a_decimal_has_the_digits_of_the_numeric(
        precision in 1u8..=76,
        scale in 0u8..=76,
        digits in "[1-9][0-9]{0,75}",
        negative: bool,
    ) {
        let scale = scale.min(precision);
        let digits = &digits[..digits.len().min(precision.into())];
        let padded = format!("{digits:0>width$}", width = usize::from(scale) + 1);
        let (whole, fraction) = padded.split_at(padded.len() - usize::from(scale));
        let sign = if negative { "-" } else { "" };
        let point = if scale > 0 { "." } else { "" };
        let bytes = numeric(&format!("Decimal({precision}, {scale})"), &format!("{sign}{whole}{point}{fraction}"));
        prop_assert_eq!(shown(&bytes.expect("it fits")), format!("{sign}{digits}"));
    }

    #[test]
    fn an_integer_keeps_its_value_or_is_refused(value: i64, width in prop::sample::select(vec![8u32, 16, 32, 64, 128, 256])) {
        let fits = width >= 64 || (-(1i64 << (width - 1))..1i64 << (width - 1)).contains(&value);
        match encoded(&Type::Int8, &format!("Int{width}"), &value.to_le_bytes()) {
            Ok(bytes) => prop_assert!(fits && shown(&bytes) == value.to_string()),
            Err(fault) => prop_assert!(!fits && fault == Fault::Range),
        }
        let fits = value >= 0 && (width >= 64 || value < 1i64 << width);
        match encoded(&Type::Int8, &format!("UInt{width}"), &value.to_le_bytes()) {
            Ok(mut bytes) => {
                bytes.push(0);
                prop_assert!(fits && shown(&bytes) == value.to_string());
            }
            Err(fault) => prop_assert!(!fits && fault == Fault::Range),
        }
    }
}

#[test]
fn a_decimal_takes_zeros_beyond_its_scale_and_no_other_digit() {
    // B004, B031, B058.
    assert_eq!(numeric("Decimal(9, 2)", "1.5000"), Ok(150i32.to_le_bytes().to_vec()));
    assert_eq!(numeric("Decimal(9, 2)", "0.001"), Err(Fault::Digits));
    assert_eq!(numeric("Decimal(9, 2)", "0.00"), Ok(vec![0; 4]));
    assert_eq!(numeric("Decimal(9, 2)", "10000000"), Err(Fault::Range));
    assert_eq!(numeric("Decimal(9, 2)", "-9999999.99"), Ok((-999_999_999i32).to_le_bytes().to_vec()));
}

#[test]
fn what_is_no_number_is_no_decimal() {
    // B035, B055, B059.
    for text in ["NaN", "Infinity", "-Infinity", ""] {
        for target in ["Decimal(9, 2)", "Decimal(76, 0)", "Int64"] {
            assert_eq!(numeric(target, text), Err(Fault::NotANumber), "{text}");
        }
    }
}

#[test]
fn dates_stay_within_what_the_server_shows() {
    // B010, B011, B034.
    let date = |day: i32| encoded(&Type::Date, "Date32", &day.to_le_bytes());
    assert_eq!(date(-25_567), Ok((-25_567i32).to_le_bytes().to_vec()));
    assert_eq!(date(-25_568), Err(Fault::Range));
    assert_eq!(date(120_530), Err(Fault::Range));
    assert_eq!(date(i32::MIN), Err(Fault::Infinity));
    let moment = |target: &str, micros: i64| encoded(&Type::Timestamp, target, &micros.to_le_bytes());
    assert_eq!(
        moment("DateTime64(6)", 10_413_791_999_999_999),
        Ok(10_413_791_999_999_999i64.to_le_bytes().to_vec())
    );
    assert_eq!(moment("DateTime64(6)", 10_413_792_000_000_000), Err(Fault::Range));
    assert_eq!(moment("DateTime64(9)", 10_413_791_999_999_999), Err(Fault::Range));
    assert_eq!(moment("DateTime64(9)", -1), Ok((-1000i64).to_le_bytes().to_vec()));
    assert_eq!(moment("DateTime64(3)", 1_001), Err(Fault::Digits));
    assert_eq!(moment("DateTime", -1_000_000), Err(Fault::Range));
}

#[test]
fn a_time_of_day_keeps_its_microseconds_and_24_hours() {
    // B013, B062.
    let time = |target: &str, micros: i64| encoded(&Type::Time, target, &micros.to_le_bytes());
    for (target, micros, ticks) in [
        ("Time64(6)", 86_400_000_000, 86_400_000_000_i64),
        ("Time64(9)", 86_399_999_999, 86_399_999_999_000),
        ("Time64(3)", 1_000, 1),
    ] {
        assert_eq!(time(target, micros), Ok(ticks.to_le_bytes().to_vec()), "{target}");
    }
    assert_eq!(time("Time64(3)", 1_001), Err(Fault::Digits));
}

#[test]
fn pairs_that_would_lose_something_have_no_encoder() {
    for (source, target) in [
        (Type::Numeric { precision: 10, scale: 2 }, "Float64"),
        (Type::Float8, "Float32"),
        (Type::Int8, "Float64"),
        (Type::Text, "Int64"),
        (Type::Date, "DateTime"),
        (Type::Array(Box::new(Type::Text)), "Array(Int8)"),
    ] {
        let target = TargetType::parse(target).expect("a type");
        assert!(Encoder::new(&source, &target, CalendarRange::CENTURIES).is_none(), "{source:?} to {target}");
    }
}

#[test]
fn a_damaged_value_is_an_error_and_no_value() {
    for (source, target) in [
        (Type::Int4, "Int32"),
        (Type::Int4, "Int64"),
        (Type::Uuid, "UUID"),
        (Type::Date, "Date32"),
        (Type::TimeTz, "String"),
        (Type::Array(Box::new(Type::Int4)), "Array(Int32)"),
    ] {
        assert!(matches!(encoded(&source, target, &[1, 2, 3]), Err(Fault::Damaged(_))), "{source:?}");
    }
}
