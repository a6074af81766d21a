//! Reading values from the stack.

use std::ffi::{CStr, c_int};

use super::{Kind, Lua, raw};

impl Lua {
    /// What the value is.
    #[inline]
    pub fn kind(self, index: c_int) -> Kind {
        // SAFETY: see `top`.
        match unsafe { raw::lua_type(self.0, index) } {
            raw::LUA_TNONE => Kind::None,
            raw::LUA_TNIL => Kind::Nil,
            raw::LUA_TBOOLEAN => Kind::Boolean,
            // SAFETY: see `top`.
            raw::LUA_TNUMBER if unsafe { raw::lua_isinteger(self.0, index) } != 0 => Kind::Integer,
            raw::LUA_TNUMBER => Kind::Float,
            raw::LUA_TSTRING => Kind::String,
            raw::LUA_TTABLE => Kind::Table,
            raw::LUA_TFUNCTION => Kind::Function,
            raw::LUA_TUSERDATA => Kind::Userdata,
            _ => Kind::Other,
        }
    }

    /// Whether it is `nil` or missing.
    #[inline]
    pub fn is_nil(self, index: c_int) -> bool {
        // SAFETY: see `top`.
        unsafe { raw::lua_type(self.0, index) <= raw::LUA_TNIL }
    }

    /// Whether it is true in a condition.
    pub fn is_true(self, index: c_int) -> bool {
        // SAFETY: see `top`.
        unsafe { raw::lua_toboolean(self.0, index) != 0 }
    }

    /// The integer, if the value is one, or a float or string that is one exactly.
    pub fn integer(self, index: c_int) -> Option<i64> {
        let mut valid = 0;
        // SAFETY: see `top`.
        let number = unsafe { raw::lua_tointegerx(self.0, index, &mut valid) };
        // Lua is built to round a float down here (`port/number.h`).
        let is_exact =
            || self.kind(index) == Kind::Integer || self.number(index).is_some_and(|n| n.fract() == 0.0);
        (valid != 0 && is_exact()).then_some(number)
    }

    /// A number that is known to be an integer.
    #[inline]
    pub fn number_as_integer(self, index: c_int) -> i64 {
        // SAFETY: see `top`.
        unsafe { raw::lua_tointegerx(self.0, index, std::ptr::null_mut()) }
    }

    /// Where the value is, if Lua keeps it somewhere: equal short strings are at one place. Null for what it does not.
    #[inline]
    pub fn place_of(self, index: c_int) -> *const u8 {
        // SAFETY: see `top`.
        unsafe { raw::lua_topointer(self.0, index) }.cast()
    }

    /// The number as a float, if the value is one or a string that says one.
    pub fn number(self, index: c_int) -> Option<f64> {
        let mut valid = 0;
        // SAFETY: see `top`.
        let number = unsafe { raw::lua_tonumberx(self.0, index, &mut valid) };
        (valid != 0).then_some(number)
    }

    /// A string's bytes; none for other values. They live as long as the value is on the stack, so
    /// the caller uses them before it pops it.
    #[inline]
    pub fn bytes<'a>(self, index: c_int) -> Option<&'a [u8]> {
        // SAFETY: see `top`.
        let is_string = unsafe { raw::lua_type(self.0, index) } == raw::LUA_TSTRING;
        is_string.then(|| self.bytes_at(index))
    }

    #[inline]
    pub(super) fn bytes_at<'a>(self, index: c_int) -> &'a [u8] {
        let mut length = 0;
        // SAFETY: the value is a string, which Lua keeps with its length while it is on the stack.
        unsafe {
            let text = raw::lua_tolstring(self.0, index, &mut length);
            std::slice::from_raw_parts(text.cast(), length)
        }
    }

    /// Pushes the value's text as `tostring` says it and returns it. May run script code.
    pub fn text_of<'a>(self, index: c_int) -> &'a [u8] {
        let mut length = 0;
        // SAFETY: the text stays on the stack.
        unsafe {
            let text = raw::luaL_tolstring(self.0, index, &mut length);
            std::slice::from_raw_parts(text.cast(), length)
        }
    }

    /// What Lua calls the value's type.
    pub fn type_name(self, index: c_int) -> &'static str {
        // SAFETY: Lua's names of types are constants in ASCII.
        let name = unsafe { CStr::from_ptr(raw::lua_typename(self.0, raw::lua_type(self.0, index))) };
        name.to_str().unwrap_or("value")
    }

    /// The length of a string, table or value, without metamethods.
    pub fn raw_length(self, index: c_int) -> usize {
        // SAFETY: see `top`.
        unsafe { raw::lua_rawlen(self.0, index) as usize }
    }

    /// Whether two values are the same.
    pub fn same(self, one: c_int, other: c_int) -> bool {
        // SAFETY: see `top`.
        unsafe { raw::lua_rawequal(self.0, one, other) != 0 }
    }
}
