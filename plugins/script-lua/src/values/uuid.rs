//! `UUID`: sixteen bytes, indexed from 0.

use std::cmp::Ordering;

use tarn_script::uuid;

use crate::lua::{Answer, Lua, Slot, Userdata};
use crate::session::Session;

/// What `peerdb.type` says.
pub const TYPE_NAME: &str = "uuid.UUID";

/// A UUID as Lua holds it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Uuid {
    tag: u32,
    /// Its bytes in the order they are written in.
    pub bytes: [u8; 16],
}

// SAFETY: the tag is first, always this and no other type's.
#[expect(unsafe_code, reason = "a promise about the layout")]
unsafe impl Userdata for Uuid {
    const TAG: u32 = 0x5555_4944;
}

impl Uuid {
    /// A UUID of its bytes.
    pub fn new(bytes: [u8; 16]) -> Self {
        Self { tag: Self::TAG, bytes }
    }

    /// Reads 32 hexadecimal digits, with or without hyphens and braces.
    pub fn parse(text: &[u8]) -> Option<Self> {
        uuid::parse(text).map(Self::new)
    }

    /// Appends its text.
    pub fn write_text(&self, out: &mut String) {
        uuid::write_text(&self.bytes, out);
    }
}

/// Makes the metatable.
pub fn register(lua: Lua) {
    lua.push_table(0, 8);
    lua.set_function(-1, "__index", index);
    lua.set_function(-1, "__eq", |lua| {
        let same = get(lua, 1).zip(get(lua, 2)).is_some_and(|(one, two)| one.bytes == two.bytes);
        lua.push_boolean(same);
        Ok(1)
    });
    lua.set_function(-1, "__lt", |lua| compare(lua, Ordering::is_lt));
    lua.set_function(-1, "__le", |lua| compare(lua, Ordering::is_le));
    lua.set_function(-1, "__len", |lua| {
        lua.push_integer(16);
        Ok(1)
    });
    lua.set_function(-1, "__tostring", super::to_string);
    lua.set_function(-1, "__concat", super::concat);
    lua.push_boolean(false);
    lua.set_field(-2, "__metatable");
    lua.set_slot(Slot::Uuid);
}

/// Pushes a UUID.
#[inline]
pub fn push(lua: Lua, bytes: [u8; 16]) {
    lua.push_userdata(Uuid::new(bytes), Slot::Uuid);
}

/// The UUID, if the value is one.
pub fn get(lua: Lua, index: i32) -> Option<Uuid> {
    lua.userdata(index)
}

/// `peerdb.UUID([text])`: without a text, one that no other record or call has.
pub fn create(lua: Lua) -> Answer {
    if get(lua, 1).is_some() {
        lua.push_copy(1);
        return Ok(1);
    }
    if lua.is_nil(1) {
        let Session { bindings, current, .. } = lua.session();
        match uuid::derive(current, bindings) {
            Some(bytes) => push(lua, bytes),
            None => return Err(lua.fail("there is no record to derive a UUID from while a script is loaded")),
        }
        return Ok(1);
    }
    match lua.bytes(1).and_then(Uuid::parse) {
        Some(uuid) => push(lua, uuid.bytes),
        None => return Err(lua.fail("this is not the text of a UUID")),
    }
    Ok(1)
}

fn compare(lua: Lua, holds: fn(Ordering) -> bool) -> Answer {
    match get(lua, 1).zip(get(lua, 2)) {
        Some((one, two)) => lua.push_boolean(holds(one.bytes.cmp(&two.bytes))),
        None => return Err(lua.fail("a UUID can be compared with a UUID only")),
    }
    Ok(1)
}

fn index(lua: Lua) -> Answer {
    let byte = get(lua, 1).zip(lua.integer(2)).and_then(|(uuid, at)| {
        let at = usize::try_from(at).ok()?;
        uuid.bytes.get(at).copied()
    });
    match byte {
        Some(byte) => lua.push_integer(byte.into()),
        None => lua.push_nil(),
    }
    Ok(1)
}
