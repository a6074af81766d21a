//! `%f`, `%e`, `%g` and `%a` as C writes them.

/// Formats a number without its sign: `conversion` is one of `f e g a` or a capital of them,
/// `precision` what stands after the point in the format, `alternate` its `#`.
pub fn format_float(value: f64, conversion: u8, precision: Option<usize>, alternate: bool) -> String {
    let value = value.abs();
    let mut text = if value.is_nan() {
        "nan".to_owned()
    } else if value.is_infinite() {
        "inf".to_owned()
    } else {
        match conversion.to_ascii_lowercase() {
            b'f' => fixed(value, precision.unwrap_or(6), alternate),
            b'e' => exponential(value, precision.unwrap_or(6), alternate),
            b'a' => hexadecimal(value, precision, alternate),
            _ => general(value, precision.unwrap_or(6).max(1), alternate),
        }
    };
    if conversion.is_ascii_uppercase() {
        text.make_ascii_uppercase();
    }
    text
}

fn fixed(value: f64, precision: usize, alternate: bool) -> String {
    let point = if alternate && precision == 0 { "." } else { "" };
    format!("{value:.precision$}{point}")
}

/// The digits before and after the point, and the power of ten, of a number written with one digit
/// before the point.
fn scientific(value: f64, precision: usize) -> (String, i32) {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').expect("the exponent is always written");
    (digits.to_owned(), exponent.parse().expect("the exponent is a number"))
}

fn exponential(value: f64, precision: usize, alternate: bool) -> String {
    let (digits, exponent) = scientific(value, precision);
    let point = if alternate && precision == 0 { "." } else { "" };
    format!("{digits}{point}{}", decimal_exponent(exponent))
}

/// At least two digits.
fn decimal_exponent(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("e{sign}{:02}", exponent.unsigned_abs())
}

fn general(value: f64, digits: usize, alternate: bool) -> String {
    let (mantissa, exponent) = scientific(value, digits - 1);
    let places = digits as i32;
    let (mut text, end) = if (-4..places).contains(&exponent) {
        (fixed(value, (places - 1 - exponent) as usize, alternate), String::new())
    } else {
        let point = if alternate && digits == 1 { "." } else { "" };
        (format!("{mantissa}{point}"), decimal_exponent(exponent))
    };
    if !alternate && text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    text + &end
}

const MANTISSA_BITS: u32 = 52;

fn hexadecimal(value: f64, precision: Option<usize>, alternate: bool) -> String {
    let bits = value.to_bits();
    let biased = (bits >> MANTISSA_BITS) as i32;
    let mut mantissa = bits & ((1 << MANTISSA_BITS) - 1);
    let exponent = match (biased, mantissa) {
        (0, 0) => 0,
        (0, _) => -1022,
        _ => {
            mantissa |= 1 << MANTISSA_BITS;
            biased - 1023
        }
    };
    let mut places = 13;
    if let Some(precision) = precision.filter(|&precision| precision < places) {
        let dropped = 4 * (places - precision) as u32;
        let half = 1_u64 << (dropped - 1);
        let odd = mantissa >> dropped & 1;
        mantissa = (mantissa + half - 1 + odd) >> dropped;
        places = precision;
    }
    let whole = mantissa >> (4 * places);
    let fraction = mantissa & ((1 << (4 * places)) - 1);
    let mut digits = if places == 0 { String::new() } else { format!("{fraction:0places$x}") };
    match precision {
        None => digits.truncate(digits.trim_end_matches('0').len()),
        Some(precision) => digits.extend(std::iter::repeat_n('0', precision.saturating_sub(digits.len()))),
    }
    let point = if alternate || !digits.is_empty() { "." } else { "" };
    format!("0x{whole:x}{point}{digits}p{exponent:+}")
}
