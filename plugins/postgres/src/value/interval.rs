//! Intervals in the style `postgres`: `1 year 2 mons -3 days +04:05:06.789`.

use tarn_batch::value::{Interval, write_interval};

use super::ValueError;
use super::datetime::{fraction, pair};

const INTERVAL: ValueError = ValueError::Malformed("interval");

/// Months, days and microseconds, which the text keeps apart: years are twelve months, and a time of
/// day may have any number of hours.
pub(super) fn interval(text: &[u8], out: &mut Vec<u8>) -> Result<(), ValueError> {
    let interval = match text {
        b"infinity" => Interval::INFINITY,
        b"-infinity" => Interval::NEGATIVE_INFINITY,
        _ => parts(text).ok_or(INTERVAL)?,
    };
    write_interval(out, interval);
    Ok(())
}

fn parts(text: &[u8]) -> Option<Interval> {
    let mut interval = Interval { months: 0, days: 0, micros: 0 };
    let mut words = text.split(|byte| *byte == b' ');
    // `split` gives one empty word for an empty text, which is no part.
    while let Some(word) = words.next() {
        if word.contains(&b':') {
            interval.micros = time(word)?;
            return words.next().is_none().then_some(interval);
        }
        let count: i32 = super::number::integer(word.strip_prefix(b"+").unwrap_or(word)).ok()?;
        match words.next()? {
            b"year" | b"years" => interval.months = interval.months.checked_add(count.checked_mul(12)?)?,
            b"mon" | b"mons" => interval.months = interval.months.checked_add(count)?,
            b"day" | b"days" => interval.days = count,
            _ => return None,
        }
    }
    Some(interval)
}

/// `-123:04:05.6` in microseconds. The sign holds for all of it.
fn time(word: &[u8]) -> Option<i64> {
    let (sign, word) = match word {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        rest => (1, rest),
    };
    let colon = word.iter().position(|byte| *byte == b':')?;
    let (hours, rest) = word.split_at(colon);
    if !hours.first()?.is_ascii_digit() {
        return None;
    }
    let hours: i64 = super::number::integer(hours).ok()?;
    let [b':', m1, m0, b':', s1, s0, rest @ ..] = rest else { return None };
    let (micros, []) = fraction(rest)? else { return None };
    let seconds = i64::from(pair(*m1, *m0)?) * 60 + i64::from(pair(*s1, *s0)?);
    // With the sign from the start: the smallest time has no positive counterpart.
    let hours = hours.checked_mul(sign * 3_600_000_000)?;
    hours.checked_add(sign * (seconds * 1_000_000 + i64::from(micros)))
}
