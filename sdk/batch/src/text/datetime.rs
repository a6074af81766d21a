//! Dates, times and intervals in PostgreSQL's text.

use super::push_padded;
use crate::DecodeError;
use crate::calendar::{Civil, Clock, split_micros};
use crate::value::{
    DATE_INFINITY, DATE_NEGATIVE_INFINITY, Interval, TIMESTAMP_INFINITY, TIMESTAMP_NEGATIVE_INFINITY, TimeTz,
};

pub(super) fn push_date(out: &mut String, days: i32) {
    match days {
        DATE_INFINITY => out.push_str("infinity"),
        DATE_NEGATIVE_INFINITY => out.push_str("-infinity"),
        _ => {
            let date = Civil::from_days(days.into());
            push_civil(out, date);
            push_era(out, date);
        }
    }
}

pub(super) fn push_timestamp(out: &mut String, micros: i64, zone: &str) {
    match micros {
        TIMESTAMP_INFINITY => out.push_str("infinity"),
        TIMESTAMP_NEGATIVE_INFINITY => out.push_str("-infinity"),
        _ => {
            let (date, clock) = split_micros(micros);
            push_civil(out, date);
            out.push(' ');
            push_clock(out, clock);
            out.push_str(zone);
            push_era(out, date);
        }
    }
}

pub(super) fn push_time(out: &mut String, micros: i64) -> Result<(), DecodeError> {
    push_clock(out, Clock::from_micros(micros).ok_or(DecodeError::Invalid("time value"))?);
    Ok(())
}

pub(super) fn push_time_tz(out: &mut String, value: TimeTz) -> Result<(), DecodeError> {
    push_time(out, value.micros)?;
    out.push(if value.offset < 0 { '-' } else { '+' });
    let seconds = u64::from(value.offset.unsigned_abs());
    push_padded(out, seconds / 3_600, 2);
    if !seconds.is_multiple_of(3_600) {
        out.push(':');
        push_padded(out, seconds / 60 % 60, 2);
    }
    if !seconds.is_multiple_of(60) {
        out.push(':');
        push_padded(out, seconds % 60, 2);
    }
    Ok(())
}

/// Years, months and days each with their own sign; after a negative part a positive one says `+`.
pub(super) fn push_interval(out: &mut String, value: Interval) {
    match value {
        Interval::INFINITY => return out.push_str("infinity"),
        Interval::NEGATIVE_INFINITY => return out.push_str("-infinity"),
        _ => {}
    }
    let start = out.len();
    let mut after_negative = false;
    for (count, unit) in [(value.months / 12, "year"), (value.months % 12, "mon"), (value.days, "day")] {
        if count == 0 {
            continue;
        }
        if out.len() > start {
            out.push(' ');
        }
        push_sign(out, count < 0, after_negative);
        push_padded(out, count.unsigned_abs().into(), 1);
        out.push(' ');
        out.push_str(unit);
        if count != 1 {
            out.push('s');
        }
        after_negative = count < 0;
    }
    if value.micros == 0 && out.len() > start {
        return;
    }
    if out.len() > start {
        out.push(' ');
    }
    push_sign(out, value.micros < 0, after_negative);
    let micros = value.micros.unsigned_abs();
    let seconds = micros / 1_000_000;
    push_padded(out, seconds / 3_600, 2);
    out.push(':');
    push_padded(out, seconds / 60 % 60, 2);
    out.push(':');
    push_padded(out, seconds % 60, 2);
    push_fraction(out, micros % 1_000_000);
}

fn push_sign(out: &mut String, negative: bool, after_negative: bool) {
    match (negative, after_negative) {
        (true, _) => out.push('-'),
        (false, true) => out.push('+'),
        (false, false) => {}
    }
}

fn push_civil(out: &mut String, date: Civil) {
    let year = if date.year > 0 { date.year } else { 1 - date.year };
    push_padded(out, year.unsigned_abs(), 4);
    out.push('-');
    push_padded(out, date.month.into(), 2);
    out.push('-');
    push_padded(out, date.day.into(), 2);
}

fn push_era(out: &mut String, date: Civil) {
    if date.year <= 0 {
        out.push_str(" BC");
    }
}

fn push_clock(out: &mut String, clock: Clock) {
    push_padded(out, clock.hour.into(), 2);
    out.push(':');
    push_padded(out, clock.minute.into(), 2);
    out.push(':');
    push_padded(out, clock.second.into(), 2);
    push_fraction(out, clock.micros.into());
}

/// A fraction of a second without its trailing zeros.
fn push_fraction(out: &mut String, micros: u64) {
    if micros == 0 {
        return;
    }
    out.push('.');
    push_padded(out, micros, 6);
    out.truncate(out.trim_end_matches('0').len());
}
