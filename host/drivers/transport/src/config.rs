//! The crate's limits.

use std::time::Duration;

/// Name lookup, an SSH server in between, TCP and TLS handshakes and a driver's own greeting together. A
/// person who creates a peer waits 15 s: what they read then is the driver's error, which names the hop.
pub const CONNECT_DEADLINE: Duration = Duration::from_secs(12);

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

/// Time without a byte from an SSH server after which it is asked for an answer: a quarter of the silence
/// below.
pub(crate) const SSH_KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Silence of an SSH server that is asked every 15 s, after which it counts as gone: the same minute as for
/// TCP, for a server whose machine lives and whose process does not.
pub(crate) const SSH_SILENCE: Duration = Duration::from_secs(60);

/// What a tunnel holds for a reader that rests, before the SSH server has to wait: the window that SSH
/// grants a channel.
pub(crate) const SSH_INBOX_BYTES_MAX: usize = 2 << 20;

/// What an SSH message counts as in a tunnel's inbox beside its bytes: a walsender sends small ones, and each
/// is an allocation with its place in a queue.
pub(crate) const SSH_MESSAGE_BYTES: usize = 64;

/// Rounds of questions that an SSH server may ask at a login: PAM asks once, and closes with an empty round.
pub(crate) const SSH_PROMPTS_MAX: usize = 4;
