//! Arrays: dimensions with their bounds, then elements with their lengths.

use tarn_batch::value::ArrayWriter;

use super::SentDecoder;
use crate::config::ARRAY_DIMENSIONS_MAX;
use crate::value::ValueError;

const ARRAY: ValueError = ValueError::Malformed("array");

/// Appends an array value. The bounds, which say where indexes begin, are passed over.
pub(super) fn array(sent: &[u8], element: &SentDecoder, out: &mut Vec<u8>) -> Result<(), ValueError> {
    let mut rest = Rest(sent);
    let depth = usize::try_from(rest.number()?).map_err(|_| ARRAY)?;
    // Whether there are nulls, and the type of the elements, which the column says too.
    rest.take(4 + 4)?;
    if depth > ARRAY_DIMENSIONS_MAX {
        return Err(ARRAY);
    }
    let mut lengths = [0; ARRAY_DIMENSIONS_MAX];
    for length in &mut lengths[..depth] {
        *length = u32::try_from(rest.number()?).map_err(|_| ARRAY)?;
        rest.take(4)?;
    }
    let mut writer = ArrayWriter::new(out, depth).map_err(|_| ARRAY)?;
    while !rest.0.is_empty() {
        match rest.number()? {
            -1 => writer.null(),
            length => {
                let value = rest.take(usize::try_from(length).map_err(|_| ARRAY)?)?;
                writer.value_with(|out| element.write(value, out))?;
            }
        }
    }
    // An error where the elements do not fill the dimensions.
    writer.finish(&lengths[..depth]).map_err(|_| ARRAY)
}

struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn number(&mut self) -> Result<i32, ValueError> {
        let (number, rest) = self.0.split_first_chunk::<4>().ok_or(ARRAY)?;
        self.0 = rest;
        Ok(i32::from_be_bytes(*number))
    }

    fn take(&mut self, bytes: usize) -> Result<&'a [u8], ValueError> {
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or(ARRAY)?;
        self.0 = rest;
        Ok(taken)
    }
}
