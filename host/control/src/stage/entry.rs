//! An entry of a stage as bytes.
//!
//! ```text
//!   "TARNSTG1"  kind: 1 byte  count: u32  { rows: u32  length: u64  bytes } …  CRC-32 of all before: u32
//! ```
//! Numbers are little-endian. The digit counts the form's versions.

use std::io::{self, Write};

use bytes::Bytes;
use tarn_replication::{Batch, Staged};

const MAGIC: &[u8; 8] = b"TARNSTG1";
const SCHEMA: u8 = 1;
const ROWS: u8 = 2;

/// Writes an entry.
pub(super) fn encode(staged: &Staged, out: &mut impl Write) -> io::Result<()> {
    let mut out = Summed { out, sum: crc32fast::Hasher::new() };
    out.write_all(MAGIC)?;
    match staged {
        Staged::Schema(schema) => {
            out.write_all(&[SCHEMA])?;
            out.write_all(&1_u32.to_le_bytes())?;
            part(&mut out, 0, schema)?;
        }
        Staged::Rows(batches) => {
            out.write_all(&[ROWS])?;
            let count = u32::try_from(batches.len()).map_err(io::Error::other)?;
            out.write_all(&count.to_le_bytes())?;
            for batch in batches {
                part(&mut out, batch.rows, &batch.bytes)?;
            }
        }
    }
    let sum = out.sum.finalize();
    out.out.write_all(&sum.to_le_bytes())
}

fn part(out: &mut impl Write, rows: u32, bytes: &[u8]) -> io::Result<()> {
    out.write_all(&rows.to_le_bytes())?;
    out.write_all(&(bytes.len() as u64).to_le_bytes())?;
    out.write_all(bytes)
}

struct Summed<'a, W> {
    out: &'a mut W,
    sum: crc32fast::Hasher,
}

impl<W: Write> Write for Summed<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Reads an entry; `None` of one that is not whole.
pub(super) fn decode(bytes: Vec<u8>) -> Option<Staged> {
    let (content, sum) = bytes.split_last_chunk::<4>()?;
    if crc32fast::hash(content) != u32::from_le_bytes(*sum) {
        return None;
    }
    let end = content.len();
    let mut rest = Bytes::from(bytes).slice(..end);
    if rest.len() < MAGIC.len() || &*rest.split_to(MAGIC.len()) != MAGIC {
        return None;
    }
    let [kind] = take::<1>(&mut rest)?;
    let count = u32::from_le_bytes(take(&mut rest)?);
    let mut parts = Vec::new();
    for _ in 0..count {
        let rows = u32::from_le_bytes(take(&mut rest)?);
        let length = usize::try_from(u64::from_le_bytes(take(&mut rest)?)).ok()?;
        if rest.len() < length {
            return None;
        }
        parts.push(Batch { bytes: rest.split_to(length), rows });
    }
    match kind {
        SCHEMA => parts.pop().map(|part| Staged::Schema(part.bytes)),
        ROWS => Some(Staged::Rows(parts)),
        _ => None,
    }
    .filter(|_| rest.is_empty())
}

fn take<const N: usize>(rest: &mut Bytes) -> Option<[u8; N]> {
    if rest.len() < N {
        return None;
    }
    rest.split_to(N).as_ref().try_into().ok()
}
