//! The catalog's limits, each with its reason.

use std::time::Duration;

/// Readers of a SQLite catalog. Requests are short; more would only wait for the same two cores.
pub(crate) const SQLITE_READERS_MAX: u32 = 4;

/// Connections to a PostgreSQL catalog: requests and runs share them, and a server gives out 100.
pub(crate) const POSTGRES_CONNECTIONS_MAX: u32 = 10;

/// How long a query waits for a connection before it fails: long enough for a burst, short enough that
/// a person gets an answer.
pub(crate) const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long SQLite waits for a lock that a backup or another reader of the file holds.
pub(crate) const SQLITE_BUSY_TIMEOUT_MS: u32 = 10_000;

/// How long a write that went well tells that writing works. Who asks whether a server is ready needs no password, so
/// that they may not keep its disk busy; mirrors write as often.
pub(crate) const WRITE_TRIAL_INTERVAL: Duration = Duration::from_secs(5);

/// How long a write that failed tells that none works. Whoever made room sees within a moment that it is enough, and a disk that is in
/// trouble is not kept busy with trials.
pub(crate) const FAILED_WRITE_TRIAL_INTERVAL: Duration = Duration::from_secs(1);

/// Log entries kept of one mirror: weeks of a quiet one, hours of one that fails all the time.
pub(crate) const LOG_ENTRIES_PER_MIRROR_MAX: i64 = 10_000;

/// After how many entries old ones are looked for: trimming costs a scan of an index range.
pub(crate) const LOG_TRIM_EVERY: i64 = 100;

/// Longest log message, in bytes: a person reads it; a component may not fill the disk.
pub(crate) const LOG_MESSAGE_BYTES_MAX: usize = 8 * 1024;

/// Dead letters of one mirror that are kept after they were settled, without their records: for people who look
/// back.
pub(crate) const DEAD_LETTERS_SETTLED_MAX: i64 = 10_000;

/// Batches kept of one mirror: eleven days at one batch every ten seconds. Totals outlive them.
pub(crate) const BATCHES_PER_MIRROR_MAX: u64 = 100_000;

/// Hours of a mirror's history: people look back over thirty months at most, and 31 of 31 days cover them.
pub(crate) const HOURS_PER_MIRROR_MAX: i64 = 31 * 31 * 24;

/// After how many batches old ones are deleted.
pub(crate) const BATCH_TRIM_EVERY: u64 = 1_000;

/// Attempts of a compare-and-set that others keep winning before it is an error: fifty contradicting
/// requests at once must all get their answer.
pub(crate) const COMPARE_AND_SET_ATTEMPTS_MAX: u32 = 200;

/// How often the lock of a data directory is tried before it counts as in use. With the pause below two seconds
/// in all: a killed process is still being taken apart when its successor starts, and a child that another
/// thread of the holder has just forked keeps the file open until it executes.
pub(crate) const LOCK_TRIES_MAX: u32 = 40;

/// See [`LOCK_TRIES_MAX`].
pub(crate) const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Days that a verification's result is kept: long enough to compare a month's with the last one.
pub(crate) const VERIFICATION_DAYS_MAX: i64 = 62;
