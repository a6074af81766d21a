//! What the mapped tables were like at a place of the stream, kept with the position.
//!
//! The server tells a stream nothing of a table that was dropped and made again, of one that was written anew,
//! and of columns that a publication leaves out. Who was away cannot see it either, but for what was
//! remembered.

pub(crate) mod kept;
pub(crate) mod leaves;

use std::collections::HashSet;

use crate::attributes::Attributes;
use crate::catalog::{CatalogColumn, CatalogTable};
use crate::entry::Entry;
use crate::lsn::Lsn;
use crate::shapes::Shapes;
use crate::table_name::TableName;
use leaves::Leaves;

/// Stands for a transaction that is not known: that of a cluster's making.
const UNKNOWN: u32 = 1;

/// A table as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    /// A digest of its name.
    name: u64,
    /// The server's number for it.
    pub(crate) oid: u32,
    /// The number of the file with its rows; 0 where it has none of its own.
    pub(crate) file: u32,
    /// The columns that the stream last said it has; none before it described the table.
    pub(crate) delivered: Attributes,
    /// When it came into the publication, while the stream is behind that and the table is, or was, loaded beside it.
    pub(crate) entry: Option<Entry>,
    /// Columns that were generated, which neither load nor stream has unless a publication has them. Those that were dropped
    /// stay: the stream may be behind that.
    pub(crate) generated: Attributes,
    /// Columns that were generated, are stored by now, and were not delivered since: the stream may be behind that.
    pub(crate) stored: Attributes,
    /// Decimals with a bound on their digits.
    pub(crate) bounded: Attributes,
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
            delivered,
            entry: None,
            generated: Attributes::default(),
            stored: Attributes::default(),
            bounded: Attributes::default(),
            filtered_by: None,
            again: Again::No,
            partitions: Vec::new(),
            noticed: 0,
        }
    }

    /// What it says of the table's rows alone, which were read under the condition that this transaction made.
    pub(crate) fn of_rows(&self, filtered_by: Option<u32>) -> Self {
        Self { delivered: Attributes::default(), entry: None, filtered_by, noticed: 0, ..self.clone() }
    }

    /// Takes over what the catalog has of the table's rows.
    pub(crate) fn see(&mut self, table: &CatalogTable) {
        let those = |has: fn(&CatalogColumn) -> bool| {
            table.columns.iter().filter(|column| has(column)).map(|column| column.attribute).collect()
        };
        self.file = table.file;
        let generated: Attributes = those(|column| column.generated);
        let is_there = |number: &i32| table.columns.iter().any(|column| column.attribute == *number);
        let were: Attributes = self.generated.numbers().chain(self.stored.numbers()).collect();
        let (there, gone): (Vec<i32>, Vec<i32>) = were.numbers().partition(is_there);
        let is_behind = |number: &i32| !generated.contains(*number) && !self.delivered.contains(*number);
        self.stored = there.into_iter().filter(is_behind).collect();
        self.generated = generated.numbers().chain(gone).collect();
        self.bounded = those(CatalogColumn::is_bounded);
    }

    /// Whether reading the rows again brings, or brought, what they hold in a column that the stream had not. One that is
    /// generated still, and only published now, has nothing read; those of some partitions alone say nothing of the others.
    pub(crate) fn brings(&self, column: &CatalogColumn) -> bool {
        let is_stored_now = self.generated.contains(column.attribute) && !column.generated;
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

    /// Forgets the entries, and the rows that were read again, that the stream has passed.
    pub(crate) fn pass(&mut self, end: Lsn) {
        for mark in &mut self.tables {
            mark.entry = mark.entry.filter(|entry| entry.until > end);
            if matches!(mark.again, Again::Until(until) if until <= end) {
                mark.again = Again::No;
            }
        }
    }

    /// The first place, of those that are ahead, at which something is passed; the last one there is where nothing will be.
    fn next_passed(&self) -> Lsn {
        let entries = self.tables.iter().filter_map(|mark| Some(mark.entry?.until));
        let again = self.tables.iter().filter_map(|mark| match mark.again {
            Again::Until(until) => Some(until),
            Again::No | Again::Due => None,
        });
        entries.chain(again).min().unwrap_or(Lsn(u64::MAX))
    }

    /// Appends the marks: the [partitions](Leaves::write) of tables; how many tables have columns that are [stored](Mark::stored)
    /// by now (4 bytes), and each with the digest of its name (8) and the set of columns; the [shapes](Shapes::write) of types; how many tables have generated columns, bounded decimals or a
    /// condition on rows (4 bytes), and each with the digest of its name (8), the two sets of columns and the condition's transaction (4); how many tables are read
    /// again (4), and each with the digest of its name (8) and the place (8, all bits set where it is still to be read); how
    /// many entries there are (4), and each with the digest of the table's name (8), the transaction (4) and the place (8);
    /// the horizon (8), then for each table the digest of its name (8), its number and its file's (4 each), and the columns.
    /// Numbers are little-endian.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        self.leaves.write(out);
        let stored: Vec<&Mark> = self.tables.iter().filter(|mark| !mark.stored.is_empty()).collect();
        let count = u32::try_from(stored.len()).expect("a database has fewer tables than numbers for them");
        out.extend_from_slice(&count.to_le_bytes());
        for mark in stored {
            out.extend_from_slice(&mark.name.to_le_bytes());
            mark.stored.write(out);
        }
        self.shapes.write(out);
        let filtered_by = |mark: &Mark| mark.filtered_by.unwrap_or(UNKNOWN);
        let is_special =
            |mark: &&Mark| !mark.generated.is_empty() || !mark.bounded.is_empty() || filtered_by(mark) != 0;
        let special: Vec<&Mark> = self.tables.iter().filter(is_special).collect();
        let count = u32::try_from(special.len()).expect("a database has fewer tables than numbers for them");
        out.extend_from_slice(&count.to_le_bytes());
        for mark in special {
            out.extend_from_slice(&mark.name.to_le_bytes());
            mark.generated.write(out);
            mark.bounded.write(out);
            out.extend_from_slice(&filtered_by(mark).to_le_bytes());
        }
        let again = self.tables.iter().filter_map(|mark| Some((mark.name, mark.again.to_number()?)));
        let again: Vec<(u64, u64)> = again.collect();
        let count = u32::try_from(again.len()).expect("a database has fewer tables than numbers for them");
        out.extend_from_slice(&count.to_le_bytes());
        for (name, until) in again {
            out.extend_from_slice(&name.to_le_bytes());
            out.extend_from_slice(&until.to_le_bytes());
        }
        let entries = self.tables.iter().filter_map(|mark| Some((mark.name, mark.entry?)));
        let entries: Vec<(u64, Entry)> = entries.collect();
        let count = u32::try_from(entries.len()).expect("a database has fewer tables than numbers for them");
        out.extend_from_slice(&count.to_le_bytes());
        for (name, entry) in entries {
            out.extend_from_slice(&name.to_le_bytes());
            out.extend_from_slice(&entry.transaction.to_le_bytes());
            out.extend_from_slice(&entry.until.0.to_le_bytes());
        }
        out.extend_from_slice(&self.horizon.to_le_bytes());
        for mark in &self.tables {
            out.extend_from_slice(&mark.name.to_le_bytes());
            out.extend_from_slice(&mark.oid.to_le_bytes());
            out.extend_from_slice(&mark.file.to_le_bytes());
            mark.delivered.write(out);
        }
    }

    /// Reads marks up to the end of the bytes; nothing where they are none.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (leaves, rest) = Leaves::read(bytes)?;
        Some(Self { leaves, ..Self::read_with_stored(rest)? })
    }

    /// The same of bytes without partitions.
    fn read_with_stored(bytes: &[u8]) -> Option<Self> {
        let (count, mut rest) = bytes.split_first_chunk()?;
        let mut stored = Vec::new();
        for _ in 0..u32::from_le_bytes(*count) {
            let (name, after) = rest.split_first_chunk()?;
            let (columns, after) = Attributes::read(after)?;
            stored.push((u64::from_le_bytes(*name), columns));
            rest = after;
        }
        let mut marks = Self::read_with_shapes(rest)?;
        for (name, columns) in stored {
            let at = marks.place(name).ok()?;
            marks.tables[at].stored = columns;
        }
        Some(marks)
    }

    /// The same of bytes from when nothing was said of partitions, and of columns that are stored by now.
    pub(crate) fn read_with_shapes(bytes: &[u8]) -> Option<Self> {
        let (shapes, rest) = Shapes::read(bytes)?;
        Some(Self { shapes, ..Self::read_with_sorts(rest)? })
    }

    /// The same of bytes from when nothing was said of types.
    pub(crate) fn read_with_sorts(bytes: &[u8]) -> Option<Self> {
        let (count, mut rest) = bytes.split_first_chunk()?;
        let mut special = Vec::new();
        for _ in 0..u32::from_le_bytes(*count) {
            let (name, after) = rest.split_first_chunk()?;
            let (generated, after) = Attributes::read(after)?;
            let (bounded, after) = Attributes::read(after)?;
            let (filtered_by, after) = after.split_first_chunk()?;
            special.push((u64::from_le_bytes(*name), generated, bounded, u32::from_le_bytes(*filtered_by)));
            rest = after;
        }
        let mut marks = Self::read_with_again(rest)?;
        marks.tables.iter_mut().for_each(|mark| mark.filtered_by = Some(0));
        let known = |number: u32| (number != UNKNOWN).then_some(number);
        for (name, generated, bounded, filtered_by) in special {
            let at = marks.place(name).ok()?;
            let mark = &mut marks.tables[at];
            (mark.generated, mark.bounded, mark.filtered_by) = (generated, bounded, known(filtered_by));
        }
        Some(marks)
    }

    /// The same of bytes from when nothing was said of sorts of columns.
    pub(crate) fn read_with_again(bytes: &[u8]) -> Option<Self> {
        let (count, mut rest) = bytes.split_first_chunk()?;
        let mut again = Vec::new();
        for _ in 0..u32::from_le_bytes(*count) {
            let (name, after) = rest.split_first_chunk()?;
            let (until, after) = after.split_first_chunk()?;
            again.push((u64::from_le_bytes(*name), Again::from_number(u64::from_le_bytes(*until))));
            rest = after;
        }
        let mut marks = Self::read_with_entries(rest)?;
        for (name, again) in again {
            let at = marks.place(name).ok()?;
            marks.tables[at].again = again;
        }
        Some(marks)
    }

    /// The same of bytes from when no table was read again.
    pub(crate) fn read_with_entries(bytes: &[u8]) -> Option<Self> {
        let (count, mut rest) = bytes.split_first_chunk()?;
        let mut entries = Vec::new();
        for _ in 0..u32::from_le_bytes(*count) {
            let (name, after) = rest.split_first_chunk()?;
            let (transaction, after) = after.split_first_chunk()?;
            let (until, after) = after.split_first_chunk()?;
            let (transaction, until) = (u32::from_le_bytes(*transaction), Lsn(u64::from_le_bytes(*until)));
            entries.push((u64::from_le_bytes(*name), Entry { transaction, until }));
            rest = after;
        }
        let mut marks = Self::read_without_entries(rest)?;
        for (name, entry) in entries {
            let at = marks.place(name).ok()?;
            marks.tables[at].entry = Some(entry);
        }
        Some(marks)
    }

    /// The same of bytes from when there were no entries.
    pub(crate) fn read_without_entries(bytes: &[u8]) -> Option<Self> {
        let (horizon, mut rest) = bytes.split_first_chunk()?;
        let mut tables = Vec::new();
        while !rest.is_empty() {
            let (name, after) = rest.split_first_chunk()?;
            let (oid, after) = after.split_first_chunk()?;
            let (file, after) = after.split_first_chunk()?;
            let (delivered, after) = Attributes::read(after)?;
            let (oid, file) = (u32::from_le_bytes(*oid), u32::from_le_bytes(*file));
            let name = u64::from_le_bytes(*name);
            tables.push(Mark::new(name, oid, file, delivered));
            rest = after;
        }
        tables.sort_by_key(|mark| mark.name);
        Some(Self { horizon: u64::from_le_bytes(*horizon), tables, ..Self::default() })
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

    #[test]
    fn marks_read_as_they_were_written_and_are_found_by_name() {
        let mut marks = Marks::new(5_000_000_000);
        let names = [TableName::new("a", "b.c"), TableName::new("a.b", "c")];
        marks.add(&names[0], 7, 8, [1, 2, 9].into_iter().collect());
        marks.add(&names[1], 4_000_000_000, 0, Attributes::default());
        marks.add(&names[1], 1, 1, Attributes::default());
        marks.get_mut(&names[0]).expect("it is marked").filtered_by = Some(0);
        let mut bytes = Vec::new();
        marks.write(&mut bytes);
        assert_eq!(Marks::read(&bytes), Some(marks.clone()));
        assert_eq!(Marks::read(&bytes[..bytes.len() - 1]), None);
        assert_eq!(marks.get(&names[1]).map(|mark| mark.oid), Some(4_000_000_000));
        marks.get_mut(&names[1]).expect("it is marked").entry =
            Some(Entry { transaction: 3, until: Lsn(70) });
        bytes.clear();
        marks.write(&mut bytes);
        assert_eq!(Marks::read(&bytes), Some(marks.clone()));
        marks.pass(Lsn(69));
        assert!(marks.get(&names[1]).is_some_and(|mark| mark.entry.is_some()));
        marks.pass(Lsn(70));
        let mark = marks.get_mut(&names[0]).expect("it is marked");
        (mark.generated, mark.bounded) = ([3].into_iter().collect(), [1, 900].into_iter().collect());
        (mark.stored, mark.filtered_by) = ([4].into_iter().collect(), Some(800));
        for again in [Again::Due, Again::Until(Lsn(90))] {
            marks.get_mut(&names[0]).expect("it is marked").again = again;
            bytes.clear();
            marks.write(&mut bytes);
            assert_eq!(Marks::read(&bytes), Some(marks.clone()));
        }
        assert!(marks.get(&names[0]).is_some_and(|mark| mark.again.may_lack(Lsn(89))));
        marks.pass(Lsn(90));
        assert!(marks.get(&names[0]).is_some_and(|mark| mark.again == Again::No));
        marks.keep([&names[1]]);
        assert_eq!((marks.get(&names[0]), marks.get(&names[1]).is_some()), (None, true));
    }
}
