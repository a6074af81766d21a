//! A relation whose rows are replicated.

use tarn_batch::{Table, TableIndex};
use tarn_sdk::{Description, Failure, Fill};

use super::Outgoing;
use super::doubt::Doubt;
use crate::attributes::Attributes;
use crate::catalog::CatalogTable;
use crate::entry::Entry;
use crate::lsn::Lsn;
use crate::mapped::Mapped;
use crate::mark::column_names::ColumnNames;
use crate::mark::{Again, Mark};
use crate::settings::MappedTable;
use crate::table_name::TableName;
use crate::value::Decoder;

/// A relation whose rows are replicated.
#[derive(Debug)]
pub(crate) struct Replicated {
    pub(super) oid: u32,
    pub(super) mapped: Mapped,
    /// What becomes of each column of its tuples.
    pub(super) cells: Vec<Cell>,
    loading: bool,
    lacks_rows: bool,
    /// When it came into the publication, where the stream is behind that.
    pub(super) entry: Option<Entry>,
    /// Whether its rows are read again.
    pub(super) again: Again,
    /// What rows hold in columns that were added after them.
    pub(super) fills: Vec<Fill>,
    /// Places of columns that the stream had before.
    pub(super) delivered: Vec<usize>,
    /// Columns that the mirror leaves out, as far as they are known.
    pub(super) excluded: ColumnNames,
    /// Whether its columns are what the stream had before.
    pub(super) novelty: Novelty,
    /// Columns that are left out, because it cannot be told which ones of the table they are.
    pub(super) doubt: Option<Doubt>,
    /// Its place in the batch of a generation.
    index: Option<(u64, TableIndex)>,
}

/// What a description says that the stream did not say before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Novelty {
    /// Nothing.
    None,
    /// It is the first one of this instance, with the columns that the stream had.
    First,
    /// Other columns than the stream had.
    Changed,
}

/// What becomes of a column of a tuple.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    Excluded,
    Decoded { decoder: Decoder, in_key: bool },
}

impl Replicated {
    pub(super) fn new(oid: u32, mapped: Mapped, cells: Vec<Cell>, mapping: &MappedTable) -> Self {
        Self {
            oid,
            mapped,
            cells,
            loading: mapping.loading,
            lacks_rows: mapping.lacks_rows,
            entry: None,
            again: Again::No,
            fills: Vec::new(),
            delivered: Vec::new(),
            excluded: ColumnNames::default(),
            novelty: Novelty::None,
            doubt: None,
            index: None,
        }
    }

    pub(super) fn table(&self) -> &Table {
        &self.mapped.table
    }

    pub(super) fn is_loading(&self) -> bool {
        self.loading
    }

    /// Whether a transaction's changes of it are in its load.
    #[inline]
    pub(super) fn is_loaded_with(&self, transaction: u32, commit: Lsn) -> bool {
        self.entry.is_some_and(|entry| entry.is_after(transaction, commit))
    }

    /// Whether the destination may lack the row that a change of this commit leaves values out of: its load has not
    /// brought it yet, or saw it gone.
    #[inline]
    pub(super) fn may_lack(&self, commit: Lsn) -> bool {
        self.loading || self.entry.is_some_and(|entry| commit < entry.until)
    }

    /// Whether the destination may lack what a change of this commit leaves out, and nothing says when it will not: the rows
    /// were written anew, or it never got them.
    #[inline]
    pub(super) fn lacks(&self, commit: Lsn) -> bool {
        self.lacks_rows || self.again.may_lack(commit)
    }

    /// The table as the host is told of it.
    pub(super) fn description(&self) -> Description {
        Description {
            table: self.mapped.table.clone(),
            fills: self.fills.clone(),
            delivered: self.delivered.clone(),
        }
    }

    pub(super) fn name(&self) -> TableName {
        TableName::new(self.mapped.table.schema.clone(), self.mapped.table.name.clone())
    }

    /// The numbers of its columns, where each is known.
    pub(super) fn attributes(&self) -> Option<Attributes> {
        let columns = &self.mapped.table.columns;
        let known = self.doubt.is_none() && columns.iter().all(|column| column.attribute != 0);
        known.then(|| columns.iter().map(|column| column.attribute).collect())
    }

    /// Whether a mark has what is known of its columns.
    pub(super) fn is_marked(&self, mark: &Mark) -> bool {
        let is_new = |number: i32| !mark.columns.excluded.contains(number);
        let is_delivered =
            |said: Attributes| said == mark.columns.delivered && self.names() == mark.columns.names;
        !self.excluded.numbers().any(is_new) && self.attributes().is_none_or(is_delivered)
    }

    /// Has a mark have what is known of its columns.
    pub(super) fn mark(&self, mark: &mut Mark) {
        mark.columns.excluded.add(&self.excluded);
        if let Some(said) = self.attributes() {
            (mark.columns.delivered, mark.columns.names) = (said, self.names());
        }
    }

    fn names(&self) -> ColumnNames {
        self.table().columns.iter().map(|column| (column.attribute, column.name.as_str())).collect()
    }

    /// The places of its columns that were delivered before and are there still. One that is gone by now may have been
    /// dropped while the mirror was set up, and then no target has it.
    pub(super) fn places_of(&self, delivered: &Attributes, catalog: &CatalogTable) -> Vec<usize> {
        let is_there = |number: i32| catalog.columns.iter().any(|column| column.attribute == number);
        let columns = self.mapped.table.columns.iter().enumerate();
        columns
            .filter(|(_, column)| delivered.contains(column.attribute) && is_there(column.attribute))
            .map(|(at, _)| at)
            .collect()
    }

    /// Its place in the batch, where it is put if need be.
    #[inline]
    pub(super) fn index_in(&mut self, out: &mut Outgoing) -> TableIndex {
        match self.index {
            Some((generation, index)) if generation == out.generation => index,
            _ => {
                let index = out.writer.add_table(&self.mapped.table);
                self.index = Some((out.generation, index));
                index
            }
        }
    }

    /// A partition that stands for its table cannot say that the table was emptied.
    pub(super) fn refuse_partial_truncate(&self) -> Result<(), Failure> {
        if self.oid == self.mapped.table.id {
            return Ok(());
        }
        let message =
            "a partition was truncated, and the publication does not publish by the partitioned table";
        Err(Failure::permanent("partition_truncated", message)
            .with_hint("set publish_via_partition_root on the publication and resync the mirror")
            .with_table(self.mapped.table.qualified_name()))
    }
}
