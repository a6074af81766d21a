//! Floats in PostgreSQL's text: the shortest digits that read back as the same number.

use std::fmt::Write;

/// From this power of ten on, PostgreSQL writes a double with an exponent.
const F64_EXPONENT_FROM: i32 = 15;
/// The same for a single.
const F32_EXPONENT_FROM: i32 = 6;

pub(super) fn push_f64(out: &mut String, value: f64) {
    if value.is_finite() {
        push_finite(out, format_args!("{value:e}"), F64_EXPONENT_FROM);
    } else {
        push_special(out, value.is_nan(), value.is_sign_negative());
    }
}

pub(super) fn push_f32(out: &mut String, value: f32) {
    if value.is_finite() {
        push_finite(out, format_args!("{value:e}"), F32_EXPONENT_FROM);
    } else {
        push_special(out, value.is_nan(), value.is_sign_negative());
    }
}

fn push_special(out: &mut String, nan: bool, negative: bool) {
    out.push_str(match (nan, negative) {
        (true, _) => "NaN",
        (false, true) => "-Infinity",
        (false, false) => "Infinity",
    });
}

/// Lays out the shortest digits, which Rust gives as `-d.ddde-dd`.
fn push_finite(out: &mut String, shortest: std::fmt::Arguments<'_>, exponent_from: i32) {
    let mut scratch = Scratch::default();
    scratch.write_fmt(shortest).expect("a float in scientific form fits the scratch");
    let text = scratch.as_str();
    let (mantissa, exponent) = text.split_once('e').expect("scientific form has an exponent");
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

/// Room for the longest double in scientific form (24 bytes), so that nothing is allocated for it.
#[derive(Default)]
struct Scratch {
    bytes: [u8; 32],
    length: usize,
}

impl Scratch {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).expect("only text was written")
    }
}

impl Write for Scratch {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = self.bytes.get_mut(self.length..self.length + text.len()).ok_or(std::fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.length += text.len();
        Ok(())
    }
}
