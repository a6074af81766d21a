//! The limits of scripts in every language, each with its reason.

/// Messages that one record may make: a fan-out to every partition of a large topic, while a script
/// that returns a table's worth of values by mistake is told so.
pub const MESSAGES_PER_RECORD_MAX: usize = 1_000;

/// Length of one encoded value, JSON or MessagePack: sixteen times what a queue takes by default. Escaping
/// may make six bytes of one, and all of it stays within what the host gives the runtime.
pub const ENCODED_BYTES_MAX: usize = 16 << 20;

/// How deep JSON may be nested: it is read by recursion, and no document that people write comes near.
pub const JSON_DEPTH_MAX: usize = 64;

/// Bytes of values that a script may assign in one record.
pub const ASSIGNED_BYTES_MAX: usize = 64 << 20;

/// Bytes of assigned values after which those that were assigned over are forgotten.
pub const ASSIGNED_BYTES_KEPT: usize = 1 << 20;

/// Room that a buffer keeps for the next record: what a large one took is given back.
pub const BUFFER_BYTES_KEPT: usize = 1 << 20;

/// Bytes that a batch may become, where it is not larger itself: beyond it one record is refused instead
/// of the runtime running out of the memory that the host gives it.
pub const OUTPUT_BYTES_MAX: usize = 64 << 20;

/// Columns that a script may add to its tables: as many as a wide table has.
pub const ADDED_COLUMNS_MAX: usize = 200;

/// Length of a script's source: a hundred times the longest in use, and parsed in a second.
pub const SOURCE_BYTES_MAX: usize = 1 << 20;

/// Length of an error's message in a rejection; what is longer is cut. A message is for people, and a
/// batch may be rejected record by record.
pub const MESSAGE_BYTES_MAX: usize = 1 << 10;

/// Length of a line of the log; the host cuts there too.
pub const LOG_LINE_BYTES_MAX: usize = 8 << 10;

/// Digits of a decimal in arithmetic: four times what any arithmetic on money needs, while a product of
/// two such takes less than a millisecond. Longer ones are carried and compared all the same.
pub const ARITHMETIC_DIGITS_MAX: usize = 1 << 10;

/// Digits after the point that a division yields at least.
pub const DIVISION_DIGITS: usize = 16;

/// Length of a decimal's exponent form (`1e9`) once written out.
pub const EXPONENT_MAX: i32 = 1_000;

/// Lines that a rejection quotes of what the script logged last: what led to it, and not more than a person reads.
pub const LAST_LINES: usize = 5;

/// Bytes of one of these lines: a batch may be rejected record by record.
pub const LAST_LINE_BYTES_MAX: usize = 200;
