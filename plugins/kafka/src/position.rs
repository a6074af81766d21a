//! Which rows are in the queue: the place of the last one, as the text that a transaction carries.
//!
//! Rows of the stream come in the order of their versions, and again with the same versions; several messages that a
//! script made of one record share one. So a place is a version and how many rows with it there were. Messages of the
//! source's log and relation records are counted apart from rows (`wit/BATCH.md`), and so have places of their own.

use std::fmt;

use tarn_batch::{Op, Row, Table, Version};

/// What the text begins with: the version of its form.
const FORM: &str = "1";

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
    /// Reads a transaction's text; `None` where it is not one of these.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        if words.next() != Some(FORM) {
            return None;
        }
        let mut position = Self::default();
        for place in &mut position.0 {
            let (version, count) = words.next()?.split_once(':')?;
            *place = Place { version: u128::from_str_radix(version, 16).ok()?, count: count.parse().ok()? };
        }
        words.next().is_none().then_some(position)
    }

    fn of(&mut self, class: Class) -> &mut Place {
        &mut self.0[match class {
            Class::Row => 0,
            Class::Logged => 1,
            Class::Relation => 2,
        }]
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FORM)?;
        self.0.iter().try_for_each(|place| write!(f, " {:x}:{}", place.version, place.count))
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

    #[test]
    fn what_is_in_the_queue_is_passed_over_and_what_is_not_is_new() {
        let mut first = Progress::default();
        for (version, class) in [(5, Class::Row), (5, Class::Row), (6, Class::Logged), (7, Class::Row)] {
            assert!(first.is_new(class, version), "{version}");
        }
        let text = first.position().to_string();
        assert_eq!(text, "1 7:1 6:1 0:0");
        let mut again = Progress::after(Position::parse(&text).expect("its own text"));
        let seen: Vec<bool> = [
            (5, Class::Row),
            (5, Class::Row),
            // A row is not taken for a message of the log, nor for a relation record.
            (6, Class::Logged),
            (6, Class::Logged),
            (7, Class::Relation),
            (7, Class::Row),
            // A second message of the last record, which a transaction was cut before.
            (7, Class::Row),
            (8, Class::Row),
        ]
        .map(|(version, class)| again.is_new(class, version))
        .to_vec();
        assert_eq!(seen, [false, false, false, true, true, false, true, true]);
        assert_eq!(again.position().to_string(), "1 8:1 6:2 7:1");
    }

    #[test]
    fn what_came_before_the_place_again_does_not_move_it_back() {
        let found = Position::parse("1 9:2 0:0 0:0").expect("a position");
        let mut again = Progress::after(found);
        assert!(!again.is_new(Class::Row, 3));
        assert_eq!(again.position(), found);
    }

    #[test]
    fn another_text_is_no_position() {
        for text in ["", "2 7:1 6:1 0:0", "1 7:1", "1 7:1 6:1 0:0 9", "1 x:1 6:1 0:0", "ended"] {
            assert_eq!(Position::parse(text), None, "{text}");
        }
    }
}
