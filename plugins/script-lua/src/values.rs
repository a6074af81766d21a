//! The values that Lua has no type for: decimals, big integers, times, intervals, UUIDs.

use crate::lua::{Answer, Lua};

pub mod big_integer;
pub mod decimal;
pub mod exact;
pub mod interval;
pub mod moment;
pub mod native;
pub mod uuid;

/// Makes the metatables.
pub fn register(lua: Lua) {
    native::register(lua);
    decimal::register(lua);
    big_integer::register(lua);
    moment::register(lua);
    interval::register(lua);
    uuid::register(lua);
}

/// Appends the text of the value at `index`, if it is one of these types.
pub fn write_text(lua: Lua, index: i32, out: &mut String) -> bool {
    if let Some(text) = exact::text(lua, index) {
        out.push_str(text);
    } else if let Some(moment) = moment::get(lua, index) {
        moment.write_text(out);
    } else if let Some(interval) = interval::get(lua, index) {
        interval.write_text(out);
    } else if let Some(uuid) = uuid::get(lua, index) {
        uuid.write_text(out);
    } else {
        return false;
    }
    true
}

/// Appends the text that other systems read, if the value at `index` is one of these types: a point in
/// time as RFC 3339 says it, the others as PostgreSQL does.
pub fn write_portable(lua: Lua, index: i32, out: &mut String) -> bool {
    match moment::get(lua, index) {
        Some(moment) => moment.write_portable(out),
        None => return write_text(lua, index, out),
    }
    true
}

/// `__tostring` of the types whose text is written when asked for.
fn to_string(lua: Lua) -> Answer {
    let text = &mut lua.session().text;
    text.clear();
    write_text(lua, 1, text);
    lua.push_str(text);
    Ok(1)
}

/// `__concat`: joins the texts of both sides.
fn concat(lua: Lua) -> Answer {
    let joined = &mut lua.session().joined;
    joined.clear();
    for index in [1, 2] {
        if lua.kind(index) == crate::lua::Kind::Table {
            return Err(lua.fail("attempt to concatenate a table value"));
        }
        let text = lua.text_of(index);
        lua.session().joined.extend_from_slice(text);
    }
    lua.push_bytes(&lua.session().joined);
    Ok(1)
}
