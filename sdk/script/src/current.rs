//! The record that a script sees, and what it has changed in it.

#![expect(unsafe_code, reason = "a record outlives its batch's borrow in the type, not in time")]

use crate::buffer::reuse;
use crate::config::ASSIGNED_BYTES_KEPT;
use tarn_batch::{BatchWriter, Before, Cell, Cells, DecodeError, Op, Row, RowHeader, TableIndex};

/// Which of a record's two rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Which {
    /// The row after the change.
    New,
    /// The row before it.
    Old,
}

/// What a script has made of a cell.
#[derive(Debug, Clone, Copy)]
enum Change {
    Kept,
    Null,
    /// A value in [`Current::values`].
    Value {
        start: usize,
        end: usize,
    },
}

/// One row: its cells as far as they were read, and what was assigned.
#[derive(Default)]
struct Image {
    /// The cells not yet read; none when the record does not have this row.
    rest: Option<Cells<'static>>,
    seen: Vec<Cell<'static>>,
    /// What columns are that the record does not have: those that the script adds.
    added: Option<Cell<'static>>,
    /// Empty until a column is assigned.
    changes: Vec<Change>,
}

impl Image {
    fn begin(&mut self, cells: Option<Cells<'static>>, added: Option<Cell<'static>>) {
        self.rest = cells;
        self.added = added;
        self.seen.clear();
        self.changes.clear();
    }

    /// Writes the image: what was assigned, and between it the cells as they are.
    fn write(
        &self,
        writer: &mut BatchWriter,
        mut cells: Cells<'static>,
        columns: usize,
        values: &[u8],
    ) -> Result<(), DecodeError> {
        let mut column = 0;
        while column < columns {
            match self.changes.get(column) {
                None | Some(Change::Kept) => {
                    let kept = |change: &Change| matches!(change, Change::Kept);
                    let rest = self.changes.get(column..).unwrap_or_default();
                    let run = rest.iter().position(|change| !kept(change)).unwrap_or(columns - column);
                    let given = run.min(cells.size_hint().1.unwrap_or(0));
                    writer.raw_cells(cells.take_raw(given)?, given);
                    for _ in given..run {
                        writer.cell(self.added.ok_or(DecodeError::Truncated("row"))?);
                    }
                    column += run;
                    continue;
                }
                Some(Change::Null) => writer.null(),
                Some(&Change::Value { start, end }) => writer.value(&values[start..end]),
            }
            cells.take_raw(1)?;
            column += 1;
        }
        Ok(())
    }

    #[inline]
    fn cell(&mut self, column: usize) -> Result<Cell<'static>, DecodeError> {
        while self.seen.len() <= column {
            let cell = self.rest.as_mut().and_then(Iterator::next).or(self.added.map(Ok));
            self.seen.push(cell.unwrap_or(Err(DecodeError::Truncated("row")))?);
        }
        Ok(self.seen[column])
    }
}

/// The record of the current call. Between calls there is none.
#[derive(Default)]
pub struct Current {
    /// Grows with each record: a row that a script kept from an earlier one is known by it.
    generation: u64,
    row: Option<Row<'static>>,
    binding: usize,
    /// Of its table, with those that the script adds.
    columns: usize,
    new: Image,
    old: Image,
    before: Option<Before>,
    /// How many UUIDs were derived from the record.
    uuids: u32,
    /// Bytes of assigned values.
    values: Vec<u8>,
}

impl Current {
    /// Makes a row the current record. The caller calls [`Current::end`] before the row's batch goes.
    #[inline]
    pub fn begin(&mut self, row: &Row<'_>, binding: usize, columns: usize) -> u64 {
        // SAFETY: the caller's promise: what borrows from the row is forgotten in time.
        let row: Row<'static> = unsafe { std::mem::transmute::<Row<'_>, Row<'static>>(*row) };
        self.generation += 1;
        self.row = Some(row);
        self.binding = binding;
        self.columns = columns;
        reuse(&mut self.values);
        self.uuids = 0;
        // What a script added to the stored row stays unless it is assigned again.
        let of_new = if row.op() == Op::Insert { Cell::Null } else { Cell::Unchanged };
        let added = |cell| (columns > row.columns()).then_some(cell);
        self.new.begin(row.op().has_after().then(|| row.after()), added(of_new));
        self.before = None;
        self.old.begin(None, None);
        // An insert has no row before; those of others are found when asked for.
        if row.op() != Op::Insert
            && let Some((kind, cells)) = row.before()
        {
            self.before = Some(kind);
            self.old.begin(Some(cells), added(Cell::Unchanged));
        }
        self.generation
    }

    /// Forgets the record.
    pub fn end(&mut self) {
        self.row = None;
        self.new.begin(None, None);
        self.old.begin(None, None);
    }

    /// The record, if it still is the one of that generation.
    #[inline]
    pub fn row(&self, generation: u64) -> Option<&Row<'static>> {
        self.row.as_ref().filter(|_| self.generation == generation)
    }

    /// The generation of the current record.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// How many UUIDs were derived from the record before this one.
    pub fn count_uuid(&mut self) -> u32 {
        self.uuids += 1;
        self.uuids - 1
    }

    /// Where its table is among the bindings.
    #[inline]
    pub fn binding(&self) -> usize {
        self.binding
    }

    /// Whether the record has that row.
    #[inline]
    pub fn has(&self, which: Which) -> bool {
        match which {
            Which::New => self.new.rest.is_some(),
            Which::Old => self.old.rest.is_some(),
        }
    }

    fn image(&mut self, which: Which) -> &mut Image {
        match which {
            Which::New => &mut self.new,
            Which::Old => &mut self.old,
        }
    }

    /// A cell as the script has it by now.
    #[inline]
    pub fn cell(&mut self, which: Which, column: usize) -> Result<Cell<'_>, DecodeError> {
        let image = match which {
            Which::New => &mut self.new,
            Which::Old => &mut self.old,
        };
        match image.changes.get(column) {
            None | Some(Change::Kept) => image.cell(column),
            Some(Change::Null) => Ok(Cell::Null),
            Some(&Change::Value { start, end }) => Ok(Cell::Value(&self.values[start..end])),
        }
    }

    /// Assigns null to a column.
    pub fn set_null(&mut self, which: Which, column: usize, columns: usize) {
        self.set(which, column, columns, Change::Null);
    }

    /// Assigns what `write` appends to a column. When it fails, the column stays as it was.
    pub fn set_value<E>(
        &mut self,
        which: Which,
        column: usize,
        columns: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.forget_replaced();
        let start = self.values.len();
        if let Err(error) = write(&mut self.values) {
            self.values.truncate(start);
            return Err(error);
        }
        let end = self.values.len();
        self.set(which, column, columns, Change::Value { start, end });
        Ok(())
    }

    /// Bytes of the values that were assigned.
    pub fn assigned_bytes(&self) -> usize {
        self.values.len()
    }

    /// Forgets values that others were assigned over, when there are many bytes of them.
    #[inline]
    fn forget_replaced(&mut self) {
        if self.values.len() > ASSIGNED_BYTES_KEPT {
            self.forget_most();
        }
    }

    #[cold]
    fn forget_most(&mut self) {
        let live = |image: &Image| {
            let sizes = image.changes.iter().map(|change| match change {
                Change::Value { start, end } => end - start,
                Change::Kept | Change::Null => 0,
            });
            sizes.sum::<usize>()
        };
        let most = ASSIGNED_BYTES_KEPT.max(2 * (live(&self.new) + live(&self.old)));
        if self.values.len() <= most {
            return;
        }
        let mut kept = Vec::new();
        for change in self.new.changes.iter_mut().chain(&mut self.old.changes) {
            if let Change::Value { start, end } = change {
                let value = kept.len();
                kept.extend_from_slice(&self.values[*start..*end]);
                (*start, *end) = (value, kept.len());
            }
        }
        self.values = kept;
    }

    fn set(&mut self, which: Which, column: usize, columns: usize, change: Change) {
        let changes = &mut self.image(which).changes;
        if changes.is_empty() {
            changes.resize(columns, Change::Kept);
        }
        changes[column] = change;
    }

    /// Writes the record as the script has it: an untouched one in one copy.
    #[inline]
    pub fn write(&mut self, writer: &mut BatchWriter, table: TableIndex) -> Result<(), DecodeError> {
        let row = self.row.expect("a record is written while it is the current one");
        let is_as_given = self.new.changes.is_empty() && self.old.changes.is_empty();
        if is_as_given && self.columns == row.columns() {
            writer.append_row(&row, table);
            return Ok(());
        }
        let result = self.write_changed(writer, table, &row.header());
        if result.is_err() {
            writer.cancel_row();
        }
        result
    }

    fn write_changed(
        &mut self,
        writer: &mut BatchWriter,
        table: TableIndex,
        header: &RowHeader,
    ) -> Result<(), DecodeError> {
        let columns = self.columns;
        writer.begin_row(table, header);
        let row = self.row.expect("a record is written while it is the current one");
        if self.has(Which::New) {
            self.new.write(writer, row.after(), columns, &self.values)?;
        }
        if let Some((kind, cells)) = row.before().filter(|_| self.before.is_some()) {
            writer.begin_before(kind);
            self.old.write(writer, cells, columns, &self.values)?;
        }
        writer.end_row();
        Ok(())
    }
}
