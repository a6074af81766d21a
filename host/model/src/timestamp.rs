//! A moment.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

/// Microseconds since 1970-01-01 UTC. It serialises as RFC 3339 with as many fraction digits as it
/// needs: 0, 3 or 6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

const MICROS: i64 = 1_000_000;
const DAY_SECONDS: i64 = 86_400;

impl Timestamp {
    /// From microseconds since 1970.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970.
    pub fn micros(self) -> i64 {
        self.0
    }

    /// Whole milliseconds since 1970.
    pub fn millis(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// The beginning of its unit of so many microseconds, counted from 1970.
    #[must_use]
    pub fn start_of(self, unit_micros: i64) -> Self {
        Self(self.0.div_euclid(unit_micros) * unit_micros)
    }

    /// The beginning of the calendar month that is so many months before its own, in UTC.
    #[must_use]
    pub fn start_of_month(self, months_before: u32) -> Self {
        let (year, month, _) = self.date();
        let months = year * 12 + month - 1 - i64::from(months_before);
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
        // The inverse of `date`, for the first of a month.
        let (year, month_from_march) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let day_of_year = (153 * month_from_march + 2) / 5;
        let day_of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year;
        Self((era * 146_097 + day_of_era - 719_468) * DAY_SECONDS * MICROS)
    }

    /// Year, month and day of its UTC date, by the proleptic Gregorian calendar: 400 years are 146,097
    /// days, and years are counted from March so that a leap day comes last.
    fn date(self) -> (i64, i64, i64) {
        let days = self.0.div_euclid(MICROS * DAY_SECONDS) + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        (era * 400 + year_of_era + i64::from(month <= 2), month, day)
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let micros = |span: Duration| i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Self(micros(since)),
            Err(before) => Self(-micros(before.duration())),
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.date();
        let seconds = self.0.div_euclid(MICROS).rem_euclid(DAY_SECONDS);
        let fraction = self.0.rem_euclid(MICROS);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        match fraction {
            0 => {}
            _ if fraction % 1000 == 0 => write!(f, ".{:03}", fraction / 1000)?,
            _ => write!(f, ".{fraction:06}")?,
        }
        f.write_str("Z")
    }
}

impl PartialSchema for Timestamp {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .description(Some("A moment in UTC, with as many fraction digits as it needs."))
            .into()
    }
}

impl ToSchema for Timestamp {}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_with_as_many_digits_as_it_needs() {
        for (micros, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00Z"),
            (1_709_251_199_250_000, "2024-02-29T23:59:59.250Z"),
            (1_795_818_465_000_001, "2026-11-27T22:27:45.000001Z"),
            (-1, "1969-12-31T23:59:59.999999Z"),
            (-2_208_988_800_000_000, "1900-01-01T00:00:00Z"),
        ] {
            assert_eq!(Timestamp::from_micros(micros).to_string(), text);
        }
    }

    #[test]
    fn months_begin_on_their_first_day() {
        let at = Timestamp::from_micros(1_709_251_199_250_000); // 2024-02-29
        for (back, text) in [
            (0, "2024-02-01T00:00:00Z"),
            (1, "2024-01-01T00:00:00Z"),
            (2, "2023-12-01T00:00:00Z"),
            (26, "2021-12-01T00:00:00Z"),
            (24 * 12 - 1 + 12, "1999-03-01T00:00:00Z"),
            (60 * 12, "1964-02-01T00:00:00Z"),
        ] {
            assert_eq!(at.start_of_month(back).to_string(), text);
        }
        assert_eq!(at.start_of(3_600_000_000).to_string(), "2024-02-29T23:00:00Z");
        assert_eq!(Timestamp::from_micros(-1).start_of(60_000_000).to_string(), "1969-12-31T23:59:00Z");
    }

    #[test]
    fn the_systems_clock_converts_on_both_sides_of_1970() {
        assert_eq!(Timestamp::from(UNIX_EPOCH + Duration::from_micros(7)).micros(), 7);
        assert_eq!(Timestamp::from(UNIX_EPOCH - Duration::from_micros(7)).micros(), -7);
    }
}
