//! `Interval`: months, days and microseconds.

use std::cmp::Ordering;

use tarn_batch::value;
use tarn_script::interval;

use super::moment::arithmetic::{self, push_interval};
use crate::lua::{Answer, Lua, Slot, Userdata};
use crate::members::{self, Members};

/// What `peerdb.type` says.
pub const TYPE_NAME: &str = "Interval";

/// What scripts may ask an interval for.
pub const MEMBERS: &Members<Interval> = &[
    ("months", |lua, interval| members::push_integer(lua, interval.months.into())),
    ("days", |lua, interval| members::push_integer(lua, interval.days.into())),
    ("microseconds", |lua, interval| members::push_integer(lua, interval.micros)),
    ("micros", |lua, interval| members::push_integer(lua, interval.micros)),
    ("seconds", |lua, interval| {
        lua.push_number(interval.total_micros() as f64 / 1e6);
        Ok(1)
    }),
];

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
        interval::write_text(self.value(), out);
    }

    /// Its length where a month has 30 days and a day 24 hours.
    fn total_micros(&self) -> i128 {
        interval::total_micros(self.value())
    }

    fn times(&self, factor: i64) -> Option<value::Interval> {
        interval::times(self.value(), factor)
    }
}

/// Makes the metatable.
pub fn register(lua: Lua) {
    lua.push_table(0, 12);
    lua.set_function(-1, "__index", index);
    lua.set_function(-1, "__add", arithmetic::add);
    lua.set_function(-1, "__sub", arithmetic::subtract);
    lua.set_function(-1, "__mul", multiply);
    lua.set_function(-1, "__unm", |lua| {
        push_interval(lua, get(lua, 1).and_then(|interval| tarn_script::moment::opposite(interval.value())))
    });
    lua.set_function(-1, "__eq", |lua| {
        lua.push_boolean(order(lua) == Some(Ordering::Equal));
        Ok(1)
    });
    lua.set_function(-1, "__lt", |lua| compare(lua, Ordering::is_lt));
    lua.set_function(-1, "__le", |lua| compare(lua, Ordering::is_le));
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

fn multiply(lua: Lua) -> Answer {
    let (interval, factor) = match (get(lua, 1), get(lua, 2)) {
        (Some(interval), None) => (interval, lua.integer(2)),
        (None, Some(interval)) => (interval, lua.integer(1)),
        _ => return Err(lua.fail("an interval is multiplied by a whole number")),
    };
    let factor = factor.ok_or_else(|| lua.fail("an interval is multiplied by a whole number"))?;
    push_interval(lua, interval.times(factor))
}

fn order(lua: Lua) -> Option<Ordering> {
    get(lua, 1).zip(get(lua, 2)).map(|(one, two)| one.total_micros().cmp(&two.total_micros()))
}

fn compare(lua: Lua, holds: fn(Ordering) -> bool) -> Answer {
    match order(lua) {
        Some(order) => lua.push_boolean(holds(order)),
        None => return Err(lua.fail("an interval can be compared with an interval only")),
    }
    Ok(1)
}

fn index(lua: Lua) -> Answer {
    match get(lua, 1) {
        Some(interval) => members::push(lua, interval, MEMBERS),
        None => members::push_nil(lua),
    }
}
