//! Arrays, of as many dimensions as the column's type has.

use tarn_batch::value::{ArrayReader, Elements};

use super::{Encoder, Pair};
use crate::fault::Fault;
use crate::row_binary::write_length;
use crate::target_type::TargetType;

/// The type of the elements within all dimensions.
pub(super) fn innermost(target: &TargetType) -> &TargetType {
    match target {
        TargetType::Array(element) => innermost(element),
        other => other,
    }
}

fn dimensions(target: &TargetType) -> usize {
    match target {
        TargetType::Array(element) => 1 + dimensions(element),
        _ => 0,
    }
}

/// An array. An empty one has no dimensions at the source and fits every column.
pub(super) fn array(pair: &Pair, value: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let reader = ArrayReader::new(value)?;
    if reader.is_empty() {
        write_length(out, 0);
        return Ok(());
    }
    let column = dimensions(&pair.target);
    if reader.dimensions().len() != column {
        return Err(Fault::Dimensions { value: reader.dimensions().len(), column });
    }
    let element = pair.element.as_deref().expect("an encoder of arrays has one of elements");
    write_dimension(element, reader.dimensions(), &mut reader.elements(), out)
}

fn write_dimension(
    encoder: &Encoder,
    mut dimensions: impl Iterator<Item = u32> + Clone,
    elements: &mut Elements<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let Some(length) = dimensions.next() else { return write_element(encoder, elements, out) };
    write_length(out, length as usize);
    // The reader has checked that there are as many elements as the dimensions say.
    for _ in 0..length {
        write_dimension(encoder, dimensions.clone(), elements, out)?;
    }
    Ok(())
}

fn write_element(encoder: &Encoder, elements: &mut Elements<'_>, out: &mut Vec<u8>) -> Result<(), Fault> {
    match elements.next() {
        Some(Ok(Some(value))) => encoder.value(value, out),
        Some(Ok(None)) => encoder.null(out).map_err(|_| Fault::NullElement),
        Some(Err(error)) => Err(error.into()),
        None => Err(tarn_batch::DecodeError::Truncated("array value").into()),
    }
}
