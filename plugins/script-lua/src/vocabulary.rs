//! Every name that scripts can use, by what it belongs to: read from the state itself and from the tables
//! that the runtime answers from, so that documentation can be held against it.

use crate::lua::{Kind, Lua, Slot};
use crate::members::Members;
use crate::runtime::{ENTRY_POINTS, Runtime};
use crate::values::{big_integer, decimal, interval, moment, native};
use crate::{json, message, record};

/// Libraries that are tables of globals.
const LIBRARIES: [&str; 10] =
    ["table", "string", "math", "utf8", "coroutine", "os", "debug", "bit32", "peerdb", "tarn"];

/// Modules that `require` alone finds.
const MODULES: [&str; 2] = ["json", "msgpack"];

impl Runtime {
    /// What there is, and the names in it, sorted. `options` are those of `json`, `message` are the fields
    /// of one.
    pub fn vocabulary(&self) -> Vec<(&'static str, Vec<String>)> {
        let lua = self.lua();
        let top = lua.top();
        let mut all = vec![
            ("entry points", ENTRY_POINTS.iter().map(|(name, _)| (*name).to_owned()).collect()),
            ("record", of_members(record::MEMBERS)),
            ("Decimal", of_members(decimal::MEMBERS)),
            ("BigInt", of_members(big_integer::MEMBERS)),
            ("number", of_members(native::MEMBERS)),
            ("Time", of_members(moment::MEMBERS)),
            ("Interval", of_members(interval::MEMBERS)),
            ("message", message::FIELDS.map(str::to_owned).to_vec()),
            ("options", json::SETTINGS.iter().map(|(name, ..)| (*name).to_owned()).collect()),
        ];
        lua.push_globals();
        all.push(("global", of_table(lua)));
        for library in LIBRARIES {
            lua.get_field(-1, library);
            all.push((library, of_table(lua)));
            lua.pop(1);
        }
        lua.get_slot(Slot::Modules);
        for module in MODULES {
            lua.get_field(-1, module);
            all.push((module, of_table(lua)));
            lua.pop(1);
        }
        lua.set_top(top);
        for (_, names) in &mut all {
            names.sort();
        }
        all
    }
}

fn of_members<T>(members: &Members<T>) -> Vec<String> {
    members.iter().map(|(name, _)| (*name).to_owned()).collect()
}

/// The names in the table on top.
fn of_table(lua: Lua) -> Vec<String> {
    let table = lua.top();
    let mut names = Vec::new();
    if lua.kind(table) == Kind::Table {
        lua.push_nil();
        while lua.next(table) {
            lua.pop(1);
            names.extend(lua.bytes(-1).map(|name| String::from_utf8_lossy(name).into_owned()));
        }
    }
    names
}
