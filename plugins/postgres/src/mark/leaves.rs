//! The partitions of partitioned tables, as they were at the last look.
//!
//! Who looks first after nobody looked compares with these, as who looks again and again does.

use std::collections::BTreeMap;

/// The partitions with rows of their own of each partitioned table, by its number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Leaves(BTreeMap<u32, TableLeaves>);

/// Those of one table, by their numbers.
pub(crate) type TableLeaves = BTreeMap<u32, Leaf>;

/// A partition with rows of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// The number of the file with its rows.
    pub(crate) file: u32,
    /// A sum of the transactions that put it below its table, and each table between the two: another one where it left and
    /// came back. The marks' horizon does not tell that, for a transaction that goes on holds it back.
    pub(crate) links: u32,
}

impl Leaves {
    /// The partitions of a table; nothing where nobody looked at them.
    pub(crate) fn get(&self, table: u32) -> Option<&TableLeaves> {
        self.0.get(&table)
    }

    pub(crate) fn set(&mut self, table: u32, leaves: TableLeaves) {
        self.0.insert(table, leaves);
    }

    /// Appends the partitions: how many tables have some (4 bytes), and each with its number and how many there are (4
    /// each), and each of these with its number, its file's and its links (4 each), little-endian.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut append = |number: u32| out.extend_from_slice(&number.to_le_bytes());
        let count =
            |count: usize| u32::try_from(count).expect("a database has fewer tables than numbers for them");
        append(count(self.0.len()));
        for (table, leaves) in &self.0 {
            append(*table);
            append(count(leaves.len()));
            for (oid, leaf) in leaves {
                [*oid, leaf.file, leaf.links].into_iter().for_each(&mut append);
            }
        }
    }

    /// Reads the partitions, and what follows them.
    pub(crate) fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut rest = bytes;
        let mut number = || {
            let (number, after) = rest.split_first_chunk()?;
            rest = after;
            Some(u32::from_le_bytes(*number))
        };
        let mut read = Self::default();
        for _ in 0..number()? {
            let (table, count) = (number()?, number()?);
            let mut leaves = TableLeaves::new();
            for _ in 0..count {
                leaves.insert(number()?, Leaf { file: number()?, links: number()? });
            }
            read.set(table, leaves);
        }
        Some((read, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_read_as_they_were_written() {
        let mut leaves = Leaves::default();
        let read_again = |leaves: &Leaves| {
            let mut bytes = Vec::new();
            leaves.write(&mut bytes);
            bytes.push(7);
            assert_eq!(Leaves::read(&bytes), Some((leaves.clone(), &[7][..])));
            assert_eq!(Leaves::read(&bytes[..bytes.len() - 2]), None);
            bytes.len() - 1
        };
        assert_eq!(read_again(&leaves), 4);
        leaves.set(4_000_000_000, TableLeaves::new());
        assert_eq!(read_again(&leaves), 4 + 8);
        let of = |oid, file, links| (oid, Leaf { file, links });
        leaves.set(7, [of(8, 8, 900), of(9, 4_000_000_001, u32::MAX)].into_iter().collect());
        assert_eq!(read_again(&leaves), 4 + 8 + 8 + 2 * 12);
        assert_eq!((leaves.get(7).map(BTreeMap::len), leaves.get(8)), (Some(2), None));
    }
}
