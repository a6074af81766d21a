//! Making values.

use rquickjs_sys as qjs;

use super::{Answer, Js, Throw, Value, View};

/// The greatest integer below which numbers are exact.
const EXACT_MAX: i64 = (1 << 53) - 1;

impl Js {
    #[inline]
    fn plain(self, raw: qjs::JSValue) -> Value {
        Value { view: View(raw), js: self }
    }

    /// `undefined`.
    #[inline]
    pub fn undefined(self) -> Value {
        self.plain(qjs::JS_UNDEFINED)
    }

    /// `null`.
    #[inline]
    pub fn null(self) -> Value {
        self.plain(qjs::JS_NULL)
    }

    /// `true` or `false`.
    #[inline]
    pub fn boolean(self, value: bool) -> Value {
        self.plain(if value { qjs::JS_TRUE } else { qjs::JS_FALSE })
    }

    /// A number of 32 bits.
    #[inline]
    pub fn integer(self, value: i32) -> Value {
        self.plain(qjs::JS_MKVAL(qjs::JS_TAG_INT, value))
    }

    /// A number.
    #[inline]
    pub fn number(self, value: f64) -> Value {
        self.plain(qjs::JS_NewFloat64(value))
    }

    /// A `BigInt`.
    #[inline]
    pub fn big_int(self, value: i64) -> Answer {
        // SAFETY: see `runtime`.
        self.take(unsafe { qjs::JS_NewBigInt64(self.raw(), value) })
    }

    /// A `BigInt` of 64 bits without a sign.
    pub fn big_unsigned(self, value: u64) -> Answer {
        // SAFETY: see `runtime`.
        self.take(unsafe { qjs::JS_NewBigUint64(self.raw(), value) })
    }

    /// A `BigInt` of decimal digits.
    pub fn big_digits(self, digits: &str) -> Answer {
        let constructor = self.session().hooks.as_ref().map(|hooks| hooks.big_int.clone());
        let constructor = constructor.unwrap_or_else(|| self.undefined());
        let digits = self.string(digits)?;
        self.call(*constructor, View::UNDEFINED, &[*digits])
    }

    /// A number where it is exact, else a `BigInt`.
    pub fn exact_integer(self, value: i64) -> Answer {
        if let Ok(value) = i32::try_from(value) {
            return Ok(self.integer(value));
        }
        let is_exact = (-EXACT_MAX..=EXACT_MAX).contains(&value);
        if is_exact { Ok(self.number(value as f64)) } else { self.big_int(value) }
    }

    /// A string.
    #[inline]
    pub fn string(self, text: &str) -> Answer {
        // SAFETY: the engine copies so many bytes.
        self.take(unsafe { qjs::JS_NewStringLen(self.raw(), text.as_ptr().cast(), text.len() as _) })
    }

    /// A string of bytes that are UTF-8.
    #[inline]
    pub fn utf8(self, bytes: &[u8]) -> Answer {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.string(text),
            Err(_) => Err(Throw::of_type("these bytes are not UTF-8")),
        }
    }

    /// A `Uint8Array` of a copy of bytes.
    pub fn bytes(self, bytes: &[u8]) -> Answer {
        // SAFETY: the engine copies so many bytes.
        self.take(unsafe { qjs::JS_NewUint8ArrayCopy(self.raw(), bytes.as_ptr(), bytes.len() as _) })
    }

    /// An empty object.
    pub fn object(self) -> Answer {
        // SAFETY: see `runtime`.
        self.take(unsafe { qjs::JS_NewObject(self.raw()) })
    }

    /// An empty array.
    pub fn array(self) -> Answer {
        // SAFETY: see `runtime`.
        self.take(unsafe { qjs::JS_NewArray(self.raw()) })
    }

    /// The global object.
    pub fn global(self) -> Value {
        // SAFETY: see `runtime`.
        self.plain(unsafe { qjs::JS_GetGlobalObject(self.raw()) })
    }
}
