//! `strtod`: decimal and hexadecimal numbers at the start of a text.

/// Reads the longest number that `text` begins with, after blanks, and how many bytes it took.
/// Infinity and NaN have no spelling here.
pub fn parse_float(text: &[u8]) -> Option<(f64, usize)> {
    let blanks = text.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == 0x0b).count();
    let mut at = blanks;
    let negative = text.get(at) == Some(&b'-');
    if matches!(text.get(at), Some(b'-' | b'+')) {
        at += 1;
    }
    let rest = &text[at..];
    let (value, used) = match rest {
        [b'0', b'x' | b'X', hex @ ..] => match hexadecimal(hex) {
            Some((value, used)) => (value, used + 2),
            // The zero alone is a number.
            None => (0.0, 1),
        },
        _ => decimal(rest)?,
    };
    Some((if negative { -value } else { value }, at + used))
}

fn digits(text: &[u8], is_digit: fn(&u8) -> bool) -> usize {
    text.iter().take_while(|byte| is_digit(byte)).count()
}

/// The bytes of an exponent that begins with one of two letters; 0 when there is none.
fn exponent(text: &[u8], letter: u8) -> usize {
    if text.first().is_none_or(|byte| byte.to_ascii_lowercase() != letter) {
        return 0;
    }
    let sign = usize::from(matches!(text.get(1), Some(b'-' | b'+')));
    match digits(&text[1 + sign..], u8::is_ascii_digit) {
        0 => 0,
        count => 1 + sign + count,
    }
}

fn decimal(text: &[u8]) -> Option<(f64, usize)> {
    let whole = digits(text, u8::is_ascii_digit);
    let mut used = whole;
    let mut count = whole;
    if text.get(whole) == Some(&b'.') {
        let fraction = digits(&text[whole + 1..], u8::is_ascii_digit);
        count += fraction;
        if count > 0 {
            used += 1 + fraction;
        }
    }
    if count == 0 {
        return None;
    }
    used += exponent(&text[used..], b'e');
    let number = std::str::from_utf8(&text[..used]).ok()?;
    Some((number.parse().ok()?, used))
}

/// Hexadecimal digits with an optional point and a power of two.
fn hexadecimal(text: &[u8]) -> Option<(f64, usize)> {
    let mut mantissa = 0_u64;
    let mut power = 0_i32;
    let mut lost = false;
    let mut count = 0;
    let mut point = false;
    let mut used = 0;
    for &byte in text {
        match char::from(byte).to_digit(16) {
            Some(digit) => {
                count += 1;
                if mantissa >> 59 == 0 {
                    mantissa = mantissa << 4 | u64::from(digit);
                    power = power.saturating_sub(if point { 4 } else { 0 });
                } else {
                    lost |= digit != 0;
                    power = power.saturating_add(if point { 0 } else { 4 });
                }
            }
            None if byte == b'.' && !point => point = true,
            None => break,
        }
        used += 1;
    }
    if count == 0 {
        return None;
    }
    let length = exponent(&text[used..], b'p');
    if length > 0 {
        let number = std::str::from_utf8(&text[used + 1..used + length]).ok()?;
        let written =
            number.parse::<i32>().unwrap_or(if number.starts_with('-') { i32::MIN } else { i32::MAX });
        power = power.saturating_add(written);
    }
    // What was cut off decides a tie only, as its last bit does.
    Some((scale((mantissa | u64::from(lost)) as f64, power), used + length))
}

/// A number times a power of two, rounded once unless it becomes subnormal.
pub(super) fn scale(mut value: f64, mut power: i32) -> f64 {
    const STEP: i32 = 1000;
    while power > STEP && value.is_finite() && value != 0.0 {
        value *= exp2(STEP);
        power -= STEP;
    }
    while power < -STEP && value != 0.0 {
        value *= exp2(-STEP);
        power += STEP;
    }
    value * exp2(power.clamp(-STEP, STEP))
}

/// A power of two within the normal numbers.
fn exp2(power: i32) -> f64 {
    f64::from_bits(((power + 1023) as u64) << 52)
}

/// A number as a fraction in 0.5..1 and a power of two.
#[cfg_attr(not(any(test, target_family = "wasm")), expect(dead_code, reason = "C asks for it in the guest"))]
pub(super) fn split(value: f64) -> (f64, i32) {
    if value == 0.0 || !value.is_finite() {
        return (value, 0);
    }
    let exponent_of = |value: f64| (value.to_bits() >> 52 & 0x7ff) as i32;
    let (value, below) = if exponent_of(value) == 0 { (value * exp2(64), 64) } else { (value, 0) };
    let power = exponent_of(value) - 1022;
    let fraction = f64::from_bits(value.to_bits() & !(0x7ff << 52) | 1022 << 52);
    (fraction, power - below)
}
