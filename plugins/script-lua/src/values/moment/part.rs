//! The parts of a time.

use tarn_batch::calendar::{Civil, Clock};
use tarn_script::moment::{Instant, Moment};

use crate::lua::{Answer, Lua};
use crate::members::{self, Members};

/// What scripts may ask a time for. A time of day has no date, an infinity neither date nor time of day,
/// and times of day count from midnight.
pub const MEMBERS: &Members<Moment> = &[
    ("unix_nano", |lua, moment| since(lua, moment, 1_000, 1)),
    ("unix_micro", |lua, moment| since(lua, moment, 1, 1)),
    ("unix_milli", |lua, moment| since(lua, moment, 1, 1_000)),
    ("unix_second", |lua, moment| since(lua, moment, 1, 1_000_000)),
    ("unix", |lua, moment| {
        lua.push_number(match moment.instant() {
            Some(Instant::At(micros)) => micros as f64 / 1e6,
            Some(Instant::Past) => f64::NEG_INFINITY,
            Some(Instant::Future) => f64::INFINITY,
            None => moment.value() as f64 / 1e6,
        });
        Ok(1)
    }),
    ("year", |lua, moment| date(lua, moment, |civil| civil.year)),
    ("month", |lua, moment| date(lua, moment, |civil| civil.month.into())),
    ("day", |lua, moment| date(lua, moment, |civil| civil.day.into())),
    ("yearday", |lua, moment| {
        date(lua, moment, |civil| civil.to_days() - Civil { month: 1, day: 1, ..civil }.to_days() + 1)
    }),
    ("hour", |lua, moment| clock(lua, moment, |clock| clock.hour.into())),
    ("minute", |lua, moment| clock(lua, moment, |clock| clock.minute.into())),
    ("second", |lua, moment| clock(lua, moment, |clock| clock.second.into())),
    ("nanosecond", |lua, moment| clock(lua, moment, |clock| i64::from(clock.micros) * 1_000)),
    ("offset", |lua, moment| members::push_integer(lua, moment.offset().into())),
];

/// A count of units since 1970 or midnight, each unit so many microseconds.
fn since(lua: Lua, moment: Moment, numerator: i128, denominator: i128) -> Answer {
    let micros = match moment.instant() {
        Some(Instant::At(micros)) => micros,
        Some(Instant::Past | Instant::Future) => return members::push_nil(lua),
        None => moment.value().into(),
    };
    match i64::try_from((micros * numerator).div_euclid(denominator)) {
        Ok(count) => members::push_integer(lua, count),
        Err(_) => Err(lua.fail("the time is beyond 64-bit integers in this unit")),
    }
}

fn date(lua: Lua, moment: Moment, part: fn(Civil) -> i64) -> Answer {
    match moment.civil() {
        Some((civil, _)) => members::push_integer(lua, part(civil)),
        None => members::push_nil(lua),
    }
}

fn clock(lua: Lua, moment: Moment, part: fn(Clock) -> i64) -> Answer {
    match moment.clock() {
        Some(clock) => members::push_integer(lua, part(clock)),
        None => members::push_nil(lua),
    }
}
