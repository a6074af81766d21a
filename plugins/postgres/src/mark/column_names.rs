//! Names of columns by their numbers, as one byte each: of those that the stream had last, and of those that are left out.
//!
//! Of a column that is gone the catalog has no name, and a stream that starts has had none. A byte tells most names apart; two
//! that it does not are taken for the same one, which leaves in doubt what they would have told.

use crate::attributes::Attributes;

/// Stands for a name that is not known.
const UNKNOWN: u8 = 0;

/// See the module's documentation: numbers of columns, rising, each with the digest of its name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ColumnNames(Vec<(i32, u8)>);

impl ColumnNames {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn contains(&self, number: i32) -> bool {
        self.digest(number).is_some()
    }

    /// The numbers, rising.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = i32> {
        self.0.iter().map(|(number, _)| *number)
    }

    /// Whether a column of this name is known.
    pub(crate) fn know(&self, name: &str) -> bool {
        self.0.iter().any(|(_, known)| *known == digest(name))
    }

    /// Whether a column may have had this name; nothing where no name of it is known.
    pub(crate) fn allow(&self, number: i32, name: &str) -> Option<bool> {
        self.digest(number).map(|known| known == digest(name))
    }

    /// The same names under other numbers, those alone that have one.
    pub(crate) fn renumbered(&self, number: impl Fn(i32) -> Option<i32>) -> Self {
        self.0.iter().filter_map(|(old, digest)| Some((number(*old)?, *digest))).collect()
    }

    /// Those of these columns.
    pub(crate) fn of(&self, columns: &Attributes) -> Self {
        self.0.iter().copied().filter(|(number, _)| columns.contains(*number)).collect()
    }

    /// Adds names, where there were none.
    pub(crate) fn extend<'a>(&mut self, names: impl IntoIterator<Item = (i32, &'a str)>) {
        self.add(&names.into_iter().collect());
    }

    /// Adds those of others, where there were none.
    pub(crate) fn add(&mut self, others: &Self) {
        for (number, digest) in &others.0 {
            if let Err(at) = self.place(*number) {
                self.0.insert(at, (*number, *digest));
            }
        }
    }

    /// Forgets those that have none of these names.
    pub(crate) fn retain<'a>(&mut self, names: impl IntoIterator<Item = &'a String>) {
        let kept: Vec<u8> = names.into_iter().map(|name| digest(name)).collect();
        self.0.retain(|(_, known)| kept.contains(known));
    }

    /// Appends a byte for each of these columns.
    pub(super) fn write(&self, columns: &Attributes, out: &mut Vec<u8>) {
        out.extend(columns.numbers().map(|number| self.digest(number).unwrap_or(UNKNOWN)));
    }

    /// Reads a byte for each of these columns, and what follows them.
    pub(super) fn read<'a>(columns: &Attributes, bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (digests, rest) = bytes.split_at_checked(columns.numbers().count())?;
        let known = columns.numbers().zip(digests.iter().copied()).filter(|(_, digest)| *digest != UNKNOWN);
        Some((known.collect(), rest))
    }

    fn digest(&self, number: i32) -> Option<u8> {
        self.place(number).ok().map(|at| self.0[at].1)
    }

    /// Where a number is, or belongs.
    fn place(&self, number: i32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&number, |(number, _)| *number)
    }
}

impl FromIterator<(i32, u8)> for ColumnNames {
    fn from_iter<I: IntoIterator<Item = (i32, u8)>>(names: I) -> Self {
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort_unstable();
        Self(names)
    }
}

impl<'a> FromIterator<(i32, &'a str)> for ColumnNames {
    fn from_iter<I: IntoIterator<Item = (i32, &'a str)>>(names: I) -> Self {
        names.into_iter().map(|(number, name)| (number, digest(name))).collect()
    }
}

/// The upper byte of a 32-bit FNV-1a hash.
fn digest(name: &str) -> u8 {
    let hash =
        name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let [.., upper] = hash.to_le_bytes();
    if upper == UNKNOWN { 1 } else { upper }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_by_number_and_read_as_they_were_written() {
        let names: ColumnNames = [(9, "b"), (2, "a")].into_iter().collect();
        let told = |names: &ColumnNames, number| [names.allow(number, "a"), names.allow(number, "b")];
        assert_eq!(
            [2, 9, 3].map(|number| told(&names, number)),
            [[Some(true), Some(false)], [Some(false), Some(true)], [None; 2]]
        );
        let columns: Attributes = [2, 3, 9].into_iter().collect();
        let mut bytes = Vec::new();
        names.write(&columns, &mut bytes);
        bytes.push(7);
        assert_eq!(ColumnNames::read(&columns, &bytes), Some((names.clone(), &[7][..])));
        assert_eq!(ColumnNames::read(&columns, &bytes[..2]), None);
        let renumbered = names.renumbered(|number| (number == 9).then_some(1));
        assert_eq!([1, 9].map(|number| told(&renumbered, number)), [[Some(false), Some(true)], [None; 2]]);
    }
}
