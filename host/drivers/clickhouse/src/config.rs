//! The crate's limits.

use std::time::Duration;

/// The largest answer: what a guest may take in one call. Read-back of unchanged values is cut into
/// chunks far below it.
pub(crate) const ANSWER_BYTES_MAX: usize = 64 << 20;

/// How long a statement, the answer to an insert, or taking a piece of its rows may take. ClickHouse's own send and receive time-outs are 300 s:
/// a server that is silent for longer has given the request up.
pub(crate) const STATEMENT_DEADLINE: Duration = Duration::from_secs(310);

/// How long the answer to a ping may take: it does no work, and a person waits for it.
pub(crate) const PING_DEADLINE: Duration = Duration::from_secs(15);

/// How long a connection is kept without use. Servers close theirs after 3 s (the older default) to
/// 30 s; a request must not meet a connection that is about to be closed.
pub(crate) const IDLE_DEADLINE: Duration = Duration::from_millis(2_500);

/// How many idle connections are kept: an instance has one call at a time, the host's checks another.
pub(crate) const IDLE_CONNECTIONS_MAX: usize = 2;

/// How much of a server's message is kept: the cause stands at its beginning, a query's text and stack
/// follow.
pub(crate) const MESSAGE_BYTES_MAX: usize = 1_024;

/// Bytes of a piece of rows. What is larger is sent in several, so that few copies of a large row are in memory; more
/// than the connector hands over at once otherwise.
pub(crate) const PIECE_BYTES_MAX: usize = 4 << 20;

/// Pieces of rows that wait to be sent: one on its way and one behind it, so that neither side waits.
pub(crate) const PIECES_MAX: usize = 2;

/// How long an insert may be without new rows before its request is ended: well before the 30 s after
/// which a server gives up a body that stops. The next rows begin another request.
pub(crate) const ROWS_IDLE_DEADLINE: Duration = Duration::from_secs(5);
