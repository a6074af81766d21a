//! What the mapped tables were like at a place of the stream, kept with the position.
//!
//! The server tells a stream nothing of a table that was dropped and made again, of one that was written anew,
//! and of columns that a publication leaves out. Who was away cannot see it either, but for what was
//! remembered.

pub(crate) mod column_names;
pub(crate) mod columns;
mod form;
pub(crate) mod kept;
pub(crate) mod leaves;
pub(crate) mod primary_key;
pub(crate) mod written_forms;

use std::collections::HashSet;

use crate::attributes::Attributes;
use crate::catalog::{CatalogColumn, CatalogTable};
use crate::entry::Entry;
use crate::lsn::Lsn;
use crate::shapes::Shapes;
use crate::table_name::TableName;
use column_names::ColumnNames;
use columns::MarkedColumns;
use leaves::Leaves;
use primary_key::PrimaryKey;
use written_forms::WrittenForms;

/// A table as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    /// A digest of its name.
    name: u64,
    /// The server's number for it.
    pub(crate) oid: u32,
    /// The number of the file with its rows; 0 where it has none of its own.
    pub(crate) file: u32,
    pub(crate) columns: MarkedColumns,
    pub(crate) primary_key: PrimaryKey,
    /// When it came into the publication, while the stream is behind that and the table is, or was, loaded beside it.
    pub(crate) entry: Option<Entry>,
    /// Decimals with a bound on their digits.
    pub(crate) bounded: Attributes,
    /// How values are written; nothing before that was looked at.
    pub(crate) written: Option<WrittenForms>,
    /// The transaction that gave somebody else's publication a condition on its rows, 0 where there is none; nothing where
    /// that was not looked at.
    pub(crate) filtered_by: Option<u32>,
    /// Whether its rows are, or were, to be read again.
    pub(crate) again: Again,
    /// The partitions whose rows are to be read, where it is not those of all. An instance that starts from the position
    /// does not know them, and reads all.
    pub(crate) partitions: Vec<u32>,
    /// How many times this instance noticed that rows are to be read.
    pub(crate) noticed: u32,
}

impl Mark {
    fn new(name: u64, oid: u32, file: u32, delivered: Attributes) -> Self {
        Self {
            name,
            oid,
            file,
            columns: MarkedColumns { delivered, ..MarkedColumns::default() },
            primary_key: PrimaryKey::default(),
            entry: None,
            bounded: Attributes::default(),
            written: None,
            filtered_by: None,
            again: Again::No,
            partitions: Vec::new(),
            noticed: 0,
        }
    }

    /// What it says of the table's rows alone, which were read under the condition that this transaction made.
    pub(crate) fn of_rows(&self, filtered_by: Option<u32>) -> Self {
        Self {
            columns: MarkedColumns {
                delivered: Attributes::default(),
                names: ColumnNames::default(),
                ..self.columns.clone()
            },
            entry: None,
            filtered_by,
            noticed: 0,
            ..self.clone()
        }
    }

    /// Takes over what the catalog has of the table's rows.
    pub(crate) fn see(&mut self, table: &CatalogTable) {
        self.file = table.file;
        self.columns.see(table);
        self.bounded = columns::numbers(table, CatalogColumn::is_bounded);
        self.written = Some(WrittenForms::of(table));
        self.primary_key.begin(table.primary_key);
    }

    /// Whether reading the rows again brings, or brought, what they hold in a column that the stream had not. One that is
    /// generated still, and only published now, has nothing read; those of some partitions alone say nothing of the others.
    pub(crate) fn brings(&self, column: &CatalogColumn) -> bool {
        let is_stored_now = self.columns.generated.contains(column.attribute) && !column.generated;
        is_stored_now || (self.again != Again::No && self.partitions.is_empty())
    }

    /// Has the rows of some partitions read, or those of all.
    pub(crate) fn read_again(&mut self, partitions: Option<Vec<u32>>) {
        let is_all_due = self.again == Again::Due && self.partitions.is_empty();
        match partitions {
            Some(partitions) if !is_all_due => self.partitions.extend(partitions),
            _ => self.partitions.clear(),
        }
        self.again = Again::Due;
        self.noticed += 1;
    }

    /// Notes that no rows are to be read any more, but may have been.
    pub(crate) fn read_until(&mut self, until: Lsn) {
        self.again = Again::Until(until);
        self.partitions.clear();
    }
}

/// Whether the rows of a table that was written anew are read again ([`crate::stream`]'s `again`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Again {
    /// There is nothing to read.
    #[default]
    No,
    /// They have to be; or, for a mirror that reads none, what later changes leave out has to be, from there on.
    Due,
    /// They were, as they were before this place: the stream may be behind it.
    Until(Lsn),
}

impl Again {
    /// Whether the destination may lack what a change of this commit leaves out.
    #[inline]
    pub(crate) fn may_lack(self, commit: Lsn) -> bool {
        match self {
            Self::No => false,
            Self::Due => true,
            Self::Until(until) => commit < until,
        }
    }

    /// As a number: one after the last place stands for rows that are still to be read.
    fn to_number(self) -> Option<u64> {
        match self {
            Self::No => None,
            Self::Due => Some(u64::MAX),
            Self::Until(Lsn(until)) => Some(until),
        }
    }

    fn from_number(number: u64) -> Self {
        if number == u64::MAX { Self::Due } else { Self::Until(Lsn(number)) }
    }
}

/// Marks of the mapped tables, each with a name of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// What was changed by an earlier transaction than this was seen when the tables were last looked at;
    /// 0 before that.
    pub(crate) horizon: u64,
    /// The partitions that they had then.
    pub(crate) leaves: Leaves,
    /// What the types of their columns were like.
    pub(crate) shapes: Shapes,
    /// In the order of their names' digests: a mirror may have ten thousand.
    tables: Vec<Mark>,
}

impl Marks {
    /// No table is marked yet.
    pub(crate) fn new(horizon: u64) -> Self {
        Self { horizon, ..Self::default() }
    }

    pub(crate) fn get(&self, name: &TableName) -> Option<&Mark> {
        self.place(digest(name)).ok().map(|at| &self.tables[at])
    }

    pub(crate) fn get_mut(&mut self, name: &TableName) -> Option<&mut Mark> {
        self.place(digest(name)).ok().map(|at| &mut self.tables[at])
    }

    /// Marks a table that has no mark yet.
    pub(crate) fn add(&mut self, name: &TableName, oid: u32, file: u32, delivered: Attributes) {
        let name = digest(name);
        if let Err(at) = self.place(name) {
            self.tables.insert(at, Mark::new(name, oid, file, delivered));
        }
    }

    /// Forgets by which transactions publications got conditions on rows.
    pub(crate) fn forget_filters(&mut self) {
        self.tables.iter_mut().for_each(|mark| mark.filtered_by = None);
    }

    /// Forgets the marks of all tables but these.
    pub(crate) fn keep<'a>(&mut self, names: impl IntoIterator<Item = &'a TableName>) {
        let names: HashSet<u64> = names.into_iter().map(digest).collect();
        self.tables.retain(|mark| names.contains(&mark.name));
    }

    /// Has a table's mark be this one, or none.
    pub(crate) fn replace(&mut self, name: &TableName, mark: Option<Mark>) {
        let name = digest(name);
        let at = self.place(name);
        if let Ok(at) = at {
            self.tables.remove(at);
        }
        if let Some(mark) = mark {
            debug_assert_eq!(mark.name, name, "the mark is of the table");
            let (Ok(at) | Err(at)) = at;
            self.tables.insert(at, mark);
        }
    }

    /// Moves the places of the entries on: the stream is behind them still.
    pub(crate) fn extend_entries(&mut self, until: Lsn) {
        for entry in self.tables.iter_mut().filter_map(|mark| mark.entry.as_mut()) {
            entry.until = entry.until.max(until);
        }
    }

    /// Forgets the entries, the rows that were read again, and the primary keys from before, that the stream has passed.
    pub(crate) fn pass(&mut self, end: Lsn) {
        for mark in &mut self.tables {
            mark.entry = mark.entry.filter(|entry| entry.until > end);
            if matches!(mark.again, Again::Until(until) if until <= end) {
                mark.again = Again::No;
            }
            mark.primary_key.pass(end);
        }
    }

    /// The first place, of those that are ahead, at which something is passed; the last one there is where nothing will be.
    fn next_passed(&self) -> Lsn {
        let entries = self.tables.iter().filter_map(|mark| Some(mark.entry?.until));
        let again = self.tables.iter().filter_map(|mark| match mark.again {
            Again::Until(until) => Some(until),
            Again::No | Again::Due => None,
        });
        let keys = self.tables.iter().filter_map(|mark| mark.primary_key.until());
        entries.chain(again).chain(keys).min().unwrap_or(Lsn(u64::MAX))
    }

    /// Whether rows of a table have to be read again.
    pub(crate) fn is_any_due(&self) -> bool {
        self.tables.iter().any(|mark| mark.again == Again::Due)
    }

    /// Where the mark of a name is, or belongs.
    fn place(&self, name: u64) -> Result<usize, usize> {
        self.tables.binary_search_by_key(&name, |mark| mark.name)
    }
}

/// A 64-bit FNV-1a hash of a name: names of hundreds of tables would make every position long.
fn digest(name: &TableName) -> u64 {
    let bytes = name.schema.bytes().chain([0]).chain(name.name.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::fixture;

    #[test]
    fn a_generated_column_that_is_only_published_now_is_not_read_again() {
        let generated = CatalogColumn { generated: true, ..fixture::column(2, "g") };
        let stored = CatalogColumn { generated: false, ..generated.clone() };
        let mut mark = Mark::new(1, 7, 8, Attributes::default());
        mark.see(&fixture::table([generated.clone()]));
        assert!(!mark.brings(&generated) && mark.brings(&stored));
        mark.read_again(Some(vec![9]));
        assert!(!mark.brings(&generated), "rows of one partition");
        mark.read_again(None);
        assert!(mark.brings(&generated));
    }
}
