//! The plugin's limits.

/// Bytes of one insert. Large enough for one part of many rows, small enough that a few of them fit a
/// guest's memory together.
pub(crate) const BLOCK_BYTES_MAX: usize = 16 << 20;

/// Rows of one insert: what ClickHouse itself cuts a block at, so that one insert makes one part.
pub(crate) const BLOCK_ROWS_MAX: u32 = 1_000_000;

/// Bytes that wait in blocks of all tables together; a mirror of hundreds of tables stays bounded.
pub(crate) const BLOCKS_BYTES_MAX: usize = 48 << 20;

/// Room that a block has beyond its limit, for the row that fills it.
pub(crate) const BLOCK_BYTES_SLACK: usize = 64 << 10;

/// Rows of one target that wait for values to be read back: each may bring a large one.
pub(crate) const PENDING_ROWS_MAX: usize = 5_000;

/// Keys of one read-back of unchanged values.
pub(crate) const LOOKUP_KEYS_MAX: usize = 1_000;

/// Bytes of one read-back's statement: below ClickHouse's default `max_query_size` of 256 KiB.
pub(crate) const LOOKUP_SQL_BYTES_MAX: usize = 200 << 10;

/// Bytes of a column's default: it is part of the table's definition, which the server keeps in memory and
/// below its default `max_query_size` of 256 KiB.
pub(crate) const FILLING_BYTES_MAX: usize = 64 << 10;

/// The oldest server whose ReplacingMergeTree knows a delete flag.
pub(crate) const SERVER_VERSION_MIN: (u32, u32) = (23, 2);

/// How deep a column's type may be nested; deeper ones occur in no table that rows can go to.
pub(crate) const TYPE_DEPTH_MAX: usize = 16;
