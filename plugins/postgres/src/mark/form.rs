//! The form of marks in a position: numbers are little-endian, and a table is told by the digest of its name (8 bytes).
//!
//! - the [partitions](Leaves::write) of tables;
//! - how many bytes there are of [primary keys](PrimaryKey::write) (4), and these, table by table;
//! - how many bytes there are of [names](ColumnNames::write) of columns (4), and these, table by table: of those that the stream
//!   had, then of those that are, or were, generated;
//! - how many bytes there are of how values are [written](WrittenForms::write) (4), and these, table by table;
//! - how many tables have columns that are [stored](Mark::stored) by now, or left out (4), and each with the sets of these, and the
//!   [names](ColumnNames::write) of the latter;
//! - the [shapes](crate::shapes::Shapes::write) of types;
//! - how many have generated columns, bounded decimals or a condition on rows (4), and each with the two sets of columns and
//!   the condition's transaction (4);
//! - how many are read again (4), and each with the place (8, all bits set where it is still to be read);
//! - how many [entries](Entry) there are (4), and each with the transaction (4) and the place (8);
//! - the horizon (8);
//! - each table with its number, its file's (4 each), and the set of columns that the stream had.
//!
//! What was added came to the front, so that earlier forms are read from the first part that they have.

use super::column_names::ColumnNames;
use super::leaves::Leaves;
use super::primary_key::PrimaryKey;
use super::written_forms::WrittenForms;
use super::{Again, Mark, Marks};
use crate::attributes::Attributes;
use crate::entry::Entry;
use crate::lsn::Lsn;
use crate::shapes::Shapes;

/// Stands for a transaction that is not known: that of a cluster's making.
const UNKNOWN: u32 = 1;

impl Marks {
    /// Appends the marks.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        self.leaves.write(out);
        let mut write_part = |write: fn(&Mark, &mut Vec<u8>)| {
            let mut part = Vec::new();
            self.tables.iter().for_each(|mark| write(mark, &mut part));
            write_count(part.len(), out);
            out.extend_from_slice(&part);
        };
        write_part(|mark, part| mark.primary_key.write(part));
        write_part(|mark, part| {
            let columns = &mark.columns;
            columns.names.write(&columns.delivered, part);
            columns.generated_names.write(&columns.once_generated(), part);
        });
        write_part(|mark, part| WrittenForms::write(mark.written.as_ref(), part));
        let has_any = |mark: &&Mark| !mark.columns.stored.is_empty() || !mark.columns.excluded.is_empty();
        let stored: Vec<&Mark> = self.tables.iter().filter(has_any).collect();
        write_count(stored.len(), out);
        for mark in stored {
            out.extend_from_slice(&mark.name.to_le_bytes());
            mark.columns.stored.write(out);
            let excluded: Attributes = mark.columns.excluded.numbers().collect();
            excluded.write(out);
            mark.columns.excluded.write(&excluded, out);
        }
        self.shapes.write(out);
        let filtered_by = |mark: &Mark| mark.filtered_by.unwrap_or(UNKNOWN);
        let is_special = |mark: &&Mark| {
            !mark.columns.generated.is_empty() || !mark.bounded.is_empty() || filtered_by(mark) != 0
        };
        let special: Vec<&Mark> = self.tables.iter().filter(is_special).collect();
        write_count(special.len(), out);
        for mark in special {
            out.extend_from_slice(&mark.name.to_le_bytes());
            mark.columns.generated.write(out);
            mark.bounded.write(out);
            out.extend_from_slice(&filtered_by(mark).to_le_bytes());
        }
        let again = self.tables.iter().filter_map(|mark| Some((mark.name, mark.again.to_number()?)));
        let again: Vec<(u64, u64)> = again.collect();
        write_count(again.len(), out);
        for (name, until) in again {
            out.extend_from_slice(&name.to_le_bytes());
            out.extend_from_slice(&until.to_le_bytes());
        }
        let entries = self.tables.iter().filter_map(|mark| Some((mark.name, mark.entry?)));
        let entries: Vec<(u64, Entry)> = entries.collect();
        write_count(entries.len(), out);
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
            mark.columns.delivered.write(out);
        }
    }

    /// Reads marks up to the end of the bytes; nothing where they are none.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (leaves, rest) = Leaves::read(bytes)?;
        let (mut keys, rest) = read_part(rest)?;
        let (mut names, rest) = read_part(rest)?;
        let (mut written, rest) = read_part(rest)?;
        let mut marks = Self { leaves, ..Self::read_with_stored(rest)? };
        for mark in &mut marks.tables {
            (mark.primary_key, keys) = PrimaryKey::read(keys)?;
            let columns = &mut mark.columns;
            (columns.names, names) = ColumnNames::read(&columns.delivered, names)?;
            (columns.generated_names, names) = ColumnNames::read(&columns.once_generated(), names)?;
            (mark.written, written) = WrittenForms::read(written)?;
        }
        (keys.is_empty() && names.is_empty() && written.is_empty()).then_some(marks)
    }

    /// The same of bytes without partitions, primary keys, names of columns, and how values are written.
    fn read_with_stored(bytes: &[u8]) -> Option<Self> {
        let (stored, rest) = read_list(bytes, |bytes| {
            let (stored, rest) = Attributes::read(bytes)?;
            let (excluded, rest) = Attributes::read(rest)?;
            let (excluded, rest) = ColumnNames::read(&excluded, rest)?;
            Some(((stored, excluded), rest))
        })?;
        let mut marks = Self::read_with_shapes(rest)?;
        for (name, (stored, excluded)) in stored {
            let at = marks.place(name).ok()?;
            let columns = &mut marks.tables[at].columns;
            (columns.stored, columns.excluded) = (stored, excluded);
        }
        Some(marks)
    }

    /// The same of bytes from version 8.
    pub(crate) fn read_with_shapes(bytes: &[u8]) -> Option<Self> {
        let (shapes, rest) = Shapes::read(bytes)?;
        Some(Self { shapes, ..Self::read_with_sorts(rest)? })
    }

    /// The same of bytes from when nothing was said of types.
    pub(crate) fn read_with_sorts(bytes: &[u8]) -> Option<Self> {
        let (special, rest) = read_list(bytes, |bytes| {
            let (generated, rest) = Attributes::read(bytes)?;
            let (bounded, rest) = Attributes::read(rest)?;
            let (filtered_by, rest) = rest.split_first_chunk()?;
            Some(((generated, bounded, u32::from_le_bytes(*filtered_by)), rest))
        })?;
        let mut marks = Self::read_with_again(rest)?;
        marks.tables.iter_mut().for_each(|mark| mark.filtered_by = Some(0));
        let known = |number: u32| (number != UNKNOWN).then_some(number);
        for (name, (generated, bounded, filtered_by)) in special {
            let at = marks.place(name).ok()?;
            let mark = &mut marks.tables[at];
            (mark.columns.generated, mark.bounded, mark.filtered_by) =
                (generated, bounded, known(filtered_by));
        }
        Some(marks)
    }

    /// The same of bytes from when nothing was said of sorts of columns.
    pub(crate) fn read_with_again(bytes: &[u8]) -> Option<Self> {
        let (again, rest) = read_list(bytes, |bytes| {
            let (until, rest) = bytes.split_first_chunk()?;
            Some((Again::from_number(u64::from_le_bytes(*until)), rest))
        })?;
        let mut marks = Self::read_with_entries(rest)?;
        for (name, again) in again {
            let at = marks.place(name).ok()?;
            marks.tables[at].again = again;
        }
        Some(marks)
    }

    /// The same of bytes from when no table was read again.
    pub(crate) fn read_with_entries(bytes: &[u8]) -> Option<Self> {
        let (entries, rest) = read_list(bytes, |bytes| {
            let (transaction, rest) = bytes.split_first_chunk()?;
            let (until, rest) = rest.split_first_chunk()?;
            let (transaction, until) = (u32::from_le_bytes(*transaction), Lsn(u64::from_le_bytes(*until)));
            Some((Entry { transaction, until }, rest))
        })?;
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
}

/// A value, and what follows it.
type Read<'a, T> = (T, &'a [u8]);

/// What is said of some tables, each by the digest of its name, behind how many there are; and what follows it.
fn read_list<'a, T>(
    bytes: &'a [u8],
    read: impl Fn(&'a [u8]) -> Option<Read<'a, T>>,
) -> Option<Read<'a, Vec<(u64, T)>>> {
    let (count, mut rest) = bytes.split_first_chunk()?;
    let mut list = Vec::new();
    for _ in 0..u32::from_le_bytes(*count) {
        let (name, after) = rest.split_first_chunk()?;
        let (said, after) = read(after)?;
        list.push((u64::from_le_bytes(*name), said));
        rest = after;
    }
    Some((list, rest))
}

/// A part that begins with how many bytes it has, and what follows it.
fn read_part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (count, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u32::from_le_bytes(*count).try_into().ok()?)
}

fn write_count(count: usize, out: &mut Vec<u8>) {
    let count = u32::try_from(count).expect("a database has fewer tables than numbers for them");
    out.extend_from_slice(&count.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{CatalogColumn, fixture};
    use crate::table_name::TableName;

    #[test]
    fn marks_read_as_they_were_written_and_are_found_by_name() {
        let mut marks = Marks::new(5_000_000_000);
        let names = [TableName::new("a", "b.c"), TableName::new("a.b", "c")];
        marks.add(&names[0], 7, 8, [1, 2, 9].into_iter().collect());
        marks.add(&names[1], 4_000_000_000, 0, Attributes::default());
        marks.add(&names[1], 1, 1, Attributes::default());
        let mark = marks.get_mut(&names[0]).expect("it is marked");
        mark.filtered_by = Some(0);
        mark.columns.names = [(1, "a"), (9, "b")].into_iter().collect();
        mark.written = Some(WrittenForms::of(&fixture::table([CatalogColumn {
            written_by: 1799,
            ..fixture::column(9, "b")
        }])));
        marks.get_mut(&names[1]).expect("it is marked").written = Some(WrittenForms::default());
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
        (mark.columns.generated, mark.bounded) = ([3].into_iter().collect(), [1, 900].into_iter().collect());
        mark.columns.generated_names = [(3, "g"), (4, "s")].into_iter().collect();
        (mark.columns.stored, mark.filtered_by) = ([4].into_iter().collect(), Some(800));
        mark.primary_key.begin(4_000_000_001);
        mark.columns.excluded.extend([(3, "secret"), (5, "x")]);
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
