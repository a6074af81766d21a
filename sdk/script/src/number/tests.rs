use std::cmp::Ordering;

use super::{ArithmeticError, Number};

fn number(text: &str) -> Number {
    Number::parse(text).unwrap_or_else(|| panic!("{text} is a number"))
}

#[test]
fn text_is_kept_to_the_last_zero() {
    for text in [
        "0",
        "0.00",
        "5",
        "-5",
        "10.20",
        "0.0012000",
        "-0.5",
        "123456789012345678901234567890.1",
        "NaN",
        "Infinity",
        "-Infinity",
    ] {
        assert_eq!(number(text).to_string(), text);
    }
    for (written, canonical) in [
        ("-0", "0"),
        ("-0.000", "0.000"),
        ("+1", "1"),
        ("007", "7"),
        ("1e3", "1000"),
        ("1.5e1", "15"),
        ("1.5e-2", "0.015"),
        (".5", "0.5"),
        ("5.", "5"),
    ] {
        assert_eq!(number(written).to_string(), canonical, "{written}");
    }
    for wrong in ["", "-", ".", "1.2.3", "e5", "0x1", "1e99999", " 1", "nan", "1_000"] {
        assert_eq!(Number::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn arithmetic_is_exact() {
    type Operation = fn(&Number, &Number) -> Result<Number, ArithmeticError>;
    let cases: [(Operation, &str, &str, &str); 17] = [
        (Number::plus, "10.2", "10.1", "20.3"),
        (Number::plus, "0.1", "0.2", "0.3"),
        (Number::plus, "99", "1", "100"),
        (Number::plus, "-5", "5.0", "0.0"),
        (Number::plus, "9007199254740993", "0.00000000000000001", "9007199254740993.00000000000000001"),
        (Number::minus, "10.2", "10.1", "0.1"),
        (Number::minus, "1", "1000", "-999"),
        (Number::times, "10.2", "10.1", "103.02"),
        (Number::times, "-3", "0.00", "0.00"),
        (Number::over, "5", "2", "2.5"),
        (Number::over, "2", "3", "0.6666666666666667"),
        (Number::over, "-1", "8.00", "-0.125"),
        (Number::over, "0.001", "0.25", "0.004"),
        (Number::modulo, "5", "3", "2"),
        (Number::modulo, "-5.5", "2", "-1.5"),
        (Number::power, "1.1", "3", "1.331"),
        (Number::power, "2", "-2", "0.25"),
    ];
    for (operation, one, two, result) in cases {
        assert_eq!(
            operation(&number(one), &number(two)).map(|number| number.to_string()).as_deref(),
            Ok(result),
            "{one} {two}"
        );
    }
    assert_eq!(number("1").over(&number("0.0")), Err(ArithmeticError::DivisionByZero));
    assert_eq!(number("10").power(&number("5000")), Err(ArithmeticError::TooLong));
    assert_eq!(number("10").power(&number("0.5")), Err(ArithmeticError::FractionalPower));
    assert_eq!(number("Infinity").plus(&number("1")).map(|n| n.to_string()).as_deref(), Ok("Infinity"));
}

#[test]
fn order_is_by_value_not_by_text() {
    assert_eq!(number("10").compare(&number("9.99")), Ordering::Greater);
    assert_eq!(number("1.0").compare(&number("1")), Ordering::Equal);
    assert_eq!(number("-1").compare(&number("-2")), Ordering::Greater);
    assert_eq!(number("0").compare(&number("-0.1")), Ordering::Greater);
    assert_eq!(number("NaN").compare(&number("Infinity")), Ordering::Greater);
    assert_eq!(number("-Infinity").compare(&number("-1000000000000000000000")), Ordering::Less);
}

#[test]
fn rounding_is_half_away_from_zero() {
    let Number::Finite(finite) = number("-2.345") else { unreachable!() };
    assert_eq!(finite.round(2).to_string(), "-2.35");
    assert_eq!(finite.round(0).to_string(), "-2");
    assert_eq!(finite.round(5).to_string(), "-2.34500");
    let Number::Finite(finite) = number("0.5") else { unreachable!() };
    assert_eq!(finite.round(0).to_string(), "1");
    let Number::Finite(finite) = number("0.05") else { unreachable!() };
    assert_eq!(finite.round(0).to_string(), "0");
}

#[test]
fn integers_are_told_from_fractions() {
    let to_i64 = |text| match number(text) {
        Number::Finite(finite) => finite.to_i64(),
        _ => None,
    };
    assert_eq!(to_i64("9223372036854775807"), Some(i64::MAX));
    assert_eq!(to_i64("-9223372036854775808"), Some(i64::MIN));
    assert_eq!(to_i64("9223372036854775808"), None);
    assert_eq!(to_i64("5.000"), Some(5));
    assert_eq!(to_i64("5.001"), None);
    assert_eq!(to_i64("0"), Some(0));
}
