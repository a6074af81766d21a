//! The primary key of a table, by the number of its constraint.
//!
//! Where the whole row tells rows apart (`REPLICA IDENTITY FULL`), messages do not say which columns were the key: of rows that
//! another key told apart, those that are alike in the key of now come as one. The constraint's number tells whether there was
//! another one. It stays while the index is made anew, also beside those who write, and each constraint that is made has a
//! new one. So where another constraint is found than the stream had, changes that were committed before may be of such rows.

use tarn_sdk::Failure;

use crate::lsn::Lsn;

/// Stands for a constraint that is not known: the number is of an object of the server's own.
const UNKNOWN: u32 = 1;

/// See the module's documentation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PrimaryKey {
    /// The constraint that the stream had, 0 where there was none; nothing where nobody looked.
    constraint: Option<u32>,
    /// Another one that was found since, 0 likewise, and the end of the log then.
    found: Option<(u32, Lsn)>,
}

impl PrimaryKey {
    /// Takes a constraint over where none was looked at before.
    pub(super) fn begin(&mut self, constraint: u32) {
        self.constraint.get_or_insert(constraint);
    }

    /// Whether it is the constraint that the stream had.
    pub(crate) fn is_still(&self, constraint: u32) -> bool {
        self.found.is_none() && self.constraint.is_none_or(|known| known == constraint)
    }

    /// Notes the constraint that there is. `log_end` is asked where the log is now.
    pub(crate) fn see(
        &mut self,
        constraint: u32,
        log_end: impl FnOnce() -> Result<Lsn, Failure>,
    ) -> Result<(), Failure> {
        let last = self.found.map_or(self.constraint, |(found, _)| Some(found));
        if last.is_some_and(|last| last != constraint) {
            self.found = Some((constraint, log_end()?));
        }
        Ok(())
    }

    /// Whether changes of this commit, and those that follow it, may be of rows that another key told apart; said once.
    pub(crate) fn was_another(&mut self, commit: Lsn) -> bool {
        let Some((found, until)) = self.found.take() else { return false };
        self.constraint = Some(found);
        commit < until
    }

    /// Takes the one over that was found, where the stream has passed the changes from before.
    pub(super) fn pass(&mut self, end: Lsn) {
        if self.until().is_some_and(|until| until <= end) {
            self.was_another(end);
        }
    }

    /// Up to where changes may be of such rows.
    pub(super) fn until(&self) -> Option<Lsn> {
        self.found.map(|(_, until)| until)
    }

    /// Appends the constraint that the stream had (4 bytes, little-endian; 1 where it is not known).
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.constraint.unwrap_or(UNKNOWN).to_le_bytes());
    }

    /// Reads it, and what follows it.
    pub(super) fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (constraint, rest) = bytes.split_first_chunk()?;
        let constraint = Some(u32::from_le_bytes(*constraint)).filter(|number| *number != UNKNOWN);
        Some((Self { constraint, found: None }, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(key: &mut PrimaryKey, constraint: u32, end: u64) {
        key.see(constraint, || Ok(Lsn(end))).expect("seen");
    }

    #[test]
    fn changes_from_before_another_constraint_was_found_are_told_of_once() {
        let mut key = PrimaryKey::default();
        assert!(key.is_still(7), "nobody looked");
        key.begin(7);
        key.begin(8);
        seen(&mut key, 7, 50);
        assert!(key.is_still(7) && !key.was_another(Lsn(40)));
        seen(&mut key, 9, 100);
        seen(&mut key, 9, 200);
        assert!(!key.is_still(9));
        assert!(!key.clone().was_another(Lsn(100)), "it is from after it");
        assert!(key.was_another(Lsn(99)) && !key.was_another(Lsn(99)) && key.is_still(9));
        // None at all, and one again.
        seen(&mut key, 0, 300);
        seen(&mut key, 10, 400);
        assert_eq!(key.until(), Some(Lsn(400)));
        assert!(key.was_another(Lsn(399)) && key.is_still(10));
    }

    #[test]
    fn another_constraint_is_written_once_the_stream_has_passed_the_changes_from_before() {
        let mut key = PrimaryKey::default();
        let read_again = |key: &PrimaryKey, end: u64| {
            let mut passed = key.clone();
            passed.pass(Lsn(end));
            let mut bytes = Vec::new();
            passed.write(&mut bytes);
            bytes.push(7);
            let (read, rest) = PrimaryKey::read(&bytes).expect("a key");
            assert_eq!(rest, [7]);
            read
        };
        assert_eq!(read_again(&key, 1), PrimaryKey::default());
        key.begin(0);
        seen(&mut key, 9, 100);
        assert!(read_again(&key, 99).is_still(0) && !read_again(&key, 99).is_still(9));
        assert!(read_again(&key, 100).is_still(9));
        assert_eq!(PrimaryKey::read(&[7, 0, 0]), None);
    }
}
