//! UUIDs: their text, and those that a record gives: the same for the same record whenever it is delivered,
//! so that a message that is sent again can be told from a new one.

use tarn_batch::Type;

use crate::binding::Bindings;
use crate::current::Current;

/// The basis and prime of the 128-bit FNV-1a hash.
const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// Bytes of a row that say where it lies in its batch: not the record's own.
const PLACE_BYTES: usize = 8;

/// Reads 32 hexadecimal digits, with or without hyphens and braces.
pub fn parse(text: &[u8]) -> Option<[u8; 16]> {
    let inner = text.strip_prefix(b"{").map_or(Some(text), |inner| inner.strip_suffix(b"}"))?;
    let mut bytes = [0; 16];
    let mut count = 0;
    for (at, &byte) in inner.iter().enumerate() {
        if byte == b'-' && at > 0 && inner[at - 1] != b'-' {
            continue;
        }
        let digit = char::from(byte).to_digit(16)? as u8;
        *bytes.get_mut(count / 2)? |= digit << if count % 2 == 0 { 4 } else { 0 };
        count += 1;
    }
    (count == 32 && inner.last() != Some(&b'-')).then_some(bytes)
}

/// Appends a UUID's text.
pub fn write_text(uuid: &[u8; 16], out: &mut String) {
    tarn_batch::text::write_text(&Type::Uuid, uuid, out).expect("sixteen bytes are a UUID");
}

/// The next UUID of the current record: of its table, version and content, and of how many were made
/// before. None where there is no record.
pub fn derive(current: &mut Current, bindings: &Bindings) -> Option<[u8; 16]> {
    let row = current.row(current.generation())?.raw();
    let number = current.count_uuid();
    let source = bindings.get(current.binding()).source.as_bytes();
    let parts = [source, &[0], &row[PLACE_BYTES..], &number.to_le_bytes()];
    let hash = parts
        .iter()
        .copied()
        .flatten()
        .fold(BASIS, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME));
    let mut bytes = (u128::from(mix((hash >> 64) as u64)) << 64
        | u128::from(mix(hash as u64 ^ (hash >> 64) as u64)))
    .to_be_bytes();
    // Version 8 of RFC 9562: made by rules of its own.
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Some(bytes)
}

/// Spreads the last bytes that were hashed over all bits.
fn mix(mut value: u64) -> u64 {
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        value = (value ^ value >> 33).wrapping_mul(factor);
    }
    value ^ value >> 33
}
