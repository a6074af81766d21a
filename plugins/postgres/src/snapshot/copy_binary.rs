//! Rows in the binary form of COPY.
//!
//! A head, then rows, each a count of columns and each column's length and form; -1 stands for NULL and,
//! as the count of columns, for the end.

use tarn_batch::text::write_text;
use tarn_batch::{BatchWriter, RowHeader, TableIndex};
use tarn_sdk::Failure;

use crate::mapped::Mapped;
use crate::sent_value::SentDecoder;
use crate::unreadable::unreadable;

/// What the head begins with.
const SIGNATURE: &[u8] = b"PGCOPY\n\xFF\r\n\0";

/// How many bytes the head at the start of a copy has.
pub(crate) fn head(bytes: &[u8], mapped: &Mapped) -> Result<usize, Failure> {
    let rest = bytes.strip_prefix(SIGNATURE).and_then(|rest| rest.get(4..));
    let extension = rest.and_then(|rest| rest.first_chunk::<4>()).ok_or_else(|| damaged(mapped))?;
    Ok(SIGNATURE.len() + 4 + 4 + u32::from_be_bytes(*extension) as usize)
}

/// Writes what `bytes` begin with as a row, unless it is the end; how many bytes it took.
pub(crate) fn write_row(
    bytes: &[u8],
    mapped: &Mapped,
    decoders: &[SentDecoder],
    table: TableIndex,
    header: &RowHeader,
    writer: &mut BatchWriter,
) -> Result<usize, Failure> {
    let (count, mut rest) = bytes.split_first_chunk::<2>().ok_or_else(|| damaged(mapped))?;
    match i16::from_be_bytes(*count) {
        -1 => return Ok(bytes.len() - rest.len()),
        count if usize::try_from(count) == Ok(decoders.len()) => {}
        _ => return Err(damaged(mapped)),
    }
    writer.begin_row(table, header);
    for (column, decoder) in decoders.iter().enumerate() {
        let Some((sent, behind)) = field(rest) else {
            writer.cancel_row();
            return Err(damaged(mapped));
        };
        rest = behind;
        let Some(sent) = sent else {
            writer.null();
            continue;
        };
        if let Err(error) = writer.value_with(|out| decoder.write(sent, out)) {
            writer.cancel_row();
            let texts = texts(bytes, mapped, decoders);
            let texts: Vec<Option<&[u8]>> =
                texts.iter().map(|text| text.as_deref().map(str::as_bytes)).collect();
            return Err(unreadable(mapped, &texts, column, error));
        }
    }
    writer.end_row();
    Ok(bytes.len() - rest.len())
}

/// A column's form, nothing for NULL, and what is behind it.
#[inline]
fn field(bytes: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    match i32::from_be_bytes(*length) {
        -1 => Some((None, rest)),
        length => rest.split_at_checked(usize::try_from(length).ok()?).map(|(sent, rest)| (Some(sent), rest)),
    }
}

/// The first row's values as texts, where they can be read, for a message.
fn texts(bytes: &[u8], mapped: &Mapped, decoders: &[SentDecoder]) -> Vec<Option<String>> {
    let mut rest = bytes.get(2..).unwrap_or_default();
    let columns = decoders.iter().zip(&mapped.table.columns).map(|(decoder, column)| {
        let (sent, behind) = field(rest)?;
        rest = behind;
        let (mut value, mut text) = (Vec::new(), String::new());
        decoder.write(sent?, &mut value).ok()?;
        write_text(&column.data_type, &value, &mut text).ok()?;
        Some(text)
    });
    columns.collect()
}

fn damaged(mapped: &Mapped) -> Failure {
    Failure::permanent("copy_unreadable", "a row of COPY is not in the form that was asked for")
        .with_table(mapped.table.qualified_name())
}
