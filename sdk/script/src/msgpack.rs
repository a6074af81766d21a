//! MessagePack as every script language writes it: the bytes of single values, and rows, their columns in
//! order and each by its type.

use tarn_batch::DecodeError;

mod form;
mod typed;

pub use form::{
    Rest, begin_array, begin_map, read_timestamp, write_bytes, write_double, write_extension, write_float,
    write_signed, write_single, write_string, write_text, write_time, write_time32, write_time64,
    write_time96, write_unsigned,
};
pub use typed::{RowPacker, write_big_integer, write_moment};

/// The type of the timestamp extension.
pub const TIMESTAMP: i8 = -1;

/// A value that has no MessagePack form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// More items or bytes than the format counts.
    TooLong,
    /// A time without end.
    Infinite,
    /// A time beyond the form asked for.
    TimeOutOfRange(&'static str),
    /// A value that is damaged.
    Damaged,
}

impl From<DecodeError> for Unfit {
    fn from(_: DecodeError) -> Self {
        Self::Damaged
    }
}
