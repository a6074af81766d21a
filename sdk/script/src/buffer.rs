//! Buffers that are used again for every record.

use crate::config::BUFFER_BYTES_KEPT;

/// Empties a buffer for the next record.
#[inline]
pub fn reuse(buffer: &mut Vec<u8>) {
    if buffer.capacity() > BUFFER_BYTES_KEPT {
        *buffer = Vec::new();
    }
    buffer.clear();
}
