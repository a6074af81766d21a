//! JSON as every script language writes it: rows in their columns' order, every value by its type and
//! exact, or not at all; and as every one reads it.

mod options;
mod row;
mod scalar;
mod scanner;

pub use options::{Bytes, Decimals, Documents, Nonfinite, Options, SETTINGS};
pub use row::{RowWriter, names};
pub use scalar::{Text, write_bytes, write_decimal, write_float, write_integer, write_quoted, write_string};
pub use scanner::{Number, Scanner, Unexpected};

/// A value that has no JSON form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// `NaN` or an infinity.
    NotFinite,
    /// Text that is not UTF-8.
    NotUtf8,
    /// Longer than it may be.
    TooLong,
    /// A value that is damaged.
    Damaged,
}

/// Whether bytes are one JSON text.
pub fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
}
