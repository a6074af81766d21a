//! The JSON text of single values.

use std::fmt::Write as _;

use super::Unfit;
use super::options::{Bytes, Decimals, Nonfinite, Options};
use crate::config::ENCODED_BYTES_MAX;
use crate::float_text;

/// Appends a float, or what the options say of one that JSON does not have.
pub fn write_float(out: &mut Vec<u8>, value: f64, options: Options) -> Result<(), Unfit> {
    if !value.is_finite() {
        let name = match value {
            f64::INFINITY => "Infinity",
            f64::NEG_INFINITY => "-Infinity",
            _ => "NaN",
        };
        return write_nonfinite(out, name, options);
    }
    float_text::write_finite(&mut Text(out), value).map_err(|_| Unfit::Damaged)
}

fn write_nonfinite(out: &mut Vec<u8>, name: &str, options: Options) -> Result<(), Unfit> {
    match options.nonfinite {
        Nonfinite::Error => return Err(Unfit::NotFinite),
        Nonfinite::Null => out.extend_from_slice(b"null"),
        Nonfinite::Text => write_quoted(out, name.as_bytes()),
    }
    Ok(())
}

/// Appends a decimal's text.
pub fn write_decimal(out: &mut Vec<u8>, text: &[u8], options: Options) -> Result<(), Unfit> {
    let is_finite = text.last().is_some_and(u8::is_ascii_digit);
    match options.decimals {
        Decimals::Text => write_quoted(out, text),
        Decimals::Number if is_finite => out.extend_from_slice(text),
        Decimals::Number => {
            let name = std::str::from_utf8(text).map_err(|_| Unfit::Damaged)?;
            return write_nonfinite(out, name, options);
        }
    }
    Ok(())
}

/// Appends text that holds nothing JSON escapes.
pub fn write_quoted(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    out.extend_from_slice(text);
    out.push(b'"');
}

/// Appends a string.
pub fn write_string(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Unfit> {
    if bytes.len() > ENCODED_BYTES_MAX {
        return Err(Unfit::TooLong);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Unfit::NotUtf8)?;
    // Nearly all text needs no escape. Looking at every byte is faster than stopping at the first.
    let escaped = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
    if bytes.iter().fold(false, |found, &byte| found | escaped(byte)) {
        serde_json::to_writer(out, text).expect("a vector takes every byte");
    } else {
        write_quoted(out, bytes);
    }
    Ok(())
}

/// Appends an integer.
pub fn write_integer(out: &mut Vec<u8>, value: i64) {
    // 19 digits and a sign.
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        start -= 1;
        digits[start] = b'-';
    }
    out.extend_from_slice(&digits[start..]);
}

/// Appends bytes as text.
pub fn write_bytes(out: &mut Vec<u8>, bytes: &[u8], options: Options) {
    out.push(b'"');
    match options.bytes {
        Bytes::Base64 => write_base64(out, bytes),
        Bytes::Hex => {
            out.extend_from_slice(b"\\\\x");
            for byte in bytes {
                write!(Text(out), "{byte:02x}").expect("a vector takes every byte");
            }
        }
    }
    out.push(b'"');
}

fn write_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for group in bytes.chunks(3) {
        let [one, two, three] = [0, 1, 2].map(|at| u32::from(group.get(at).copied().unwrap_or(0)));
        let bits = one << 16 | two << 8 | three;
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            out.push(if place > group.len() { b'=' } else { digit });
        }
    }
}

/// Bytes as a place to write text to.
pub struct Text<'a>(pub &'a mut Vec<u8>);

impl std::fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}
