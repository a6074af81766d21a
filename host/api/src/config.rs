//! The API's limits, each with its reason.

use std::time::Duration;

/// Largest body of a script's upload: a component, in base64, within JSON.
pub(crate) const SCRIPT_BODY_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Largest body of any other request: a mirror of ten thousand tables has 2 MiB.
pub(crate) const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// After how many seconds a client should try again when the catalog is away, or a request took too long.
pub(crate) const RETRY_AFTER_SECONDS: u64 = 5;

/// After how many seconds a client should try again that met too many others: most requests take
/// milliseconds.
pub(crate) const RETRY_WHEN_BUSY_SECONDS: u64 = 1;

/// Most headers of a request: browsers and proxies send twenty to thirty. The HTTP library gives up above a
/// hundred, without a body that says why.
pub(crate) const HEADERS_MAX: usize = 64;

/// Most bytes of a request's headers, names and values together.
pub(crate) const HEADER_BYTES_MAX: usize = 16 * 1024;

/// Longest path with its query: the longest name, some numbers, and room.
pub(crate) const TARGET_BYTES_MAX: usize = 4 * 1024;

/// Where the HTTP library gives up reading a head, and how much of an answer it puts together: above the two
/// limits before, so that they answer.
pub(crate) const HEAD_BUFFER_BYTES: usize = 64 * 1024;

/// Connections over the limit that are told so at the same time; the rest is closed without a word.
pub(crate) const TURNED_AWAY_MAX: usize = 64;

/// How long turning a connection away may take.
pub(crate) const TURN_AWAY_DEADLINE: Duration = Duration::from_secs(3);

/// Pause after the operating system refused to give us a connection (too many open files): trying again at
/// once would only spin.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Addresses whose failed logins are remembered, some 40 bytes each.
pub(crate) const ADDRESSES_MAX: usize = 4096;

/// How much a server takes on. The defaults serve one busy console and some hundred scripts; tests make them
/// small.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at the same time, 512: below the 1,024 files that a process may usually open, which the
    /// connections to stores share.
    pub connections_max: usize,
    /// Requests under way at the same time, 128: a few are long (a mirror that is created looks at two stores),
    /// all others are over in milliseconds. The health routes are not counted.
    pub requests_max: usize,
    /// What bodies may hold at the same time, 128 MiB: four of the largest scripts.
    pub bodies_bytes_max: usize,
    /// Longest time a request may take, 60 s: creating a mirror looks at two stores, each within half a minute,
    /// and clients give up after a minute.
    pub request_deadline: Duration,
    /// Longest time a body may take to arrive, 30 s: the largest one at 10 Mbit/s.
    pub body_deadline: Duration,
    /// Longest time between a connection's beginning, or its last answer, and the end of the next head, 15 s: a
    /// client writes its head in one go, and one that idles for longer opens another connection cheaply.
    pub head_deadline: Duration,
    /// Longest TLS handshake, 10 s.
    pub handshake_deadline: Duration,
    /// Longest time in which a client takes no byte of its answer, 30 s.
    pub stall: Duration,
    /// Failed logins from one address before it has to wait, 10: a person errs a few times, and
    /// several scripts with an old password share an address.
    pub failed_logins_max: u32,
    /// Time after which one failed login is forgiven, 10 s: who guesses has six tries a minute.
    pub failed_login_forgiven: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 512,
            requests_max: 128,
            bodies_bytes_max: 128 * 1024 * 1024,
            request_deadline: Duration::from_secs(60),
            body_deadline: Duration::from_secs(30),
            head_deadline: Duration::from_secs(15),
            handshake_deadline: Duration::from_secs(10),
            stall: Duration::from_secs(30),
            failed_logins_max: 10,
            failed_login_forgiven: Duration::from_secs(10),
        }
    }
}
