//! A thin layer over QuickJS: values that are freed, and functions that answer with a `Result`.
//!
//! Every value of the engine that this crate owns is a [`Value`], which gives it back when it is dropped; a
//! [`View`] is one that somebody else owns for the time being: an argument, or a value that is held beside it.
//! Script code may run in every call that takes a value apart or puts one together, so no borrow of the
//! session is kept across one.

#![expect(unsafe_code, reason = "the C API is called here")]

use std::ffi::CString;
use std::ptr::NonNull;

use rquickjs_sys as qjs;

use crate::session::Session;

mod atom;
mod class;
mod function;
mod kind;
mod make;
mod memory;
mod property;
mod read;

pub use atom::Atom;
pub use class::{Class, Exotic};
pub use function::argument;
pub use kind::Kind;
pub use memory::functions;
pub use read::{Promise, Text};

/// A context of the engine: a pointer, passed by value.
#[derive(Clone, Copy)]
pub struct Js(NonNull<qjs::JSContext>);

/// A value that somebody else owns.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct View(qjs::JSValue);

/// A value that is given back when it is dropped.
pub struct Value {
    view: View,
    js: Js,
}

/// What kind of error is thrown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// A value that is not of the kind that is needed.
    Type,
    /// A number or length beyond what is possible.
    Range,
    /// Text that does not have its form.
    Syntax,
    /// Anything else: `Error` itself.
    Plain,
}

/// An error on its way to the script.
#[derive(Debug)]
pub enum Throw {
    /// It is thrown already.
    Pending,
    /// It is to be thrown.
    Error(ErrorKind, String),
}

/// What a function gives, or throws.
pub type Answer<T = Value> = Result<T, Throw>;

impl Throw {
    /// A `TypeError`.
    #[cold]
    pub fn of_type(message: impl std::fmt::Display) -> Self {
        Self::Error(ErrorKind::Type, message.to_string())
    }

    /// An `Error`.
    #[cold]
    pub fn plain(message: impl std::fmt::Display) -> Self {
        Self::Error(ErrorKind::Plain, message.to_string())
    }

    /// A `RangeError`.
    #[cold]
    pub fn of_range(message: impl std::fmt::Display) -> Self {
        Self::Error(ErrorKind::Range, message.to_string())
    }

    /// A `SyntaxError`.
    #[cold]
    pub fn of_syntax(message: impl std::fmt::Display) -> Self {
        Self::Error(ErrorKind::Syntax, message.to_string())
    }
}

impl Drop for Value {
    #[inline]
    fn drop(&mut self) {
        if self.view.is_counted() {
            // SAFETY: this value owns one reference.
            unsafe { qjs::JS_FreeValue(self.js.raw(), self.view.0) };
        }
    }
}

impl Clone for Value {
    #[inline]
    fn clone(&self) -> Self {
        self.js.own(self.view)
    }
}

impl std::ops::Deref for Value {
    type Target = View;

    #[inline]
    fn deref(&self) -> &View {
        &self.view
    }
}

impl Value {
    /// Hands the reference over to the engine.
    #[inline]
    fn into_raw(self) -> qjs::JSValue {
        let raw = self.view.0;
        std::mem::forget(self);
        raw
    }
}

/// Bytes that the engines of this thread hold.
#[cfg(test)]
pub fn memory_used() -> usize {
    memory::used()
}

impl Js {
    /// A context that the engine passed to a function of ours.
    #[inline]
    fn of(context: *mut qjs::JSContext) -> Self {
        // SAFETY: the engine passes its contexts, never null.
        Self(unsafe { NonNull::new_unchecked(context) })
    }

    #[inline]
    fn raw(self) -> *mut qjs::JSContext {
        self.0.as_ptr()
    }

    #[inline]
    fn runtime(self) -> *mut qjs::JSRuntime {
        // SAFETY: a live context, as in every call of this crate.
        unsafe { qjs::JS_GetRuntime(self.raw()) }
    }

    /// A new engine over a session and an allocator that counts; none when there is no memory for it. It lives
    /// until [`Js::close`].
    pub fn open(session: NonNull<Session>) -> Option<Self> {
        let functions = functions();
        // SAFETY: the functions are copied; the session outlives the context.
        unsafe {
            let runtime = NonNull::new(qjs::JS_NewRuntime2(&functions, std::ptr::null_mut()))?;
            let Some(context) = NonNull::new(qjs::JS_NewContext(runtime.as_ptr())) else {
                qjs::JS_FreeRuntime(runtime.as_ptr());
                return None;
            };
            qjs::JS_SetContextOpaque(context.as_ptr(), session.as_ptr().cast());
            qjs::JS_SetRuntimeOpaque(runtime.as_ptr(), session.as_ptr().cast());
            Some(Self(context))
        }
    }

    /// Ends the engine. Every value was dropped before.
    pub fn close(self) {
        let runtime = self.runtime();
        // SAFETY: the caller gives the engine up.
        unsafe {
            qjs::JS_FreeContext(self.raw());
            qjs::JS_FreeRuntime(runtime);
        }
    }

    /// The session of this engine. The borrow must end before script code runs.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "there is one thread, and borrows end before script code runs")]
    pub fn session(&self) -> &mut Session {
        // SAFETY: set when the context was made; the session outlives it.
        unsafe { &mut *qjs::JS_GetContextOpaque(self.raw()).cast::<Session>() }
    }

    /// Bounds the memory of values, and the stack of calls.
    pub fn limit(self, memory_bytes: usize, stack_bytes: usize) {
        memory::limit(memory_bytes);
        // SAFETY: see `runtime`.
        unsafe { qjs::JS_SetMaxStackSize(self.runtime(), stack_bytes as _) };
    }

    /// Whether the limit of memory was reached since this was last asked.
    pub fn take_exhausted(self) -> bool {
        memory::take_exhausted()
    }

    /// Tells the engine where the stack begins. Called before it is entered.
    #[inline]
    pub fn enter(self) {
        // SAFETY: see `runtime`.
        unsafe { qjs::JS_UpdateStackTop(self.runtime()) };
    }

    /// Frees what is not reachable.
    pub fn collect(self) {
        // SAFETY: see `runtime`.
        unsafe { qjs::JS_RunGC(self.runtime()) };
    }

    /// Takes a reference of its own to a value.
    #[inline]
    pub fn own(self, view: View) -> Value {
        if view.is_counted() {
            // SAFETY: the value is alive.
            unsafe { qjs::JS_DupValue(self.raw(), view.0) };
        }
        Value { view, js: self }
    }

    /// Takes over a reference that the engine gave; an exception is an error that is thrown already.
    #[inline]
    fn take(self, raw: qjs::JSValue) -> Answer {
        let view = View(raw);
        if view.tag() == qjs::JS_TAG_EXCEPTION { Err(Throw::Pending) } else { Ok(Value { view, js: self }) }
    }

    /// Whether a call of the engine's that answers with a number succeeded.
    #[inline]
    fn done(result: i32) -> Answer<bool> {
        if result < 0 { Err(Throw::Pending) } else { Ok(result > 0) }
    }

    /// Throws what is to be thrown; the answer is what the engine reads as an exception.
    #[cold]
    fn throw(self, throw: Throw) -> qjs::JSValue {
        if let Throw::Error(kind, message) = throw {
            let constructor = match kind {
                ErrorKind::Type => "TypeError",
                ErrorKind::Range => "RangeError",
                ErrorKind::Syntax => "SyntaxError",
                ErrorKind::Plain => "Error",
            };
            let made = self.global().get(constructor).and_then(|constructor| {
                let message = self.string(&message)?;
                self.construct(*constructor, &[*message])
            });
            if let Ok(error) = made {
                // SAFETY: the engine takes the reference.
                unsafe { qjs::JS_Throw(self.raw(), error.into_raw()) };
            }
        }
        qjs::JS_EXCEPTION
    }

    /// Takes the error that was thrown.
    #[cold]
    pub fn caught(self) -> Value {
        // SAFETY: see `runtime`.
        Value { view: View(unsafe { qjs::JS_GetException(self.raw()) }), js: self }
    }

    /// Calls a function.
    #[inline]
    pub fn call(self, function: View, this: View, arguments: &[View]) -> Answer {
        // SAFETY: values are alive during the call; `View` is a value of the engine.
        self.take(unsafe {
            qjs::JS_Call(
                self.raw(),
                function.0,
                this.0,
                arguments.len() as _,
                arguments.as_ptr().cast_mut().cast(),
            )
        })
    }

    /// Calls a constructor.
    pub fn construct(self, constructor: View, arguments: &[View]) -> Answer {
        // SAFETY: as in `call`.
        self.take(unsafe {
            qjs::JS_CallConstructor(
                self.raw(),
                constructor.0,
                arguments.len() as _,
                arguments.as_ptr().cast_mut().cast(),
            )
        })
    }

    /// Runs what promises wait for.
    pub fn run_jobs(self) -> Answer<()> {
        loop {
            let mut context = std::ptr::null_mut();
            // SAFETY: see `runtime`.
            match unsafe { qjs::JS_ExecutePendingJob(self.runtime(), &mut context) } {
                0 => return Ok(()),
                1.. => {}
                _ => return Err(Throw::Pending),
            }
        }
    }

    /// Whether something waits to be run.
    #[inline]
    pub fn has_jobs(self) -> bool {
        // SAFETY: see `runtime`.
        unsafe { qjs::JS_IsJobPending(self.runtime()) }
    }

    /// Throws a value that was thrown before.
    pub fn rethrow(self, error: Value) -> Throw {
        // SAFETY: the engine takes the reference.
        unsafe { qjs::JS_Throw(self.raw(), error.into_raw()) };
        Throw::Pending
    }

    /// Bytes of values that are in use.
    pub fn memory_used(self) -> usize {
        memory::used()
    }

    /// Has the session know of promises that fail without anybody looking.
    pub fn track_promises(self) {
        // SAFETY: the function lives as long as the program.
        unsafe {
            qjs::JS_SetHostPromiseRejectionTracker(self.runtime(), Some(track_promise), std::ptr::null_mut());
        }
    }

    /// Compiles source text as a module of a name, without running it.
    pub fn compile(self, name: &str, source: &str) -> Answer<Module> {
        let (Ok(name), Ok(text)) = (CString::new(name), CString::new(source)) else {
            return Err(Throw::of_syntax("the source has a character of value zero"));
        };
        let flags = qjs::JS_EVAL_TYPE_MODULE | qjs::JS_EVAL_FLAG_COMPILE_ONLY;
        // SAFETY: both texts end with a zero byte, as the engine wants them to.
        let compiled = self.take(unsafe {
            qjs::JS_Eval(self.raw(), text.as_ptr(), source.len() as _, name.as_ptr(), flags as _)
        })?;
        Ok(Module(compiled))
    }

    /// Runs source text of this crate's own.
    pub fn run(self, name: &str, source: &str) -> Answer {
        let (Ok(name), Ok(text)) = (CString::new(name), CString::new(source)) else {
            return Err(Throw::of_syntax("the source has a character of value zero"));
        };
        // SAFETY: as in `compile`.
        self.take(unsafe {
            qjs::JS_Eval(
                self.raw(),
                text.as_ptr(),
                source.len() as _,
                name.as_ptr(),
                (qjs::JS_EVAL_TYPE_GLOBAL | qjs::JS_EVAL_FLAG_STRICT) as _,
            )
        })
    }

    /// How modules are found, set once.
    pub fn set_module_loader(
        self,
        normalize: fn(Js, &str, &str) -> Answer<String>,
        load: fn(Js, &str) -> Answer<Module>,
    ) {
        self.session().loader = Some((normalize, load));
        // SAFETY: the functions live as long as the program.
        unsafe {
            qjs::JS_SetModuleLoaderFunc(
                self.runtime(),
                Some(module::normalize),
                Some(module::load),
                std::ptr::null_mut(),
            );
        }
    }
}

/// Remembers the first promise that fails without anybody looking, until somebody does.
unsafe extern "C" fn track_promise(
    context: *mut qjs::JSContext,
    _: qjs::JSValue,
    reason: qjs::JSValue,
    is_handled: bool,
    _: *mut std::ffi::c_void,
) {
    let js = Js::of(context);
    let reason = View(reason);
    let unhandled = &mut js.session().unhandled;
    if is_handled {
        // Promises are told apart by what they failed with: two that failed with the same object are one fault.
        if unhandled.as_ref().is_some_and(|known| {
            known.is_same_object(reason) || known.kind() != Kind::Object && reason.kind() != Kind::Object
        }) {
            *unhandled = None;
        }
    } else if unhandled.is_none() {
        *unhandled = Some(js.own(reason));
    }
}

mod module;
pub use module::Module;

#[cfg(test)]
impl Js {
    /// Ends script code with an error that cannot be caught after so many looks of the engine's.
    pub fn limit_interrupts(self) {
        const LOOKS_MAX: u32 = 50;
        thread_local!(static LOOKS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) });
        unsafe extern "C" fn count(_: *mut qjs::JSRuntime, _: *mut std::ffi::c_void) -> i32 {
            LOOKS.set(LOOKS.get() + 1);
            i32::from(LOOKS.get() > LOOKS_MAX)
        }
        LOOKS.set(0);
        // SAFETY: the function lives as long as the program.
        unsafe { qjs::JS_SetInterruptHandler(self.runtime(), Some(count), std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests;
