//! Rows that are no rows of a table: messages in the source's log, and messages to a queue.

use crate::wire::{Cursor, put_string};
use crate::{Cell, Cells, DecodeError};

/// A message that somebody put into the source's log (`pg_logical_emit_message`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogMessage<'a> {
    /// What kind of message it is, in the words of whoever wrote it.
    pub prefix: &'a str,
    /// What it says.
    pub content: &'a [u8],
}

impl<'a> LogMessage<'a> {
    /// How many cells it has.
    pub(crate) const CELLS: u32 = 2;

    pub(crate) fn read(cells: Cells<'a>) -> Result<Self, DecodeError> {
        let mut cells = cells.map(known);
        let mut next = || cells.next().unwrap_or(Err(DecodeError::Truncated("log message")));
        let prefix = next()?.ok_or(DecodeError::Invalid("prefix of a log message"))?;
        let content = next()?.ok_or(DecodeError::Invalid("content of a log message"))?;
        Ok(Self { prefix: text(prefix, "prefix of a log message")?, content })
    }
}

/// A message that a script made of a record, for a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outgoing<'a> {
    /// The topic; none for the one of the record's table.
    pub topic: Option<&'a str>,
    /// The message's key; none for none.
    pub key: Option<&'a [u8]>,
    /// What it says; none deletes what a log-compacted topic has under the key.
    pub value: Option<&'a [u8]>,
    /// The partition, where the script chose one.
    pub partition: Option<i32>,
    /// Names and values beside the value.
    pub headers: Headers<'a>,
    /// The key of the record that the message was made of, as text, where its table has one: messages
    /// without a key of their own keep the order of those with the same one.
    pub record_key: Option<&'a str>,
}

impl<'a> Outgoing<'a> {
    /// How many cells it has.
    pub(crate) const CELLS: u32 = 6;

    pub(crate) fn read(cells: Cells<'a>) -> Result<Self, DecodeError> {
        let mut cells = cells.map(known);
        let mut next = || cells.next().unwrap_or(Err(DecodeError::Truncated("message")));
        let topic = next()?.map(|topic| text(topic, "topic of a message")).transpose()?;
        let (key, value) = (next()?, next()?);
        let partition = next()?.map(|bytes| {
            let bytes = bytes.try_into().map_err(|_| DecodeError::Invalid("partition of a message"))?;
            Ok(i32::from_le_bytes(bytes))
        });
        let headers = Headers(next()?.unwrap_or_default());
        let record_key = next()?.map(|key| text(key, "record key of a message")).transpose()?;
        Ok(Self { topic, key, value, partition: partition.transpose()?, headers, record_key })
    }
}

/// The headers of a message, one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Headers<'a>(&'a [u8]);

impl<'a> Headers<'a> {
    /// Headers that [`write_header`] wrote.
    pub fn new(written: &'a [u8]) -> Self {
        Self(written)
    }

    /// Their bytes; none when there are none.
    pub(crate) fn written(&self) -> Option<&'a [u8]> {
        (!self.0.is_empty()).then_some(self.0)
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = Result<(&'a str, Option<&'a [u8]>), DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let header = read_header(self.0);
        self.0 = header.as_ref().map_or(&[], |(_, rest)| rest);
        Some(header.map(|(header, _)| header))
    }
}

type Header<'a> = (&'a str, Option<&'a [u8]>);

fn read_header(bytes: &[u8]) -> Result<(Header<'_>, &[u8]), DecodeError> {
    let mut cursor = Cursor::new(bytes, "header of a message");
    let length = cursor.u32()? as usize;
    let (name, rest) =
        cursor.rest().split_at_checked(length).ok_or(DecodeError::Truncated("header of a message"))?;
    let mut cells = Cells::new(rest, 1);
    let value = known(cells.next().unwrap_or(Err(DecodeError::Truncated("header of a message"))))?;
    Ok(((text(name, "header of a message")?, value), cells.rest()))
}

/// Appends a header.
pub fn write_header(out: &mut Vec<u8>, name: &str, value: Option<&[u8]>) {
    put_string(out, name);
    match value {
        Some(value) => {
            let length = u32::try_from(value.len()).expect("a header is under 4 GiB");
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(value);
        }
        None => out.extend_from_slice(&crate::config::NULL.to_le_bytes()),
    }
}

/// A cell's bytes; nothing in a message is unchanged.
fn known(cell: Result<Cell<'_>, DecodeError>) -> Result<Option<&[u8]>, DecodeError> {
    match cell? {
        Cell::Value(value) => Ok(Some(value)),
        Cell::Null => Ok(None),
        Cell::Unchanged => Err(DecodeError::Invalid("unchanged cell of a message")),
    }
}

fn text<'a>(bytes: &'a [u8], what: &'static str) -> Result<&'a str, DecodeError> {
    std::str::from_utf8(bytes).map_err(|_| DecodeError::NotUtf8(what))
}
