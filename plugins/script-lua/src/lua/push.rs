//! Pushing values, and this crate's own among them.

use std::ffi::c_int;
use std::ptr::{self, NonNull};

use super::raw::lua_State;
use super::{Answer, Lua, Slot, Userdata, raw};

impl Lua {
    /// Pushes `nil`.
    #[inline]
    pub fn push_nil(self) {
        // SAFETY: see `top`.
        unsafe { raw::lua_pushnil(self.0) }
    }

    /// Pushes a boolean.
    #[inline]
    pub fn push_boolean(self, value: bool) {
        // SAFETY: see `top`.
        unsafe { raw::lua_pushboolean(self.0, value.into()) }
    }

    /// Pushes an integer.
    #[inline]
    pub fn push_integer(self, value: i64) {
        // SAFETY: see `top`.
        unsafe { raw::lua_pushinteger(self.0, value) }
    }

    /// Pushes a float.
    #[inline]
    pub fn push_number(self, value: f64) {
        // SAFETY: see `top`.
        unsafe { raw::lua_pushnumber(self.0, value) }
    }

    /// Pushes a string.
    #[inline]
    pub fn push_bytes(self, bytes: &[u8]) {
        // SAFETY: Lua copies the bytes.
        unsafe { raw::lua_pushlstring(self.0, bytes.as_ptr().cast(), bytes.len()) };
    }

    /// Pushes a string.
    pub fn push_str(self, text: &str) {
        self.push_bytes(text.as_bytes());
    }

    /// Pushes a function. `function` must be a plain function, not a closure with captures.
    pub fn push_function<F: Fn(Lua) -> Answer + Copy + 'static>(self, function: F) {
        const { assert!(size_of::<F>() == 0, "functions for Lua capture nothing") };
        let _ = function;
        // SAFETY: see `top`.
        unsafe { raw::lua_pushcclosure(self.0, trampoline::<F>, 0) }
    }

    /// Pushes a value of this crate with its metatable.
    #[inline]
    pub fn push_userdata<T: Userdata>(self, value: T, metatable: Slot) {
        const { assert!(align_of::<T>() <= 8, "Lua aligns userdata to eight bytes") };
        // SAFETY: Lua gives as many bytes as asked for, aligned.
        unsafe { raw::lua_newuserdatauv(self.0, size_of::<T>(), 0).cast::<T>().write(value) };
        self.get_slot(metatable);
        self.set_metatable(-2);
    }

    /// Pops a value and pushes one of this crate that holds it.
    pub fn push_userdata_with_value<T: Userdata>(self, value: T, metatable: Slot) {
        const { assert!(align_of::<T>() <= 8, "Lua aligns userdata to eight bytes") };
        // SAFETY: Lua gives as many bytes as asked for, aligned, and room for one value.
        unsafe { raw::lua_newuserdatauv(self.0, size_of::<T>(), 1).cast::<T>().write(value) };
        self.insert(-2);
        // SAFETY: the userdata is below the value.
        unsafe { raw::lua_setiuservalue(self.0, -2, 1) };
        self.get_slot(metatable);
        self.set_metatable(-2);
    }

    /// Pushes what a value of this crate holds.
    pub fn push_user_value(self, index: c_int) {
        // SAFETY: callers know that it is a userdata.
        unsafe { raw::lua_getiuservalue(self.0, index, 1) };
    }

    /// Pushes a value of variable length: a tag, then bytes.
    pub fn push_tagged_bytes(self, tag: u32, bytes: &[u8], metatable: Slot) {
        // SAFETY: Lua gives as many bytes as asked for, aligned; no script code runs before they are
        // filled.
        unsafe {
            let start = raw::lua_newuserdatauv(self.0, size_of::<u32>() + bytes.len(), 0).cast::<u8>();
            start.cast::<u32>().write(tag);
            ptr::copy_nonoverlapping(bytes.as_ptr(), start.add(size_of::<u32>()), bytes.len());
        }
        self.get_slot(metatable);
        self.set_metatable(-2);
    }

    /// The tag of one of this crate's values. Every userdata of the state begins with one.
    #[inline]
    fn tagged(self, index: c_int) -> Option<(NonNull<u8>, u32)> {
        // SAFETY: see `top`.
        let start = NonNull::new(unsafe { raw::lua_touserdata(self.0, index) }.cast::<u8>())?;
        // SAFETY: nothing but this crate makes userdata, and all of it begins with a tag.
        Some((start, unsafe { start.cast::<u32>().read() }))
    }

    /// The value, if it is of that type.
    #[inline]
    pub fn userdata<T: Userdata>(self, index: c_int) -> Option<T> {
        let (start, tag) = self.tagged(index)?;
        // SAFETY: the tag tells the type, and values are plain data.
        (tag == T::TAG).then(|| unsafe { start.cast::<T>().read() })
    }

    /// The bytes of a value of variable length, if it has that tag. They live as long as the value
    /// is on the stack.
    pub fn tagged_bytes<'a>(self, tag: u32, index: c_int) -> Option<&'a [u8]> {
        let (start, found) = self.tagged(index)?;
        if found != tag {
            return None;
        }
        let length = self.raw_length(index) - size_of::<u32>();
        // SAFETY: the value was made by `push_tagged_bytes`.
        Some(unsafe { std::slice::from_raw_parts(start.as_ptr().add(size_of::<u32>()), length) })
    }
}

extern "C" fn trampoline<F: Fn(Lua) -> Answer + Copy + 'static>(state: *mut lua_State) -> c_int {
    // SAFETY: `F` has no size, so there is nothing to read.
    let function = unsafe { NonNull::<F>::dangling().read() };
    let lua = Lua(state);
    match function(lua) {
        Ok(results) => results,
        Err(error) => lua.raise(error),
    }
}
