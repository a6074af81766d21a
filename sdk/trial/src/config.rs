//! Every bound of this crate, each with its reason.

/// Cases of one suite: a script's author reads them all.
pub const CASES_MAX: usize = 500;

/// Levels of lists and objects within one another: documents that people write have a few, and each takes a
/// part of the stack.
pub const DEPTH_MAX: usize = 64;

/// Columns of one table, as many as PostgreSQL's tables have.
pub const COLUMNS_MAX: usize = 1_600;

/// When records were committed that do not say it: at one moment, so that what is made of them is the same
/// each time.
pub const COMMITTED: &str = "2024-02-29 12:34:56.789+00";

/// Where in the log, when they do not say it.
pub const CHECKPOINT: u64 = 0x1234;

/// In which transaction, when they do not say it.
pub const TRANSACTION: u64 = 77;
