//! `Interval`: months, days and microseconds.

use tarn_batch::Type;
use tarn_batch::text::write_text;
use tarn_batch::value::{self, write_interval};

use crate::lua::{Answer, Lua, Slot, Userdata};

/// What `peerdb.type` says.
pub const TYPE_NAME: &str = "Interval";

/// An interval as Lua holds it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Interval {
    tag: u32,
    months: i32,
    days: i32,
    micros: i64,
}

// SAFETY: the tag is first, always this and no other type's.
#[expect(unsafe_code, reason = "a promise about the layout")]
unsafe impl Userdata for Interval {
    const TAG: u32 = 0x4e54_564c;
}

impl Interval {
    fn new(value: value::Interval) -> Self {
        Self { tag: Self::TAG, months: value.months, days: value.days, micros: value.micros }
    }

    /// The interval as the batch has it.
    pub fn value(&self) -> value::Interval {
        value::Interval { months: self.months, days: self.days, micros: self.micros }
    }

    /// Appends its text.
    pub fn write_text(&self, out: &mut String) {
        let mut bytes = Vec::with_capacity(16);
        write_interval(&mut bytes, self.value());
        write_text(&Type::Interval, &bytes, out).expect("every interval has a text");
    }
}

/// Makes the metatable.
pub fn register(lua: Lua) {
    lua.push_table(0, 8);
    lua.set_function(-1, "__index", index);
    lua.set_function(-1, "__eq", |lua| {
        let same = get(lua, 1).zip(get(lua, 2)).is_some_and(|(one, two)| one.value() == two.value());
        lua.push_boolean(same);
        Ok(1)
    });
    lua.set_function(-1, "__tostring", super::to_string);
    lua.set_function(-1, "__concat", super::concat);
    lua.push_boolean(false);
    lua.set_field(-2, "__metatable");
    lua.set_slot(Slot::Interval);
}

/// Pushes an interval.
pub fn push(lua: Lua, value: value::Interval) {
    lua.push_userdata(Interval::new(value), Slot::Interval);
}

/// The interval, if the value is one.
pub fn get(lua: Lua, index: i32) -> Option<Interval> {
    lua.userdata(index)
}

/// `peerdb.Interval(months, days, microseconds)`.
pub fn create(lua: Lua) -> Answer {
    let part = |index| if lua.is_nil(index) { Some(0) } else { lua.integer(index) };
    let small = |index| part(index).and_then(|value| i32::try_from(value).ok());
    match (small(1), small(2), part(3)) {
        (Some(months), Some(days), Some(micros)) => push(lua, value::Interval { months, days, micros }),
        _ => return Err(lua.fail("an interval is made of whole months, days and microseconds")),
    }
    Ok(1)
}

fn index(lua: Lua) -> Answer {
    match (get(lua, 1), lua.bytes(2)) {
        (Some(interval), Some(b"months")) => lua.push_integer(interval.months.into()),
        (Some(interval), Some(b"days")) => lua.push_integer(interval.days.into()),
        (Some(interval), Some(b"micros" | b"microseconds")) => lua.push_integer(interval.micros),
        _ => lua.push_nil(),
    }
    Ok(1)
}
