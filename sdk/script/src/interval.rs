//! Intervals: months, days and microseconds, as PostgreSQL calculates with them.

use tarn_batch::Type;
use tarn_batch::calendar::DAY_US;
use tarn_batch::value::{Interval, write_interval};

/// Days that a month has where intervals are compared, as in PostgreSQL.
const MONTH_DAYS: i128 = 30;

/// Appends an interval's text.
pub fn write_text(interval: Interval, out: &mut String) {
    let mut bytes = Vec::with_capacity(16);
    write_interval(&mut bytes, interval);
    tarn_batch::text::write_text(&Type::Interval, &bytes, out).expect("every interval has a text");
}

/// Its length where a month has 30 days and a day 24 hours.
pub fn total_micros(interval: Interval) -> i128 {
    let days = i128::from(interval.months) * MONTH_DAYS + i128::from(interval.days);
    days * i128::from(DAY_US) + i128::from(interval.micros)
}

/// So many times an interval; none where a part is beyond its bits.
pub fn times(interval: Interval, factor: i64) -> Option<Interval> {
    Some(Interval {
        months: i32::try_from(i64::from(interval.months).checked_mul(factor)?).ok()?,
        days: i32::try_from(i64::from(interval.days).checked_mul(factor)?).ok()?,
        micros: interval.micros.checked_mul(factor)?,
    })
}
