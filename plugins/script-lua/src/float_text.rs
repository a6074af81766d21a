//! The text of a float: a whole number with all its digits and without a point, else the shortest text
//! that is read back as the same float.
//!
//! Scripts of Lua 5.1 know one kind of number and expect `6 / 2` to say `3`. From 1e21 on and below 1e-6
//! there is an exponent, as JavaScript and JSON encoders write it.

#![expect(unsafe_code, reason = "Lua asks for the text from C")]

use std::ffi::{c_char, c_int};
use std::fmt::{self, Write};

// Lua's room for a number's text, what follows it included (`MAXNUMBER2STR`), is no smaller.
use tarn_script::float_text::{Text, write_finite};

/// Writes the text that `tostring` gives.
fn write_lua(out: &mut impl Write, value: f64) -> fmt::Result {
    if value.is_nan() {
        out.write_str("nan")
    } else if value.is_infinite() {
        out.write_str(if value > 0.0 { "inf" } else { "-inf" })
    } else if value == 0.0 && value.is_sign_negative() {
        out.write_str("-0")
    } else {
        write_finite(out, value)
    }
}

/// Writes a float's text for Lua and returns its length (`port/number.h` says what follows it).
#[unsafe(no_mangle)]
extern "C" fn tarn_float_text(value: f64, to: *mut c_char) -> c_int {
    let mut text = Text::default();
    // The longest text leaves half of the room free.
    let written = write_lua(&mut text, value).and_then(|()| text.write_char('.'));
    debug_assert!(written.is_ok(), "a float's text fits");
    // SAFETY: Lua gives this much room.
    unsafe { std::ptr::copy_nonoverlapping(text.as_str().as_ptr(), to.cast::<u8>(), text.as_str().len()) };
    text.as_str().len() as c_int - 1
}

#[cfg(test)]
mod tests {
    use crate::lua::tests::{evaluate, literal};

    #[test]
    fn a_whole_float_is_written_as_a_whole_number() {
        for (expression, text) in [
            ("6 / 2", "3"),
            ("10 / 4", "2.5"),
            ("(6 / 2) .. ''", "3"),
            ("-0.0", "-0"),
            ("2 ^ 53", "9007199254740992"),
            ("2.0 ^ 60 + 2 ^ 8", "1152921504606847232"),
            ("9.5e18 + 0.0", "9500000000000000000"),
            ("2 ^ 63", "9223372036854775808"),
            ("1e15", "1000000000000000"),
            ("1e20", "100000000000000000000"),
            ("1e21", "1e+21"),
            ("-1.5e300", "-1.5e+300"),
            ("1e-7", "1e-7"),
            ("0.1", "0.1"),
            ("1 / 3", "0.3333333333333333"),
            ("0.1 + 0.2", "0.30000000000000004"),
            ("1 / 0", "inf"),
            ("-1 / 0", "-inf"),
            ("0 / 0", "nan"),
            ("table.concat({1.0, 2.5}, ' ')", "1 2.5"),
            ("string.format('%s %q', 3.0, 'x')", "3 \"x\""),
            ("#tostring(-2.2250738585072014e-308)", "24"),
        ] {
            assert_eq!(evaluate(expression), text, "{expression}");
        }
    }

    #[test]
    fn every_float_is_read_back_as_itself() {
        for value in [0.1, 1e-323, f64::MAX, f64::MIN_POSITIVE, 123_456_789.123_456_78, 1e22, 4.35] {
            let number = literal(value);
            assert_eq!(evaluate(&format!("tonumber(tostring({number})) == {number}")), "true", "{value}");
        }
    }
}
