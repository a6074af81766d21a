//! The harness' limits.

use std::time::Duration;

/// How long `until` waits: beyond what a loaded machine needs for any one step, short enough that a
/// hung test tells of itself.
pub(crate) const WAIT_DEADLINE: Duration = Duration::from_secs(60);

/// How often a condition is looked at: short against what is waited for, long against a look.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long a server may take to serve, recovery after a kill included.
pub(crate) const START_DEADLINE: Duration = Duration::from_secs(120);

/// How long a server that is to end at once may take before it is killed: longer than PostgreSQL waits for sessions.
pub(crate) const QUIT_DEADLINE: Duration = Duration::from_secs(6);

/// How long a server may take to stop by itself before it is killed.
pub(crate) const STOP_DEADLINE: Duration = Duration::from_secs(30);

/// How long an answer may take: the longest statement a test runs.
pub(crate) const ANSWER_DEADLINE: Duration = Duration::from_secs(300);

/// How many ports are tried: another process may take a free port before the server does.
pub(crate) const START_ATTEMPTS_MAX: u32 = 5;

/// How much of a process' log a failure shows.
pub(crate) const LOG_TAIL_BYTES: usize = 8 << 10;

/// The first port that servers get: below it are those that are known.
pub(crate) const PORT_FIRST: u16 = 18_000;

/// The last one: connections' own ends begin behind it.
pub(crate) const PORT_LAST: u16 = 32_000;

/// Compiled components that are handed on: some five of each build.
pub(crate) const COMPILED_ENTRIES_MAX: usize = 60;
