//! The runtime's limits, each with its reason.

/// Memory that a script's values may take: what Lua needs to say "stack overflow" of a function that
/// calls itself a million times, and no more. The host's own limit lies far above, so that a script meets
/// an error before a trap.
pub const MEMORY_BYTES_MAX: usize = 96 << 20;

/// Messages that one record may make: a fan-out to every partition of a large topic, while a script
/// that returns a table's worth of values by mistake is told so.
pub const MESSAGES_PER_RECORD_MAX: i32 = 1_000;

/// Columns that a script may add to its tables: as many as a wide table has.
pub const ADDED_COLUMNS_MAX: usize = 200;

/// Length of a script's source: a hundred times the longest in use, and parsed in a second.
pub const SOURCE_BYTES_MAX: usize = 1 << 20;

/// Length of an error's message in a rejection; what is longer is cut. A message is for people, and a
/// batch may be rejected record by record.
pub const MESSAGE_BYTES_MAX: usize = 1 << 10;

/// Length of a line that `print` writes; the host cuts there too.
pub const LOG_LINE_BYTES_MAX: usize = 8 << 10;

/// Digits of a decimal in arithmetic: four times what any arithmetic on money needs, while a product of
/// two such takes less than a millisecond. Longer ones are carried and compared all the same.
pub const ARITHMETIC_DIGITS_MAX: usize = 1 << 10;

/// Digits after the point that a division yields at least.
pub const DIVISION_DIGITS: usize = 16;

/// How deep JSON may be nested: it is read by recursion, and no document that people write comes near.
pub const JSON_DEPTH_MAX: usize = 64;

/// Length of a decimal's exponent form (`1e9`) once written out.
pub const EXPONENT_MAX: i32 = 1_000;
