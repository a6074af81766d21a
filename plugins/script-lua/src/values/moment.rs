//! `Time`: dates, times of day and points in time.

use std::cmp::Ordering;

use crate::lua::{Answer, Kind, Lua, Slot, Userdata};
use crate::members;
use crate::session::Phase;

pub mod arithmetic;
mod part;

pub use part::MEMBERS;
pub use tarn_script::moment::{Moment, MomentKind, Seconds, parse, parse_any};

/// What `peerdb.type` says.
pub const TYPE_NAME: &str = "time.Time";

/// The first moment that Go's `time.Time` knows, the year 1, in microseconds: what `peerdb.Time()` is.
const YEAR_ONE_US: i64 = -62_135_596_800_000_000;

/// A time as Lua holds it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Held {
    tag: u32,
    moment: Moment,
}

// SAFETY: the tag is first, always this and no other type's.
#[expect(unsafe_code, reason = "a promise about the layout")]
unsafe impl Userdata for Held {
    const TAG: u32 = 0x4d4f_4d54;
}

/// The number of seconds at `index`, if the value is a number.
pub fn seconds(lua: Lua, index: i32) -> Option<Seconds> {
    match lua.kind(index) {
        Kind::Integer => lua.integer(index).map(Seconds::Whole),
        Kind::Float => lua.number(index).map(Seconds::Fraction),
        _ => None,
    }
}

/// Makes the metatable.
pub fn register(lua: Lua) {
    lua.push_table(0, 12);
    lua.set_function(-1, "__index", index);
    lua.set_function(-1, "__add", arithmetic::add);
    lua.set_function(-1, "__sub", arithmetic::subtract);
    lua.set_function(-1, "__eq", |lua| {
        let order = get(lua, 1).zip(get(lua, 2)).and_then(|(one, two)| one.compare(&two));
        lua.push_boolean(order == Some(Ordering::Equal));
        Ok(1)
    });
    lua.set_function(-1, "__lt", |lua| compare(lua, Ordering::is_lt));
    lua.set_function(-1, "__le", |lua| compare(lua, Ordering::is_le));
    lua.set_function(-1, "__tostring", to_string);
    lua.set_function(-1, "__concat", super::concat);
    lua.push_boolean(false);
    lua.set_field(-2, "__metatable");
    lua.set_slot(Slot::Moment);
}

/// Pushes a moment.
#[inline]
pub fn push(lua: Lua, moment: Moment) {
    lua.push_userdata(Held { tag: Held::TAG, moment }, Slot::Moment);
}

/// The moment, if the value is one.
pub fn get(lua: Lua, index: i32) -> Option<Moment> {
    lua.userdata::<Held>(index).map(|held| held.moment)
}

/// `peerdb.Time([value])`: seconds since 1970 (a float has microseconds), or the text of a time; without
/// a value the first day of the year 1.
pub fn create(lua: Lua) -> Answer {
    let moment = match lua.kind(1) {
        Kind::None => Some(Moment::new(MomentKind::TimestampTz, YEAR_ONE_US)),
        Kind::Integer | Kind::Float => seconds(lua, 1).and_then(Moment::from_seconds),
        Kind::String => lua.bytes(1).and_then(|text| std::str::from_utf8(text).ok()).and_then(parse_any),
        _ => get(lua, 1),
    };
    match moment {
        Some(moment) => push(lua, moment),
        None => return Err(lua.fail(format_args!("this {} is not a time", lua.type_name(1)))),
    }
    Ok(1)
}

/// `peerdb.Now()`.
pub fn now(lua: Lua) -> Answer {
    let session = lua.session();
    if session.phase == Phase::Loading {
        return Err(
            lua.fail("there is no clock while a script is loaded: ask for the time in its entry point")
        );
    }
    let now = session.host.now_us();
    push(lua, Moment::new(MomentKind::TimestampTz, now));
    Ok(1)
}

fn compare(lua: Lua, holds: fn(Ordering) -> bool) -> Answer {
    match get(lua, 1).zip(get(lua, 2)).and_then(|(one, two)| one.compare(&two)) {
        Some(order) => lua.push_boolean(holds(order)),
        None => return Err(lua.fail("attempt to compare times of different kinds")),
    }
    Ok(1)
}

fn to_string(lua: Lua) -> Answer {
    let text = &mut lua.session().text;
    text.clear();
    if let Some(moment) = get(lua, 1) {
        moment.write_said(text);
    }
    lua.push_str(text);
    Ok(1)
}

fn index(lua: Lua) -> Answer {
    match get(lua, 1) {
        Some(moment) => members::push(lua, moment, MEMBERS),
        None => members::push_nil(lua),
    }
}
