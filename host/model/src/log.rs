//! The log people read: what happened to a mirror.

use crate::enumerated::{Enumerated, serde_by_name};
use crate::timestamp::Timestamp;

/// How much an entry matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// For the record.
    Info,
    /// Passing trouble, or something to look at.
    Warn,
    /// The mirror, or a record, could not go on.
    Error,
}

impl Enumerated for LogLevel {
    const EXPECTED: &'static str = "a log level";
    const ALL: &'static [(Self, u32, &'static str)] =
        &[(Self::Info, 1, "info"), (Self::Warn, 2, "warn"), (Self::Error, 3, "error")];
}

serde_by_name!(LogLevel);

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Grows with every entry of the server.
    pub id: i64,
    /// The mirror it is about.
    pub mirror: String,
    /// How much it matters.
    pub level: LogLevel,
    /// What happened.
    pub message: String,
    /// When.
    pub at: Timestamp,
}
