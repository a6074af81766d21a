//! Arrays: `{1,NULL,3}`, `{{a,"b c"},{"d\"e",NULL}}`, `[0:1]={7,8}`.

use tarn_batch::value::ArrayWriter;

use super::{Decoder, ValueError};
use crate::config::ARRAY_DIMENSIONS_MAX;

const ARRAY: ValueError = ValueError::Malformed("array");

/// Appends an array value. The bounds in front, which say where indexes begin, are passed over: the
/// elements are what is replicated.
pub(super) fn array(
    text: &[u8],
    element: &Decoder,
    delimiter: u8,
    out: &mut Vec<u8>,
) -> Result<(), ValueError> {
    let text = without_bounds(text)?;
    let depth = text.iter().take_while(|byte| **byte == b'{').count();
    if text == b"{}" {
        return ArrayWriter::new(out, 0).and_then(|writer| writer.finish(&[])).map_err(|_| ARRAY);
    }
    if depth == 0 || depth > ARRAY_DIMENSIONS_MAX {
        return Err(ARRAY);
    }
    let mut shape = Shape { lengths: [0; ARRAY_DIMENSIONS_MAX], known: [false; ARRAY_DIMENSIONS_MAX], depth };
    let mut writer = ArrayWriter::new(out, depth).map_err(|_| ARRAY)?;
    let mut reader = Reader { rest: text, element, delimiter, unescaped: Vec::new() };
    reader.level(0, &mut shape, &mut writer)?;
    if !reader.rest.is_empty() {
        return Err(ARRAY);
    }
    writer.finish(&shape.lengths[..depth]).map_err(|_| ARRAY)
}

fn without_bounds(text: &[u8]) -> Result<&[u8], ValueError> {
    if text.first() != Some(&b'[') {
        return Ok(text);
    }
    let equals = text.iter().position(|byte| *byte == b'=').ok_or(ARRAY)?;
    Ok(&text[equals + 1..])
}

/// The length of each dimension, as the first row of each said.
struct Shape {
    lengths: [u32; ARRAY_DIMENSIONS_MAX],
    known: [bool; ARRAY_DIMENSIONS_MAX],
    depth: usize,
}

impl Shape {
    fn set(&mut self, level: usize, length: u32) -> Result<(), ValueError> {
        if self.known[level] && self.lengths[level] != length {
            return Err(ARRAY);
        }
        (self.known[level], self.lengths[level]) = (true, length);
        Ok(())
    }
}

struct Reader<'a> {
    rest: &'a [u8],
    element: &'a Decoder,
    delimiter: u8,
    /// The element being read, where it has escapes; allocated only then.
    unescaped: Vec<u8>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<u8, ValueError> {
        let (first, rest) = self.rest.split_first().ok_or(ARRAY)?;
        self.rest = rest;
        Ok(*first)
    }

    /// One pair of braces and what is between them.
    fn level(
        &mut self,
        level: usize,
        shape: &mut Shape,
        writer: &mut ArrayWriter<'_>,
    ) -> Result<(), ValueError> {
        if self.next()? != b'{' {
            return Err(ARRAY);
        }
        let mut length = 0;
        loop {
            if level + 1 < shape.depth {
                self.level(level + 1, shape, writer)?;
            } else {
                self.element(writer)?;
            }
            length += 1;
            match self.next()? {
                b'}' => return shape.set(level, length),
                byte if byte == self.delimiter => {}
                _ => return Err(ARRAY),
            }
        }
    }

    fn element(&mut self, writer: &mut ArrayWriter<'_>) -> Result<(), ValueError> {
        if self.rest.first() == Some(&b'"') {
            return self.quoted(writer);
        }
        let ends = |byte: &u8| *byte == self.delimiter || *byte == b'}';
        let length = self.rest.iter().position(ends).ok_or(ARRAY)?;
        let (text, rest) = self.rest.split_at(length);
        self.rest = rest;
        match text {
            [] => Err(ARRAY),
            b"NULL" => {
                writer.null();
                Ok(())
            }
            // What must be escaped is quoted too.
            text if text.iter().any(|byte| matches!(byte, b'{' | b'"' | b'\\')) => Err(ARRAY),
            text => writer.value_with(|out| self.element.write(text, out)),
        }
    }

    fn quoted(&mut self, writer: &mut ArrayWriter<'_>) -> Result<(), ValueError> {
        let text = &self.rest[1..];
        let special = |byte: &u8| matches!(byte, b'"' | b'\\');
        let end = text.iter().position(special).ok_or(ARRAY)?;
        if text[end] == b'"' {
            self.rest = &text[end + 1..];
            return writer.value_with(|out| self.element.write(&text[..end], out));
        }
        self.unescaped.clear();
        let mut bytes = text.iter();
        loop {
            match bytes.next().ok_or(ARRAY)? {
                b'"' => break,
                b'\\' => self.unescaped.push(*bytes.next().ok_or(ARRAY)?),
                byte => self.unescaped.push(*byte),
            }
        }
        self.rest = bytes.as_slice();
        writer.value_with(|out| self.element.write(&self.unescaped, out))
    }
}
