//! Arrays in PostgreSQL's text: `{1,NULL,"a b"}`, nested by dimension.

use super::write_text;
use crate::value::{ArrayReader, Elements};
use crate::{DecodeError, Type};

pub(super) fn push(out: &mut String, element: &Type, value: &[u8]) -> Result<(), DecodeError> {
    let array = ArrayReader::new(value)?;
    if array.is_empty() {
        out.push_str("{}");
    } else {
        let mut elements = array.elements();
        push_dimension(out, element, &mut elements, array.dimensions())?;
        // Whatever is left after the last element is an error, and only that.
        elements.next().transpose()?;
    }
    Ok(())
}

fn push_dimension(
    out: &mut String,
    element: &Type,
    elements: &mut Elements<'_>,
    mut dimensions: impl ExactSizeIterator<Item = u32> + Clone,
) -> Result<(), DecodeError> {
    let length = dimensions.next().unwrap_or(0);
    out.push('{');
    for at in 0..length {
        if at > 0 {
            out.push(',');
        }
        if dimensions.len() > 0 {
            push_dimension(out, element, elements, dimensions.clone())?;
        } else {
            match elements.next().ok_or(DecodeError::Truncated("array value"))?? {
                Some(value) => push_element(out, element, value)?,
                None => out.push_str("NULL"),
            }
        }
    }
    out.push('}');
    Ok(())
}

/// Appends an element, in quotes where the array's own syntax would swallow it.
fn push_element(out: &mut String, element: &Type, value: &[u8]) -> Result<(), DecodeError> {
    let start = out.len();
    write_text(element, value, out)?;
    let text = &out[start..];
    let special = |byte: u8| {
        matches!(byte, b'"' | b'\\' | b'{' | b'}' | b',' | b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
    };
    if !text.is_empty() && !text.eq_ignore_ascii_case("null") && !text.bytes().any(special) {
        return Ok(());
    }
    let text = out.split_off(start);
    out.push('"');
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out.push('"');
    Ok(())
}
