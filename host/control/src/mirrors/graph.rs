//! A mirror's rows over time.

use std::time::SystemTime;

use tarn_catalog::TimeUnit;
use tarn_model::{GraphBar, GraphMode, GraphSpan, Timestamp};

use crate::{Control, ControlError};

const MINUTE: i64 = 60_000_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// How far apart bars are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Micros(i64),
    Month,
}

/// The bars of a graph: how far apart, how many before the one under way, and the unit that the first
/// begins at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    step: Step,
    count: u32,
    unit: i64,
}

impl Layout {
    fn of(span: GraphSpan, mode: GraphMode) -> Self {
        let (step, count, unit) = match (mode, span) {
            (GraphMode::Last, GraphSpan::FiveMinutes) => (MINUTE, 5, MINUTE),
            (GraphMode::Last, GraphSpan::FifteenMinutes) => (MINUTE, 15, MINUTE),
            (GraphMode::Last, GraphSpan::Unknown | GraphSpan::Hour) => (MINUTE, 60, MINUTE),
            (GraphMode::Last, GraphSpan::Day) => (HOUR, 24, HOUR),
            (GraphMode::Last, GraphSpan::Month) => (DAY, 30, DAY),
            (_, GraphSpan::FiveMinutes) => (5 * MINUTE, 30, MINUTE),
            (_, GraphSpan::FifteenMinutes) => (15 * MINUTE, 30, MINUTE),
            (_, GraphSpan::Unknown | GraphSpan::Hour) => (HOUR, 30, HOUR),
            (_, GraphSpan::Day) => (DAY, 30, DAY),
            (_, GraphSpan::Month) => return Self { step: Step::Month, count: 30, unit: DAY },
        };
        Self { step: Step::Micros(step), count, unit }
    }

    /// When the bars begin, the oldest first.
    fn starts(self, now: Timestamp) -> Vec<Timestamp> {
        let back = (0..=self.count).rev();
        match self.step {
            Step::Month => back.map(|months| now.start_of_month(months)).collect(),
            Step::Micros(step) => {
                let last = now.start_of(self.unit).micros();
                back.map(|steps| Timestamp::from_micros(last - i64::from(steps) * step)).collect()
            }
        }
    }

    /// How finely rows must be told apart. Batches do not reach back as far as hours do.
    fn unit_of_rows(self) -> TimeUnit {
        match self.step {
            Step::Micros(step) if step < HOUR => TimeUnit::Minute,
            Step::Micros(_) | Step::Month => TimeUnit::Hour,
        }
    }
}

impl Control {
    /// Rows that a mirror's stream wrote, bar by bar, the oldest first. The last bar is under way.
    ///
    /// # Errors
    /// [`ControlError::NotFound`], [`ControlError::Catalog`].
    pub async fn graph(
        &self,
        name: &str,
        span: GraphSpan,
        mode: GraphMode,
    ) -> Result<Vec<GraphBar>, ControlError> {
        let mirror = self.known_mirror(name).await?;
        let layout = Layout::of(span, mode);
        let starts = layout.starts(SystemTime::now().into());
        let first = starts.first().copied().unwrap_or_default();
        let written = self.catalog().written_since(mirror.id, first, layout.unit_of_rows()).await?;
        Ok(sums(&starts, &written))
    }
}

/// The rows of each bar. A unit of time belongs to the bar that it begins in.
fn sums(starts: &[Timestamp], written: &[(Timestamp, u64)]) -> Vec<GraphBar> {
    let mut bars: Vec<_> = starts.iter().map(|start| GraphBar { start: *start, rows: 0 }).collect();
    for (at, rows) in written {
        let after = starts.partition_point(|start| start <= at);
        if let Some(bar) = after.checked_sub(1).and_then(|index| bars.get_mut(index)) {
            bar.rows += rows;
        }
    }
    bars
}

#[cfg(test)]
mod tests {
    use tarn_model::Enumerated as _;

    use super::*;

    /// 2024-02-29T23:59:59.25Z
    const NOW: Timestamp = Timestamp::from_micros(1_709_251_199_250_000);

    fn ends(span: GraphSpan, mode: GraphMode) -> (usize, String, String) {
        let starts = Layout::of(span, mode).starts(NOW);
        (starts.len(), starts[0].to_string(), starts[starts.len() - 1].to_string())
    }

    #[test]
    fn bars_are_of_one_span_or_fill_it() {
        use GraphMode::{GroupBy, Last, Unknown};
        for (span, mode, count, first, last) in [
            (GraphSpan::FiveMinutes, GroupBy, 31, "2024-02-29T21:29:00Z", "2024-02-29T23:59:00Z"),
            (GraphSpan::FifteenMinutes, GroupBy, 31, "2024-02-29T16:29:00Z", "2024-02-29T23:59:00Z"),
            (GraphSpan::Unknown, Unknown, 31, "2024-02-28T17:00:00Z", "2024-02-29T23:00:00Z"),
            (GraphSpan::Day, GroupBy, 31, "2024-01-30T00:00:00Z", "2024-02-29T00:00:00Z"),
            (GraphSpan::Month, GroupBy, 31, "2021-08-01T00:00:00Z", "2024-02-01T00:00:00Z"),
            (GraphSpan::FiveMinutes, Last, 6, "2024-02-29T23:54:00Z", "2024-02-29T23:59:00Z"),
            (GraphSpan::Hour, Last, 61, "2024-02-29T22:59:00Z", "2024-02-29T23:59:00Z"),
            (GraphSpan::Day, Last, 25, "2024-02-28T23:00:00Z", "2024-02-29T23:00:00Z"),
            (GraphSpan::Month, Last, 31, "2024-01-30T00:00:00Z", "2024-02-29T00:00:00Z"),
        ] {
            assert_eq!(ends(span, mode), (count, first.into(), last.into()), "{} {mode:?}", span.name());
        }
    }

    #[test]
    fn every_row_is_in_the_bar_it_began_in() {
        let at = |minute: i64| Timestamp::from_micros(minute * MINUTE);
        let written = [(at(9), 1), (at(10), 2), (at(14), 4), (at(15), 8), (at(21), 16)];
        let bars = sums(&[at(10), at(15), at(20)], &written);
        assert_eq!(bars.iter().map(|bar| bar.rows).collect::<Vec<_>>(), [6, 8, 16]);
    }
}
