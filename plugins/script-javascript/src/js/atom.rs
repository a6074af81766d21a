//! Names of properties, as the engine holds them.

use rquickjs_sys as qjs;

use super::{Answer, Js, Throw};

/// A name that is given back when it is dropped.
pub struct Atom {
    pub(super) raw: qjs::JSAtom,
    pub(super) js: Js,
}

impl Drop for Atom {
    fn drop(&mut self) {
        // SAFETY: this name owns one reference.
        unsafe { qjs::JS_FreeAtom(self.js.raw(), self.raw) };
    }
}

impl Atom {
    /// The engine's number of it, the same for equal names while one of them is held.
    #[inline]
    pub fn number(&self) -> u32 {
        self.raw
    }

    /// Another reference, for the engine.
    pub(super) fn to_raw(&self) -> qjs::JSAtom {
        // SAFETY: a live name.
        unsafe { qjs::JS_DupAtom(self.js.raw(), self.raw) }
    }
}

impl Js {
    /// The name of a text.
    pub fn atom(self, text: &str) -> Answer<Atom> {
        // SAFETY: the engine copies so many bytes.
        let raw = unsafe { qjs::JS_NewAtomLen(self.raw(), text.as_ptr().cast(), text.len() as _) };
        if raw == qjs::JS_ATOM_NULL { Err(Throw::Pending) } else { Ok(Atom { raw, js: self }) }
    }

    /// The value of a name: a string or a symbol.
    pub fn value_of_atom(self, number: u32) -> Answer {
        // SAFETY: the number is of a live name.
        self.take(unsafe { qjs::JS_AtomToValue(self.raw(), number) })
    }
}
