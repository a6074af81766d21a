//! Cells: one column's value in one image of a row.

use crate::DecodeError;
use crate::config::{NULL, UNCHANGED};

/// What a cell holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell<'a> {
    /// Null.
    Null,
    /// In an after-image: a stored value that this change did not touch and the source did not send.
    /// In a before-image: a column that is not part of the image.
    Unchanged,
    /// A value in the form of the column's type.
    Value(&'a [u8]),
}

impl<'a> Cell<'a> {
    /// The value's bytes, where there is one.
    #[inline]
    pub fn value(self) -> Option<&'a [u8]> {
        match self {
            Self::Value(bytes) => Some(bytes),
            Self::Null | Self::Unchanged => None,
        }
    }
}

/// The cells of one image of a row, in the order of the table's columns. Ends after the first error.
#[derive(Debug, Clone, Copy)]
pub struct Cells<'a> {
    rest: &'a [u8],
    left: u32,
}

impl<'a> Cells<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], count: u32) -> Self {
        Self { rest: bytes, left: count }
    }

    /// The bytes after the cells read so far.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Takes the next `count` cells, or as many as there are, as the bytes that they are: for
    /// [`BatchWriter::raw_cells`](crate::BatchWriter::raw_cells).
    #[inline]
    pub fn take_raw(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let start = self.rest;
        for cell in self.by_ref().take(count) {
            cell?;
        }
        Ok(&start[..start.len() - self.rest.len()])
    }

    #[inline]
    fn read(&mut self) -> Result<Cell<'a>, DecodeError> {
        let (length, rest) = self.rest.split_first_chunk::<4>().ok_or(DecodeError::Truncated("cell"))?;
        let length = u32::from_le_bytes(*length);
        if length >= UNCHANGED {
            self.rest = rest;
            return Ok(if length == NULL { Cell::Null } else { Cell::Unchanged });
        }
        let (value, rest) = rest.split_at_checked(length as usize).ok_or(DecodeError::Truncated("cell"))?;
        self.rest = rest;
        Ok(Cell::Value(value))
    }
}

impl<'a> Iterator for Cells<'a> {
    type Item = Result<Cell<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let cell = self.read();
        if cell.is_err() {
            self.left = 0;
        }
        Some(cell)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let most = self.left as usize;
        (most.min(1), Some(most))
    }
}
