//! Where a source restarts.

use std::fmt;
use std::sync::Arc;

/// A place in a source's history, opaque to the host: only the source that made it reads it.
///
/// Cloned cheaply: one of a source with many tables is large.
///
/// The source promises to restart from it and to deliver every later record again, and none before it.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Position(Arc<[u8]>);

impl Position {
    /// Takes the bytes a source returned.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }

    /// The bytes to give back to the source.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Position(")?;
        for byte in &*self.0 {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(")")
    }
}
