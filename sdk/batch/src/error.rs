//! Why bytes could not be read.

use std::fmt;

/// Why bytes are not a batch, or not the value they should be. It never holds a value's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes do not begin as a batch does.
    NotABatch,
    /// The batch has a version of the format that this reader does not know.
    UnknownVersion(u16),
    /// The bytes end before what is named here.
    Truncated(&'static str),
    /// Bytes are left after the end of what is named here.
    Trailing(&'static str),
    /// What is named here says something that the format does not allow.
    Invalid(&'static str),
    /// What is named here is not UTF-8.
    NotUtf8(&'static str),
    /// A type tag that this version of the format does not have.
    UnknownType(u8),
    /// A row operation that this version of the format does not have.
    UnknownOp(u8),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotABatch => f.write_str("the bytes are not a record batch"),
            Self::UnknownVersion(version) => write!(f, "record batch of unknown version {version}"),
            Self::Truncated(what) => write!(f, "{what} is cut short"),
            Self::Trailing(what) => write!(f, "bytes are left after {what}"),
            Self::Invalid(what) => write!(f, "{what} is not valid"),
            Self::NotUtf8(what) => write!(f, "{what} is not UTF-8"),
            Self::UnknownType(tag) => write!(f, "unknown type tag {tag}"),
            Self::UnknownOp(op) => write!(f, "unknown row operation {op}"),
        }
    }
}

impl std::error::Error for DecodeError {}
