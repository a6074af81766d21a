//! How values that JSON has no form of its own for are written.

use tarn_script::json::Options;

use crate::lua::{Kind, Lua, Raise};

/// `options` with what the table at `index` asks for.
pub fn changed(mut options: Options, lua: Lua, index: i32) -> Result<Options, Raise> {
    if lua.kind(index) != Kind::Table {
        let given = lua.type_name(index);
        return Err(lua.fail(format_args!("options for JSON are a table, not a {given} value")));
    }
    lua.push_nil();
    while lua.next(index) {
        let set = options.set(lua.bytes(-2).unwrap_or_default(), lua.bytes(-1));
        set.map_err(|reason| lua.fail(reason))?;
        lua.pop(1);
    }
    Ok(options)
}
