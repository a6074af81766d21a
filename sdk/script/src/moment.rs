//! Times: dates, times of day and points in time, as PostgreSQL has them.

use std::cmp::Ordering;

use tarn_batch::Type;
use tarn_batch::calendar::{Civil, Clock, DAY_US, split_micros};
use tarn_batch::text::write_text;
use tarn_batch::value::{
    self, DATE_INFINITY, DATE_NEGATIVE_INFINITY, TIMESTAMP_INFINITY, TIMESTAMP_NEGATIVE_INFINITY,
};

mod arithmetic;
mod parse;

pub use arithmetic::{opposite, sum};
pub use parse::{parse, parse_any};

/// What a time is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// A time, exact to the microsecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    kind: MomentKind,
    /// Days for a date, else microseconds, as the batch has them.
    value: i64,
    /// Seconds east of UTC, for a time of day with its zone.
    offset: i32,
}

/// A number of seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Seconds {
    /// A whole number.
    Whole(i64),
    /// One with a fraction, of which microseconds count.
    Fraction(f64),
}

/// Where a moment lies on the line of all time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Instant {
    /// Before all time.
    Past,
    /// Microseconds since 1970; a date may lie beyond what 64 bits hold.
    At(i128),
    /// After all time.
    Future,
}

impl Moment {
    /// A moment of a kind: days for a date, else microseconds.
    pub fn new(kind: MomentKind, value: i64) -> Self {
        Self { kind, value, offset: 0 }
    }

    /// A time of day with its zone.
    pub fn time_tz(value: value::TimeTz) -> Self {
        Self { kind: MomentKind::TimeTz, value: value.micros, offset: value.offset }
    }

    /// What it is of.
    pub fn kind(&self) -> MomentKind {
        self.kind
    }

    /// Whether it is no infinity.
    pub fn is_finite(&self) -> bool {
        !matches!(self.instant(), Some(Instant::Past | Instant::Future))
    }

    /// Seconds east of UTC; 0 but for a time of day with its zone.
    pub fn offset(&self) -> i32 {
        self.offset
    }

    /// Days for a date, else microseconds.
    pub fn value(&self) -> i64 {
        self.value
    }

    /// The day a date, or a point in time, is on; none for infinities and times of day.
    pub fn civil(&self) -> Option<(Civil, Clock)> {
        match (self.instant()?, self.kind) {
            (Instant::Past | Instant::Future, _) => None,
            (_, MomentKind::Date) => Some((Civil::from_days(self.value), Clock::from_micros(0)?)),
            _ => Some(split_micros(self.value)),
        }
    }

    /// The time of day; none for infinities.
    pub fn clock(&self) -> Option<Clock> {
        match self.kind {
            MomentKind::Time | MomentKind::TimeTz => Clock::from_micros(self.value),
            _ => self.civil().map(|(_, clock)| clock),
        }
    }

    /// Where it lies in time; times of day do not.
    pub fn instant(&self) -> Option<Instant> {
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
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        if let (Some(one), Some(two)) = (self.instant(), other.instant()) {
            return Some(one.cmp(&two));
        }
        (self.kind == other.kind).then(|| self.utc().cmp(&other.utc()).then(other.offset.cmp(&self.offset)))
    }

    /// A time of day in UTC, in microseconds.
    fn utc(&self) -> i64 {
        self.value - i64::from(self.offset) * 1_000_000
    }

    /// A point in time, from seconds since 1970.
    pub fn from_seconds(seconds: Seconds) -> Option<Self> {
        let micros = match seconds {
            Seconds::Whole(seconds) => seconds.checked_mul(1_000_000)?,
            Seconds::Fraction(seconds) => {
                let micros = (seconds * 1e6).round();
                (micros.abs() < 9.2e18).then_some(micros as i64)?
            }
        };
        Some(Self::new(MomentKind::TimestampTz, micros))
    }

    /// What a column of a kind takes for a number: seconds since 1970, or since midnight.
    pub fn from_number(seconds: Seconds, kind: MomentKind) -> Option<Self> {
        let moment = Self::from_seconds(seconds)?;
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
    pub fn write_said(&self, out: &mut String) {
        self.write_text(out);
        let dated = matches!(self.kind, MomentKind::Timestamp | MomentKind::TimestampTz);
        if dated && self.civil().is_some_and(|(civil, _)| civil.year > 0) {
            let bare = out.strip_suffix("+00").map_or(out.len(), str::len);
            out.truncate(bare);
            out.push_str(" +0000 UTC");
        }
    }
}
