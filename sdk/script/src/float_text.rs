//! The text of a float: a whole number with all its digits and without a point, else the shortest text
//! that is read back as the same float. From 1e21 on and below 1e-6 there is an exponent, as JavaScript and
//! JSON encoders write it.

use std::fmt::{self, Write};

/// Bytes that any float's text fits in: `-2.2250738585072014e-308` has 24.
pub const ROOM: usize = 44;

/// Writes the text of a finite float. Zero has no sign: `out` is data.
pub fn write_finite(out: &mut impl Write, value: f64) -> fmt::Result {
    if value == 0.0 {
        return out.write_char('0');
    }
    match value.abs() {
        // The shortest text would have zeros for the last of nineteen digits.
        1.0..1e21 if value.fract() == 0.0 => return write!(out, "{}", value as i128),
        1e-6..1e21 => return write!(out, "{value}"),
        _ => {}
    }
    let mut text = Text::default();
    write!(text, "{value:e}")?;
    let text = text.as_str();
    match text.split_once("e-") {
        Some(_) => out.write_str(text),
        None => {
            let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
            write!(out, "{digits}e+{exponent}")
        }
    }
}

/// Room for the longest text.
#[derive(Debug)]
pub struct Text {
    bytes: [u8; ROOM],
    length: usize,
}

impl Default for Text {
    fn default() -> Self {
        Self { bytes: [0; ROOM], length: 0 }
    }
}

impl Text {
    /// What was written.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        let room = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}
