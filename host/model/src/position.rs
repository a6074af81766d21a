//! Where a source restarts.

use std::fmt;

/// A place in a source's history, opaque to the host: only the source that made it reads it.
///
/// The source promises to restart from it and to deliver every later record again, and none before it.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Position(Vec<u8>);

impl Position {
    /// Takes the bytes a source returned.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes to give back to the source.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Position(")?;
        for byte in &self.0 {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(")")
    }
}
