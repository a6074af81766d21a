//! The crate's limits.

use std::time::Duration;

/// Name lookup, TCP and TLS handshakes and a driver's own greeting together: what a person waits for
/// when they create a peer.
pub const CONNECT_DEADLINE: Duration = Duration::from_secs(15);

/// Silence after which the kernel asks whether the other side is there: below the 60 s after which
/// common firewalls and balancers forget an idle connection.
pub(crate) const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);

/// Time between two such questions.
pub(crate) const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// Unanswered questions that end a connection: with the two times above, a minute of silence.
#[cfg(not(windows))]
pub(crate) const KEEPALIVE_RETRIES: u32 = 3;

/// How long sent bytes may stay unacknowledged before the connection counts as lost: the same minute,
/// for the case that we were the last to speak and keepalive does not run.
#[cfg(target_os = "linux")]
pub(crate) const USER_TIMEOUT: Duration = Duration::from_secs(60);
