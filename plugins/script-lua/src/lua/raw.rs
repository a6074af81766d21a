//! The part of Lua 5.4's C API that this crate calls, as `lua.h` and `lauxlib.h` declare it.

#![expect(non_camel_case_types, reason = "the names of the C API")]

use std::ffi::{c_char, c_int, c_void};

/// A Lua thread.
#[repr(C)]
pub struct lua_State {
    _opaque: [u8; 0],
}

pub type lua_CFunction = unsafe extern "C" fn(*mut lua_State) -> c_int;
pub type lua_Alloc = extern "C" fn(*mut c_void, *mut c_void, usize, usize) -> *mut c_void;
pub type lua_Reader = extern "C" fn(*mut lua_State, *mut c_void, *mut usize) -> *const c_char;

#[cfg(test)]
pub type lua_Hook = extern "C" fn(*mut lua_State, *mut lua_Debug);

#[cfg(test)]
pub const LUA_MASKCOUNT: c_int = 1 << 3;

pub const LUA_OK: c_int = 0;
pub const LUA_REGISTRYINDEX: c_int = -1_000_000 - 1000;
pub const LUA_RIDX_GLOBALS: i64 = 2;

pub const LUA_TNONE: c_int = -1;
pub const LUA_TNIL: c_int = 0;
pub const LUA_TBOOLEAN: c_int = 1;
pub const LUA_TNUMBER: c_int = 3;
pub const LUA_TSTRING: c_int = 4;
pub const LUA_TTABLE: c_int = 5;
pub const LUA_TFUNCTION: c_int = 6;
pub const LUA_TUSERDATA: c_int = 7;

pub const LUA_GCCOLLECT: c_int = 2;
pub const LUA_GCGEN: c_int = 10;

/// `lua_Debug`.
#[repr(C)]
pub struct lua_Debug {
    pub event: c_int,
    pub name: *const c_char,
    pub namewhat: *const c_char,
    pub what: *const c_char,
    pub source: *const c_char,
    pub srclen: usize,
    pub currentline: c_int,
    pub linedefined: c_int,
    pub lastlinedefined: c_int,
    pub nups: u8,
    pub nparams: u8,
    pub isvararg: c_char,
    pub istailcall: c_char,
    pub ftransfer: u16,
    pub ntransfer: u16,
    pub short_src: [c_char; 60],
    pub i_ci: *mut c_void,
}

unsafe extern "C" {
    pub fn lua_newstate(allocate: lua_Alloc, data: *mut c_void) -> *mut lua_State;
    pub fn lua_close(l: *mut lua_State);

    pub fn lua_absindex(l: *mut lua_State, index: c_int) -> c_int;
    pub fn lua_gettop(l: *mut lua_State) -> c_int;
    pub fn lua_settop(l: *mut lua_State, index: c_int);
    pub fn lua_pushvalue(l: *mut lua_State, index: c_int);
    pub fn lua_rotate(l: *mut lua_State, index: c_int, count: c_int);
    pub fn lua_copy(l: *mut lua_State, from: c_int, to: c_int);
    pub fn lua_checkstack(l: *mut lua_State, count: c_int) -> c_int;

    pub fn lua_type(l: *mut lua_State, index: c_int) -> c_int;
    pub fn lua_typename(l: *mut lua_State, kind: c_int) -> *const c_char;
    pub fn lua_isinteger(l: *mut lua_State, index: c_int) -> c_int;
    pub fn lua_tonumberx(l: *mut lua_State, index: c_int, is_number: *mut c_int) -> f64;
    pub fn lua_tointegerx(l: *mut lua_State, index: c_int, is_integer: *mut c_int) -> i64;
    pub fn lua_toboolean(l: *mut lua_State, index: c_int) -> c_int;
    pub fn lua_tolstring(l: *mut lua_State, index: c_int, length: *mut usize) -> *const c_char;
    pub fn lua_rawlen(l: *mut lua_State, index: c_int) -> u64;
    pub fn lua_touserdata(l: *mut lua_State, index: c_int) -> *mut c_void;
    pub fn lua_topointer(l: *mut lua_State, index: c_int) -> *const c_void;
    pub fn lua_rawequal(l: *mut lua_State, one: c_int, other: c_int) -> c_int;

    pub fn lua_pushnil(l: *mut lua_State);
    pub fn lua_pushnumber(l: *mut lua_State, number: f64);
    pub fn lua_pushinteger(l: *mut lua_State, number: i64);
    pub fn lua_pushlstring(l: *mut lua_State, text: *const c_char, length: usize) -> *const c_char;
    pub fn lua_pushcclosure(l: *mut lua_State, function: lua_CFunction, upvalues: c_int);
    pub fn lua_pushboolean(l: *mut lua_State, value: c_int);

    pub fn lua_gettable(l: *mut lua_State, index: c_int) -> c_int;
    pub fn lua_rawget(l: *mut lua_State, index: c_int) -> c_int;
    pub fn lua_rawgeti(l: *mut lua_State, index: c_int, key: i64) -> c_int;
    pub fn lua_createtable(l: *mut lua_State, sequence: c_int, fields: c_int);
    pub fn lua_newuserdatauv(l: *mut lua_State, size: usize, values: c_int) -> *mut c_void;
    pub fn lua_getiuservalue(l: *mut lua_State, index: c_int, value: c_int) -> c_int;
    pub fn lua_setiuservalue(l: *mut lua_State, index: c_int, value: c_int) -> c_int;
    pub fn lua_getmetatable(l: *mut lua_State, index: c_int) -> c_int;
    pub fn lua_setmetatable(l: *mut lua_State, index: c_int) -> c_int;
    pub fn lua_rawset(l: *mut lua_State, index: c_int);
    pub fn lua_rawseti(l: *mut lua_State, index: c_int, key: i64);

    pub fn lua_callk(l: *mut lua_State, arguments: c_int, results: c_int, context: isize, k: *const c_void);
    pub fn lua_pcallk(
        l: *mut lua_State,
        arguments: c_int,
        results: c_int,
        handler: c_int,
        context: isize,
        k: *const c_void,
    ) -> c_int;
    pub fn lua_load(
        l: *mut lua_State,
        reader: lua_Reader,
        data: *mut c_void,
        name: *const c_char,
        mode: *const c_char,
    ) -> c_int;

    /// Does not return, whatever it says.
    pub fn lua_error(l: *mut lua_State) -> c_int;
    pub fn lua_next(l: *mut lua_State, index: c_int) -> c_int;
    pub fn lua_gc(l: *mut lua_State, what: c_int, ...) -> c_int;

    #[cfg(test)]
    pub fn lua_sethook(l: *mut lua_State, hook: lua_Hook, mask: c_int, count: c_int);
    pub fn lua_getstack(l: *mut lua_State, level: c_int, debug: *mut lua_Debug) -> c_int;
    pub fn lua_getinfo(l: *mut lua_State, what: *const c_char, debug: *mut lua_Debug) -> c_int;

    pub fn luaL_tolstring(l: *mut lua_State, index: c_int, length: *mut usize) -> *const c_char;
    pub fn luaL_traceback(l: *mut lua_State, of: *mut lua_State, message: *const c_char, level: c_int);
    pub fn luaL_requiref(l: *mut lua_State, name: *const c_char, open: lua_CFunction, global: c_int);
    pub fn luaL_where(l: *mut lua_State, level: c_int);

    pub fn luaopen_base(l: *mut lua_State) -> c_int;
    pub fn luaopen_coroutine(l: *mut lua_State) -> c_int;
    pub fn luaopen_table(l: *mut lua_State) -> c_int;
    pub fn luaopen_string(l: *mut lua_State) -> c_int;
    pub fn luaopen_utf8(l: *mut lua_State) -> c_int;
    pub fn luaopen_math(l: *mut lua_State) -> c_int;
}
