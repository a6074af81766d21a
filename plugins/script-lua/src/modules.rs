//! `require`: the runtime's modules, Lua's libraries and stored scripts.
//!
//! A stored script is a module when it is required while another one is loaded: its chunk runs then, once,
//! and what it returns is kept. The host finds it by the name that loading asked for, and loads again.

use std::ffi::CStr;

use crate::lua::{Answer, Kind, Lua, Raise, Slot};
use crate::session::Phase;
use crate::{dialect, json, msgpack};

/// Bytes of a module's name that its error messages begin with.
const CHUNK_NAME_BYTES: usize = 64;

/// Fills what `require` finds: the libraries, and the modules that are no globals. The globals are on top.
pub fn register(lua: Lua) {
    lua.push_table(0, 12);
    for name in ["table", "string", "math", "utf8", "coroutine", "os", "bit32"] {
        lua.get_field(-2, name);
        lua.set_field(-2, name);
    }
    json::push_module(lua);
    lua.set_field(-2, "json");
    msgpack::push_module(lua);
    lua.set_field(-2, "msgpack");
    lua.set_slot(Slot::Modules);
    lua.push_table(0, 0);
    lua.set_slot(Slot::Sources);
}

/// Makes a stored script known by its name.
pub fn add(lua: Lua, name: &[u8], source: &[u8]) {
    lua.get_slot(Slot::Sources);
    lua.push_bytes(name);
    lua.push_bytes(source);
    lua.raw_set(-3);
    lua.pop(1);
}

/// `require(name)`.
pub fn require(lua: Lua) -> Answer {
    let Some(name) = lua.bytes(1) else {
        return Err(lua.fail("require takes the name of a module"));
    };
    lua.set_top(1);
    lua.get_slot(Slot::Modules);
    lua.get_bytes_field(2, name);
    if !lua.is_nil(-1) {
        return Ok(1);
    }
    lua.pop(1);
    lua.get_slot(Slot::Sources);
    lua.get_bytes_field(3, name);
    match (lua.kind(-1), lua.bytes(-1)) {
        (_, Some(source)) => load(lua, name, source),
        // It was begun.
        (Kind::Boolean, _) => {
            let name = String::from_utf8_lossy(name);
            Err(lua.fail(format_args!("the module \"{name}\" requires itself")))
        }
        _ => Err(missing(lua, name)),
    }
}

/// Runs a stored script whose source is on top, and keeps what it returns.
fn load(lua: Lua, name: &[u8], source: &[u8]) -> Answer {
    // Modules are at 2, sources at 3.
    lua.push_bytes(name);
    lua.push_boolean(false);
    lua.raw_set(3);
    let mut chunk = [0; CHUNK_NAME_BYTES + 2];
    chunk[0] = b'=';
    let length = name.len().min(CHUNK_NAME_BYTES);
    chunk[1..=length].copy_from_slice(&name[..length]);
    let chunk = CStr::from_bytes_until_nul(&chunk).unwrap_or(c"=module");
    if !dialect::load(lua, source, chunk) {
        return Err(Raise::Value);
    }
    lua.push_bytes(name);
    lua.call(1, 1);
    if lua.is_nil(-1) {
        lua.pop(1);
        lua.push_boolean(true);
    }
    lua.push_bytes(name);
    lua.push_copy(-2);
    lua.raw_set(2);
    Ok(1)
}

fn missing(lua: Lua, name: &[u8]) -> Raise {
    let name = String::from_utf8_lossy(name).into_owned();
    let session = lua.session();
    if session.phase == Phase::Running {
        return lua.fail(format_args!(
            "there is no module \"{name}\": stored scripts are required where a script begins, not in a function"
        ));
    }
    session.missing_module.clone_from(&name);
    lua.fail(format_args!(
        "there is no module \"{name}\": there are json, msgpack, bit32, Lua's own libraries and stored scripts"
    ))
}

#[cfg(test)]
mod tests {
    use crate::runtime::tests::Recorder;
    use crate::{Fault, Runtime};

    /// Loads a script beside stored ones; its error, or what `onRecord` was made of.
    fn load(source: &str, stored: &[(&str, &str)]) -> Result<Runtime, Fault> {
        let mut runtime = Runtime::new(Box::new(Recorder::default())).expect("there is memory");
        for (name, source) in stored {
            runtime.add_module(name, source);
        }
        runtime.load(source.as_bytes()).map(|()| runtime)
    }

    #[test]
    fn stored_scripts_are_modules() {
        let masks = "local masks = {} function masks.all(text) return ('*'):rep(#text) end return masks";
        let runtime = load(
            "local masks = require 'masks'
             assert(masks == require 'masks' and masks.all('abc') == '***')
             assert(require 'names_itself' == 'names_itself' and require 'returns_nothing' == true)
             function onRecord(r) return r end",
            &[
                ("masks", masks),
                ("names_itself", "return (...)"),
                ("returns_nothing", "seen = (seen or 0) + 1"),
                ("unused", "error('it runs')"),
            ],
        );
        assert_eq!(runtime.expect("it loads").entry_points(), ["onRecord"]);
    }

    #[test]
    fn a_script_that_returns_something_may_have_no_entry_point() {
        assert_eq!(load("return { x = 1 }", &[]).expect("it loads").entry_points(), [""; 0]);
        let fault = load("local x = 1", &[]).err().expect("it is refused");
        assert!(fault.message.contains("defines no entry point"), "{fault:?}");
    }

    #[test]
    fn what_is_wrong_with_a_module_is_said_with_its_name() {
        for (stored, line, message) in [
            (&[("a", "\nlocal x = = 1")][..], 2, "a:2: unexpected symbol near '='"),
            (&[("a", "\nerror('no')")], 2, "a:2: no"),
            (&[("a", "require 'a'")], 2, "a:1: the module \"a\" requires itself"),
            (&[("a", "require 'b'"), ("b", "require 'a'")], 2, "b:1: the module \"a\" requires itself"),
        ] {
            let fault = load("\nrequire 'a' function onRecord() end", stored).err().expect("it is refused");
            assert_eq!((fault.line, &*fault.message), (line, message));
        }
    }

    #[test]
    fn a_missing_module_is_told_so_that_it_can_be_found() {
        let mut runtime = Runtime::new(Box::new(Recorder::default())).expect("there is memory");
        let fault = runtime.load(b"require 'masks'").expect_err("it is missing");
        assert!(fault.message.starts_with("there is no module \"masks\""), "{fault:?}");
        assert_eq!(runtime.missing_module(), Some("masks"));
        let mut runtime =
            load("pcall(require, 'x') function onRecord(r) require 'y' end", &[]).expect("it loads");
        assert_eq!(runtime.missing_module(), Some("x"));
        assert!(runtime.load(b"function onRecord(r) end").is_ok());
    }
}
