//! Values with a word on how they are to be encoded: `json.array(t)`, `msgpack.ext(5, data)`.

use crate::lua::{Answer, Kind, Lua, Slot, Userdata};

/// What is said of the value inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Mark {
    /// A table is an array, or nothing is null.
    Array,
    /// A table is an object or map, or nothing is null.
    Object,
    /// A string is bytes.
    Bytes,
    /// A string is text.
    Text,
    /// A string is JSON. The detail is 1 where that was checked.
    Json,
    /// A string is MessagePack.
    Packed,
    /// The detail is an integer.
    Signed,
    /// The detail is the 64 bits of an integer without a sign.
    Unsigned,
    /// The detail is the bits of a float that is to be a single.
    Single,
    /// The detail is the bits of a float.
    Double,
    /// The detail is a point in time, in microseconds, in the shortest form.
    Time,
    /// The same in 32 bits.
    Time32,
    /// The same in 64 bits.
    Time64,
    /// The same in 96 bits.
    Time96,
    /// A string is an extension's data; the detail is its type.
    Extension,
}

/// A wrapper as Lua holds it; what is inside is its user value.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Wrapper {
    tag: u32,
    /// What is said.
    pub mark: Mark,
    /// A number, as the mark says.
    pub detail: i64,
}

// SAFETY: the tag is first, always this and no other type's.
#[expect(unsafe_code, reason = "a promise about the layout")]
unsafe impl Userdata for Wrapper {
    const TAG: u32 = 0x5752_4150;
}

/// Makes the metatable.
pub fn register(lua: Lua) {
    lua.push_table(0, 4);
    lua.set_function(-1, "__index", index);
    lua.set_function(-1, "__len", |lua| {
        lua.push_user_value(1);
        lua.push_integer(lua.raw_length(-1) as i64);
        Ok(1)
    });
    lua.set_function(-1, "__tostring", to_string);
    lua.push_boolean(false);
    lua.set_field(-2, "__metatable");
    lua.set_slot(Slot::Wrapper);
}

/// Pops a value and pushes a wrapper of it.
pub fn wrap(lua: Lua, mark: Mark, detail: i64) {
    lua.push_userdata_with_value(Wrapper { tag: Wrapper::TAG, mark, detail }, Slot::Wrapper);
}

/// The wrapper, if the value is one.
pub fn get(lua: Lua, index: i32) -> Option<Wrapper> {
    lua.userdata(index)
}

/// What is inside is indexed; an extension has `type` and `data`.
fn index(lua: Lua) -> Answer {
    let wrapper = get(lua, 1);
    lua.push_user_value(1);
    match (wrapper, lua.bytes(2)) {
        (Some(Wrapper { mark: Mark::Extension, detail, .. }), Some(b"type")) => lua.push_integer(detail),
        (Some(Wrapper { mark: Mark::Extension, .. }), Some(b"data")) => {}
        _ if lua.kind(-1) == Kind::Table => {
            lua.push_copy(2);
            lua.get(-2);
        }
        _ => lua.push_nil(),
    }
    Ok(1)
}

fn to_string(lua: Lua) -> Answer {
    lua.push_user_value(1);
    if lua.kind(-1) != Kind::String {
        lua.push_str("wrapper");
    }
    Ok(1)
}
