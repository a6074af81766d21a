//! What was delivered before the stream was opened, by which another history is told.
//!
//! A server whose files were put back from a copy has the slot as it was then, and is the same server by all that it says of
//! itself. Once its log has grown beyond the position, its numbers mean something else, and nothing else tells. So the stream
//! begins where the slot does, which is before the position where the slot was put back: what was delivered comes again, is
//! passed over, and has to have the last transaction with rows that was delivered, with the same end and the
//! same time. The server decodes the same log alike, so that a healthy one always has it. What it sends for the first
//! time after that is delivered, also where the position is beyond it: the position moves with
//! everything that the server writes, and of another history that need not be the same.
//!
//! Nothing is confirmed before that, or the slot would not begin before the position any more.

use tarn_sdk::Failure;

use super::{Decoding, Transaction};
use crate::lsn::Lsn;
use crate::pgoutput::Message;
use crate::position::{Last, Partial, Past};

/// What the stream had.
#[derive(Debug)]
pub(super) struct History {
    past: Past,
    /// What ends up to here was delivered before.
    delivered: Lsn,
    /// The transaction that has to come before any that ends later.
    awaited: Option<Last>,
}

impl History {
    /// The history of a stream that begins there.
    pub(super) fn new(past: Past, begins: Lsn) -> Self {
        let awaited = past.last.filter(|last| begins < last.end);
        Self { past, delivered: past.end, awaited }
    }

    pub(super) fn past(&self) -> Past {
        self.past
    }

    /// Whether it is not known yet that the server has what was replicated.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.awaited.is_some()
    }

    /// Whether a transaction was delivered before, by its commit record.
    #[inline]
    fn has(&self, commit: Lsn) -> bool {
        commit < self.delivered
    }

    /// Takes note of the end of a transaction.
    fn end(&mut self, transaction: &Transaction, end: Lsn) -> Result<(), Failure> {
        let last = Last { end, commit_time_us: transaction.commit_time_us };
        if self.awaited == Some(last) {
            self.awaited = None;
        }
        self.reach(end)?;
        // Before PostgreSQL 15 a server tells of transactions that have nothing for the stream, too: one of another history may end
        // before them.
        let has_any = transaction.rows > 0 || transaction.messages > 0;
        if has_any && end > self.past.end {
            self.past.end = end;
            if transaction.replicated > 0 {
                self.past.last = Some(last);
            }
        }
        Ok(())
    }

    /// The server has sent everything that ends up to here.
    fn reach(&self, end: Lsn) -> Result<(), Failure> {
        let Some(awaited) = self.awaited.filter(|awaited| awaited.end <= end) else { return Ok(()) };
        let message = format!(
            "the server's log has no transaction that ends at {} as the last one that was replicated did: the server was put \
             back to an earlier time, and what it had after that is at the destination and not at this server",
            awaited.end
        );
        Err(Failure::position_lost("history_diverged", message).with_hint("resync the mirror"))
    }
}

impl Decoding {
    /// Whether what comes belongs to a transaction that was delivered before the stream was opened.
    #[inline]
    pub(super) fn is_passing(&self) -> bool {
        self.transaction.is_some_and(|transaction| self.history.has(transaction.commit))
    }

    /// Passes over a message that belongs to nothing that is delivered. A description waits for a row that is; what is
    /// known of a type is looked up anew, which is right in any case.
    pub(super) fn passes(&mut self, message: &Message<'_>) -> bool {
        match message {
            Message::Relation(relation) => self.deferred.put(relation.oid, relation.in_block()),
            Message::Insert { .. } | Message::Update { .. } | Message::Delete { .. } => {}
            Message::Truncate { .. } => {}
            Message::Logged(logged) if logged.transactional => {}
            _ => return false,
        }
        true
    }

    pub(super) fn begin(&mut self, commit: Lsn, commit_time_us: i64, number: u32) {
        let none = Partial { commit, ..Partial::default() };
        let before = match self.resume {
            _ if self.history.has(commit) => none,
            // The transaction that was begun; if a later one comes, it has nothing any more.
            resume => {
                self.resume = resume.filter(|partial| partial.commit > commit);
                resume.filter(|partial| partial.commit == commit).unwrap_or(none)
            }
        };
        self.deferred.begin();
        let (rows, messages, replicated) = (0, 0, 0);
        self.transaction =
            Some(Transaction { commit, commit_time_us, number, rows, messages, replicated, before });
    }

    /// Ends the transaction that came.
    pub(super) fn end(&mut self, end: Lsn) -> Result<(), Failure> {
        if let Some(transaction) = &self.transaction {
            self.history.end(transaction, end)?;
        }
        self.transaction = None;
        self.end = self.end.max(end);
        Ok(())
    }

    /// Moves the end to where the server has sent everything: what is between has nothing for us.
    pub(super) fn advance(&mut self, end: Lsn) -> Result<(), Failure> {
        if self.transaction.is_none() {
            self.history.reach(end)?;
            if end > self.end {
                self.end = end;
                self.resume = self.resume.filter(|partial| partial.commit >= end);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(commit: u64, commit_time_us: i64, replicated: u64) -> Transaction {
        let before = Partial::default();
        Transaction {
            commit: Lsn(commit),
            commit_time_us,
            number: 1,
            rows: 1,
            messages: 0,
            replicated,
            before,
        }
    }

    fn history(begins: u64) -> History {
        let last = Some(Last { end: Lsn(80), commit_time_us: 5 });
        History::new(Past { end: Lsn(90), last }, Lsn(begins))
    }

    #[test]
    fn what_was_delivered_has_to_come_again_where_the_slot_begins_before_it() {
        let mut healthy = history(60);
        assert!(healthy.is_in_doubt());
        healthy.end(&ended(65, 4, 1), Lsn(70)).expect("before it");
        healthy.reach(Lsn(79)).expect("before it");
        healthy.end(&ended(75, 5, 1), Lsn(80)).expect("it");
        assert!(!healthy.is_in_doubt());
        healthy.end(&ended(85, 6, 1), Lsn(90)).expect("after it");
        assert_eq!(healthy.past(), history(60).past(), "what came again is no news");
        for (commit_time_us, end) in [(6, 80), (5, 81), (5, 200)] {
            let failure = history(60).end(&ended(75, commit_time_us, 1), Lsn(end)).expect_err("another");
            assert_eq!(failure.code, "history_diverged");
        }
        assert_eq!(history(60).reach(Lsn(80)).expect_err("it is not there").code, "history_diverged");
    }

    #[test]
    fn a_slot_that_begins_after_what_was_delivered_tells_nothing() {
        let mut history = history(80);
        assert!(!history.is_in_doubt());
        history.reach(Lsn(200)).expect("nothing is missing");
        history.end(&ended(195, 9, 0), Lsn(200)).expect("nothing is missing");
        let last = Some(Last { end: Lsn(80), commit_time_us: 5 });
        assert_eq!(history.past(), Past { end: Lsn(200), last }, "one without rows of ours");
        history.end(&Transaction { rows: 0, ..ended(202, 9, 0) }, Lsn(203)).expect("nothing is missing");
        assert_eq!(history.past(), Past { end: Lsn(200), last }, "nothing came with it");
        history.end(&ended(205, 10, 1), Lsn(210)).expect("nothing is missing");
        assert_eq!(history.past().last, Some(Last { end: Lsn(210), commit_time_us: 10 }));
    }
}
