//! The plugin's limits.

/// Bytes of rows that go to the host at once: the cost of a call is nothing beside it, and the server can
/// begin with them while more are made.
pub(crate) const PIECE_BYTES: usize = 1 << 20;

/// Room that a block has beyond a piece, for the row that fills it.
pub(crate) const PIECE_BYTES_SLACK: usize = 64 << 10;

/// Bytes of a block whose rows have to wait for values that are read back. A few of them fit a guest's
/// memory together.
pub(crate) const BLOCK_BYTES_MAX: usize = 16 << 20;

/// Bytes that wait in blocks of all tables together; a mirror of hundreds of tables stays bounded.
pub(crate) const BLOCKS_BYTES_MAX: usize = 48 << 20;

/// Bytes of one insert. Some 400,000 rows of 150 bytes: from there on the server works hardly less for a
/// row, and it holds an insert in memory.
pub(crate) const INSERT_BYTES_MAX: usize = 64 << 20;

/// Rows of one insert: what ClickHouse itself cuts a block at, so that one insert makes one part.
pub(crate) const INSERT_ROWS_MAX: u64 = 1_000_000;

/// Inserts that are open at the same time: a server takes a hundred queries of everybody together.
pub(crate) const INSERTS_OPEN_MAX: usize = 4;

/// Inserts that are ended, of other targets, while rows go on: as many as are open again, so that a server has eight of a
/// mirror's to work on.
pub(crate) const INSERTS_ENDED_MAX: usize = 4;

/// Plans of one target: partitions that come by themselves have their columns in an order each. With more orders than that
/// the target is looked at again whenever one comes back.
pub(crate) const PLANS_MAX: usize = 16;

/// Rows of one target that wait for values to be read back: each may bring a large one.
pub(crate) const PENDING_ROWS_MAX: usize = 5_000;

/// Bytes of values that are read back for rows of one target together. They are held twice for a moment.
pub(crate) const READ_BACK_BYTES: usize = 16 << 20;

/// Bytes of values read back together at which the write is tried again by a new instance, which knows nothing of the
/// target's rows and begins with one: a few more would be more than a guest may hold.
pub(crate) const READ_BACK_BYTES_MAX: usize = 160 << 20;

/// How many times as many rows as before are read back together while their values are small. So a target whose values are
/// large is known before many of them are asked for.
pub(crate) const READ_BACK_GROWTH: usize = 4;

/// Keys of one read-back of unchanged values.
pub(crate) const LOOKUP_KEYS_MAX: usize = 1_000;

/// Bytes of one read-back's statement: below ClickHouse's default `max_query_size` of 256 KiB.
pub(crate) const LOOKUP_SQL_BYTES_MAX: usize = 200 << 10;

/// Bytes of a column's default: it is part of the table's definition, which the server keeps in memory and
/// below its default `max_query_size` of 256 KiB.
pub(crate) const FILLING_BYTES_MAX: usize = 64 << 10;

/// Bytes of a statement that adds several columns, but for its last one: below ClickHouse's default `max_query_size` of
/// 256 KiB, also where that one's default is as long as it may be.
pub(crate) const ALTERATION_SQL_BYTES_MAX: usize = 128 << 10;

/// The oldest server whose ReplacingMergeTree knows a delete flag.
pub(crate) const SERVER_VERSION_MIN: (u32, u32) = (23, 2);

/// How deep a column's type may be nested; deeper ones occur in no table that rows can go to.
pub(crate) const TYPE_DEPTH_MAX: usize = 16;

/// Targets that one statement asks for: some 50 kB of names.
pub(crate) const TARGETS_ASKED_MAX: usize = 500;

/// Keys of one statement of a comparison: what a batch of a megabyte has, unless its rows are tiny. More of
/// them cost the server no less for a key.
pub(crate) const COMPARED_KEYS_MAX: usize = 10_000;

/// Keys of one page of a target's: a megabyte or so of them.
pub(crate) const KEY_PAGE_MAX: u32 = 20_000;

/// Digits that ClickHouse's widest decimal holds.
pub(crate) const DECIMAL_DIGITS_MAX: u8 = 76;

/// Names that a column beside another is tried to get. More of them mean that something else makes such columns.
pub(crate) const BESIDE_NAMES_MAX: u32 = 1_000;
