//! Which rows are in the queue: the place of the last one, as the numbers that a transaction carries.
//!
//! Rows of the stream come in the order of their versions, and again with the same versions; several messages that a
//! script made of one record share one. So a place is a version and how many rows with it there were. Messages of the
//! source's log and relation records are counted apart from rows (`wit/BATCH.md`), and so have places of their own.

use tarn_batch::{Op, Row, Table, Version};

/// What the numbers begin with: what they are, and in which form.
const STREAM: u64 = 1;

/// The position of a part of a load that ended.
pub(crate) const ENDED: [u64; 1] = [2];

/// What is counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Row,
    /// A message of the source's log, or what a script made of it.
    Logged,
    /// A relation record, or what a script made of it.
    Relation,
}

impl Class {
    pub(crate) fn of(row: &Row<'_>, table: &Table) -> Self {
        if row.op() == Op::Message || table.name.is_empty() {
            Self::Logged
        } else if row.version().ordinal >= Version::RELATIONS_FROM {
            Self::Relation
        } else {
            Self::Row
        }
    }
}

/// A place: rows up to it are in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    version: u128,
    count: u32,
}

impl Place {
    /// The place of the next row, which has this version.
    fn next(self, version: u128) -> Self {
        let count = if self.version == version { self.count + 1 } else { 1 };
        Self { version, count }
    }
}

/// A place for each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position([Place; 3]);

impl Position {
    /// Reads a transaction's numbers; `None` where they are not of the stream, in this form.
    pub(crate) fn parse(numbers: &[u64]) -> Option<Self> {
        let (&STREAM, places) = numbers.split_first()? else { return None };
        let mut position = Self::default();
        let (places, rest) = places.as_chunks::<3>();
        if places.len() != position.0.len() || !rest.is_empty() {
            return None;
        }
        for (class, ([commit, ordinal, count], place)) in places.iter().zip(&mut position.0).enumerate() {
            let apart = if class == Class::Relation as usize { Version::RELATIONS_FROM } else { 0 };
            let version = Version { commit: *commit, ordinal: *ordinal | apart }.to_u128();
            *place = Place { version, count: u32::try_from(*count).ok()? };
            if *count == 0 {
                *place = Place::default();
            }
        }
        Some(position)
    }

    /// What a transaction carries. The numbers are below 2^63: what tells relation records from rows is left out.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        let mut numbers = vec![STREAM];
        for place in self.0 {
            let [commit, ordinal] = [place.version >> 64, place.version & u128::from(u64::MAX)]
                .map(|half| u64::try_from(half).unwrap_or(u64::MAX));
            numbers.extend([commit, ordinal & !Version::RELATIONS_FROM, place.count.into()]);
        }
        numbers
    }

    fn of(&mut self, class: Class) -> &mut Place {
        &mut self.0[class as usize]
    }
}

/// Where the stream is, against what is in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// What was in the queue when the producer began.
    found: Position,
    /// The last row that came, of each class.
    at: Position,
}

impl Progress {
    pub(crate) fn after(found: Position) -> Self {
        Self { found, at: Position::default() }
    }

    /// Takes note of the next row; whether it is not in the queue yet.
    pub(crate) fn is_new(&mut self, class: Class, version: u128) -> bool {
        let at = self.at.of(class);
        *at = at.next(version);
        *at > *self.found.of(class)
    }

    /// What is in the queue once everything that came is.
    pub(crate) fn position(&self) -> Position {
        let mut position = self.found;
        for (place, at) in position.0.iter_mut().zip(self.at.0) {
            *place = (*place).max(at);
        }
        position
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(version: u64) -> u128 {
        Version { commit: version, ordinal: 4 }.to_u128()
    }

    fn relation(version: u64) -> u128 {
        Version { commit: version, ordinal: Version::RELATIONS_FROM | 4 }.to_u128()
    }

    #[test]
    fn what_is_in_the_queue_is_passed_over_and_what_is_not_is_new() {
        let mut first = Progress::default();
        for (version, class) in [(5, Class::Row), (5, Class::Row), (6, Class::Logged), (7, Class::Row)] {
            assert!(first.is_new(class, row(version)), "{version}");
        }
        assert!(first.is_new(Class::Relation, relation(4)));
        let numbers = first.position().numbers();
        assert_eq!(numbers, [1, 7, 4, 1, 6, 4, 1, 4, 4, 1]);
        let mut again = Progress::after(Position::parse(&numbers).expect("its own numbers"));
        let seen: Vec<bool> = [
            (row(5), Class::Row),
            (row(5), Class::Row),
            // A row is not taken for a message of the log, nor for a relation record.
            (row(6), Class::Logged),
            (row(6), Class::Logged),
            (relation(4), Class::Relation),
            (relation(7), Class::Relation),
            (row(7), Class::Row),
            // A second message of the last record, which a transaction was cut before.
            (row(7), Class::Row),
            (row(8), Class::Row),
        ]
        .map(|(version, class)| again.is_new(class, version))
        .to_vec();
        assert_eq!(seen, [false, false, false, true, false, true, false, true, true]);
        assert_eq!(again.position().numbers(), [1, 8, 4, 1, 6, 4, 2, 7, 4, 1]);
    }

    #[test]
    fn what_came_before_the_place_again_does_not_move_it_back() {
        let found = Position::parse(&[1, 9, 0, 2, 0, 0, 0, 0, 0, 0]).expect("a position");
        let mut again = Progress::after(found);
        assert!(!again.is_new(Class::Row, row(3)));
        assert_eq!(again.position(), found);
        assert_eq!(Position::parse(&Progress::default().position().numbers()), Some(Position::default()));
    }

    #[test]
    fn other_numbers_are_no_position() {
        for numbers in [&[][..], &ENDED, &[1, 7, 1], &[1; 11], &[9, 0, 0, 0, 0, 0, 0, 0, 0, 0]] {
            assert_eq!(Position::parse(numbers), None, "{numbers:?}");
        }
    }
}
