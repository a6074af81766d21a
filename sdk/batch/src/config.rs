//! The limits of the format, each with its reason.

/// The first four bytes of a batch.
pub const MAGIC: [u8; 4] = *b"TRNB";

/// The version of the format that a batch of rows of tables has: what every reader knows.
pub const FORMAT_VERSION: u16 = 1;

/// The version that a batch with messages or relations has, and the latest that this crate reads.
pub const FORMAT_VERSION_MESSAGES: u16 = 2;

/// Bytes before the first row: magic, version, two zero bytes, row count, offset of the tables.
pub const PRELUDE_BYTES: usize = 16;

/// Bytes of a row before its first cell.
pub const ROW_HEADER_BYTES: usize = 40;

/// How deep array types may nest. PostgreSQL's do not nest at all (their dimensions are in the
/// value); the bound keeps a damaged type from exhausting the stack.
pub const TYPE_DEPTH_MAX: usize = 8;

/// Dimensions of one array value. PostgreSQL stops at 6; the bound keeps a damaged value from
/// exhausting the stack of whoever walks it by recursion.
pub const ARRAY_DIMENSIONS_MAX: usize = 32;

/// Cell length that says null.
pub const NULL: u32 = 0xFFFF_FFFF;

/// Cell length that says unchanged: a stored value that the source did not send again.
pub const UNCHANGED: u32 = 0xFFFF_FFFE;
