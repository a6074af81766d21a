//! The crate's limits, each with its reason.

use std::time::Duration;

/// The largest object that is read: twice the largest row that can be moved, so that what was put can be read back.
pub(crate) const OBJECT_BYTES_MAX: usize = 256 << 20;

/// The largest answer of another kind: a page of a listing has a thousand names.
pub(crate) const ANSWER_BYTES_MAX: usize = 4 << 20;

/// How long the head of an answer may take, beyond what sending the request takes.
pub(crate) const HEAD_DEADLINE: Duration = Duration::from_secs(30);

/// What a way to a bucket carries at least, in bytes a second: slower ones are taken for broken.
pub(crate) const RATE_MIN: u64 = 256 << 10;

/// How long an answer may stand still.
pub(crate) const FRAME_DEADLINE: Duration = Duration::from_secs(30);

/// How long one call may take with all its retries: above it somebody should know.
pub(crate) const CALL_DEADLINE: Duration = Duration::from_secs(180);

/// Retries of a request that met passing trouble. The mirror tries again itself after that, with its own pauses.
pub(crate) const RETRIES_MAX: usize = 3;

/// The pause before the first retry; the library makes it random.
pub(crate) const RETRY_DELAY_MIN: Duration = Duration::from_millis(200);

/// The longest pause.
pub(crate) const RETRY_DELAY_MAX: Duration = Duration::from_secs(5);

/// After this long, no retry begins.
pub(crate) const RETRY_DEADLINE: Duration = Duration::from_secs(60);

/// How long a connection is kept without use: services close theirs after 5 s or more.
pub(crate) const IDLE_DEADLINE: Duration = Duration::from_secs(4);

/// Idle connections kept, and objects deleted at once when a folder is emptied: a folder of a hundred thousand is gone
/// within minutes, and no service takes it for an attack.
pub(crate) const PARALLEL_MAX: usize = 8;

/// What of a service's message is kept.
pub(crate) const MESSAGE_BYTES_MAX: usize = 300;
