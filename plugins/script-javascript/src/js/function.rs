//! Functions of this crate that scripts call.

use std::ffi::{CString, c_int};
use std::ptr::NonNull;

use rquickjs_sys as qjs;

use super::{Answer, Js, Value, View};

/// A function: what `this` is, and the arguments that were given.
pub trait Native: Fn(Js, View, &[View]) -> Answer + Copy + 'static {}
impl<F: Fn(Js, View, &[View]) -> Answer + Copy + 'static> Native for F {}

/// A function that reads a property of an object.
pub trait Getter: Fn(Js, View) -> Answer + Copy + 'static {}
impl<F: Fn(Js, View) -> Answer + Copy + 'static> Getter for F {}

/// An argument; `undefined` where none was given.
#[inline]
pub fn argument(arguments: &[View], at: usize) -> View {
    arguments.get(at).copied().unwrap_or(View::UNDEFINED)
}

impl Js {
    /// A function that captures nothing.
    pub fn function<F: Native>(self, name: &str, length: c_int, function: F) -> Answer {
        const { assert!(size_of::<F>() == 0, "functions for scripts capture nothing") };
        let _ = function;
        self.native(name, length, qjs::JSCFunctionEnum_JS_CFUNC_generic, trampoline::<F>)
    }

    /// A function that may also be called with `new`.
    pub fn constructor<F: Native>(self, name: &str, length: c_int, function: F) -> Answer {
        const { assert!(size_of::<F>() == 0, "functions for scripts capture nothing") };
        let _ = function;
        self.native(name, length, qjs::JSCFunctionEnum_JS_CFUNC_constructor_or_func, trampoline::<F>)
    }

    fn native(
        self,
        name: &str,
        length: c_int,
        kind: qjs::JSCFunctionEnum,
        function: unsafe extern "C" fn(
            *mut qjs::JSContext,
            qjs::JSValue,
            c_int,
            *mut qjs::JSValue,
        ) -> qjs::JSValue,
    ) -> Answer {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: the engine copies the name.
        self.take(unsafe {
            qjs::JS_NewCFunction2(self.raw(), Some(function), name.as_ptr(), length, kind, 0)
        })
    }
}

/// A function that reads a property, as the engine calls it.
pub fn getter_of<F: Getter>(js: Js, name: &str, getter: F) -> Answer {
    const { assert!(size_of::<F>() == 0, "functions for scripts capture nothing") };
    let _ = getter;
    let name = CString::new(format!("get {name}")).unwrap_or_default();
    // SAFETY: a getter takes fewer arguments than the type says: the kind of the function tells the engine.
    js.take(unsafe {
        let function = std::mem::transmute::<
            unsafe extern "C" fn(*mut qjs::JSContext, qjs::JSValue) -> qjs::JSValue,
            unsafe extern "C" fn(*mut qjs::JSContext, qjs::JSValue, c_int, *mut qjs::JSValue) -> qjs::JSValue,
        >(read::<F>);
        qjs::JS_NewCFunction2(
            js.raw(),
            Some(function),
            name.as_ptr(),
            0,
            qjs::JSCFunctionEnum_JS_CFUNC_getter,
            0,
        )
    })
}

fn answer(js: Js, answer: Answer) -> qjs::JSValue {
    match answer {
        Ok(value) => Value::into_raw(value),
        Err(throw) => js.throw(throw),
    }
}

unsafe extern "C" fn read<F: Getter>(context: *mut qjs::JSContext, this: qjs::JSValue) -> qjs::JSValue {
    // SAFETY: `F` has no size, so there is nothing to read.
    let getter = unsafe { NonNull::<F>::dangling().read() };
    let js = Js::of(context);
    answer(js, getter(js, View(this)))
}

unsafe extern "C" fn trampoline<F: Native>(
    context: *mut qjs::JSContext,
    this: qjs::JSValue,
    count: c_int,
    arguments: *mut qjs::JSValue,
) -> qjs::JSValue {
    // SAFETY: `F` has no size, so there is nothing to read; the engine passes so many arguments.
    let (function, arguments) = unsafe {
        let function = NonNull::<F>::dangling().read();
        let given: &[View] = match usize::try_from(count) {
            Ok(count) if count > 0 => std::slice::from_raw_parts(arguments.cast(), count),
            _ => &[],
        };
        (function, given)
    };
    let js = Js::of(context);
    answer(js, function(js, View(this), arguments))
}
