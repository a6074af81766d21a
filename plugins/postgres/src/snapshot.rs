//! The snapshot: a held point in time, tables cut into partitions, partitions read by COPY.

pub(crate) mod copy_binary;
pub(crate) mod copy_text;
pub(crate) mod held;
mod key_range;
pub(crate) mod lookup;
pub(crate) mod partition;
pub(crate) mod plan;
pub(crate) mod reader;
