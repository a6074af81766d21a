//! Marks beside their written form.
//!
//! Every answer of the stream has a position, and every position the marks: some 400 KB for ten thousand tables of ten columns.
//! Writing them for each would cost more than most answers. So what was written is copied for as long as it says what the marks
//! would say. It does no more once somebody may have [changed](KeptMarks::change) them, which each look at the catalog may,
//! and at the first place where the stream has [passed](Marks::pass) what a mark waits for: a position leaves that out.

use super::{Mark, Marks};
use crate::lsn::Lsn;
use crate::table_name::TableName;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct KeptMarks {
    marks: Marks,
    /// What was written last.
    written: Vec<u8>,
    form: Form,
}

/// Where what was written is what the marks would say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Nowhere: nothing was written since somebody may have changed the marks.
    Stale,
    /// At each place before this one. None is asked for that is before the one it was written for, since a stream does not go
    /// back.
    Before(Lsn),
}

impl KeptMarks {
    pub(crate) fn new(marks: Marks) -> Self {
        Self { marks, written: Vec::new(), form: Form::Stale }
    }

    pub(crate) fn get(&self, name: &TableName) -> Option<&Mark> {
        self.marks.get(name)
    }

    pub(crate) fn is_any_due(&self) -> bool {
        self.marks.is_any_due()
    }

    /// The marks, for somebody who may change them.
    pub(crate) fn change(&mut self) -> &mut Marks {
        self.form = Form::Stale;
        &mut self.marks
    }

    /// The [form](Marks::write) of the marks at a place, without what the stream has passed there.
    pub(crate) fn written(&mut self, end: Lsn) -> &[u8] {
        if !matches!(self.form, Form::Before(until) if end < until) {
            let mut marks = self.marks.clone();
            marks.pass(end);
            self.written.clear();
            marks.write(&mut self.written);
            self.form = Form::Before(marks.next_passed());
        }
        &self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::Attributes;
    use crate::entry::Entry;
    use crate::mark::Again;
    use crate::mark::leaves::Leaf;

    #[test]
    fn what_is_written_is_always_the_marks_as_they_are_at_the_place() {
        let name = TableName::new("public", "t");
        let mut kept = KeptMarks::new(Marks::new(3));
        let is_right = |kept: &mut KeptMarks, end: Lsn| {
            let mut expected = kept.marks.clone();
            expected.pass(end);
            let read = Marks::read(kept.written(end));
            assert_eq!(read, Some(expected), "at {end}");
        };
        is_right(&mut kept, Lsn(10));
        kept.change().add(&name, 7, 8, Attributes::default());
        kept.change().get_mut(&name).expect("it is marked").filtered_by = Some(0);
        is_right(&mut kept, Lsn(10));
        kept.change().leaves.set(7, [(9, Leaf { file: 10, links: 11 })].into_iter().collect());
        is_right(&mut kept, Lsn(10));
        let mark = kept.change().get_mut(&name).expect("it is marked");
        mark.entry = Some(Entry { transaction: 1, until: Lsn(20) });
        mark.again = Again::Until(Lsn(30));
        mark.primary_key.begin(5);
        for end in [10, 19, 20, 21, 29, 30, 31] {
            is_right(&mut kept, Lsn(end));
        }
        let mark = kept.change().get_mut(&name).expect("it is marked");
        mark.primary_key.see(6, || Ok(Lsn(40))).expect("seen");
        let mut is_taken = |end: u64| {
            let marks = Marks::read(kept.written(Lsn(end))).expect("marks");
            marks.get(&name).is_some_and(|mark| mark.primary_key.is_still(6))
        };
        assert!(!is_taken(39) && is_taken(40));
        kept.change().get_mut(&name).expect("it is marked").again = Again::Due;
        is_right(&mut kept, Lsn(u64::MAX));
        assert!(kept.is_any_due());
    }

    #[test]
    fn marks_that_have_not_changed_are_not_written_again() {
        let mut kept = KeptMarks::new(Marks::new(3));
        let name = TableName::new("public", "t");
        kept.change().add(&name, 7, 8, Attributes::default());
        kept.change().get_mut(&name).expect("it is marked").again = Again::Until(Lsn(30));
        kept.written(Lsn(10));
        assert_eq!(kept.form, Form::Before(Lsn(30)));
        kept.written(Lsn(29));
        assert_eq!(kept.form, Form::Before(Lsn(30)));
        kept.written(Lsn(30));
        assert_eq!(kept.form, Form::Before(Lsn(u64::MAX)));
    }
}
