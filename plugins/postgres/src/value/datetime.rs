//! Dates and times in ISO form: proleptic Gregorian, years of four digits or more, `BC` behind.

use tarn_batch::calendar::{Civil, Clock, DAY_US, join_micros};
use tarn_batch::value::{
    DATE_INFINITY, DATE_NEGATIVE_INFINITY, TIMESTAMP_INFINITY, TIMESTAMP_NEGATIVE_INFINITY, TimeTz,
    write_time_tz,
};

use super::ValueError;

const DATE: ValueError = ValueError::Malformed("date");
const TIME: ValueError = ValueError::Malformed("time");
const TIMESTAMP: ValueError = ValueError::Malformed("timestamp");
const TIMESTAMP_RANGE: ValueError = ValueError::OutOfRange("timestamp");

/// `2026-03-04`, `0044-03-15 BC`, `infinity`: days since 1970.
pub(super) fn date(text: &[u8]) -> Result<i32, ValueError> {
    match text {
        b"infinity" => return Ok(DATE_INFINITY),
        b"-infinity" => return Ok(DATE_NEGATIVE_INFINITY),
        _ => {}
    }
    let (text, before_christ) = era(text);
    let (date, rest) = civil(text, before_christ).ok_or(DATE)?;
    if !rest.is_empty() {
        return Err(DATE);
    }
    i32::try_from(date.to_days()).map_err(|_| ValueError::OutOfRange("date"))
}

/// `23:59:59.999999`, `24:00:00`: microseconds since midnight.
pub(super) fn time(text: &[u8]) -> Result<i64, ValueError> {
    match clock(text) {
        Some((clock, [])) => Ok(clock.to_micros()),
        _ => Err(TIME),
    }
}

/// `24:00:00+05:30`: a time and how far its zone is east of UTC.
pub(super) fn time_tz(text: &[u8], out: &mut Vec<u8>) -> Result<(), ValueError> {
    let (clock, rest) = clock(text).ok_or(TIME)?;
    let offset = zone(rest).ok_or(TIME)?;
    write_time_tz(out, TimeTz { micros: clock.to_micros(), offset });
    Ok(())
}

/// `2026-03-04 05:06:07.8`, `infinity`: microseconds since 1970.
#[inline]
pub(super) fn timestamp(text: &[u8]) -> Result<i64, ValueError> {
    match moment(text)? {
        (micros, []) => Ok(micros),
        _ => Err(TIMESTAMP),
    }
}

/// The same with a zone behind the time.
#[inline]
pub(super) fn timestamp_tz(text: &[u8]) -> Result<i64, ValueError> {
    match moment(text)? {
        (infinity @ (TIMESTAMP_INFINITY | TIMESTAMP_NEGATIVE_INFINITY), []) => Ok(infinity),
        (micros, b"+00") => Ok(micros),
        (micros, rest) => {
            let offset = zone(rest).ok_or(TIMESTAMP)?;
            finite(micros.checked_sub(i64::from(offset) * 1_000_000))
        }
    }
}

/// The local microseconds since 1970, and what is left of the text but for the era.
fn moment(text: &[u8]) -> Result<(i64, &[u8]), ValueError> {
    match text {
        b"infinity" => return Ok((TIMESTAMP_INFINITY, &[])),
        b"-infinity" => return Ok((TIMESTAMP_NEGATIVE_INFINITY, &[])),
        _ => {}
    }
    let (text, before_christ) = era(text);
    let (date, rest) = civil(text, before_christ).ok_or(TIMESTAMP)?;
    let (clock, rest) = rest.strip_prefix(b" ").and_then(clock).ok_or(TIMESTAMP)?;
    Ok((finite(join_micros(date, clock))?, rest))
}

/// A point in time that is neither beyond the range nor one of its ends, which mean infinity.
fn finite(micros: Option<i64>) -> Result<i64, ValueError> {
    micros
        .filter(|micros| ![TIMESTAMP_INFINITY, TIMESTAMP_NEGATIVE_INFINITY].contains(micros))
        .ok_or(TIMESTAMP_RANGE)
}

/// The text without its era, and whether that is before Christ.
fn era(text: &[u8]) -> (&[u8], bool) {
    match text.strip_suffix(b" BC") {
        Some(text) => (text, true),
        None => (text, false),
    }
}

/// Year, month and day at the start of a text, and the rest.
#[inline]
fn civil(text: &[u8], before_christ: bool) -> Option<(Civil, &[u8])> {
    let year_digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(4..=7).contains(&year_digits) {
        return None;
    }
    let (year, rest) = text.split_at(year_digits);
    let year = year.iter().fold(0, |year, digit| year * 10 + i64::from(digit - b'0'));
    let [b'-', m1, m0, b'-', d1, d0, rest @ ..] = rest else { return None };
    // There is no year 0: the astronomical year 0 is 1 BC.
    let year = match (before_christ, year) {
        (_, 0) => return None,
        (true, year) => 1 - year,
        (false, year) => year,
    };
    Some((Civil::new(year, pair(*m1, *m0)?, pair(*d1, *d0)?)?, rest))
}

/// Hour, minute, second and fraction at the start of a text, and the rest.
#[inline]
fn clock(text: &[u8]) -> Option<(Clock, &[u8])> {
    let [h1, h0, b':', m1, m0, b':', s1, s0, rest @ ..] = text else { return None };
    let (micros, rest) = fraction(rest)?;
    Some((Clock::new(pair(*h1, *h0)?, pair(*m1, *m0)?, pair(*s1, *s0)?, micros)?, rest))
}

/// `.5`, `.123456` or nothing: microseconds, and the rest.
#[inline]
pub(super) fn fraction(text: &[u8]) -> Option<(u32, &[u8])> {
    let [b'.', digits @ ..] = text else { return Some((0, text)) };
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(1..=6).contains(&length) {
        return None;
    }
    let (digits, rest) = digits.split_at(length);
    let mut micros = digits.iter().fold(0, |micros, digit| micros * 10 + u32::from(digit - b'0'));
    for _ in length..6 {
        micros *= 10;
    }
    Some((micros, rest))
}

/// `+05:30`, `-00:01:15`, `+00`: seconds east of UTC.
fn zone(text: &[u8]) -> Option<i32> {
    let (negative, text) = match text {
        [b'+', rest @ ..] => (false, rest),
        [b'-', rest @ ..] => (true, rest),
        _ => return None,
    };
    let seconds = match text {
        [h1, h0] => i32::from(pair(*h1, *h0)?) * 3600,
        [h1, h0, b':', m1, m0] => i32::from(pair(*h1, *h0)?) * 3600 + i32::from(pair(*m1, *m0)?) * 60,
        [h1, h0, b':', m1, m0, b':', s1, s0] => {
            i32::from(pair(*h1, *h0)?) * 3600 + i32::from(pair(*m1, *m0)?) * 60 + i32::from(pair(*s1, *s0)?)
        }
        _ => return None,
    };
    let bounded = i64::from(seconds) * 1_000_000 < DAY_US;
    bounded.then_some(if negative { -seconds } else { seconds })
}

/// A number of two digits.
#[inline]
pub(super) fn pair(tens: u8, ones: u8) -> Option<u8> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens <= 9 && ones <= 9).then(|| tens * 10 + ones)
}
