//! The runtime's limits, each with its reason.

/// Memory that a script's values may take, as in Lua. The host's own limit lies far above, so that a script
/// meets an error before a trap.
pub const MEMORY_BYTES_MAX: usize = 96 << 20;

/// Memory above that limit, once it was reached, for the error that says so.
pub const HEADROOM_BYTES: usize = 1 << 20;

/// The largest block that is taken from the headroom.
pub const HEADROOM_BLOCK_BYTES_MAX: usize = 256 << 10;

/// The stack that calls may take, as far as it lies in the guest's memory, which is what the engine can see: some
/// eight hundred calls within one another. The machine's own stack, of which the host gives a guest 1 MiB, holds the
/// rest of their frames; whatever recursion was tried (`tests/components`), this limit is met well before the
/// machine's.
pub const STACK_BYTES_MAX: usize = 384 << 10;

/// Failing jobs of a rejected record's promises that are run to get rid of them: more than one record leaves.
pub const JOBS_DROPPED_MAX: usize = 10_000;

/// Lines of a stack trace that are looked at for the place of an error.
pub const TRACE_LINES_MAX: usize = 16;

/// Errors within an error, and classes that its own extends, of which a message tells: enough to find the reason.
pub const CAUSES_MAX: usize = 4;

/// Bytes of a thrown value's JSON in a message, which is for people.
pub const THROWN_BYTES_MAX: usize = 300;
