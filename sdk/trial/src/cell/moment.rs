//! Dates, times and intervals in PostgreSQL's text, and points in time as RFC 3339 has them.

use tarn_batch::calendar::{Civil, Clock, join_micros};
use tarn_batch::value::{
    DATE_INFINITY, DATE_NEGATIVE_INFINITY, Interval, TIMESTAMP_INFINITY, TIMESTAMP_NEGATIVE_INFINITY, TimeTz,
};

/// Seconds of an offset from UTC that is a day or more, which none is.
const DAY_SECONDS: i32 = 86_400;

/// Days since 1970.
pub(super) fn date(text: &str) -> Option<i32> {
    match text {
        "infinity" => Some(DATE_INFINITY),
        "-infinity" => Some(DATE_NEGATIVE_INFINITY),
        _ => {
            let (text, era) = era(text);
            let days = i32::try_from(civil(text, era)?.to_days()).ok()?;
            (days != DATE_INFINITY && days != DATE_NEGATIVE_INFINITY).then_some(days)
        }
    }
}

/// Microseconds since midnight.
pub(super) fn time(text: &str) -> Option<i64> {
    clock(text).map(Clock::to_micros)
}

pub(super) fn time_tz(text: &str) -> Option<TimeTz> {
    let (time, zone) = text.split_at(zone_start(text)?);
    Some(TimeTz { micros: clock(time)?.to_micros(), offset: offset(zone)? })
}

/// Microseconds since 1970.
pub(super) fn timestamp(text: &str) -> Option<i64> {
    if let Some(infinity) = infinity(text) {
        return Some(infinity);
    }
    let (text, era) = era(text);
    let (date, time) = text.split_once([' ', 'T'])?;
    finite(join_micros(civil(date, era)?, clock(time)?)?)
}

/// Microseconds since 1970 in UTC.
pub(super) fn timestamp_tz(text: &str) -> Option<i64> {
    if let Some(infinity) = infinity(text) {
        return Some(infinity);
    }
    let (text, era) = era(text);
    let (date, time) = text.split_once([' ', 'T'])?;
    let (time, zone) = time.split_at(zone_start(time)?);
    let local = join_micros(civil(date, era)?, clock(time)?)?;
    finite(local.checked_sub(i64::from(offset(zone)?) * 1_000_000)?)
}

/// Counts with their units, and a time of day last.
pub(super) fn interval(text: &str) -> Option<Interval> {
    match text {
        "infinity" => return Some(Interval::INFINITY),
        "-infinity" => return Some(Interval::NEGATIVE_INFINITY),
        _ => {}
    }
    let mut interval = Interval { months: 0, days: 0, micros: 0 };
    let mut words = text.split_whitespace().peekable();
    words.peek()?;
    while let Some(word) = words.next() {
        if word.contains(':') {
            if words.next().is_some() {
                return None;
            }
            interval.micros = signed_clock(word)?;
            return Some(interval);
        }
        let count: i32 = word.strip_prefix('+').unwrap_or(word).parse().ok()?;
        let (part, of_unit) = match words.next()?.trim_end_matches('s') {
            "year" => (&mut interval.months, 12),
            "mon" | "month" => (&mut interval.months, 1),
            "week" => (&mut interval.days, 7),
            "day" => (&mut interval.days, 1),
            _ => return None,
        };
        *part = part.checked_add(count.checked_mul(of_unit)?)?;
    }
    Some(interval)
}

fn infinity(text: &str) -> Option<i64> {
    match text {
        "infinity" => Some(TIMESTAMP_INFINITY),
        "-infinity" => Some(TIMESTAMP_NEGATIVE_INFINITY),
        _ => None,
    }
}

/// What stands for the infinities is no moment.
fn finite(micros: i64) -> Option<i64> {
    (micros != TIMESTAMP_INFINITY && micros != TIMESTAMP_NEGATIVE_INFINITY).then_some(micros)
}

/// Before or after Christ.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Era {
    Before,
    After,
}

fn era(text: &str) -> (&str, Era) {
    match text.strip_suffix(" BC") {
        Some(rest) => (rest, Era::Before),
        None => (text, Era::After),
    }
}

fn civil(text: &str, era: Era) -> Option<Civil> {
    let mut parts = text.split('-');
    let year: i64 = number(parts.next()?, 4..=6)?;
    let (month, day) = (number(parts.next()?, 2..=2)?, number(parts.next()?, 2..=2)?);
    if parts.next().is_some() || year == 0 {
        return None;
    }
    Civil::new(if era == Era::Before { 1 - year } else { year }, month, day)
}

fn clock(text: &str) -> Option<Clock> {
    let mut parts = text.split(':');
    let (hour, minute) = (number(parts.next()?, 2..=2)?, number(parts.next()?, 2..=2)?);
    let (second, micros) = seconds(parts.next().unwrap_or("00"))?;
    if parts.next().is_some() {
        return None;
    }
    Clock::new(hour, minute, second, micros)
}

/// Hours of an interval may be many.
fn signed_clock(text: &str) -> Option<i64> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut parts = text.split(':');
    let (hours, minutes): (i64, i64) = (number(parts.next()?, 2..=10)?, number(parts.next()?, 2..=2)?);
    let (second, micros) = seconds(parts.next().unwrap_or("00"))?;
    if parts.next().is_some() || minutes > 59 || second > 59 {
        return None;
    }
    let whole = (hours * 60 + minutes) * 60 + i64::from(second);
    let micros = whole.checked_mul(1_000_000)?.checked_add(micros.into())?;
    Some(if negative { -micros } else { micros })
}

/// Seconds, and the microseconds of their fraction.
fn seconds(text: &str) -> Option<(u8, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let micros: u32 = number(fraction, 1..=6)?;
    let places = u32::try_from(6 - fraction.len()).ok()?;
    Some((number(whole, 2..=2)?, micros * 10_u32.pow(places)))
}

/// Where the zone begins.
fn zone_start(text: &str) -> Option<usize> {
    text.rfind(['+', '-', 'Z'])
}

/// Seconds east of UTC: `+02`, `-03:30`, `+01:23:45`, `Z`.
fn offset(text: &str) -> Option<i32> {
    if text == "Z" {
        return Some(0);
    }
    let (sign, rest) = match (text.strip_prefix('-'), text.strip_prefix('+')) {
        (Some(rest), _) => (-1, rest),
        (None, Some(rest)) => (1, rest),
        (None, None) => return None,
    };
    let mut parts = rest.split(':');
    let hours: i32 = number(parts.next()?, 2..=2)?;
    let minutes: i32 = number(parts.next().unwrap_or("00"), 2..=2)?;
    let seconds: i32 = number(parts.next().unwrap_or("00"), 2..=2)?;
    let total = (hours * 60 + minutes) * 60 + seconds;
    (parts.next().is_none() && minutes < 60 && seconds < 60 && total < DAY_SECONDS).then_some(sign * total)
}

/// A number of so many digits.
fn number<T: std::str::FromStr>(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<T> {
    (digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())?
}
