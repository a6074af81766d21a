//! Times from ISO text, as PostgreSQL writes it.

use tarn_batch::calendar::{Civil, Clock, join_micros};
use tarn_batch::value::{
    DATE_INFINITY, DATE_NEGATIVE_INFINITY, TIMESTAMP_INFINITY, TIMESTAMP_NEGATIVE_INFINITY, TimeTz,
};

use super::{Moment, MomentKind};

/// Reads a time of a kind. A point in time needs its zone, the others have none but `TimeTz`; more
/// digits than microseconds are refused, not rounded.
pub fn parse(kind: MomentKind, text: &str) -> Option<Moment> {
    if let Some(infinity) = infinity(kind, text) {
        return Some(infinity);
    }
    let mut rest = Text(text.trim_ascii().as_bytes());
    let moment = match kind {
        MomentKind::Date => {
            let civil = rest.date()?;
            let days = rest.with_era(civil)?.to_days();
            Moment::new(kind, i32::try_from(days).ok()?.into())
        }
        MomentKind::Time => Moment::new(kind, rest.clock()?.to_micros()),
        MomentKind::TimeTz => {
            let micros = rest.clock()?.to_micros();
            Moment::time_tz(TimeTz { micros, offset: rest.zone()? })
        }
        MomentKind::Timestamp | MomentKind::TimestampTz => {
            let civil = rest.date()?;
            rest.separator()?;
            let clock = rest.clock()?;
            let offset = if kind == MomentKind::TimestampTz { rest.zone()? } else { rest.utc() };
            let micros = join_micros(rest.with_era(civil)?, clock)?;
            let micros = micros.checked_sub(i64::from(offset) * 1_000_000)?;
            Moment::new(kind, micros)
        }
    };
    // The greatest and least value are the infinities.
    let is_infinite = matches!(moment.value(), TIMESTAMP_INFINITY | TIMESTAMP_NEGATIVE_INFINITY);
    (rest.0.is_empty() && !is_infinite).then_some(moment)
}

/// Reads a time of the first kind whose text it is: one with a date and a zone before one without.
pub fn parse_any(text: &str) -> Option<Moment> {
    let kinds = [
        MomentKind::TimestampTz,
        MomentKind::Timestamp,
        MomentKind::Date,
        MomentKind::TimeTz,
        MomentKind::Time,
    ];
    kinds.into_iter().find_map(|kind| parse(kind, text))
}

fn infinity(kind: MomentKind, text: &str) -> Option<Moment> {
    let positive = match text {
        "infinity" => true,
        "-infinity" => false,
        _ => return None,
    };
    let value = match (kind, positive) {
        (MomentKind::Time | MomentKind::TimeTz, _) => return None,
        (MomentKind::Date, true) => DATE_INFINITY.into(),
        (MomentKind::Date, false) => DATE_NEGATIVE_INFINITY.into(),
        (_, true) => TIMESTAMP_INFINITY,
        (_, false) => TIMESTAMP_NEGATIVE_INFINITY,
    };
    Some(Moment::new(kind, value))
}

/// What is left to read.
struct Text<'a>(&'a [u8]);

impl Text<'_> {
    fn take(&mut self, byte: u8) -> Option<()> {
        self.0 = self.0.strip_prefix(&[byte])?;
        Some(())
    }

    /// A number of `least` to `most` digits.
    fn digits(&mut self, least: usize, most: usize) -> Option<i64> {
        let count = self.0.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        if count < least {
            return None;
        }
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        Some(digits.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0')))
    }

    fn two(&mut self) -> Option<u8> {
        self.digits(2, 2).map(|value| value as u8)
    }

    /// A date whose era is not known yet.
    fn date(&mut self) -> Option<(i64, u8, u8)> {
        let year = self.digits(4, 7)?;
        self.take(b'-')?;
        let month = self.two()?;
        self.take(b'-')?;
        Some((year, month, self.two()?))
    }

    /// Takes the era off the end: year 1 BC is the year 0.
    fn with_era(&mut self, (year, month, day): (i64, u8, u8)) -> Option<Civil> {
        let before_christ = self.0.strip_prefix(b" BC");
        if year == 0 {
            return None;
        }
        match before_christ {
            Some(rest) => {
                self.0 = rest;
                Civil::new(1 - year, month, day)
            }
            None => Civil::new(year, month, day),
        }
    }

    fn separator(&mut self) -> Option<()> {
        self.take(b' ').or_else(|| self.take(b'T')).or_else(|| self.take(b't'))
    }

    fn clock(&mut self) -> Option<Clock> {
        let hour = self.two()?;
        self.take(b':')?;
        let minute = self.two()?;
        let second = if self.take(b':').is_some() { self.two()? } else { 0 };
        let mut micros = 0;
        if self.take(b'.').is_some() {
            let before = self.0.len();
            micros = self.digits(1, 6)? * 10_i64.pow(6 - (before - self.0.len()) as u32);
            while self.take(b'0').is_some() {}
        }
        Clock::new(hour, minute, second, micros as u32)
    }

    /// Takes what a timestamp's own text in a script ends with: 0 seconds east of UTC.
    fn utc(&mut self) -> i32 {
        for end in [&b" +0000 UTC"[..], b"Z"] {
            if let Some(rest) = self.0.strip_prefix(end) {
                self.0 = rest;
            }
        }
        0
    }

    /// Seconds east of UTC.
    fn zone(&mut self) -> Option<i32> {
        let _ = self.take(b' ');
        if self.take(b'Z').or_else(|| self.take(b'z')).is_some() {
            return Some(0);
        }
        let east = match self.take(b'+') {
            Some(()) => 1,
            None => self.take(b'-').map(|()| -1)?,
        };
        let mut seconds = i32::from(self.two()?) * 3_600;
        for unit in [60, 1] {
            let colon = self.take(b':').is_some();
            match self.two() {
                Some(part) if part < 60 => seconds += i32::from(part) * unit,
                None if !colon => break,
                _ => return None,
            }
        }
        // `+0000 UTC` is how a point in time says itself.
        if let Some(rest) = self.0.strip_prefix(b" UTC") {
            self.0 = rest;
        }
        (seconds < 16 * 3_600).then_some(east * seconds)
    }
}
