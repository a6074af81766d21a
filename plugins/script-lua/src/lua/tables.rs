//! Tables, metatables, and what is kept in the registry.

use std::ffi::c_int;

use super::{Answer, Kind, Lua, Slot, raw};

/// Longest string of which Lua keeps equal ones at one place (`LUAI_MAXSHORTLEN`).
const SHORT_STRING_BYTES_MAX: usize = 40;

impl Lua {
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

    /// Pops a key and pushes what the table at `index` has under it, without metamethods.
    pub fn raw_get(self, index: c_int) -> Kind {
        // SAFETY: callers know that it is a table.
        unsafe { raw::lua_rawget(self.0, index) };
        self.kind(-1)
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

    /// Keeps the short string at `index` at its place for as long as the state lives; false for other values.
    pub fn keep_name(self, index: c_int) -> bool {
        let is_short = self.bytes(index).is_some_and(|name| name.len() <= SHORT_STRING_BYTES_MAX);
        if is_short {
            let index = self.absolute(index);
            self.get_slot(Slot::Names);
            self.push_copy(index);
            self.push_boolean(true);
            self.raw_set(-3);
            self.pop(1);
        }
        is_short
    }

    /// Pushes the table of global variables.
    pub fn push_globals(self) {
        // SAFETY: the registry is a table.
        unsafe { raw::lua_rawgeti(self.0, raw::LUA_REGISTRYINDEX, raw::LUA_RIDX_GLOBALS) };
    }
}
