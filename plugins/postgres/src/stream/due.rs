//! Tables that are to be read again, until that begins.
//!
//! It may begin once the stream has passed the place that the log was at when it was noticed that the rows were written
//! anew. What was committed before they were has its values from before, and is in the stream: were the rows read at a
//! place before that, these changes would be later than the rows, and win.
//!
//! Where the host does not know the table's columns, the stream has to pass the place that the log was at when they were seen,
//! too: it is not behind a change of them then, and the host can be told of them though no row follows.
//!
//! A table that could not be read (somebody has its lock, a connection was
//! not to be had) is tried again from time to time, the one first that was not tried for longest, and the log says why.

use std::collections::HashMap;

use tarn_sdk::Failure;

use crate::config::{AGAIN_ATTEMPT_PAUSE_US, AGAIN_PAUSE_US};
use crate::lsn::Lsn;
use crate::mark::{Again, Mark};
use crate::table_name::TableName;

/// When tables that are due are tried.
#[derive(Debug, Default)]
pub(super) struct Due {
    tables: HashMap<TableName, Waiting>,
    /// When anything is tried next, by the growing clock.
    next_us: u64,
}

/// What a table waits for.
#[derive(Debug)]
struct Waiting {
    /// How many times it was noticed to be due: once more means that it was written anew since.
    noticed: u32,
    /// What the stream has to pass.
    after: Lsn,
    /// The version of its columns, where these were seen at that place.
    columns: Option<u32>,
    /// When it is tried next, by the growing clock.
    next_us: u64,
    /// Why it could not be read, as the log has it.
    told: String,
}

impl Due {
    /// Whether anything is to be tried now. The next time is some pause away.
    pub(super) fn is_time(&mut self, now: u64) -> bool {
        let is_time = now >= self.next_us;
        if is_time {
            self.next_us = now.saturating_add(AGAIN_PAUSE_US);
        }
        is_time
    }

    /// Notes a table that is due, where it is not known or was noticed once more. `log_end` is asked where the log
    /// is now.
    pub(super) fn note(
        &mut self,
        table: &TableName,
        mark: &Mark,
        log_end: impl FnOnce() -> Result<Lsn, Failure>,
    ) -> Result<(), Failure> {
        if mark.again != Again::Due
            || self.tables.get(table).is_some_and(|known| known.noticed == mark.noticed)
        {
            return Ok(());
        }
        let after = log_end()?;
        let waiting =
            Waiting { noticed: mark.noticed, after, columns: None, next_us: 0, told: String::new() };
        self.tables.insert(table.clone(), waiting);
        Ok(())
    }

    /// When a table may be tried where the stream is at `end`: before others of a later time. Nothing where it may not.
    pub(super) fn turn_of(&self, table: &TableName, end: Lsn, now: u64) -> Option<u64> {
        let waiting = self.tables.get(table)?;
        (end >= waiting.after && now >= waiting.next_us).then_some(waiting.next_us)
    }

    /// The version of a table's columns that the stream has every change before, once it has passed what it has to.
    pub(super) fn columns_of(&self, table: &TableName) -> Option<u32> {
        self.tables.get(table)?.columns
    }

    /// Has a table wait until the stream has passed `after`, the log's end after its columns were seen to be of a version.
    pub(super) fn await_columns(&mut self, table: &TableName, version: u32, after: Lsn) {
        if let Some(waiting) = self.tables.get_mut(table) {
            waiting.after = after;
            waiting.columns = Some(version);
        }
    }

    /// Notes that a table could not be read; whether the log has to be told why.
    pub(super) fn delay(&mut self, table: &TableName, now: u64, why: &str) -> bool {
        let Some(waiting) = self.tables.get_mut(table) else { return false };
        waiting.next_us = now.saturating_add(AGAIN_ATTEMPT_PAUSE_US);
        let is_news = waiting.told != why;
        why.clone_into(&mut waiting.told);
        is_news
    }

    /// Tries a table at once, for the host knows other columns of it now.
    pub(super) fn hurry(&mut self, table: &TableName) {
        if let Some(waiting) = self.tables.get_mut(table) {
            waiting.next_us = 0;
            self.next_us = 0;
        }
    }

    /// Forgets a table whose reading began, and lets the next one be tried as soon as that is over.
    pub(super) fn begin(&mut self, table: &TableName) {
        self.tables.remove(table);
        self.next_us = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::Attributes;
    use crate::mark::Marks;

    fn mark(again: Again, noticed: u32) -> Mark {
        let mut marks = Marks::new(7);
        let name = TableName::new("public", "t");
        marks.add(&name, 1, 50, Attributes::default());
        let mut mark = marks.get(&name).expect("it was added").clone();
        (mark.again, mark.noticed) = (again, noticed);
        mark
    }

    fn noted(due: &mut Due, name: &TableName, noticed: u32, end: u64) {
        due.note(name, &mark(Again::Due, noticed), || Ok(Lsn(end))).expect("noted");
    }

    #[test]
    fn a_table_waits_until_the_stream_has_passed_where_it_was_noticed_and_anew_where_it_was_noticed_once_more()
     {
        let (mut due, name) = (Due::default(), TableName::new("public", "t"));
        due.note(&name, &mark(Again::No, 1), || panic!("it is not due")).expect("nothing");
        assert_eq!(due.turn_of(&name, Lsn(u64::MAX), 5), None);
        noted(&mut due, &name, 1, 100);
        due.note(&name, &mark(Again::Due, 1), || panic!("it is known")).expect("known");
        assert_eq!((due.turn_of(&name, Lsn(99), 5), due.turn_of(&name, Lsn(100), 5)), (None, Some(0)));
        noted(&mut due, &name, 2, 200);
        assert_eq!((due.turn_of(&name, Lsn(199), 5), due.turn_of(&name, Lsn(200), 5)), (None, Some(0)));
        due.begin(&name);
        assert_eq!(due.turn_of(&name, Lsn(200), 5), None);
    }

    #[test]
    fn columns_that_were_seen_are_known_behind_that_place_until_it_is_noticed_once_more() {
        let (mut due, name) = (Due::default(), TableName::new("public", "t"));
        noted(&mut due, &name, 1, 100);
        due.await_columns(&name, 7, Lsn(150));
        assert_eq!((due.turn_of(&name, Lsn(149), 5), due.turn_of(&name, Lsn(150), 5)), (None, Some(0)));
        assert_eq!(due.columns_of(&name), Some(7));
        noted(&mut due, &name, 2, 200);
        assert_eq!(due.columns_of(&name), None);
    }

    #[test]
    fn a_table_that_could_not_be_read_is_tried_later_and_its_reason_told_once() {
        let (mut due, name) = (Due::default(), TableName::new("public", "t"));
        noted(&mut due, &name, 1, 100);
        assert!(due.is_time(10) && !due.is_time(10 + AGAIN_PAUSE_US - 1) && due.is_time(10 + AGAIN_PAUSE_US));
        assert!(due.delay(&name, 10, "locked") && !due.delay(&name, 10, "locked"));
        assert_eq!(due.turn_of(&name, Lsn(100), 9 + AGAIN_ATTEMPT_PAUSE_US), None);
        let next = 10 + AGAIN_ATTEMPT_PAUSE_US;
        assert_eq!(due.turn_of(&name, Lsn(100), next), Some(next));
        due.hurry(&name);
        assert_eq!((due.turn_of(&name, Lsn(100), 0), due.is_time(0)), (Some(0), true));
        assert!(due.delay(&name, 10, "away"));
    }
}
