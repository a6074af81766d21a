//! Writing a batch.

use std::borrow::Borrow;

use crate::config::{FORMAT_VERSION, MAGIC, NULL, PRELUDE_BYTES, ROW_HEADER_BYTES, UNCHANGED};
use crate::{Before, Cell, LogMessage, Op, Outgoing, Row, RowHeader, Table, TableIndex};

/// Writes a batch front to back into one buffer; nothing is allocated for a row or a cell.
///
/// A row is [`begin_row`](Self::begin_row), one call for each cell, for an update with a before-image
/// [`begin_before`](Self::begin_before) and the cells of that, then [`end_row`](Self::end_row). A
/// delete has no cells before `begin_before`; a truncate has none at all. Debug builds check this.
///
/// A batch is under 4 GiB: whoever fills one bounds it by [`bytes`](Self::bytes).
#[derive(Debug)]
pub struct BatchWriter {
    buffer: Vec<u8>,
    rows: u32,
    /// The encoded tables, put behind the rows at the end.
    tables: Vec<u8>,
    /// How many columns each of them has.
    columns: Vec<u16>,
    open: Option<OpenRow>,
    /// The version of the format that its rows need.
    version: u16,
}

#[derive(Debug)]
struct OpenRow {
    start: usize,
    /// Cells that an image has.
    columns: u32,
    /// Cells still to be written in the current image.
    missing: u32,
}

impl Default for BatchWriter {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl BatchWriter {
    /// A batch that has room for about `bytes` before it must grow.
    pub fn with_capacity(bytes: usize) -> Self {
        let mut buffer = Vec::with_capacity(bytes.max(PRELUDE_BYTES));
        buffer.extend_from_slice(&MAGIC);
        buffer.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        // Two zero bytes, then row count and offset of the tables, known at the end.
        buffer.resize(PRELUDE_BYTES, 0);
        Self { buffer, rows: 0, tables: Vec::new(), columns: Vec::new(), open: None, version: FORMAT_VERSION }
    }

    /// Makes room for so many bytes more and no others, where a large row is about to come: growing by itself, a batch
    /// takes twice as many.
    pub fn make_room(&mut self, bytes: usize) {
        self.buffer.reserve_exact(bytes);
    }

    /// A batch of tables without rows: how a schema crosses.
    pub fn schema<T: Borrow<Table>>(tables: impl IntoIterator<Item = T>) -> Vec<u8> {
        let mut writer = Self::default();
        for table in tables {
            writer.add_table(table);
        }
        writer.finish()
    }

    /// Adds a table, which rows then refer to. Several versions of one table may be added.
    pub fn add_table(&mut self, table: impl Borrow<Table>) -> TableIndex {
        let table = table.borrow();
        let index = u16::try_from(self.columns.len()).expect("a batch has fewer than 65536 tables");
        assert!(index != u16::MAX, "a batch has fewer than 65536 tables");
        table.write(&mut self.tables);
        self.columns.push(u16::try_from(table.columns.len()).expect("a table has fewer than 65536 columns"));
        TableIndex(index)
    }

    /// Begins a row of a table that was added before.
    #[inline]
    pub fn begin_row(&mut self, table: TableIndex, header: &RowHeader) {
        debug_assert!(self.open.is_none(), "the row before must be ended first");
        let columns = u32::from(self.columns[usize::from(table.0)]);
        let start = self.buffer.len();
        let mut bytes = [0; ROW_HEADER_BYTES];
        bytes[4] = header.op as u8;
        bytes[6..8].copy_from_slice(&table.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&header.version.commit.to_le_bytes());
        bytes[16..24].copy_from_slice(&header.version.ordinal.to_le_bytes());
        bytes[24..32].copy_from_slice(&header.commit_time_us.to_le_bytes());
        bytes[32..40].copy_from_slice(&header.transaction.to_le_bytes());
        self.buffer.extend_from_slice(&bytes);
        let missing = header.op.cells(columns);
        self.version = self.version.max(header.op.format_version());
        self.open = Some(OpenRow { start, columns, missing });
    }

    #[inline]
    fn count_cell(&mut self) {
        if let Some(row) = &mut self.open {
            debug_assert!(row.missing > 0, "the image has more cells than its table has columns");
            row.missing = row.missing.wrapping_sub(1);
        } else {
            debug_assert!(false, "a cell belongs to a row");
        }
    }

    /// Writes a null cell.
    #[inline]
    pub fn null(&mut self) {
        self.count_cell();
        self.buffer.extend_from_slice(&NULL.to_le_bytes());
    }

    /// Writes an unchanged cell.
    #[inline]
    pub fn unchanged(&mut self) {
        self.count_cell();
        self.buffer.extend_from_slice(&UNCHANGED.to_le_bytes());
    }

    /// Writes a cell with a value in the form of its column's type.
    #[inline]
    pub fn value(&mut self, value: &[u8]) {
        self.count_cell();
        self.buffer.extend_from_slice(&cell_length(value.len()).to_le_bytes());
        self.buffer.extend_from_slice(value);
    }

    /// Writes a cell whose value `write` appends to the batch's own buffer. It may only append. When
    /// it fails, the cell is taken back and can be written differently.
    #[inline]
    pub fn value_with<E>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; 4]);
        if let Err(error) = write(&mut self.buffer) {
            self.buffer.truncate(start);
            return Err(error);
        }
        let length = cell_length(self.buffer.len() - start - 4);
        self.buffer[start..start + 4].copy_from_slice(&length.to_le_bytes());
        self.count_cell();
        Ok(())
    }

    /// Writes a cell as another batch has it.
    #[inline]
    pub fn cell(&mut self, cell: Cell<'_>) {
        match cell {
            Cell::Null => self.null(),
            Cell::Unchanged => self.unchanged(),
            Cell::Value(value) => self.value(value),
        }
    }

    fn optional(&mut self, value: Option<&[u8]>) {
        self.cell(value.map_or(Cell::Null, Cell::Value));
    }

    /// Writes a message of the source's log. What `header` says of the operation does not matter.
    pub fn log_message(&mut self, table: TableIndex, header: &RowHeader, message: &LogMessage<'_>) {
        self.begin_row(table, &RowHeader { op: Op::Message, ..*header });
        self.value(message.prefix.as_bytes());
        self.value(message.content);
        self.end_row();
    }

    /// Writes a message to a queue that was made of a record of `table`. What `header` says of the
    /// operation does not matter; its version and times are the record's.
    pub fn outgoing(&mut self, table: TableIndex, header: &RowHeader, message: &Outgoing<'_>) {
        self.begin_row(table, &RowHeader { op: Op::Outgoing, ..*header });
        self.optional(message.topic.map(str::as_bytes));
        self.optional(message.key);
        self.optional(message.value);
        self.optional(message.partition.map(i32::to_le_bytes).as_ref().map(<[u8; 4]>::as_slice));
        self.optional(message.headers.written());
        self.optional(message.record_key.map(str::as_bytes));
        self.end_row();
    }

    /// Writes `count` cells as another batch has them ([`Cells::take_raw`](crate::Cells::take_raw)).
    #[inline]
    pub fn raw_cells(&mut self, cells: &[u8], count: usize) {
        if let Some(row) = &mut self.open {
            debug_assert!(
                row.missing as usize >= count,
                "the image has more cells than its table has columns"
            );
            row.missing = row.missing.wrapping_sub(count as u32);
        } else {
            debug_assert!(false, "cells belong to a row");
        }
        self.buffer.extend_from_slice(cells);
    }

    /// Begins the row's before-image, after the cells of its after-image.
    pub fn begin_before(&mut self, kind: Before) {
        let row = self.open.as_mut().expect("a before-image belongs to a row");
        debug_assert_eq!(row.missing, 0, "the after-image lacks cells");
        row.missing = row.columns;
        self.buffer[row.start + 5] = kind as u8;
    }

    /// Ends the row.
    #[inline]
    pub fn end_row(&mut self) {
        let row = self.open.take().expect("a row was begun");
        debug_assert_eq!(row.missing, 0, "the image lacks cells");
        debug_assert!(
            self.buffer[row.start + 4] != Op::Delete as u8 || self.buffer[row.start + 5] != 0,
            "a delete has a before-image"
        );
        let length = u32::try_from(self.buffer.len() - row.start).expect("a row is shorter than 4 GiB");
        self.buffer[row.start..row.start + 4].copy_from_slice(&length.to_le_bytes());
        self.rows += 1;
    }

    /// Takes back the row that was begun, if one was.
    pub fn cancel_row(&mut self) {
        if let Some(row) = self.open.take() {
            self.buffer.truncate(row.start);
        }
    }

    /// Appends a row of another batch as it is, under a table of this one with the same columns.
    #[inline]
    pub fn append_row(&mut self, row: &Row<'_>, table: TableIndex) {
        debug_assert!(self.open.is_none(), "the row before must be ended first");
        debug_assert_eq!(usize::from(self.columns[usize::from(table.0)]), row.columns(), "the tables differ");
        let start = self.buffer.len();
        self.buffer.extend_from_slice(row.raw());
        self.buffer[start + 6..start + 8].copy_from_slice(&table.0.to_le_bytes());
        self.version = self.version.max(row.op().format_version());
        self.rows += 1;
    }

    /// The same with another ordinal in its version.
    pub fn append_row_at(&mut self, row: &Row<'_>, table: TableIndex, ordinal: u64) {
        let start = self.buffer.len();
        self.append_row(row, table);
        self.buffer[start + 16..start + 24].copy_from_slice(&ordinal.to_le_bytes());
    }

    /// How many rows were ended.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// How many bytes the batch has so far, tables included.
    pub fn bytes(&self) -> usize {
        self.buffer.len() + self.tables.len() + 2
    }

    /// Whether it has no rows; it may have tables.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The finished batch. A row that was begun and not ended is not part of it.
    pub fn finish(mut self) -> Vec<u8> {
        debug_assert!(self.open.is_none(), "the last row must be ended first");
        self.cancel_row();
        let offset = u32::try_from(self.buffer.len()).expect("a batch is under 4 GiB");
        self.buffer[4..6].copy_from_slice(&self.version.to_le_bytes());
        self.buffer[8..12].copy_from_slice(&self.rows.to_le_bytes());
        self.buffer[12..16].copy_from_slice(&offset.to_le_bytes());
        // The count was bounded when each table was added.
        self.buffer.extend_from_slice(&(self.columns.len() as u16).to_le_bytes());
        self.buffer.extend_from_slice(&self.tables);
        self.buffer
    }
}

/// The length field of a cell.
#[inline]
fn cell_length(bytes: usize) -> u32 {
    u32::try_from(bytes).ok().filter(|&length| length < UNCHANGED).expect("a value is under 4 GiB")
}
