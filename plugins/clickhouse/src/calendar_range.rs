//! Which days the server's `Date32` and `DateTime64` know.

/// The first and the last day, counted from 1970-01-01. Storage holds more than the server reads back:
/// beyond these days it shows another date than was stored, so nothing beyond them is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CalendarRange {
    pub(crate) first_day: i32,
    pub(crate) last_day: i32,
}

/// Microseconds of a day.
const DAY_US: i64 = 86_400_000_000;

impl CalendarRange {
    /// 1900-01-01 to 2299-12-31: what servers have known for long.
    pub(crate) const CENTURIES: Self = Self { first_day: -25_567, last_day: 120_529 };
    /// 0000-01-01 to 9999-12-31: what the newest know.
    pub(crate) const MILLENNIA: Self = Self { first_day: -719_528, last_day: 2_932_896 };

    /// Asks for a day that only the newest servers show as it is.
    pub(crate) const PROBE: &str = "SELECT toString(CAST(-719528 AS Date32)) FORMAT TabSeparatedRaw";

    /// The range that an answer to the probe tells of.
    pub(crate) fn from_probe(answer: &[u8]) -> Self {
        if answer.trim_ascii() == b"0000-01-01" { Self::MILLENNIA } else { Self::CENTURIES }
    }

    pub(crate) fn holds_day(self, day: i32) -> bool {
        (self.first_day..=self.last_day).contains(&day)
    }

    pub(crate) fn holds_micros(self, micros: i64) -> bool {
        let end = (i64::from(self.last_day) + 1) * DAY_US;
        (i64::from(self.first_day) * DAY_US..end).contains(&micros)
    }
}
