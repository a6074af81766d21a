//! The command line's limits, each with its reason.

use std::time::Duration;

/// How long an answer may take: the server gives a request 60 s and says so itself.
pub(crate) const ANSWER_DEADLINE: Duration = Duration::from_secs(70);

/// Largest answer, in bytes: every script of a server, components in base64 among them.
pub(crate) const ANSWER_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Largest file that is read, in bytes: a component as a script, whose base64 the server takes up to 24 MiB.
pub(crate) const FILE_BYTES_MAX: u64 = 24 * 1024 * 1024;

/// How often a mirror that is waited for is asked for its state.
pub(crate) const STATE_POLL: Duration = Duration::from_millis(250);

/// How long a mirror may take from a request to its rest or its end: a batch under way is finished first,
/// and a drop waits half a minute for a source that is gone.
pub(crate) const STATE_DEADLINE: Duration = Duration::from_secs(180);

/// How often `script dev` looks whether a file was saved: faster than a person looks back at the terminal.
pub(crate) const DEV_POLL: Duration = Duration::from_millis(200);

/// Default pause between two looks of `mirror watch`, in seconds.
pub(crate) const WATCH_INTERVAL_SECONDS: u64 = 1;

/// How far back the rate of a stream looks, in seconds: long enough to be steady, short enough to follow.
pub(crate) const RATE_WINDOW_SECONDS: f64 = 10.0;

/// Batches and log lines that a live view shows.
pub(crate) const WATCH_BATCHES: u32 = 5;

/// See [`WATCH_BATCHES`].
pub(crate) const WATCH_LOG_LINES: usize = 5;

/// How often `logs --follow` asks for new entries.
pub(crate) const LOG_POLL: Duration = Duration::from_secs(1);

/// Entries of one page of the log: the most that the server gives.
pub(crate) const LOG_PAGE: u32 = 1_000;

/// Failed looks in a row after which `watch` and `logs --follow` give up: a server that is started again
/// is back by then.
pub(crate) const FAILED_LOOKS_MAX: u32 = 30;

/// Rows that differ, of all tables together, that `mirror verify` shows to people.
pub(crate) const VERIFY_DIFFERENCES_SHOWN: usize = 50;
