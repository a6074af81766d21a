//! The crate's limits.

/// Dimensions of an array: PostgreSQL's own limit (`MAXDIM`).
pub(crate) const ARRAY_DIMENSIONS_MAX: usize = 6;
