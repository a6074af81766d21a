//! Arrays: dimensions, then elements row by row.

use crate::config::{ARRAY_DIMENSIONS_MAX, NULL, UNCHANGED};
use crate::{Cell, Cells, DecodeError};

const SHAPE: DecodeError = DecodeError::Invalid("shape of an array value");

/// Reads an array value.
#[derive(Debug, Clone, Copy)]
pub struct ArrayReader<'a> {
    dimensions: &'a [u8],
    elements: &'a [u8],
    count: u32,
}

impl<'a> ArrayReader<'a> {
    /// Reads the dimensions. Elements are checked as they are reached.
    pub fn new(value: &'a [u8]) -> Result<Self, DecodeError> {
        let (&dimensions, rest) = value.split_first().ok_or(DecodeError::Truncated("array value"))?;
        let dimensions = usize::from(dimensions);
        if dimensions > ARRAY_DIMENSIONS_MAX {
            return Err(SHAPE);
        }
        let (dimensions, elements) =
            rest.split_at_checked(dimensions * 4).ok_or(DecodeError::Truncated("array value"))?;
        let mut count = u32::from(!dimensions.is_empty());
        for length in lengths(dimensions) {
            count = count.checked_mul(length).filter(|&count| count != 0).ok_or(SHAPE)?;
        }
        // Every element takes four bytes at least, so a damaged count is found before it is used.
        if elements.len() / 4 < count as usize {
            return Err(DecodeError::Truncated("array value"));
        }
        Ok(Self { dimensions, elements, count })
    }

    /// The length of each dimension, outermost first; none for an empty array.
    pub fn dimensions(&self) -> impl ExactSizeIterator<Item = u32> + Clone + use<'a> {
        lengths(self.dimensions)
    }

    /// How many elements there are in all.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The elements, the last dimension varying fastest.
    pub fn elements(&self) -> Elements<'a> {
        Elements { cells: Cells::new(self.elements, self.count), ended: false }
    }
}

fn lengths(dimensions: &[u8]) -> impl ExactSizeIterator<Item = u32> + Clone + use<'_> {
    let (lengths, _) = dimensions.as_chunks::<4>();
    lengths.iter().map(|bytes| u32::from_le_bytes(*bytes))
}

/// The elements of an array: `None` for null, else the value. Ends after the first error.
#[derive(Debug, Clone, Copy)]
pub struct Elements<'a> {
    cells: Cells<'a>,
    ended: bool,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Option<&'a [u8]>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let item = match self.cells.next() {
            Some(Ok(Cell::Null)) => Ok(None),
            Some(Ok(Cell::Value(value))) => Ok(Some(value)),
            Some(Ok(Cell::Unchanged)) => Err(DecodeError::Invalid("element of an array")),
            Some(Err(error)) => Err(error),
            None if self.cells.rest().is_empty() => return None,
            None => Err(DecodeError::Trailing("the elements of an array")),
        };
        self.ended = item.is_err();
        Some(item)
    }
}

/// Writes an array value whose shape is known when its elements have been seen.
#[derive(Debug)]
pub struct ArrayWriter<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    dimensions: usize,
    count: u32,
}

impl<'a> ArrayWriter<'a> {
    /// Begins an array with that many dimensions at the end of `out`; an empty array has none.
    pub fn new(out: &'a mut Vec<u8>, dimensions: usize) -> Result<Self, DecodeError> {
        if dimensions > ARRAY_DIMENSIONS_MAX {
            return Err(SHAPE);
        }
        let start = out.len();
        out.push(dimensions as u8);
        out.resize(start + 1 + dimensions * 4, 0);
        Ok(Self { out, start, dimensions, count: 0 })
    }

    /// Writes a null element.
    pub fn null(&mut self) {
        self.out.extend_from_slice(&NULL.to_le_bytes());
        self.count += 1;
    }

    /// Writes an element in the form of the element type.
    pub fn value(&mut self, value: &[u8]) {
        self.out.extend_from_slice(&element_length(value.len()).to_le_bytes());
        self.out.extend_from_slice(value);
        self.count += 1;
    }

    /// Writes an element whose value `write` appends; it may only append.
    pub fn value_with<E>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        let start = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        if let Err(error) = write(self.out) {
            self.out.truncate(start);
            return Err(error);
        }
        let length = element_length(self.out.len() - start - 4);
        self.out[start..start + 4].copy_from_slice(&length.to_le_bytes());
        self.count += 1;
        Ok(())
    }

    /// Bytes written so far.
    pub fn written_bytes(&self) -> usize {
        self.out.len() - self.start
    }

    /// Ends the array. An error when the elements written do not fill the dimensions: a ragged array
    /// has no form.
    pub fn finish(self, dimensions: &[u32]) -> Result<(), DecodeError> {
        let mut count = u32::from(!dimensions.is_empty());
        for &length in dimensions {
            count = count.checked_mul(length).filter(|&count| count != 0).ok_or(SHAPE)?;
        }
        if dimensions.len() != self.dimensions || count != self.count {
            return Err(SHAPE);
        }
        let slots = self.out[self.start + 1..].chunks_exact_mut(4);
        for (slot, length) in slots.zip(dimensions) {
            slot.copy_from_slice(&length.to_le_bytes());
        }
        Ok(())
    }
}

fn element_length(bytes: usize) -> u32 {
    u32::try_from(bytes).ok().filter(|&length| length < UNCHANGED).expect("a value is under 4 GiB")
}
