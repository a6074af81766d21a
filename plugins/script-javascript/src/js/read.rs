//! Reading values.

use std::ops::Deref;
use std::ptr::NonNull;

use rquickjs_sys as qjs;

use super::{Answer, Js, Kind, Throw, View};

/// The bytes of a string's text, UTF-8 unless half a pair of surrogates stands alone in it.
pub struct Text {
    start: NonNull<u8>,
    length: usize,
    js: Js,
}

impl Drop for Text {
    fn drop(&mut self) {
        // SAFETY: the text came from the engine.
        unsafe { qjs::JS_FreeCString(self.js.raw(), self.start.as_ptr().cast()) };
    }
}

impl Deref for Text {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the engine keeps so many bytes until they are freed.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl Text {
    /// The text, unless it is none.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(self).ok()
    }

    /// The text with what is none replaced.
    pub fn to_text(&self) -> String {
        String::from_utf8_lossy(self).into_owned()
    }
}

impl Js {
    /// The text of a value as `String(value)` says it. May run script code.
    #[inline]
    pub fn text(self, value: View) -> Answer<Text> {
        let mut length = 0;
        // SAFETY: the engine writes the length.
        let start = unsafe { qjs::JS_ToCStringLen2(self.raw(), &mut length, value.0, false) };
        match NonNull::new(start.cast_mut().cast()) {
            Some(start) => Ok(Text { start, length: length as usize, js: self }),
            None => Err(Throw::Pending),
        }
    }

    /// Whether it is true in a condition.
    pub fn is_true(self, value: View) -> bool {
        // SAFETY: a live value.
        unsafe { qjs::JS_ToBool(self.raw(), value.0) > 0 }
    }

    /// The number, if the value is one.
    #[inline]
    pub fn number_of(self, value: View) -> Option<f64> {
        match value.kind() {
            Kind::Integer => Some(value.int().into()),
            Kind::Float => Some(value.float()),
            _ => None,
        }
    }

    /// The integer of 64 bits, if the value is one: a whole number or a `BigInt`.
    pub fn integer_of(self, value: View) -> Option<i64> {
        /// The first float beyond 64 bits.
        const END: f64 = 9_223_372_036_854_775_808.0;
        match value.kind() {
            Kind::Integer => Some(value.int().into()),
            Kind::Float => {
                let number = value.float();
                (number.fract() == 0.0 && (-END..END).contains(&number)).then_some(number as i64)
            }
            Kind::BigInt => self.big_int_of(value),
            _ => None,
        }
    }

    /// The `BigInt`'s value, if it has 64 bits.
    fn big_int_of(self, value: View) -> Option<i64> {
        let mut number = 0;
        // SAFETY: the engine writes the lower 64 bits.
        if unsafe { qjs::JS_ToBigInt64(self.raw(), &mut number, value.0) } < 0 {
            drop(self.caught());
            return None;
        }
        let back = self.big_int(number).ok()?;
        // SAFETY: live values.
        unsafe { qjs::JS_IsStrictEqual(self.raw(), back.0, value.0) }.then_some(number)
    }

    /// Whether it is an array.
    pub fn is_array(self, value: View) -> bool {
        // SAFETY: a live value.
        unsafe { qjs::JS_IsArray(value.0) }
    }

    /// Whether it is a `Proxy`.
    pub fn is_proxy(self, value: View) -> bool {
        // SAFETY: a live value.
        unsafe { qjs::JS_IsProxy(value.0) }
    }

    /// Whether it is a function.
    pub fn is_function(self, value: View) -> bool {
        // SAFETY: a live value.
        unsafe { qjs::JS_IsFunction(self.raw(), value.0) }
    }

    /// Whether it is an `Error`.
    pub fn is_error(self, value: View) -> bool {
        // SAFETY: a live value.
        unsafe { qjs::JS_IsError(value.0) }
    }

    /// Whether it is a `Date`.
    pub fn is_date(self, value: View) -> bool {
        // SAFETY: a live value.
        unsafe { qjs::JS_IsDate(value.0) }
    }

    /// Whether it is a `Map`.
    pub fn is_map(self, value: View) -> bool {
        // SAFETY: a live value.
        unsafe { qjs::JS_IsMap(value.0) }
    }

    /// Whether it is a `Set`, a `WeakMap` or the like: what holds values that are no properties.
    pub fn is_collection(self, value: View) -> bool {
        // SAFETY: a live value.
        unsafe {
            qjs::JS_IsSet(value.0)
                || qjs::JS_IsWeakMap(value.0)
                || qjs::JS_IsWeakSet(value.0)
                || qjs::JS_IsWeakRef(value.0)
                || qjs::JS_IsPromise(value.0)
                || qjs::JS_IsRegExp(value.0)
        }
    }

    /// The bytes of a `Uint8Array`. They live until script code runs.
    pub fn bytes_of<'a>(self, value: View) -> Option<&'a [u8]> {
        if value.kind() != Kind::Object {
            return None;
        }
        // SAFETY: a live value.
        let kind = unsafe { qjs::JS_GetTypedArrayType(value.0) };
        if kind != qjs::JSTypedArrayEnum_JS_TYPED_ARRAY_UINT8 as i32 {
            return None;
        }
        let mut length = 0;
        // SAFETY: the engine writes the length; the bytes are its own.
        unsafe {
            let start = qjs::JS_GetUint8Array(self.raw(), &mut length, value.0);
            if start.is_null() {
                // An empty array has no bytes; one without its buffer is an error.
                drop(self.caught());
                return Some(&[]);
            }
            Some(std::slice::from_raw_parts(start, length as usize))
        }
    }

    /// What has become of a promise; none for other values.
    pub fn promise_of(self, value: View) -> Option<Promise> {
        // SAFETY: a live value.
        if !unsafe { qjs::JS_IsPromise(value.0) } {
            return None;
        }
        // SAFETY: it is a promise.
        let state = unsafe { qjs::JS_PromiseState(self.raw(), value.0) };
        if state == qjs::JSPromiseStateEnum_JS_PROMISE_PENDING {
            return Some(Promise::Pending);
        }
        // SAFETY: as above.
        let result = self.take(unsafe { qjs::JS_PromiseResult(self.raw(), value.0) });
        Some(match state == qjs::JSPromiseStateEnum_JS_PROMISE_FULFILLED {
            true => Promise::Fulfilled(result),
            false => {
                // SAFETY: as above. Whoever asks answers for it.
                unsafe { qjs::JS_PromiseMarkAsHandled(self.raw(), value.0) };
                Promise::Rejected(result)
            }
        })
    }
}

/// What has become of a promise.
pub enum Promise {
    /// It waits for something.
    Pending,
    /// It has a value.
    Fulfilled(Answer),
    /// It failed.
    Rejected(Answer),
}
