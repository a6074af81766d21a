//! The rows the models exchange. The loop carries them as opaque bytes.

use bytes::Bytes;
use tarn_replication::Batch;

/// Order of changes to a key: commit, then row of the transaction.
pub type Version = (u64, u64);

/// A table's number and a key of it.
pub type Key = (u8, u32);

/// A value that the server does not send when an update leaves it as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Big {
    /// It is known.
    Value(u32),
    /// As it was before.
    Unchanged,
}

/// What happened to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Image {
    /// It exists with these values.
    Present {
        /// A value that always comes along.
        value: u32,
        /// A value that may be left out.
        big: Big,
    },
    /// It is gone.
    Deleted,
    /// Every row of the key's table is gone; the key's number says nothing.
    Truncated,
}

/// One change of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which row.
    pub key: Key,
    /// Its number before, where the change gave it another one.
    pub moved_from: Option<u32>,
    /// When, in the source's order.
    pub version: Version,
    /// Which version of the table's columns it has.
    pub schema: u32,
    /// What it is now.
    pub image: Image,
    /// Bytes of ballast, so that rows differ in size.
    pub ballast: u32,
    /// Who sent it.
    pub origin: Origin,
}

/// Who sends a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The stream: a transaction made it.
    Stream,
    /// A load.
    Load,
}

const FIXED: usize = 1 + 1 + 4 + 4 + 8 + 8 + 4 + 1 + 4 + 4 + 4;

/// In the place of an earlier number: there is none.
const NOT_MOVED: u32 = u32::MAX;

impl Row {
    /// The key under which the row was before the change.
    pub fn base(&self) -> Key {
        (self.key.0, self.moved_from.unwrap_or(self.key.1))
    }

    /// Its size in a batch.
    pub fn len_bytes(&self) -> u64 {
        FIXED as u64 + u64::from(self.ballast)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let (kind, value, big) = match self.image {
            Image::Deleted => (0, 0, 0),
            Image::Present { value, big: Big::Unchanged } => (1, value, 0),
            Image::Present { value, big: Big::Value(big) } => (2, value, big),
            Image::Truncated => (3, 0, 0),
        };
        out.push(match self.origin {
            Origin::Stream => 0,
            Origin::Load => 1,
        });
        out.push(self.key.0);
        out.extend(self.key.1.to_le_bytes());
        out.extend(self.moved_from.unwrap_or(NOT_MOVED).to_le_bytes());
        out.extend(self.version.0.to_le_bytes());
        out.extend(self.version.1.to_le_bytes());
        out.extend(self.schema.to_le_bytes());
        out.push(kind);
        out.extend(value.to_le_bytes());
        out.extend(big.to_le_bytes());
        out.extend(self.ballast.to_le_bytes());
        out.resize(out.len() + self.ballast as usize, 0);
    }
}

/// Packs rows.
pub fn encode(rows: &[Row]) -> Batch {
    let mut out = Vec::new();
    for row in rows {
        row.encode(&mut out);
    }
    Batch { bytes: Bytes::from(out), rows: u32::try_from(rows.len()).expect("few rows") }
}

/// Unpacks rows.
pub fn decode(batch: &Batch) -> Vec<Row> {
    let mut bytes = &batch.bytes[..];
    let mut rows = Vec::with_capacity(batch.rows as usize);
    while !bytes.is_empty() {
        let origin = if take::<1>(&mut bytes)[0] == 0 { Origin::Stream } else { Origin::Load };
        let table = take::<1>(&mut bytes)[0];
        let key = (table, u32::from_le_bytes(take(&mut bytes)));
        let moved_from = Some(u32::from_le_bytes(take(&mut bytes))).filter(|number| *number != NOT_MOVED);
        let version = (u64::from_le_bytes(take(&mut bytes)), u64::from_le_bytes(take(&mut bytes)));
        let schema = u32::from_le_bytes(take(&mut bytes));
        let kind = take::<1>(&mut bytes)[0];
        let value = u32::from_le_bytes(take(&mut bytes));
        let big = u32::from_le_bytes(take(&mut bytes));
        let ballast = u32::from_le_bytes(take(&mut bytes));
        bytes = &bytes[ballast as usize..];
        let image = match kind {
            0 => Image::Deleted,
            1 => Image::Present { value, big: Big::Unchanged },
            2 => Image::Present { value, big: Big::Value(big) },
            _ => Image::Truncated,
        };
        rows.push(Row { key, moved_from, version, schema, image, ballast, origin });
    }
    assert_eq!(rows.len(), batch.rows as usize, "a batch knows how many rows it has");
    rows
}

fn take<const N: usize>(bytes: &mut &[u8]) -> [u8; N] {
    let (head, rest) = bytes.split_at(N);
    *bytes = rest;
    head.try_into().expect("N bytes")
}

/// Packs the columns' versions of tables: what a batch without rows is in the models.
pub fn encode_schema(tables: &[(u8, u32)]) -> Bytes {
    tables.iter().flat_map(|(table, version)| [&[*table][..], &version.to_le_bytes()].concat()).collect()
}

/// Unpacks the columns' versions of tables.
pub fn decode_schema(bytes: &[u8]) -> Vec<(u8, u32)> {
    bytes
        .chunks_exact(5)
        .map(|chunk| (chunk[0], u32::from_le_bytes(chunk[1..].try_into().expect("four bytes"))))
        .collect()
}
