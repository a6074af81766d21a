//! The standard library, as far as a script in a sandbox has one.
//!
//! Lua's own `base`, `table`, `string`, `math`, `utf8` and `coroutine`, and `bit32` of Lua 5.2, with these
//! differences: numbers and old names are those of Lua 5.1 (`dialect.rs`); there
//! are no files and no compiled chunks; `print` writes to the mirror's log; finalizers (`__gc`) are
//! refused, so that no script code runs while Lua allocates; `os` has the calendar alone, and `debug`
//! the traceback alone.

use crate::lua::raw::{
    lua_CFunction, luaopen_base, luaopen_coroutine, luaopen_math, luaopen_string, luaopen_table, luaopen_utf8,
};
use crate::lua::{Answer, Kind, Lua, Slot};
use crate::session::Phase;
use crate::{added, bit32, calendar, config, dialect, modules};

/// Opens the libraries.
pub fn open(lua: Lua) {
    for (name, open) in [
        (c"_G", luaopen_base as lua_CFunction),
        (c"table", luaopen_table),
        (c"string", luaopen_string),
        (c"math", luaopen_math),
        (c"utf8", luaopen_utf8),
        (c"coroutine", luaopen_coroutine),
    ] {
        lua.open_library(name, open);
        lua.pop(1);
    }
    lua.push_globals();
    for absent in ["dofile", "loadfile"] {
        lua.push_nil();
        lua.set_field(-2, absent);
    }
    lua.get_field(-1, "load");
    lua.set_slot(Slot::Load);
    lua.set_function(-1, "load", load_text);
    lua.set_function(-1, "print", print);
    lua.set_function(-1, "setmetatable", set_metatable);
    lua.set_function(-1, "require", modules::require);
    lua.push_table(0, 1);
    lua.set_function(-1, "traceback", traceback);
    lua.set_field(-2, "debug");
    calendar::push_library(lua);
    lua.set_field(-2, "os");
    added::push_library(lua);
    lua.set_field(-2, "tarn");
    bit32::push_library(lua);
    lua.set_field(-2, "bit32");
    dialect::register(lua);
    lua.get_field(-1, "string");
    lua.push_nil();
    lua.set_field(-2, "dump");
    lua.pop(1);
    modules::register(lua);
    lua.pop(1);
}

/// `print`: a line in the mirror's log. While the script is loaded there is no mirror.
fn print(lua: Lua) -> Answer {
    let count = lua.top();
    lua.session().joined.clear();
    for index in 1..=count {
        let text = lua.text_of(index);
        let line = &mut lua.session().joined;
        if index > 1 {
            line.push(b'\t');
        }
        let room = config::LOG_LINE_BYTES_MAX.saturating_sub(line.len());
        line.extend_from_slice(&text[..text.len().min(room)]);
        lua.pop(1);
    }
    let session = lua.session();
    if session.phase == Phase::Running {
        let line = String::from_utf8_lossy(&session.joined).into_owned();
        session.log(&line);
    }
    Ok(0)
}

/// `load`, for text alone: compiled chunks can break the machine they run on.
fn load_text(lua: Lua) -> Answer {
    let has_environment = lua.top() >= 4;
    lua.set_top(4);
    lua.get_slot(Slot::Load);
    lua.push_copy(1);
    lua.push_copy(2);
    lua.push_str("t");
    if has_environment {
        lua.push_copy(4);
    }
    lua.call(if has_environment { 4 } else { 3 }, 2);
    Ok(2)
}

/// `setmetatable`, without finalizers.
fn set_metatable(lua: Lua) -> Answer {
    if lua.kind(1) != Kind::Table || !matches!(lua.kind(2), Kind::Table | Kind::Nil) {
        return Err(lua.fail("setmetatable takes a table and a metatable or nil"));
    }
    if lua.get_metatable(1) {
        let protected = lua.get_field(-1, "__metatable") != Kind::Nil;
        lua.pop(2);
        if protected {
            return Err(lua.fail("cannot change a protected metatable"));
        }
    }
    if lua.kind(2) == Kind::Table && lua.get_field(2, "__gc") != Kind::Nil {
        return Err(lua.fail("finalizers (__gc) are not available to scripts"));
    }
    lua.set_top(2);
    lua.set_metatable(1);
    Ok(1)
}

/// `debug.traceback([message])`.
fn traceback(lua: Lua) -> Answer {
    lua.push_traceback(1);
    if lua.kind(1) == Kind::String {
        let trace = lua.bytes(-1).unwrap_or_default();
        let joined = &mut lua.session().joined;
        joined.clear();
        joined.extend_from_slice(lua.bytes(1).unwrap_or_default());
        joined.push(b'\n');
        joined.extend_from_slice(trace);
        lua.push_bytes(joined);
    }
    Ok(1)
}
