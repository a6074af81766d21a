//! The proleptic Gregorian calendar: days since 1970-01-01 to dates and back.
//!
//! Years are astronomical: year 0 is 1 BC, year -1 is 2 BC.

/// Microseconds of a day.
pub const DAY_US: i64 = 86_400_000_000;

/// A date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Civil {
    /// Astronomical year: 0 is 1 BC.
    pub year: i64,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
}

/// A time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Clock {
    /// 0 to 24; 24 only as 24:00:00.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 to 999,999.
    pub micros: u32,
}

/// The days whose beginnings 64 bits of microseconds hold.
const DAYS_MIN: i64 = i64::MIN / DAY_US;
const DAYS_MAX: i64 = i64::MAX / DAY_US;

/// Days of 400 years, after which the calendar repeats.
const ERA_DAYS: i64 = 146_097;
/// Days from 0000-03-01, where the years counted here begin, to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

impl Civil {
    /// A date, if there is such a day.
    pub fn new(year: i64, month: u8, day: u8) -> Option<Self> {
        let valid = (1..=12).contains(&month) && day >= 1 && day <= days_in_month(year, month);
        valid.then_some(Self { year, month, day })
    }

    /// The date of a day; exact for every day that a 64-bit number of microseconds can reach.
    pub fn from_days(days: i64) -> Self {
        // Years begin in March, so that the leap day ends one and every month starts where a line
        // through 153 days in five months says.
        let days = days.saturating_add(EPOCH_DAYS);
        let era = days.div_euclid(ERA_DAYS);
        let day_of_era = days.rem_euclid(ERA_DAYS);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Self { year, month: month as u8, day: day as u8 }
    }

    /// Days since 1970-01-01.
    pub fn to_days(self) -> i64 {
        let month = i64::from(self.month);
        let year = if month <= 2 { self.year.saturating_sub(1) } else { self.year };
        let from_march = if month > 2 { month - 3 } else { month + 9 };
        let year_of_era = year.rem_euclid(400);
        let day_of_year = (153 * from_march + 2) / 5 + i64::from(self.day) - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let era = year.div_euclid(400);
        // No product of such an era overflows, and a checked one costs a sandbox a call.
        let days = if era.unsigned_abs() < 1 << 40 { era * ERA_DAYS } else { era.saturating_mul(ERA_DAYS) };
        days.saturating_add(day_of_era - EPOCH_DAYS)
    }
}

impl Clock {
    /// A time of day, if there is one: up to and including 24:00:00.
    pub fn new(hour: u8, minute: u8, second: u8, micros: u32) -> Option<Self> {
        let within = hour < 24 && minute < 60 && second < 60 && micros < 1_000_000;
        let midnight = hour == 24 && minute == 0 && second == 0 && micros == 0;
        (within || midnight).then_some(Self { hour, minute, second, micros })
    }

    /// The time of day after `micros` microseconds of it, 0 to [`DAY_US`].
    pub fn from_micros(micros: i64) -> Option<Self> {
        if !(0..=DAY_US).contains(&micros) {
            return None;
        }
        let seconds = micros / 1_000_000;
        Some(Self {
            hour: (seconds / 3_600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            micros: (micros % 1_000_000) as u32,
        })
    }

    /// Microseconds since midnight.
    pub fn to_micros(self) -> i64 {
        let seconds = (i64::from(self.hour) * 60 + i64::from(self.minute)) * 60 + i64::from(self.second);
        seconds * 1_000_000 + i64::from(self.micros)
    }
}

/// Splits microseconds since 1970-01-01 00:00 into the day and the time on it.
pub fn split_micros(micros: i64) -> (Civil, Clock) {
    let clock = Clock::from_micros(micros.rem_euclid(DAY_US)).expect("a remainder is within the day");
    (Civil::from_days(micros.div_euclid(DAY_US)), clock)
}

/// Microseconds since 1970-01-01 00:00; `None` beyond what 64 bits hold (the years -290308 to 294247).
pub fn join_micros(date: Civil, clock: Clock) -> Option<i64> {
    let (days, micros) = (date.to_days(), clock.to_micros());
    // A product in 128 bits costs a sandbox a call; these days need none.
    if (DAYS_MIN..=DAYS_MAX).contains(&days) {
        return (days * DAY_US).checked_add(micros);
    }
    // The first moments are on a day that begins before them.
    if days == DAYS_MIN - 1 { (DAYS_MIN * DAY_US).checked_add(micros - DAY_US) } else { None }
}

/// Whether a year has a 29th of February.
pub fn is_leap_year(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// How many days a month has; 0 when there is no such month.
pub fn days_in_month(year: i64, month: u8) -> u8 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year(year) => 29,
        2 => 28,
        _ => 0,
    }
}
