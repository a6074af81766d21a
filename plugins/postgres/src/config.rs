//! The crate's limits.

/// Dimensions of an array: PostgreSQL's own limit (`MAXDIM`).
pub(crate) const ARRAY_DIMENSIONS_MAX: usize = 6;

/// Tables that one statement asks the catalog for: some 50 kB of names.
pub(crate) const CATALOG_TABLES_MAX: usize = 500;

/// Bytes asked of the stream or of a copy at once. Larger gains nothing, and what was read but does not
/// fit into a batch stays in memory.
pub(crate) const READ_BYTES_MAX: u32 = 1 << 20;

/// Bytes for what a batch has beside its rows: tables, and the heads of rows and cells.
const BATCH_EXTRA_BYTES: usize = 1024;

/// Room for a batch of rows that take about so many bytes, more than `bytes_max` only where one row is large. Then it must
/// not grow by doubling: a guest's memory never shrinks.
pub(crate) fn batch_room(bytes: usize, read: usize, bytes_max: u32) -> usize {
    let usual = bytes.min(bytes_max as usize) + BATCH_EXTRA_BYTES;
    if read <= bytes_max as usize { usual } else { usual.max(read + read / 64) }
}

/// Time between two looks at something on the server that is to change, in milliseconds.
pub(crate) const PAUSE_MS: u32 = 200;

/// Time between two looks whether others see a transaction whose rows came, in milliseconds: mostly less than one passes.
pub(crate) const VISIBILITY_PAUSE_MS: u32 = 20;

/// Time that the stream waits for others to see such a transaction, in microseconds, before the host is asked to try later.
pub(crate) const VISIBILITY_WAIT_US: u64 = 10_000_000;

/// Looks at a slot that should become free: ten seconds, more than the server takes to end a walsender
/// whose connection is closed.
pub(crate) const SLOT_ATTEMPTS_MAX: u32 = 50;

/// After so many looks at a slot in use, a walsender of this mirror that holds it is ended: its
/// connection may be half open, and nobody reads from it (B152).
pub(crate) const SLOT_ATTEMPTS_BEFORE_TERMINATION: u32 = 10;

/// Looks at transactions that ran when a table was added, before the host is asked to try later: two
/// minutes.
pub(crate) const TRANSACTION_ATTEMPTS_MAX: u32 = 600;

/// Partitions of a table's snapshot: each is a row of the host's catalog.
pub(crate) const PARTITIONS_MAX: u64 = 10_000;

/// Bytes of a table below which it is not cut to keep workers busy: a worker reads them faster than it
/// opens a connection.
pub(crate) const PARTITION_BYTES_MIN: u64 = 1 << 20;

/// Blocks that are counted to guess the density of a table that was never analysed.
pub(crate) const SAMPLE_BLOCKS: u64 = 16;

/// The first server whose publications may name columns.
pub(crate) const COLUMN_LISTS_SINCE_MAJOR: u32 = 15;

/// The first server whose stream notices by itself that a table was attached or detached.
pub(crate) const DECIDES_ANEW_SINCE_MAJOR: u32 = 15;

/// The first server that reads a range of row addresses as a range; before, each would read everything.
pub(crate) const ADDRESS_RANGES_SINCE_MAJOR: u32 = 14;

/// Blocks that are looked at to find keys to cut a table at: some fifty thousand rows, which the server orders in a moment.
pub(crate) const KEY_SAMPLE_BLOCKS: u64 = 500;

/// How often a block may be read on the average by the ranges of a table that is cut at keys. Keys that come in the order of
/// their rows are hardly above once; of random ones every range would read everything.
pub(crate) const KEY_READS_MAX: f64 = 2.0;

/// Rows a block is thought to hold where nothing is known: of some 100 bytes each.
pub(crate) const ROWS_PER_BLOCK_GUESS: u64 = 80;

/// The oldest server that is served: it is the first whose publications speak for partitioned tables.
pub(crate) const SERVER_MAJOR_MIN: u32 = 13;

/// The first server whose standbys decode their log.
pub(crate) const STANDBY_MAJOR_MIN: u32 = 16;

/// The first server that sends transactions before they commit: protocol version 2.
pub(crate) const IN_PROGRESS_SINCE_MAJOR: u32 = 14;

/// The first server whose protocol says where a transaction was aborted: version 4.
pub(crate) const PROTOCOL_4_SINCE_MAJOR: u32 = 16;

/// Bytes of a transaction in progress that are held before they are put aside: a call of the host for each.
pub(crate) const PUT_ASIDE_BYTES: usize = 256 << 10;

/// Parts of one transaction in progress that may be rolled back, some 16 MiB of numbers: beyond, it comes once it has
/// committed. A loop in a function that catches errors makes one each time.
pub(crate) const UNDONE_PARTS_MAX: usize = 1_000_000;

/// Tables that are described to the host at once: some hundred kilobytes.
pub(crate) const DESCRIBED_AHEAD_MAX: usize = 1_000;

/// Bytes that are read back at once.
pub(crate) const READ_BACK_BYTES: u32 = 1 << 20;

/// The first server whose pgoutput sends messages of the log.
pub(crate) const MESSAGES_SINCE_MAJOR: u32 = 14;

/// Time between two looks whether the publication still holds everything, in microseconds: what changes
/// while it does not is missing from the stream, and no server says so. Four small queries a look.
pub(crate) const PUBLICATION_CHECK_US: u64 = 10_000_000;

/// How long a publication that is made or altered waits for the locks of its tables, in milliseconds: who has one for longer
/// should be told of, and what changes tables meanwhile waits behind.
pub(crate) const PUBLICATION_LOCK_MS: u32 = 5_000;

/// Time between two such looks, as a multiple of what one took: the stream stands still during a look, for a second with
/// ten thousand tables.
pub(crate) const PUBLICATION_CHECK_SHARE: u64 = 50;

/// Bytes of a table up to which its rows are counted when somebody asks how many there are. A larger one
/// takes the server minutes, and its own guess is good enough to compare by.
pub(crate) const COUNTED_BYTES_MAX: u64 = 10 << 30;

/// Time that the server's catalog has to answer with at least, in milliseconds, when rows are counted and
/// little is left: it takes some, and without it there is not even a guess.
pub(crate) const LOOK_UP_MS_MIN: u32 = 2_000;

/// How long the reading of a table that was written anew waits for the table's lock, in milliseconds: the stream waits
/// meanwhile, and so does whoever wants the table behind it.
pub(crate) const AGAIN_LOCK_MS: u32 = 500;

/// Time between two attempts to begin to read a table again, in microseconds: the stream waits for each, a lock's time at
/// most.
pub(crate) const AGAIN_PAUSE_US: u64 = 1_000_000;

/// Time until a table that could not be read again is tried once more, in microseconds: some statements of the catalog, and
/// a connection where only its lock was in the way.
pub(crate) const AGAIN_ATTEMPT_PAUSE_US: u64 = 10_000_000;

/// Keys that rows are looked up by at once: the contract's bound. A statement of so many is planned in
/// milliseconds.
pub(crate) const LOOKUP_KEYS_MAX: usize = 1_000;

/// Digits of the largest decimals that a destination has a type for: a decimal beyond is text there, as one without a bound.
pub(crate) const DECIMAL_DIGITS_MAX: i32 = 76;

/// Sessions of a stream at a time: that of the log, one beside it, one that holds a point where changes are completed,
/// and the look at its slot.
pub(crate) const STREAM_SESSIONS: u32 = 4;

/// Sessions of a load at a time beside those of its workers: what holds its point has two, and there is the look at the slot.
pub(crate) const LOAD_SESSIONS: u32 = 3;

/// Sessions of each worker of a load: it reads rows with one, and looks at the catalog with the other.
pub(crate) const WORKER_SESSIONS: u32 = 2;
