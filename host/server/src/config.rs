//! The limits of the process itself, each with its reason.

use std::time::Duration;

/// How long everything together may take to end when the process is asked to: container runtimes kill
/// 10 s after they asked. The runs have 9 s of it; the rest is for the last lines of their logs. A client
/// that keeps a request open has no more.
pub const SHUTDOWN_DEADLINE: Duration = Duration::from_millis(9_300);

/// How long closing the catalog may wait for a connection in use, after that.
pub const CATALOG_CLOSE_DEADLINE: Duration = Duration::from_millis(500);
