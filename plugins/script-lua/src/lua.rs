//! A thin layer over Lua's C API: typed calls, and functions that answer with a `Result`.
//!
//! Two rules hold for everything above it. A Lua error leaves a function without dropping its locals
//! (that is how Lua works), so a call that may raise one (anything that allocates in Lua, or runs Lua
//! code) is made while no local owns memory, or the memory is lost. And no Lua code runs while Lua
//! collects garbage: finalizers do not exist here (`library.rs` refuses them), so only
//! [`Lua::call`], [`Lua::protected_call`], [`Lua::text_of`] and [`Lua::get`] run script code.

#![expect(unsafe_code, reason = "the C API is called here")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{self, NonNull};

use crate::session::Session;

pub mod raw;

mod memory;
mod trace;

pub use memory::Memory;

use raw::lua_State;

/// A Lua thread: a pointer, passed by value.
#[derive(Clone, Copy)]
pub struct Lua(*mut lua_State);

/// A Lua error on its way: the message waits in the session.
#[derive(Debug)]
pub struct Raise;

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
    /// The `load` that Lua came with.
    Load,
    /// The metatable that marks a table as a JSON array.
    JsonArray,
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
        Raise
    }

    fn raise(self) -> ! {
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

    // Reading values.

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
    pub fn is_nil(self, index: c_int) -> bool {
        matches!(self.kind(index), Kind::Nil | Kind::None)
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
        (valid != 0).then_some(number)
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
    fn bytes_at<'a>(self, index: c_int) -> &'a [u8] {
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

    // Pushing values.

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

    // Tables.

    /// Pushes a table with room for items and fields.
    pub fn push_table(self, items: usize, fields: usize) {
        let room = |count: usize| c_int::try_from(count).unwrap_or(c_int::MAX);
        // SAFETY: see `top`.
        unsafe { raw::lua_createtable(self.0, room(items), room(fields)) }
    }

    /// Sets a field of the table at `index` to the top, which it pops, without metamethods.
    pub fn set_field(self, index: c_int, name: &str) {
        let index = self.absolute(index);
        self.push_str(name);
        self.insert(-2);
        self.raw_set(index);
    }

    /// Sets a field to a function.
    pub fn set_function<F: Fn(Lua) -> Answer + Copy + 'static>(self, index: c_int, name: &str, function: F) {
        let index = self.absolute(index);
        self.push_function(function);
        self.set_field(index, name);
    }

    /// Pushes a field of the table at `index`, without metamethods.
    pub fn get_field(self, index: c_int, name: &str) -> Kind {
        let index = self.absolute(index);
        self.push_str(name);
        // SAFETY: callers know that it is a table.
        unsafe { raw::lua_rawget(self.0, index) };
        self.kind(-1)
    }

    /// Pushes a field of the table at `index`, without metamethods.
    pub fn get_bytes_field(self, index: c_int, name: &[u8]) {
        self.push_bytes(name);
        // SAFETY: callers know that it is a table.
        unsafe { raw::lua_rawget(self.0, index) };
    }

    /// Pops a value and a key below it, and sets the key of the table at `index`.
    pub fn raw_set(self, index: c_int) {
        // SAFETY: callers know that it is a table.
        unsafe { raw::lua_rawset(self.0, index) }
    }

    /// Pushes an item of the table at `index`, without metamethods.
    pub fn get_item(self, index: c_int, item: i64) -> Kind {
        // SAFETY: callers know that it is a table.
        unsafe { raw::lua_rawgeti(self.0, index, item) };
        self.kind(-1)
    }

    /// Pops a value into an item of the table at `index`.
    pub fn set_item(self, index: c_int, item: i64) {
        // SAFETY: callers know that it is a table.
        unsafe { raw::lua_rawseti(self.0, index, item) }
    }

    /// Pops a key and pushes the next one with its value; false and nothing at the end. A key that
    /// is not in the table raises an error.
    pub fn next(self, index: c_int) -> bool {
        // SAFETY: callers know that it is a table.
        unsafe { raw::lua_next(self.0, index) != 0 }
    }

    /// Pops a key and pushes what indexing the value at `index` by it gives. May run script code.
    pub fn get(self, index: c_int) {
        // SAFETY: see `top`.
        unsafe { raw::lua_gettable(self.0, index) };
    }

    /// Pops a table and makes it the metatable of the value at `index`.
    #[inline]
    pub fn set_metatable(self, index: c_int) {
        // SAFETY: callers pushed a table.
        unsafe { raw::lua_setmetatable(self.0, index) };
    }

    /// Pushes the value's metatable; nothing when it has none.
    pub fn get_metatable(self, index: c_int) -> bool {
        // SAFETY: see `top`.
        unsafe { raw::lua_getmetatable(self.0, index) != 0 }
    }

    /// Pushes what a slot holds.
    #[inline]
    pub fn get_slot(self, slot: Slot) {
        // SAFETY: the registry is a table.
        unsafe { raw::lua_rawgeti(self.0, raw::LUA_REGISTRYINDEX, slot as i64) };
    }

    /// Pops a value into a slot.
    #[inline]
    pub fn set_slot(self, slot: Slot) {
        // SAFETY: the registry is a table.
        unsafe { raw::lua_rawseti(self.0, raw::LUA_REGISTRYINDEX, slot as i64) };
    }

    /// Pushes the table of global variables.
    pub fn push_globals(self) {
        // SAFETY: the registry is a table.
        unsafe { raw::lua_rawgeti(self.0, raw::LUA_REGISTRYINDEX, raw::LUA_RIDX_GLOBALS) };
    }

    // Running.

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

extern "C" fn trampoline<F: Fn(Lua) -> Answer + Copy + 'static>(state: *mut lua_State) -> c_int {
    // SAFETY: `F` has no size, so there is nothing to read.
    let function = unsafe { NonNull::<F>::dangling().read() };
    let lua = Lua(state);
    match function(lua) {
        Ok(results) => results,
        Err(Raise) => lua.raise(),
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

#[cfg(test)]
pub mod tests;
