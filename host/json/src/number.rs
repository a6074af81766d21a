//! Whole numbers in any of the forms clients send.

use serde_json::Value;

/// The whole number of a JSON number, also of `5.0` and `1e3`, or of a text of digits.
pub(crate) fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(whole), ..) => Some(whole.into()),
            (_, Some(whole), _) => Some(whole.into()),
            (_, _, Some(float)) => whole_float(float),
            _ => None,
        },
        Value::String(text) => text.parse::<i128>().ok().filter(|_| plain_digits(text)),
        _ => None,
    }
}

/// The float of a JSON number or of a text.
pub(crate) fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok().filter(|float: &f64| float.is_finite()),
        _ => None,
    }
}

/// A float that is a whole number, as such. Floats beyond 2^63 are no exact integers and are not taken.
#[expect(clippy::cast_possible_truncation, reason = "the bounds are checked before")]
fn whole_float(float: f64) -> Option<i128> {
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    (float.fract() == 0.0 && float.abs() < BOUND).then_some(float as i128)
}

/// Rust's parser also takes a plus sign, which JSON does not.
fn plain_digits(text: &str) -> bool {
    !text.starts_with('+')
}
