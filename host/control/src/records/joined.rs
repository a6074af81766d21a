//! Rows of several batches in one.

use std::collections::HashMap;

use bytes::Bytes;
use tarn_batch::{BatchWriter, Row, Table, TableIndex};
use tarn_model::Failure;
use tarn_replication::Batch;

/// Most tables of a batch: their numbers have two bytes, and one of them stands for none.
const TABLES_MAX: usize = u16::MAX as usize;

/// A batch in the making. Each table is in it once, however many batches bring it.
#[derive(Default)]
pub(super) struct Joined {
    writer: BatchWriter,
    tables: Vec<Table>,
    /// Where tables with a number and a version are.
    known: HashMap<(u32, u32), Vec<TableIndex>>,
}

impl Joined {
    /// A batch of about so many bytes.
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self { writer: BatchWriter::with_capacity(bytes), ..Self::default() }
    }

    /// Where the tables of a batch are in this one.
    pub(super) fn add_tables(&mut self, tables: &[Table]) -> Result<Vec<TableIndex>, Failure> {
        tables.iter().map(|table| self.add_table(table)).collect()
    }

    fn add_table(&mut self, table: &Table) -> Result<TableIndex, Failure> {
        let alike = self.known.entry((table.id, table.version)).or_default();
        if let Some(index) = alike.iter().find(|index| self.tables[usize::from(index.0)] == *table) {
            return Ok(*index);
        }
        if self.tables.len() >= TABLES_MAX {
            let message = format!("scripts made rows of more than {TABLES_MAX} tables of one batch");
            return Err(Failure::permanent("script_tables_too_many", message)
                .with_hint("let the script add the same columns to all rows of a table"));
        }
        let index = self.writer.add_table(table);
        alike.push(index);
        self.tables.push(table.clone());
        Ok(index)
    }

    /// Appends a row under the place of its table here.
    pub(super) fn append(&mut self, row: &Row<'_>, table: TableIndex) {
        self.writer.append_row(row, table);
    }

    /// The same with another ordinal in its version.
    pub(super) fn append_at(&mut self, row: &Row<'_>, table: TableIndex, ordinal: u64) {
        self.writer.append_row_at(row, table, ordinal);
    }

    pub(super) fn finish(self) -> Batch {
        Batch { rows: self.writer.rows(), bytes: Bytes::from(self.writer.finish()) }
    }
}
