//! Floats in PostgreSQL's text: the shortest digits that read back as the same number.
//!
//! Rust's shortest digits differ in two corners. Of two equally near candidates PostgreSQL takes the
//! even one: so does rounding to a precision. And it takes none that is exactly between two floats,
//! which reads back only where ties round to even: then one digit more is needed.

use std::fmt::Write;

/// From this power of ten on, PostgreSQL writes a double with an exponent.
const F64_EXPONENT_FROM: i32 = 15;
/// The same for a single.
const F32_EXPONENT_FROM: i32 = 6;

/// Digits behind the point that tell every double from its neighbours.
const F64_PRECISION_MAX: usize = 16;
/// The same for a single.
const F32_PRECISION_MAX: usize = 8;
/// Digits of the longest double and its sign, point and exponent, with room to spare.
const SCRATCH_BYTES: usize = 32;

pub(super) fn push_f64(out: &mut String, value: f64) {
    if !value.is_finite() {
        return push_special(out, value.is_nan(), value.is_sign_negative());
    }
    let shortest = Scientific::new(format_args!("{value:e}"));
    let digits = (shortest.precision()..=F64_PRECISION_MAX)
        .map(|precision| Scientific::new(format_args!("{value:.precision$e}")))
        .find(|digits| {
            digits.as_str().parse() == Ok(value)
                && !digits.is_between(value, value.next_down(), value.next_up())
        });
    push_finite(out, &digits.unwrap_or(shortest), F64_EXPONENT_FROM);
}

pub(super) fn push_f32(out: &mut String, value: f32) {
    if !value.is_finite() {
        return push_special(out, value.is_nan(), value.is_sign_negative());
    }
    let shortest = Scientific::new(format_args!("{value:e}"));
    let (exact, below, above) = (value.into(), value.next_down().into(), value.next_up().into());
    let digits = (shortest.precision()..=F32_PRECISION_MAX)
        .map(|precision| Scientific::new(format_args!("{value:.precision$e}")))
        .find(|digits| digits.as_str().parse() == Ok(value) && !digits.is_between(exact, below, above));
    push_finite(out, &digits.unwrap_or(shortest), F32_EXPONENT_FROM);
}

fn push_special(out: &mut String, nan: bool, negative: bool) {
    out.push_str(match (nan, negative) {
        (true, _) => "NaN",
        (false, true) => "-Infinity",
        (false, false) => "Infinity",
    });
}

/// Lays out digits that Rust gives as `-d.ddde-dd`.
fn push_finite(out: &mut String, digits: &Scientific, exponent_from: i32) {
    let (mantissa, exponent) = digits.parts();
    let exponent: i32 = exponent.parse().expect("the exponent is a number");
    let magnitude = mantissa.strip_prefix('-').unwrap_or(mantissa);
    if mantissa.len() != magnitude.len() {
        out.push('-');
    }
    let (first, rest) = magnitude.split_once('.').unwrap_or((magnitude, ""));
    if !(-4..exponent_from).contains(&exponent) {
        out.push_str(magnitude);
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "e{sign}{:02}", exponent.unsigned_abs()).expect("a string takes any text");
        return;
    }
    let zeros = |out: &mut String, count: usize| out.extend(std::iter::repeat_n('0', count));
    match usize::try_from(exponent) {
        Err(_) => {
            out.push_str("0.");
            zeros(out, exponent.unsigned_abs() as usize - 1);
            out.push_str(first);
            out.push_str(rest);
        }
        Ok(exponent) if exponent >= rest.len() => {
            out.push_str(first);
            out.push_str(rest);
            zeros(out, exponent - rest.len());
        }
        Ok(exponent) => {
            out.push_str(first);
            out.push_str(&rest[..exponent]);
            out.push('.');
            out.push_str(&rest[exponent..]);
        }
    }
}

/// A float in scientific form, held without allocating.
struct Scientific {
    bytes: [u8; SCRATCH_BYTES],
    length: usize,
}

impl Scientific {
    fn new(text: std::fmt::Arguments<'_>) -> Self {
        let mut scratch = Self { bytes: [0; SCRATCH_BYTES], length: 0 };
        scratch.write_fmt(text).expect("a float in scientific form fits");
        scratch
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).expect("only text was written")
    }

    fn parts(&self) -> (&str, &str) {
        self.as_str().split_once('e').expect("scientific form has an exponent")
    }

    /// Whether the digits say a number exactly between `value` and one of its neighbours. Only whole
    /// numbers can, up to 10^23: beyond, so few digits have too many factors of five.
    fn is_between(&self, value: f64, below: f64, above: f64) -> bool {
        const WHOLE_MAX: f64 = 1e30;
        if value.abs() > WHOLE_MAX || [value, below, above].iter().any(|number| number.fract() != 0.0) {
            return false;
        }
        let Some(said) = self.whole() else { return false };
        let [value, below, above] = [value, below, above].map(|number| number as i128);
        said * 2 == value + below || said * 2 == value + above
    }

    /// The number, where it is whole.
    fn whole(&self) -> Option<i128> {
        let (mantissa, exponent) = self.parts();
        let zeros = exponent.parse::<u32>().ok()?.checked_sub(self.precision() as u32)?;
        let digits: i128 = mantissa.replace('.', "").parse().ok()?;
        digits.checked_mul(10_i128.checked_pow(zeros)?)
    }

    /// How many digits are behind the point.
    fn precision(&self) -> usize {
        self.parts().0.split_once('.').map_or(0, |(_, fraction)| fraction.len())
    }
}

impl Write for Scientific {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = self.bytes.get_mut(self.length..self.length + text.len()).ok_or(std::fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.length += text.len();
        Ok(())
    }
}
