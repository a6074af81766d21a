//! The limits of the process itself, each with its reason.

use std::time::Duration;

/// How long everything together may take to end when the process is asked to: container runtimes kill
/// 10 s after they asked. The runs have 9 s of it; the rest is for the last lines of their logs. A client
/// that keeps a request open has no more.
pub const SHUTDOWN_DEADLINE: Duration = Duration::from_millis(9_300);

/// How long closing the catalog may wait for a connection in use, after that.
pub const CATALOG_CLOSE_DEADLINE: Duration = Duration::from_millis(500);

/// Longest time of a script's call that can be set, in milliseconds: a stream that waits longer for one batch stands
/// still as far as anybody can see.
pub const SCRIPT_BATCH_MS_TOP: u32 = 600_000;

/// Largest memory of a script that can be set, in MiB: what the sandbox's pool has for an instance.
pub const SCRIPT_MEMORY_MIB_TOP: u32 = 1_024;

/// Most lines of a script's call that can be set: more would only be left out of the mirror's log.
pub const SCRIPT_LOG_LINES_TOP: u32 = 100_000;

/// Largest room for a mirror's dead letters that can be set, in MiB: they are rows of the catalog, in the backup too.
pub const DEAD_LETTER_MIB_TOP: u32 = 16_384;

/// The demo: longest wait for the load to end. A million rows take some ten seconds.
pub const LOAD_DEADLINE: Duration = Duration::from_secs(1800);

/// The demo: longest wait for one change to be seen at the destination, on a busy machine.
pub const ARRIVAL_DEADLINE: Duration = Duration::from_secs(60);

/// The demo: how often it asks how far things are. It is also how exact the shown latencies are.
pub const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The demo: pause between two rounds of changes, so that both can be watched.
pub const ROUND_INTERVAL: Duration = Duration::from_millis(100);

/// The demo: rows made by one statement, so that progress can be shown.
pub const CHUNK_ROWS: u64 = 50_000;

/// The demo: keys compared by one pair of queries. Both answers are in memory, some 10 MB each.
pub const RANGE_KEYS: i64 = 50_000;

/// The demo: differences kept for people; more are only counted.
pub const SHOWN_DIFFERENCES: usize = 5;

/// The demo: bytes of one read of a COPY.
pub const COPY_BYTES: u32 = 1 << 20;

/// The greatest room of a mirror's stage: a terabyte on disk.
pub const STAGE_MIB_TOP: u32 = 1 << 20;
