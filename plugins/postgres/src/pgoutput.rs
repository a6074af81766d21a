//! Messages of the output plugin pgoutput, protocol versions 1, 2 and 4, as
//! <https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html> describes them.
//!
//! A message is read in place; a tuple's columns are read when they are reached.

use tarn_sdk::Failure;

/// Microseconds from 1970 to 2000, where the server's clock starts.
const SERVER_EPOCH_US: i64 = 946_684_800_000_000;

/// What the walsender sends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Frame<'a> {
    /// A message of the output plugin.
    Data(&'a [u8]),
    /// The server has sent everything before this place.
    Keepalive { end: u64 },
}

/// A message of the output plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message<'a> {
    Begin {
        commit: u64,
        commit_time_us: i64,
        transaction: u32,
    },
    Commit {
        end: u64,
    },
    Relation(Relation<'a>),
    Type {
        oid: u32,
    },
    Insert {
        relation: u32,
        new: Tuple<'a>,
    },
    Update {
        relation: u32,
        old: Old<'a>,
        new: Tuple<'a>,
    },
    Delete {
        relation: u32,
        old: Old<'a>,
    },
    /// Numbers of relations, four bytes each.
    Truncate {
        relations: &'a [u8],
    },
    Logged(Logged<'a>),
    /// What follows up to the end of the block is of a transaction that has not committed.
    StreamStart {
        transaction: u32,
    },
    StreamStop,
    /// A transaction that was sent before has committed.
    StreamCommit {
        transaction: u32,
        commit: u64,
        end: u64,
        commit_time_us: i64,
    },
    /// A transaction that was sent before, or a part of one, was rolled back.
    StreamAbort {
        transaction: u32,
        part: u32,
    },
    /// Origins: nothing to replicate (B145).
    Other,
}

/// What somebody put into the log by `pg_logical_emit_message`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Logged<'a> {
    /// Whether it belongs to the transaction that is coming in. If not, it is between two.
    pub(crate) transactional: bool,
    /// The end of its record.
    pub(crate) end: u64,
    /// In the database's encoding, which need not be UTF-8 where that is `SQL_ASCII`.
    pub(crate) prefix: &'a [u8],
    pub(crate) content: &'a [u8],
}

/// The image of a row before its change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Old<'a> {
    /// The key is the same.
    None,
    /// The columns of the key.
    Key(Tuple<'a>),
    /// All columns.
    Full(Tuple<'a>),
}

/// A relation's columns, before the first row that has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Relation<'a> {
    pub(crate) oid: u32,
    pub(crate) schema: &'a str,
    pub(crate) name: &'a str,
    /// `d`, `i`, `f` or `n`: what identifies rows.
    pub(crate) identity: u8,
    count: u16,
    columns: &'a [u8],
    /// The message behind its tag.
    message: &'a [u8],
}

/// A column of a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RelationColumn<'a> {
    pub(crate) in_key: bool,
    pub(crate) name: &'a str,
    pub(crate) type_oid: u32,
    pub(crate) type_modifier: i32,
}

/// One column of a tuple.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Datum<'a> {
    Null,
    /// A value stored apart that the change did not touch: it is not sent.
    Unchanged,
    Text(&'a [u8]),
}

/// The columns of a row, in the order of its relation's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tuple<'a> {
    count: u16,
    columns: &'a [u8],
}

impl Relation<'_> {
    /// The message as it comes from within a block, whatever the transaction.
    pub(crate) fn in_block(&self) -> Vec<u8> {
        [&[b'R', 0, 0, 0, 0], self.message].concat()
    }
}

impl<'a> Tuple<'a> {
    /// How many columns it has.
    pub(crate) fn len(self) -> usize {
        usize::from(self.count)
    }

    /// Its columns.
    pub(crate) fn data(self) -> Data<'a> {
        Data { left: self.count, rest: Reader(self.columns) }
    }
}

/// The columns of a tuple, one by one. Ends early only where the message is damaged.
#[derive(Debug, Clone)]
pub(crate) struct Data<'a> {
    left: u16,
    rest: Reader<'a>,
}

impl<'a> Iterator for Data<'a> {
    type Item = Result<Datum<'a>, Damaged>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        Some(self.rest.datum())
    }
}

impl<'a> Relation<'a> {
    /// Its columns.
    pub(crate) fn columns(&self) -> impl Iterator<Item = Result<RelationColumn<'a>, Damaged>> + use<'a> {
        let mut reader = Reader(self.columns);
        (0..self.count).map(move |_| {
            Ok(RelationColumn {
                in_key: reader.u8()? & 1 != 0,
                name: reader.string()?,
                type_oid: reader.u32()?,
                type_modifier: reader.u32()? as i32,
            })
        })
    }
}

/// Takes the first message off what a read of the stream returned: a length before each.
#[inline]
pub(crate) fn split_frame(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_be_bytes(*length) as usize)
}

/// Reads a message of the walsender.
#[inline]
pub(crate) fn frame(payload: &[u8]) -> Result<Frame<'_>, Damaged> {
    match payload {
        // After the letter: two places and a time, of which the message itself says more.
        [b'w', rest @ ..] => rest.get(24..).map(Frame::Data).ok_or(Damaged),
        [b'k', rest @ ..] => Reader(rest).u64().map(|end| Frame::Keepalive { end }),
        _ => Err(Damaged),
    }
}

/// Reads a message of the output plugin.
#[inline]
pub(crate) fn message(data: &[u8]) -> Result<Message<'_>, Damaged> {
    let (tag, rest) = data.split_first().ok_or(Damaged)?;
    body(*tag, Reader(rest))
}

/// Reads a message from within a block of a transaction in progress, and says which part of the transaction it is of:
/// the number of the transaction itself, or of a transaction within it.
#[inline]
pub(crate) fn message_in_progress(data: &[u8]) -> Result<(u32, Message<'_>), Damaged> {
    let (tag, rest) = data.split_first().ok_or(Damaged)?;
    let mut reader = Reader(rest);
    // An origin is said once for the block.
    let part = if *tag == b'O' { 0 } else { reader.u32()? };
    Ok((part, body(*tag, reader)?))
}

/// Whether a message ends a block.
pub(crate) fn ends_block(data: &[u8]) -> bool {
    data.first() == Some(&b'E')
}

#[inline]
fn body(tag: u8, mut reader: Reader<'_>) -> Result<Message<'_>, Damaged> {
    let message = match tag {
        b'I' => {
            let relation = reader.u32()?;
            match reader.u8()? {
                b'N' => Message::Insert { relation, new: reader.last_tuple()? },
                _ => return Err(Damaged),
            }
        }
        b'U' => {
            let relation = reader.u32()?;
            let old = match reader.0.first() {
                Some(b'N') => Old::None,
                _ => reader.old()?,
            };
            match reader.u8()? {
                b'N' => Message::Update { relation, old, new: reader.last_tuple()? },
                _ => return Err(Damaged),
            }
        }
        b'D' => Message::Delete { relation: reader.u32()?, old: reader.old()? },
        b'B' => Message::Begin {
            commit: reader.u64()?,
            commit_time_us: (reader.u64()? as i64).saturating_add(SERVER_EPOCH_US),
            transaction: reader.u32()?,
        },
        b'C' => {
            // Flags, which are not used, and the place of the commit record, which Begin had.
            reader.take(1 + 8)?;
            Message::Commit { end: reader.u64()? }
        }
        b'R' => Message::Relation(Relation {
            message: reader.0,
            oid: reader.u32()?,
            schema: match reader.string()? {
                // The server leaves its own schema out.
                "" => "pg_catalog",
                schema => schema,
            },
            name: reader.string()?,
            identity: reader.u8()?,
            count: reader.u16()?,
            columns: reader.0,
        }),
        b'Y' => Message::Type { oid: reader.u32()? },
        b'T' => {
            let count = reader.u32()? as usize;
            // Options: whether it cascaded, whether sequences restarted.
            reader.take(1)?;
            let bytes = count.checked_mul(4).ok_or(Damaged)?;
            Message::Truncate { relations: reader.take(bytes)? }
        }
        b'M' => {
            let transactional = reader.u8()? & 1 != 0;
            let end = reader.u64()?;
            let prefix = reader.until_zero()?;
            let length = reader.u32()? as usize;
            Message::Logged(Logged { transactional, end, prefix, content: reader.take(length)? })
        }
        b'S' => Message::StreamStart { transaction: reader.u32()? },
        b'E' => Message::StreamStop,
        b'c' => {
            let transaction = reader.u32()?;
            // Flags, which are not used.
            reader.take(1)?;
            let (commit, end) = (reader.u64()?, reader.u64()?);
            let commit_time_us = (reader.u64()? as i64).saturating_add(SERVER_EPOCH_US);
            Message::StreamCommit { transaction, commit, end, commit_time_us }
        }
        // Protocol 4 has place and time after these.
        b'A' => Message::StreamAbort { transaction: reader.u32()?, part: reader.u32()? },
        b'O' => Message::Other,
        _ => return Err(Damaged),
    };
    Ok(message)
}

/// Bytes that are not what the protocol says they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damaged;

impl From<Damaged> for Failure {
    fn from(_: Damaged) -> Self {
        let message = "a message of the stream is not in the form of the protocol";
        Self::permanent("stream_unreadable", message).with_hint("check that the slot's plugin is pgoutput")
    }
}

#[derive(Debug, Clone)]
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    #[inline]
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], Damaged> {
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or(Damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    #[inline]
    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], Damaged> {
        let (chunk, rest) = self.0.split_first_chunk::<N>().ok_or(Damaged)?;
        self.0 = rest;
        Ok(*chunk)
    }

    #[inline]
    fn u8(&mut self) -> Result<u8, Damaged> {
        self.chunk::<1>().map(|[byte]| byte)
    }

    #[inline]
    fn u16(&mut self) -> Result<u16, Damaged> {
        self.chunk().map(u16::from_be_bytes)
    }

    #[inline]
    fn u32(&mut self) -> Result<u32, Damaged> {
        self.chunk().map(u32::from_be_bytes)
    }

    #[inline]
    fn u64(&mut self) -> Result<u64, Damaged> {
        self.chunk().map(u64::from_be_bytes)
    }

    fn until_zero(&mut self) -> Result<&'a [u8], Damaged> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or(Damaged)?;
        let bytes = self.take(end)?;
        self.take(1)?;
        Ok(bytes)
    }

    fn string(&mut self) -> Result<&'a str, Damaged> {
        std::str::from_utf8(self.until_zero()?).map_err(|_| Damaged)
    }

    #[inline]
    fn datum(&mut self) -> Result<Datum<'a>, Damaged> {
        match self.u8()? {
            b't' => {
                let length = self.u32()? as usize;
                self.take(length).map(Datum::Text)
            }
            b'n' => Ok(Datum::Null),
            b'u' => Ok(Datum::Unchanged),
            _ => Err(Damaged),
        }
    }

    /// A tuple that ends the message; its columns are read, and found damaged, when they are reached.
    #[inline]
    fn last_tuple(&mut self) -> Result<Tuple<'a>, Damaged> {
        Ok(Tuple { count: self.u16()?, columns: self.0 })
    }

    /// A tuple, passing over its columns: another may follow it.
    #[inline]
    fn tuple(&mut self) -> Result<Tuple<'a>, Damaged> {
        let count = self.u16()?;
        let columns = self.0;
        for _ in 0..count {
            self.datum()?;
        }
        Ok(Tuple { count, columns })
    }

    fn old(&mut self) -> Result<Old<'a>, Damaged> {
        match self.u8()? {
            b'K' => self.tuple().map(Old::Key),
            b'O' => self.tuple().map(Old::Full),
            _ => Err(Damaged),
        }
    }
}

#[cfg(test)]
mod tests;
