//! Times and intervals in one operation, as PostgreSQL calculates them.

use tarn_batch::calendar::{Civil, DAY_US, days_in_month, join_micros, split_micros};
use tarn_batch::value;

use super::{Instant, Moment, MomentKind};

impl Moment {
    /// The moment an interval later: months first, at most to the month's last day, then days, then
    /// the time of day. A date becomes a timestamp; a time of day wraps around midnight.
    pub fn plus(&self, interval: value::Interval) -> Option<Self> {
        if is_infinite(interval) {
            return None;
        }
        match self.kind {
            MomentKind::Time | MomentKind::TimeTz => {
                let micros = (i128::from(self.value) + i128::from(interval.micros)).rem_euclid(DAY_US.into());
                Some(Self { value: micros as i64, ..*self })
            }
            MomentKind::Date => self.convert(MomentKind::Timestamp)?.plus(interval),
            MomentKind::Timestamp | MomentKind::TimestampTz => {
                let Instant::At(_) = self.instant()? else { return Some(*self) };
                let (civil, clock) = split_micros(self.value);
                let months = civil.year * 12 + i64::from(civil.month) - 1 + i64::from(interval.months);
                let (year, month) = (months.div_euclid(12), months.rem_euclid(12) as u8 + 1);
                let day = civil.day.min(days_in_month(year, month));
                let days = Civil { year, month, day }.to_days() + i64::from(interval.days);
                let micros = join_micros(Civil::from_days(days), clock)?.checked_add(interval.micros)?;
                // The greatest and the least are the infinities.
                let is_finite = micros != i64::MAX && micros != i64::MIN;
                is_finite.then(|| Self::new(self.kind, micros))
            }
        }
    }

    /// How much later a moment is than another: days and a time of day, without months.
    pub fn since(&self, other: &Self) -> Option<value::Interval> {
        let micros = match (self.instant(), other.instant()) {
            (Some(Instant::At(one)), Some(Instant::At(two))) => one - two,
            (None, None) => i128::from(self.utc()) - i128::from(other.utc()),
            _ => return None,
        };
        let days = i32::try_from(micros / i128::from(DAY_US)).ok()?;
        Some(value::Interval { months: 0, days, micros: (micros % i128::from(DAY_US)) as i64 })
    }
}

/// Whether an interval has no end.
fn is_infinite(interval: value::Interval) -> bool {
    interval == value::Interval::INFINITY || interval == value::Interval::NEGATIVE_INFINITY
}

/// The other direction; none where a part has no opposite.
pub fn opposite(interval: value::Interval) -> Option<value::Interval> {
    Some(value::Interval {
        months: interval.months.checked_neg()?,
        days: interval.days.checked_neg()?,
        micros: interval.micros.checked_neg()?,
    })
}

/// Both one after the other.
pub fn sum(one: value::Interval, two: value::Interval) -> Option<value::Interval> {
    if is_infinite(one) || is_infinite(two) {
        return None;
    }
    Some(value::Interval {
        months: one.months.checked_add(two.months)?,
        days: one.days.checked_add(two.days)?,
        micros: one.micros.checked_add(two.micros)?,
    })
}
