//! Sets of columns, by the server's numbers for them.

/// A set of positive attribute numbers: bit `n - 1` stands for number `n`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Attributes(Vec<u8>);

impl Attributes {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn contains(&self, number: i32) -> bool {
        place(number).is_some_and(|(byte, bit)| self.0.get(byte).is_some_and(|byte| byte & bit != 0))
    }

    /// The greatest number; 0 for an empty set.
    pub(crate) fn greatest(&self) -> i32 {
        let Some(last) = self.0.last() else { return 0 };
        // A table has at most 1,600 columns, dropped ones included.
        i32::try_from(self.0.len() * 8).unwrap_or(i32::MAX) - last.leading_zeros().cast_signed()
    }

    /// The numbers, rising.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = i32> {
        (1..=self.greatest()).filter(|number| self.contains(*number))
    }

    /// Appends the set: how many bytes it takes (2, little-endian), then these.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let bytes = u16::try_from(self.0.len()).expect("a table has at most 1,600 columns");
        out.extend_from_slice(&bytes.to_le_bytes());
        out.extend_from_slice(&self.0);
    }

    /// Reads a set, and what follows it.
    pub(crate) fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (length, rest) = bytes.split_first_chunk()?;
        let (bits, rest) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
        // One form for each set.
        (bits.last() != Some(&0)).then(|| (Self(bits.to_vec()), rest))
    }
}

impl FromIterator<i32> for Attributes {
    fn from_iter<I: IntoIterator<Item = i32>>(numbers: I) -> Self {
        let mut set = Vec::new();
        for (byte, bit) in numbers.into_iter().filter_map(place) {
            if set.len() <= byte {
                set.resize(byte + 1, 0);
            }
            set[byte] |= bit;
        }
        Self(set)
    }
}

/// The byte and the bit of a number; none for those of system columns and of none at all.
fn place(number: i32) -> Option<(usize, u8)> {
    let index = usize::try_from(number).ok()?.checked_sub(1)?;
    Some((index / 8, 1 << (index % 8)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_in_and_reads_as_it_was_written() {
        for numbers in [&[][..], &[1], &[8], &[9], &[1, 3, 1600]] {
            let set: Attributes = numbers.iter().copied().collect();
            for number in -1..=1601 {
                assert_eq!(set.contains(number), numbers.contains(&number), "{number} in {numbers:?}");
            }
            assert!(set.numbers().eq(numbers.iter().copied()));
            assert_eq!(set.greatest(), numbers.last().copied().unwrap_or(0));
            assert_eq!(set.is_empty(), numbers.is_empty());
            let mut bytes = Vec::new();
            set.write(&mut bytes);
            bytes.push(7);
            assert_eq!(Attributes::read(&bytes), Some((set, &[7][..])));
        }
        assert_eq!([0, -1].into_iter().collect::<Attributes>(), Attributes::default());
        for damaged in [&[][..], &[1], &[1, 0], &[1, 0, 0], &[2, 0, 1]] {
            assert_eq!(Attributes::read(damaged), None);
        }
    }
}
