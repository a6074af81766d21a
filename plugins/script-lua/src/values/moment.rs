//! `Time`: dates, times of day and points in time.

use std::cmp::Ordering;

use tarn_batch::Type;
use tarn_batch::calendar::{Civil, Clock, DAY_US, split_micros};
use tarn_batch::text::write_text;
use tarn_batch::value::{
    self, DATE_INFINITY, DATE_NEGATIVE_INFINITY, TIMESTAMP_INFINITY, TIMESTAMP_NEGATIVE_INFINITY,
};

use crate::lua::{Answer, Kind, Lua, Slot, Userdata};
use crate::members;
use crate::session::Phase;

pub mod arithmetic;
mod parse;
mod part;

pub use parse::parse;
pub use part::MEMBERS;

/// What `peerdb.type` says.
pub const TYPE_NAME: &str = "time.Time";

/// The first moment that Go's `time.Time` knows, the year 1, in microseconds: what `peerdb.Time()` is.
const YEAR_ONE_US: i64 = -62_135_596_800_000_000;

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

    /// What it is of.
    pub fn kind(&self) -> MomentKind {
        self.kind
    }

    /// Whether it is no infinity.
    pub fn is_finite(&self) -> bool {
        !matches!(self.instant(), Some(Instant::Past | Instant::Future))
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
        (self.kind == other.kind).then(|| self.utc().cmp(&other.utc()).then(other.offset.cmp(&self.offset)))
    }

    /// A time of day in UTC, in microseconds.
    fn utc(&self) -> i64 {
        self.value - i64::from(self.offset) * 1_000_000
    }

    /// A point in time, from seconds since 1970; a float has microseconds.
    pub fn from_seconds(lua: Lua, index: i32) -> Option<Self> {
        let micros = match lua.kind(index) {
            Kind::Integer => lua.integer(index)?.checked_mul(1_000_000)?,
            Kind::Float => {
                let micros = (lua.number(index)? * 1e6).round();
                (micros.abs() < 9.2e18).then_some(micros as i64)?
            }
            _ => return None,
        };
        Some(Self::new(MomentKind::TimestampTz, micros))
    }

    /// What a column of a kind takes for a number: seconds since 1970, or since midnight.
    pub fn from_number(lua: Lua, index: i32, kind: MomentKind) -> Option<Self> {
        let moment = Self::from_seconds(lua, index)?;
        match kind {
            MomentKind::Time | MomentKind::TimeTz => {
                (0..=DAY_US).contains(&moment.value).then_some(Self { kind, ..moment })
            }
            _ => moment.convert(kind),
        }
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

    /// Appends a point in time as RFC 3339 has it, where it has: `2024-05-17T08:30:00.5Z`.
    pub fn write_portable(&self, out: &mut String) {
        let start = out.len();
        self.write_text(out);
        let dated = matches!(self.kind, MomentKind::Timestamp | MomentKind::TimestampTz);
        if dated && self.civil().is_some_and(|(civil, _)| (1..=9_999).contains(&civil.year)) {
            let bare = out.strip_suffix("+00").map_or(out.len(), str::len);
            out.truncate(bare);
            out.push('Z');
            // Between date and time.
            out.replace_range(start + 10..start + 11, "T");
        }
    }

    /// Appends a point in time as Go's `time.Time` says itself, `2024-05-17 08:30:00.5 +0000 UTC`; the
    /// others as PostgreSQL does.
    fn write_said(&self, out: &mut String) {
        self.write_text(out);
        let dated = matches!(self.kind, MomentKind::Timestamp | MomentKind::TimestampTz);
        if dated && self.civil().is_some_and(|(civil, _)| civil.year > 0) {
            let bare = out.strip_suffix("+00").map_or(out.len(), str::len);
            out.truncate(bare);
            out.push_str(" +0000 UTC");
        }
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
    lua.push_userdata(moment, Slot::Moment);
}

/// The moment, if the value is one.
pub fn get(lua: Lua, index: i32) -> Option<Moment> {
    lua.userdata(index)
}

/// `peerdb.Time([value])`: seconds since 1970 (a float has microseconds), or the text of a time; without
/// a value the first day of the year 1.
pub fn create(lua: Lua) -> Answer {
    let moment = match lua.kind(1) {
        Kind::None => Some(Moment::new(MomentKind::TimestampTz, YEAR_ONE_US)),
        Kind::Integer | Kind::Float => Moment::from_seconds(lua, 1),
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
