//! The runtime's limits, each with its reason: its own, and those that scripts in every language have.

pub use tarn_script::config::{
    ARITHMETIC_DIGITS_MAX, ASSIGNED_BYTES_MAX, ENCODED_BYTES_MAX, JSON_DEPTH_MAX, LOG_LINE_BYTES_MAX,
    MESSAGES_PER_RECORD_MAX, SOURCE_BYTES_MAX,
};

/// Memory that a script's values may take: what Lua needs to say "stack overflow" of a function that
/// calls itself a million times, and no more. The host's own limit lies far above, so that a script meets
/// an error before a trap.
pub const MEMORY_BYTES_MAX: usize = 96 << 20;

/// Bytes of small blocks that are kept for what Lua asks for next: what some thousand records make between two
/// collections, and little beside the script's own limit.
pub const SPARE_BYTES_MAX: usize = 256 << 10;
