//! Texts, and what is written as one.

use tarn_batch::text::write_text;
use tarn_batch::value::read_uuid;

use super::Pair;
use crate::fault::Fault;
use crate::row_binary::write_bytes;
use crate::target_type::TargetType;

/// A value whose bytes are the text.
pub(super) fn copied(_: &Pair, value: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    write_bytes(out, value);
    Ok(())
}

/// A value as PostgreSQL says it.
pub(super) fn written(pair: &Pair, value: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let mut text = pair.scratch.borrow_mut();
    text.clear();
    write_text(&pair.source, value, &mut text)?;
    write_bytes(out, text.as_bytes());
    Ok(())
}

/// A text of exactly the column's bytes: a shorter one would come back with zeros.
pub(super) fn fixed(pair: &Pair, value: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    if pair.target != TargetType::FixedString(value.len()) {
        return Err(Fault::Length);
    }
    out.extend_from_slice(value);
    Ok(())
}

/// An enum's label as its number.
pub(super) fn label(pair: &Pair, value: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let TargetType::Enum { width, labels } = &pair.target else { return Err(Fault::Label) };
    let number = labels.iter().find(|(label, _)| label.as_bytes() == value).map(|&(_, number)| number);
    out.extend_from_slice(&number.ok_or(Fault::Label)?.to_le_bytes()[..*width]);
    Ok(())
}

/// ClickHouse keeps a UUID as two 64-bit numbers, the upper one first.
pub(super) fn uuid(_: &Pair, value: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let number = u128::from_be_bytes(read_uuid(value)?);
    let (upper, lower) = ((number >> 64) as u64, number as u64);
    out.extend_from_slice(&upper.to_le_bytes());
    out.extend_from_slice(&lower.to_le_bytes());
    Ok(())
}
