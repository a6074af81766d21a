//! Numbers as text and back, for the C library in `port/`.
//!
//! Rust's own formatting is exact for every digit asked for and its parser rounds to the nearest
//! number, which is what C promises; this module lays the result out as C does.

mod format;
mod parse;

pub use format::format_float;
pub use parse::parse_float;

#[cfg(target_family = "wasm")]
mod exports {
    #![expect(unsafe_code, reason = "called from C with C's pointers")]

    use std::ffi::c_char;

    /// Formats a number that is not negative for `snprintf`.
    #[unsafe(no_mangle)]
    extern "C" fn tarn_format_float(
        out: *mut c_char,
        room: usize,
        value: f64,
        conversion: u8,
        precision: i32,
        alternate: i32,
    ) -> usize {
        let text = super::format_float(value, conversion, usize::try_from(precision).ok(), alternate != 0);
        let length = text.len().min(room);
        // SAFETY: the caller owns `room` bytes at `out`.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), out.cast(), length) };
        length
    }

    /// Reads a number for `strtod`; `used` becomes 0 when the text does not begin with one.
    #[unsafe(no_mangle)]
    extern "C" fn tarn_parse_float(text: *const c_char, length: usize, used: *mut usize) -> f64 {
        // SAFETY: the caller gives a C string with its length, and a place for the answer.
        let text = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
        let (value, count) = super::parse_float(text).unwrap_or((0.0, 0));
        // SAFETY: as above.
        unsafe { *used = count };
        value
    }

    /// The fraction in 0.5..1 and the exponent of a number.
    #[unsafe(no_mangle)]
    extern "C" fn frexp(value: f64, exponent: *mut i32) -> f64 {
        let (fraction, power) = super::parse::split(value);
        // SAFETY: the caller gives a place for the exponent.
        unsafe { *exponent = power };
        fraction
    }

    /// A number times a power of two.
    #[unsafe(no_mangle)]
    extern "C" fn ldexp(value: f64, exponent: i32) -> f64 {
        super::parse::scale(value, exponent)
    }
}

#[cfg(test)]
mod tests;
