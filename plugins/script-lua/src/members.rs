//! What scripts may ask a value for: `time.year`, `decimal.exponent`, `r.kind`.

use crate::lua::{Answer, Lua};

/// The members of the values of a type: names, and the functions that push what they name.
pub type Members<T> = [(&'static str, fn(Lua, T) -> Answer)];

/// Pushes the member of a value that the second argument names; `nil` where there is none.
#[inline]
pub fn push<T>(lua: Lua, value: T, members: &Members<T>) -> Answer {
    let name = lua.bytes(2).unwrap_or_default();
    match members.iter().find(|(known, _)| known.as_bytes() == name) {
        Some((_, member)) => member(lua, value),
        None => push_nil(lua),
    }
}

/// Pushes `nil`: there is no such value.
pub fn push_nil(lua: Lua) -> Answer {
    lua.push_nil();
    Ok(1)
}

/// Pushes an integer.
pub fn push_integer(lua: Lua, value: i64) -> Answer {
    lua.push_integer(value);
    Ok(1)
}
