//! Modules: compiled, then run; and how others are found.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use rquickjs_sys as qjs;

use super::{Answer, Js, Throw, Value};

/// A module that was compiled.
pub struct Module(pub(super) Value);

impl Module {
    fn definition(&self) -> *mut qjs::JSModuleDef {
        // SAFETY: the value is a module, which is a pointer to its definition.
        unsafe { qjs::JS_VALUE_GET_PTR(self.0.view.0).cast() }
    }

    /// The module's `import.meta`.
    pub fn meta(&self) -> Answer {
        // SAFETY: the engine keeps definitions as long as it lives.
        self.0.js.take(unsafe { qjs::JS_GetImportMeta(self.0.js.raw(), self.definition()) })
    }

    /// Links it with those that it imports.
    pub fn resolve(&self) -> Answer<()> {
        // SAFETY: a live value.
        Js::done(unsafe { qjs::JS_ResolveModule(self.0.js.raw(), self.0.view.0) })?;
        Ok(())
    }

    /// Runs it: a promise, and what it exports.
    pub fn run(self) -> Answer<(Value, Value)> {
        let js = self.0.js;
        let definition = self.definition();
        // SAFETY: the engine takes the reference, and keeps the definition.
        let promise = js.take(unsafe { qjs::JS_EvalFunction(js.raw(), self.0.into_raw()) })?;
        // SAFETY: as above.
        let exports = js.take(unsafe { qjs::JS_GetModuleNamespace(js.raw(), definition) })?;
        Ok((promise, exports))
    }
}

unsafe fn text<'a>(text: *const c_char) -> std::borrow::Cow<'a, str> {
    // SAFETY: the engine passes texts that end with a zero byte.
    unsafe { CStr::from_ptr(text) }.to_string_lossy()
}

/// Names a module; the engine frees the name.
pub(super) unsafe extern "C" fn normalize(
    context: *mut qjs::JSContext,
    from: *const c_char,
    name: *const c_char,
    _: *mut c_void,
) -> *mut c_char {
    let js = Js::of(context);
    // SAFETY: the engine passes both texts.
    let (from, name) = unsafe { (text(from), text(name)) };
    let named = match js.session().loader {
        Some((normalize, _)) => normalize(js, &from, &name),
        None => Err(Throw::of_type("there are no modules")),
    };
    match named {
        // SAFETY: the engine's own allocator, with room for the last zero byte.
        Ok(named) => unsafe {
            let copy = qjs::js_malloc(context, named.len() as qjs::size_t + 1).cast::<u8>();
            if !copy.is_null() {
                ptr::copy_nonoverlapping(named.as_ptr(), copy, named.len());
                copy.add(named.len()).write(0);
            }
            copy.cast()
        },
        Err(throw) => {
            js.throw(throw);
            ptr::null_mut()
        }
    }
}

/// Compiles the module of a name.
pub(super) unsafe extern "C" fn load(
    context: *mut qjs::JSContext,
    name: *const c_char,
    _: *mut c_void,
) -> *mut qjs::JSModuleDef {
    let js = Js::of(context);
    // SAFETY: the engine passes the text.
    let name = unsafe { text(name) };
    let loaded = match js.session().loader {
        Some((_, load)) => load(js, &name),
        None => Err(Throw::of_type("there are no modules")),
    };
    match loaded {
        // The engine lists modules itself: the reference of the value is not needed.
        Ok(module) => module.definition(),
        Err(throw) => {
            js.throw(throw);
            ptr::null_mut()
        }
    }
}
