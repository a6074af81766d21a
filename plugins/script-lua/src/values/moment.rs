//! `Time`: dates, times of day and points in time.

use std::cmp::Ordering;

use tarn_batch::Type;
use tarn_batch::calendar::{Civil, Clock, DAY_US, split_micros};
use tarn_batch::text::write_text;
use tarn_batch::value::{
    self, DATE_INFINITY, DATE_NEGATIVE_INFINITY, TIMESTAMP_INFINITY, TIMESTAMP_NEGATIVE_INFINITY,
};

use crate::lua::{Answer, Lua, Slot, Userdata};
use crate::session::Phase;

mod parse;

pub use parse::parse;

/// What `peerdb.type` says.
pub const TYPE_NAME: &str = "time.Time";

/// What a time is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum MomentKind {
    /// A day.
    Date,
    /// A time of day.
    Time,
    /// A time of day and the zone it is of.
    TimeTz,
    /// A date and a time of day.
    Timestamp,
    /// A point in time.
    TimestampTz,
}

/// A time as Lua holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Moment {
    tag: u32,
    kind: MomentKind,
    /// Days for a date, else microseconds, as the batch has them.
    value: i64,
    /// Seconds east of UTC, for a time of day with its zone.
    offset: i32,
}

// SAFETY: the tag is first, always this and no other type's.
#[expect(unsafe_code, reason = "a promise about the layout")]
unsafe impl Userdata for Moment {
    const TAG: u32 = 0x4d4f_4d54;
}

/// Where a moment lies on the line of all time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Instant {
    Past,
    /// Microseconds since 1970; a date may lie beyond what 64 bits hold.
    At(i128),
    Future,
}

impl Moment {
    /// A moment of a kind: days for a date, else microseconds.
    pub fn new(kind: MomentKind, value: i64) -> Self {
        Self { tag: Self::TAG, kind, value, offset: 0 }
    }

    /// A time of day with its zone.
    pub fn time_tz(value: value::TimeTz) -> Self {
        Self { tag: Self::TAG, kind: MomentKind::TimeTz, value: value.micros, offset: value.offset }
    }

    /// Days for a date, else microseconds.
    pub fn value(&self) -> i64 {
        self.value
    }

    /// The day a date, or a point in time, is on; none for infinities and times of day.
    fn civil(&self) -> Option<(Civil, Clock)> {
        match (self.instant()?, self.kind) {
            (Instant::Past | Instant::Future, _) => None,
            (_, MomentKind::Date) => Some((Civil::from_days(self.value), Clock::from_micros(0)?)),
            _ => Some(split_micros(self.value)),
        }
    }

    /// The time of day; none for infinities.
    fn clock(&self) -> Option<Clock> {
        match self.kind {
            MomentKind::Time | MomentKind::TimeTz => Clock::from_micros(self.value),
            _ => self.civil().map(|(_, clock)| clock),
        }
    }

    /// Where it lies in time; times of day do not.
    fn instant(&self) -> Option<Instant> {
        match self.kind {
            MomentKind::Time | MomentKind::TimeTz => None,
            MomentKind::Date if self.value == i64::from(DATE_INFINITY) => Some(Instant::Future),
            MomentKind::Date if self.value == i64::from(DATE_NEGATIVE_INFINITY) => Some(Instant::Past),
            MomentKind::Date => Some(Instant::At(i128::from(self.value) * i128::from(DAY_US))),
            _ if self.value == TIMESTAMP_INFINITY => Some(Instant::Future),
            _ if self.value == TIMESTAMP_NEGATIVE_INFINITY => Some(Instant::Past),
            _ => Some(Instant::At(self.value.into())),
        }
    }

    /// The order of two moments of comparable kinds.
    fn compare(&self, other: &Self) -> Option<Ordering> {
        if let (Some(one), Some(two)) = (self.instant(), other.instant()) {
            return Some(one.cmp(&two));
        }
        let utc = |moment: &Self| moment.value - i64::from(moment.offset) * 1_000_000;
        (self.kind == other.kind).then(|| utc(self).cmp(&utc(other)).then(other.offset.cmp(&self.offset)))
    }

    /// The same moment as a value of another kind, where nothing is lost: a date is its midnight, a
    /// timestamp without zone is taken as UTC.
    pub fn convert(&self, kind: MomentKind) -> Option<Self> {
        if self.kind == kind {
            return Some(*self);
        }
        let value = match (kind, self.instant()?) {
            (MomentKind::Time | MomentKind::TimeTz, _) => return None,
            (MomentKind::Date, Instant::Past) => DATE_NEGATIVE_INFINITY.into(),
            (MomentKind::Date, Instant::Future) => DATE_INFINITY.into(),
            (_, Instant::Past) => TIMESTAMP_NEGATIVE_INFINITY,
            (_, Instant::Future) => TIMESTAMP_INFINITY,
            (MomentKind::Date, Instant::At(micros)) if micros % i128::from(DAY_US) != 0 => return None,
            (MomentKind::Date, Instant::At(micros)) => i64::try_from(micros / i128::from(DAY_US)).ok()?,
            (_, Instant::At(micros)) => i64::try_from(micros).ok()?,
        };
        Some(Self::new(kind, value))
    }

    /// The value in the batch's form.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self.kind {
            // A date was read from 32 bits or checked when it was made.
            MomentKind::Date => out.extend_from_slice(&(self.value as i32).to_le_bytes()),
            MomentKind::TimeTz => {
                value::write_time_tz(out, value::TimeTz { micros: self.value, offset: self.offset });
            }
            _ => out.extend_from_slice(&self.value.to_le_bytes()),
        }
    }

    /// Appends its text as PostgreSQL writes it.
    pub fn write_text(&self, out: &mut String) {
        let data_type = match self.kind {
            MomentKind::Date => Type::Date,
            MomentKind::Time => Type::Time,
            MomentKind::TimeTz => Type::TimeTz,
            MomentKind::Timestamp => Type::Timestamp,
            MomentKind::TimestampTz => Type::TimestampTz,
        };
        let mut bytes = Vec::with_capacity(12);
        self.write(&mut bytes);
        if write_text(&data_type, &bytes, out).is_err() {
            out.push_str("(invalid time)");
        }
    }
}

/// Makes the metatable.
pub fn register(lua: Lua) {
    lua.push_table(0, 8);
    lua.set_function(-1, "__index", index);
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
    lua.push_userdata(moment, Slot::Moment);
}

/// The moment, if the value is one.
pub fn get(lua: Lua, index: i32) -> Option<Moment> {
    lua.userdata(index)
}

/// `peerdb.Time(value)`: seconds since 1970 (a float has microseconds), or the text of a time.
pub fn create(lua: Lua) -> Answer {
    use crate::lua::Kind;
    let moment = match lua.kind(1) {
        Kind::Integer => lua
            .integer(1)
            .and_then(|seconds| seconds.checked_mul(1_000_000))
            .map(|micros| Moment::new(MomentKind::TimestampTz, micros)),
        Kind::Float => lua
            .number(1)
            .map(|seconds| (seconds * 1e6).round())
            .filter(|micros| micros.abs() < 9.2e18)
            .map(|micros| Moment::new(MomentKind::TimestampTz, micros as i64)),
        Kind::String => lua.bytes(1).and_then(|text| std::str::from_utf8(text).ok()).and_then(|text| {
            [
                MomentKind::TimestampTz,
                MomentKind::Timestamp,
                MomentKind::Date,
                MomentKind::TimeTz,
                MomentKind::Time,
            ]
            .into_iter()
            .find_map(|kind| parse(kind, text))
        }),
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

/// Points in time say themselves as `2024-05-17 08:30:00.5 +0000 UTC`, the others as PostgreSQL does.
fn to_string(lua: Lua) -> Answer {
    let text = &mut lua.session().text;
    text.clear();
    if let Some(moment) = get(lua, 1) {
        moment.write_text(text);
        let dated = matches!(moment.kind, MomentKind::Timestamp | MomentKind::TimestampTz);
        if dated && moment.civil().is_some_and(|(civil, _)| civil.year > 0) {
            let bare = text.strip_suffix("+00").unwrap_or(text).len();
            text.truncate(bare);
            text.push_str(" +0000 UTC");
        }
    }
    lua.push_str(text);
    Ok(1)
}

fn index(lua: Lua) -> Answer {
    let value = get(lua, 1).zip(lua.bytes(2)).map(|(moment, name)| member(&moment, name));
    match value {
        Some(Member::Integer(value)) => lua.push_integer(value),
        Some(Member::Float(value)) => lua.push_number(value),
        Some(Member::OutOfRange) => return Err(lua.fail("the time is beyond 64-bit integers in this unit")),
        Some(Member::Missing) | None => lua.push_nil(),
    }
    Ok(1)
}

enum Member {
    Integer(i64),
    Float(f64),
    OutOfRange,
    /// No such member, or the moment (a time of day, an infinity) has none.
    Missing,
}

fn member(moment: &Moment, name: &[u8]) -> Member {
    let since = |numerator: i128, denominator: i128| {
        let micros = match moment.instant() {
            Some(Instant::At(micros)) => micros,
            Some(_) => return Member::Missing,
            None => moment.value.into(),
        };
        i64::try_from((micros * numerator).div_euclid(denominator))
            .map_or(Member::OutOfRange, Member::Integer)
    };
    let date = |part: fn(Civil) -> i64| {
        moment.civil().map_or(Member::Missing, |(civil, _)| Member::Integer(part(civil)))
    };
    let clock =
        |part: fn(Clock) -> i64| moment.clock().map_or(Member::Missing, |clock| Member::Integer(part(clock)));
    match name {
        b"unix_nano" => since(1_000, 1),
        b"unix_micro" => since(1, 1),
        b"unix_milli" => since(1, 1_000),
        b"unix_second" => since(1, 1_000_000),
        b"unix" => match moment.instant() {
            Some(Instant::At(micros)) => Member::Float(micros as f64 / 1e6),
            Some(Instant::Past) => Member::Float(f64::NEG_INFINITY),
            Some(Instant::Future) => Member::Float(f64::INFINITY),
            None => Member::Float(moment.value as f64 / 1e6),
        },
        b"year" => date(|civil| civil.year),
        b"month" => date(|civil| civil.month.into()),
        b"day" => date(|civil| civil.day.into()),
        b"yearday" => date(|civil| civil.to_days() - Civil { month: 1, day: 1, ..civil }.to_days() + 1),
        b"hour" => clock(|clock| clock.hour.into()),
        b"minute" => clock(|clock| clock.minute.into()),
        b"second" => clock(|clock| clock.second.into()),
        b"nanosecond" => clock(|clock| i64::from(clock.micros) * 1_000),
        b"offset" if moment.kind == MomentKind::TimeTz => Member::Integer(moment.offset.into()),
        _ => Member::Missing,
    }
}
