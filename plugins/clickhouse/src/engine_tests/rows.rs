//! Batches, written by hand.

use tarn_batch::{BatchWriter, Before, Op, RowHeader, Table, TableIndex, Version};

/// A cell.
#[derive(Debug, Clone)]
pub(super) enum V {
    Null,
    Unchanged,
    Bytes(Vec<u8>),
}

pub(super) fn int(value: i64) -> V {
    V::Bytes(value.to_le_bytes().to_vec())
}

pub(super) fn int4(value: i32) -> V {
    V::Bytes(value.to_le_bytes().to_vec())
}

pub(super) fn text(value: &str) -> V {
    V::Bytes(value.as_bytes().to_vec())
}

/// A batch in the making. Every row commits after the one before.
pub(super) struct Rows {
    writer: BatchWriter,
    pub(super) table: TableIndex,
    columns: usize,
    pub(super) commit: u64,
}

impl Rows {
    /// Rows of a table, the first of which commits at `commit`.
    pub(super) fn new(table: &Table, commit: u64) -> Self {
        let mut writer = BatchWriter::with_capacity(0);
        let index = writer.add_table(table);
        Self { writer, table: index, columns: table.columns.len(), commit }
    }

    /// What follows is of another table, or of another version of it.
    pub(super) fn of(&mut self, table: &Table) -> &mut Self {
        self.table = self.writer.add_table(table);
        self.columns = table.columns.len();
        self
    }

    fn begin(&mut self, op: Op) {
        let version = Version { commit: self.commit, ordinal: 0 };
        self.commit += 1;
        let header = RowHeader { op, version, commit_time_us: RowHeader::TIME_UNKNOWN, transaction: 0 };
        self.writer.begin_row(self.table, &header);
    }

    fn cells(&mut self, cells: &[V]) {
        assert_eq!(cells.len(), self.columns);
        for cell in cells {
            match cell {
                V::Null => self.writer.null(),
                V::Unchanged => self.writer.unchanged(),
                V::Bytes(bytes) => self.writer.value(bytes),
            }
        }
    }

    /// A before-image of the key, which is the first column.
    fn key(&mut self, key: V) {
        let mut cells = vec![V::Unchanged; self.columns];
        cells[0] = key;
        self.writer.begin_before(Before::Key);
        self.cells(&cells);
    }

    pub(super) fn insert(&mut self, cells: &[V]) -> &mut Self {
        self.begin(Op::Insert);
        self.cells(cells);
        self.writer.end_row();
        self
    }

    pub(super) fn update(&mut self, cells: &[V]) -> &mut Self {
        self.begin(Op::Update);
        self.cells(cells);
        self.writer.end_row();
        self
    }

    pub(super) fn update_key(&mut self, old: V, cells: &[V]) -> &mut Self {
        self.begin(Op::Update);
        self.cells(cells);
        self.key(old);
        self.writer.end_row();
        self
    }

    /// An update with the whole row before it.
    pub(super) fn update_full(&mut self, before: &[V], cells: &[V]) -> &mut Self {
        self.begin(Op::Update);
        self.cells(cells);
        self.writer.begin_before(Before::Full);
        self.cells(before);
        self.writer.end_row();
        self
    }

    pub(super) fn delete(&mut self, key: V) -> &mut Self {
        self.begin(Op::Delete);
        self.key(key);
        self.writer.end_row();
        self
    }

    pub(super) fn delete_full(&mut self, before: &[V]) -> &mut Self {
        self.begin(Op::Delete);
        self.writer.begin_before(Before::Full);
        self.cells(before);
        self.writer.end_row();
        self
    }

    pub(super) fn truncate(&mut self) -> &mut Self {
        self.begin(Op::Truncate);
        self.writer.end_row();
        self
    }

    pub(super) fn batch(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.writer).finish()
    }
}
