//! The crate's limits.

use std::time::Duration;

/// Bytes of the socket that are read at once. A walsender sends one small message a change; large reads
/// keep the system calls per change far below one.
pub(crate) const READ_BUFFER_BYTES: usize = 256 * 1024;

/// What a read of a dense stream or copy stays asleep for: some 250 changes of 250 bytes, so that what a read costs
/// is nothing beside them, and a quarter of the buffer above.
pub(crate) const GATHER_BYTES: usize = 64 * 1024;

/// How long it stays asleep at most. Rows wait longer for the write they leave in.
pub(crate) const GATHER_DEADLINE: Duration = Duration::from_millis(2);

/// Messages a millisecond from which a stream or a copy counts as dense. Below, a wake-up for each costs less than a
/// tenth of a core, and the first rows of a burst wait for nothing.
pub(crate) const DENSE_MESSAGES_PER_MS: u32 = 8;

/// Bytes of one query's answer. Queries are for catalogs; tables go by COPY.
pub(crate) const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes of a message before the server has authenticated itself and us: more than any greeting or
/// error needs, so that a stranger on the port cannot make us allocate.
pub(crate) const GREETING_BYTES_MAX: usize = 64 * 1024;

/// A query's answer, unless the caller says otherwise. Long, because making a replication slot waits
/// for the transactions that run at that moment.
pub(crate) const QUERY_DEADLINE: Duration = Duration::from_secs(600);

/// Silence within a COPY. A filtered scan of a large table finds nothing for long; a dead server is
/// noticed by the socket's keepalive much earlier.
pub(crate) const COPY_SILENCE: Duration = Duration::from_secs(3600);

/// Silence in the middle of a frame, and the longest a small write may take: nothing but the network
/// decides there.
pub(crate) const STALL: Duration = Duration::from_secs(60);

/// Time between two statuses to the walsender, each of which asks for an answer: a sixth of
/// `wal_sender_timeout` below.
pub(crate) const STATUS_INTERVAL: Duration = Duration::from_secs(10);

/// Reading for this long without a byte from the walsender, answers to our statuses included, means
/// that the connection is dead although the socket does not know, or that the walsender has much to decode that nobody
/// asked for: the server is asked which.
pub(crate) const STREAM_SILENCE: Duration = Duration::from_secs(60);

/// How long that question may take, with the session for it. A stop waits behind it.
pub(crate) const INQUIRY_DEADLINE: Duration = Duration::from_secs(15);

/// How long closing may take before the socket is just dropped.
pub(crate) const CLOSE_DEADLINE: Duration = Duration::from_secs(5);

/// Settings of every session. Text forms must not depend on the server's or the role's settings, names
/// in them must come out qualified, and no time-out of the server may end a session that waits for us.
/// A lock that somebody holds for long is reported instead of joining the queue behind it.
pub(crate) const SESSION_SETTINGS: &[(&str, &str)] = &[
    ("client_encoding", "UTF8"),
    ("timezone", "UTC"),
    ("datestyle", "ISO"),
    ("intervalstyle", "postgres"),
    ("bytea_output", "hex"),
    ("extra_float_digits", "3"),
    // Questions to the catalog look dearer than they are: compiling one of five hundred tables takes two seconds, and
    // running it some sixty milliseconds.
    ("jit", "off"),
    // For publications; what else is begun says that it only reads.
    ("default_transaction_read_only", "off"),
    ("lc_monetary", "C"),
    ("search_path", "pg_catalog"),
    ("row_security", "off"),
    ("statement_timeout", "0"),
    ("lock_timeout", "30s"),
    ("idle_in_transaction_session_timeout", "0"),
];

/// Settings of a replication session, over those of every session: making a slot waits for running
/// transactions as for locks, however long they take, and the walsender's patience fits our statuses. Of changes that it
/// passes over it tells by a warning alone, which a role may have switched off.
pub(crate) const REPLICATION_SETTINGS: &[(&str, &str)] =
    &[("lock_timeout", "0"), ("wal_sender_timeout", "60s"), ("client_min_messages", "warning")];

/// Settings that servers know from some major version on.
pub(crate) const SETTINGS_SINCE: &[(u32, &str, &str)] =
    &[(14, "idle_session_timeout", "0"), (17, "transaction_timeout", "0")];
