//! A thin layer over Lua's C API: typed calls, and functions that answer with a `Result`.
//!
//! Two rules hold for everything above it. A Lua error leaves a function without dropping its locals
//! (that is how Lua works), so a call that may raise one (anything that allocates in Lua, or runs Lua
//! code) is made while no local owns memory, or the memory is lost. And no Lua code runs while Lua
//! collects garbage: finalizers do not exist here (`library.rs` refuses them), so only
//! [`Lua::call`], [`Lua::protected_call`], [`Lua::text_of`] and [`Lua::get`] run script code.

#![expect(unsafe_code, reason = "the C API is called here")]

use std::ffi::c_int;
use std::ptr::NonNull;

use crate::session::Session;

pub mod raw;

mod calls;
mod memory;
mod push;
mod read;
mod tables;
mod trace;

pub use memory::Memory;
pub use trace::Place;

use raw::lua_State;

/// A Lua thread: a pointer, passed by value.
#[derive(Clone, Copy)]
pub struct Lua(*mut lua_State);

/// A Lua error on its way.
#[derive(Debug)]
pub enum Raise {
    /// Its message waits in the session.
    Message,
    /// Its value is on top of the stack: an error that was caught and goes on.
    Value,
}

/// How many results a function left on the stack.
pub type Answer = Result<c_int, Raise>;

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// No argument.
    None,
    /// `nil`.
    Nil,
    /// `true` or `false`.
    Boolean,
    /// An integer.
    Integer,
    /// A float.
    Float,
    /// A string of bytes.
    String,
    /// A table.
    Table,
    /// A function.
    Function,
    /// One of this crate's values.
    Userdata,
    /// A coroutine.
    Other,
}

/// Where this crate keeps what it needs of Lua's objects: integer keys of the registry.
#[derive(Debug, Clone, Copy)]
#[repr(i64)]
pub enum Slot {
    /// Metatable of records.
    Record = 16,
    /// Metatable of rows.
    Row,
    /// Metatable of decimals.
    Decimal,
    /// Metatable of big integers.
    BigInteger,
    /// Metatable of times.
    Moment,
    /// Metatable of intervals.
    Interval,
    /// Metatable of UUIDs.
    Uuid,
    /// The current record's new row, once it was asked for.
    NewRow,
    /// The current record's old row, once it was asked for.
    OldRow,
    /// The modules that `require` finds.
    Modules,
    /// The sources of stored scripts by name; false where it was begun.
    Sources,
    /// The `load` that Lua came with.
    Load,
    /// The `string.format` that Lua came with.
    Format,
    /// The metatable that marks a table as a JSON array.
    JsonArray,
    /// Metatable of wrappers.
    Wrapper,
    /// The module `json`.
    Json,
    /// Metatables that keep the order of a table's columns, by the serial of its binding.
    Orders,
    /// Names that are kept, so that they are known by their places.
    Names,
}

/// A value of this crate as Lua holds it.
///
/// # Safety
/// The type is `repr(C)`, begins with a `u32` that always is `TAG`, needs no drop, and no other type
/// has the same tag.
pub unsafe trait Userdata: Copy {
    /// Tells the types apart.
    const TAG: u32;
}

impl Lua {
    /// A new state. It lives until [`Lua::close`].
    pub fn new(session: NonNull<Session>, memory: NonNull<Memory>) -> Option<Self> {
        // SAFETY: the allocator gets the data it expects.
        let state = unsafe { raw::lua_newstate(memory::allocate, memory.as_ptr().cast()) };
        let lua = Self(NonNull::new(state)?.as_ptr());
        // SAFETY: Lua keeps the size of a pointer before each thread, copied to new threads.
        unsafe { lua.extra_space().write(session.as_ptr()) };
        Some(lua)
    }

    /// Ends the state.
    pub fn close(self) {
        // SAFETY: the caller gives the state up.
        unsafe { raw::lua_close(self.0) }
    }

    fn extra_space(self) -> *mut *mut Session {
        self.0.cast::<*mut Session>().wrapping_sub(1)
    }

    /// The session of this state. The borrow must end before script code runs.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "there is one thread, and borrows end before Lua code runs")]
    pub fn session(&self) -> &mut Session {
        // SAFETY: set when the state was made; the session outlives the state.
        unsafe { &mut **self.extra_space() }
    }

    /// Notes an error's message.
    #[cold]
    pub fn fail(self, message: impl std::fmt::Display) -> Raise {
        use std::fmt::Write;
        let error = &mut self.session().error;
        error.clear();
        // Writing to a string cannot fail; a value whose Display fails has said what it could.
        let _ = write!(error, "{message}");
        Raise::Message
    }

    fn raise(self, error: Raise) -> ! {
        if let Raise::Value = error {
            // SAFETY: the value is on top.
            unsafe { raw::lua_error(self.0) };
        }
        let Session { error, .. } = self.session();
        // SAFETY: the message is a valid string; the session is not borrowed beyond the copy.
        unsafe {
            raw::luaL_where(self.0, 1);
            raw::lua_pushlstring(self.0, error.as_ptr().cast(), error.len());
            self.concat();
            raw::lua_error(self.0);
        }
        unreachable!("lua_error does not return")
    }

    /// Joins the two strings at the top.
    fn concat(self) {
        let (place, message) = (self.bytes_at(-2), self.bytes_at(-1));
        if place.is_empty() {
            self.remove(-2);
        } else {
            let joined = &mut self.session().joined;
            joined.clear();
            joined.extend_from_slice(place);
            joined.extend_from_slice(message);
            // SAFETY: as for every string that is pushed.
            unsafe { raw::lua_pushlstring(self.0, joined.as_ptr().cast(), joined.len()) };
        }
    }

    // The stack.

    /// How many values are on it.
    #[inline]
    pub fn top(self) -> c_int {
        // SAFETY: a live state, as in every call below.
        unsafe { raw::lua_gettop(self.0) }
    }

    /// Cuts or fills it.
    #[inline]
    pub fn set_top(self, top: c_int) {
        // SAFETY: see `top`; callers stay within the stack.
        unsafe { raw::lua_settop(self.0, top) }
    }

    /// Removes values from the top.
    #[inline]
    pub fn pop(self, count: c_int) {
        self.set_top(-count - 1);
    }

    /// The same place counted from the bottom.
    pub fn absolute(self, index: c_int) -> c_int {
        // SAFETY: see `top`.
        unsafe { raw::lua_absindex(self.0, index) }
    }

    /// Pushes a copy.
    #[inline]
    pub fn push_copy(self, index: c_int) {
        // SAFETY: see `top`.
        unsafe { raw::lua_pushvalue(self.0, index) }
    }

    /// Moves the top to a place, shifting what is above it up.
    pub fn insert(self, index: c_int) {
        // SAFETY: see `top`.
        unsafe { raw::lua_rotate(self.0, index, 1) }
    }

    /// Pops a value into a place.
    pub fn replace(self, index: c_int) {
        // SAFETY: see `top`.
        unsafe { raw::lua_copy(self.0, -1, index) };
        self.pop(1);
    }

    /// Takes a value out.
    pub fn remove(self, index: c_int) {
        // SAFETY: see `top`.
        unsafe { raw::lua_rotate(self.0, index, -1) };
        self.pop(1);
    }

    /// Makes room for values; false when the stack cannot grow so far.
    pub fn reserve(self, count: c_int) -> bool {
        // SAFETY: see `top`.
        unsafe { raw::lua_checkstack(self.0, count) != 0 }
    }
}

#[cfg(test)]
pub mod tests;
