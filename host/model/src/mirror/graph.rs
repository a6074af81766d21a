//! A mirror's rows over time, as a graph shows them: bars of equal spans up to now.

use crate::enumerated::{Enumerated, serde_by_name};
use crate::timestamp::Timestamp;

/// The span of one bar, or of the whole graph (see [`GraphMode`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GraphSpan {
    /// Not said: an hour.
    #[default]
    Unknown,
    /// Five minutes.
    FiveMinutes,
    /// A quarter of an hour.
    FifteenMinutes,
    /// An hour.
    Hour,
    /// A day.
    Day,
    /// A calendar month.
    Month,
}

impl Enumerated for GraphSpan {
    const EXPECTED: &'static str = "a span of time";
    const ALL: &'static [(Self, u32, &'static str)] = &[
        (Self::Unknown, 0, "TIME_AGGREGATE_TYPE_UNKNOWN"),
        (Self::FiveMinutes, 1, "TIME_AGGREGATE_TYPE_FIVE_MIN"),
        (Self::FifteenMinutes, 2, "TIME_AGGREGATE_TYPE_FIFTEEN_MIN"),
        (Self::Hour, 3, "TIME_AGGREGATE_TYPE_ONE_HOUR"),
        (Self::Day, 4, "TIME_AGGREGATE_TYPE_ONE_DAY"),
        (Self::Month, 5, "TIME_AGGREGATE_TYPE_ONE_MONTH"),
    ];
}

serde_by_name!(GraphSpan);

/// What the span is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GraphMode {
    /// Not said: of each bar.
    #[default]
    Unknown,
    /// Of each bar; there are thirty of them, and the one under way.
    GroupBy,
    /// Of the whole graph, which ends now.
    Last,
}

impl Enumerated for GraphMode {
    const EXPECTED: &'static str = "a mode of a graph";
    const ALL: &'static [(Self, u32, &'static str)] = &[
        (Self::Unknown, 0, "GRAPH_MODE_UNKNOWN"),
        (Self::GroupBy, 1, "GRAPH_MODE_GROUP_BY"),
        (Self::Last, 2, "GRAPH_MODE_LAST_X"),
    ];
}

serde_by_name!(GraphMode);

/// One bar of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphBar {
    /// When it begins.
    pub start: Timestamp,
    /// Rows of the batches that began in it.
    pub rows: u64,
}
