//! Reading a batch.

use crate::config::{FORMAT_VERSION, FORMAT_VERSION_MESSAGES, MAGIC, PRELUDE_BYTES};
use crate::wire::Cursor;
use crate::{DecodeError, Row, Table};

/// A batch being read: its tables decoded, its rows still bytes.
#[derive(Debug, Clone)]
pub struct Batch<'a> {
    rows: &'a [u8],
    row_count: u32,
    version: u16,
    tables: Vec<Table>,
}

impl<'a> Batch<'a> {
    /// Reads the prelude and the tables. Rows are checked as they are reached.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let (prelude, body) = bytes.split_at_checked(PRELUDE_BYTES).ok_or(DecodeError::NotABatch)?;
        let prelude = prelude.strip_prefix(&MAGIC).ok_or(DecodeError::NotABatch)?;
        let mut prelude = Cursor::new(prelude, "prelude");
        let version = prelude.u16()?;
        if !(FORMAT_VERSION..=FORMAT_VERSION_MESSAGES).contains(&version) {
            return Err(DecodeError::UnknownVersion(version));
        }
        if prelude.u16()? != 0 {
            return Err(DecodeError::Invalid("reserved part of the prelude"));
        }
        let row_count = prelude.u32()?;
        let offset = (prelude.u32()? as usize)
            .checked_sub(PRELUDE_BYTES)
            .ok_or(DecodeError::Invalid("offset of the tables"))?;
        let (rows, tables) = body.split_at_checked(offset).ok_or(DecodeError::Truncated("batch"))?;
        Ok(Self { rows, row_count, version, tables: read_tables(tables)? })
    }

    /// The tables, in the order that rows refer to them.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The table a row is of.
    pub fn table(&self, row: &Row<'_>) -> &Table {
        &self.tables[usize::from(row.table_index().0)]
    }

    /// The tables, when the rows are no longer needed.
    pub fn into_tables(self) -> Vec<Table> {
        self.tables
    }

    /// How many rows it says it has.
    pub fn row_count(&self) -> u32 {
        self.row_count
    }

    /// The rows, in order. Ends after the first error.
    pub fn rows(&self) -> Rows<'_, 'a> {
        let tables = &self.tables;
        Rows { rest: self.rows, left: self.row_count, version: self.version, tables, done: false }
    }

    /// Reads every row and cell without looking into values: what comes from outside is checked by
    /// this before it is stored.
    pub fn verify(&self) -> Result<(), DecodeError> {
        self.rows().try_for_each(|row| row?.verify())
    }
}

fn read_tables(bytes: &[u8]) -> Result<Vec<Table>, DecodeError> {
    let mut cursor = Cursor::new(bytes, "table section");
    let count = cursor.u16()?;
    let tables = (0..count).map(|_| Table::read(&mut cursor)).collect::<Result<_, _>>()?;
    if cursor.rest().is_empty() { Ok(tables) } else { Err(DecodeError::Trailing("the table section")) }
}

/// The rows of a [`Batch`].
#[derive(Debug, Clone)]
pub struct Rows<'b, 'a> {
    rest: &'a [u8],
    left: u32,
    version: u16,
    tables: &'b [Table],
    done: bool,
}

impl<'a> Rows<'_, 'a> {
    fn finish(&mut self) -> Option<Result<Row<'a>, DecodeError>> {
        if self.done || self.rest.is_empty() {
            return None;
        }
        self.done = true;
        Some(Err(DecodeError::Trailing("the last row")))
    }
}

impl<'a> Iterator for Rows<'_, 'a> {
    type Item = Result<Row<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return self.finish();
        }
        self.left -= 1;
        match Row::split(self.rest, self.tables, self.version) {
            Ok((row, rest)) => {
                self.rest = rest;
                Some(Ok(row))
            }
            Err(error) => {
                self.left = 0;
                self.done = true;
                Some(Err(error))
            }
        }
    }
}
