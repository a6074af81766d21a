//! Compiling and calling.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use super::raw::lua_State;
use super::{Lua, raw};

impl Lua {
    /// Calls the function below its arguments. Errors pass through.
    pub fn call(self, arguments: c_int, results: c_int) {
        // SAFETY: callers pushed function and arguments.
        unsafe { raw::lua_callk(self.0, arguments, results, 0, ptr::null()) }
    }

    /// Calls the function below its arguments; on an error the error's value is on the stack instead
    /// of results. `handler` is the place of a function that sees the error first, or 0.
    #[inline]
    pub fn protected_call(self, arguments: c_int, results: c_int, handler: c_int) -> bool {
        // SAFETY: callers pushed function and arguments.
        unsafe { raw::lua_pcallk(self.0, arguments, results, handler, 0, ptr::null()) == raw::LUA_OK }
    }

    /// Compiles a text chunk and pushes it as a function; on an error its message.
    pub fn load(self, source: &[u8], name: &CStr) -> bool {
        let mut rest = Some(source);
        // SAFETY: the reader gets the data it expects, which outlives the call.
        let status =
            unsafe { raw::lua_load(self.0, read_once, (&raw mut rest).cast(), name.as_ptr(), c"t".as_ptr()) };
        status == raw::LUA_OK
    }

    /// Opens a standard library as a global and pushes it.
    pub fn open_library(self, name: &CStr, open: raw::lua_CFunction) {
        // SAFETY: `open` is one of Lua's own.
        unsafe { raw::luaL_requiref(self.0, name.as_ptr(), open, 1) }
    }

    /// Switches the collector to generations: nearly everything a record makes dies with it.
    pub fn collect_by_generation(self) {
        // SAFETY: the arguments are those of this option; 0 keeps the defaults.
        unsafe { raw::lua_gc(self.0, raw::LUA_GCGEN, 0 as c_int, 0 as c_int) };
    }

    /// Lets script code run so many steps; from then on each step is an error, so that no `pcall` goes on.
    #[cfg(test)]
    pub fn limit_steps(self, steps: c_int) {
        extern "C" fn stop(state: *mut lua_State, _: *mut raw::lua_Debug) {
            let lua = Lua(state);
            lua.set_steps(stop, 1);
            lua.push_str("too many steps");
            // SAFETY: the error's value is on top; no local of this function must be dropped.
            unsafe { raw::lua_error(state) };
        }
        self.set_steps(stop, steps);
    }

    #[cfg(test)]
    fn set_steps(self, hook: raw::lua_Hook, steps: c_int) {
        // SAFETY: the hook is a function that lives for ever.
        unsafe { raw::lua_sethook(self.0, hook, raw::LUA_MASKCOUNT, steps) }
    }

    /// Frees what nothing refers to.
    pub fn collect(self) {
        // SAFETY: this option has no arguments.
        unsafe { raw::lua_gc(self.0, raw::LUA_GCCOLLECT) };
    }

    /// Pushes the call stack as text.
    pub fn push_traceback(self, level: c_int) {
        // SAFETY: see `top`.
        unsafe { raw::luaL_traceback(self.0, self.0, ptr::null(), level) }
    }
}

extern "C" fn read_once(_: *mut lua_State, data: *mut c_void, size: *mut usize) -> *const c_char {
    // SAFETY: `load` passes its own variable and Lua a place for the size.
    unsafe {
        let part = (*data.cast::<Option<&[u8]>>()).take().unwrap_or_default();
        *size = part.len();
        part.as_ptr().cast()
    }
}
