//! Inserts that stay open from one write to the next.
//!
//! The server makes a part of each insert and merges parts behind our back: a few large ones cost it a
//! third of many small ones. So the rows that a write has for a target join the insert that is open for
//! it, until that is large, or somebody needs them in the table: a flush, a lookup of earlier rows, a
//! change of the table.
//!
//! Inserts of several targets end together, and the server works on them at once. Those of one target follow each
//! other once a change is among the rows: were a later insert in the table and an earlier one not, a write that is
//! repeated would take changes of keys for known. While all rows are new ones, an insert that is large is only ended,
//! and the server works on it while the next one fills.

use std::rc::Rc;

use tarn_sdk::Failure;

use crate::block::Block;
use crate::client::{Client, Error, Insert};
use crate::config::{INSERT_BYTES_MAX, INSERT_ROWS_MAX, INSERTS_ENDED_MAX, INSERTS_OPEN_MAX};
use crate::failure::of_insert_error;
use crate::plan::Plan;

/// The open inserts, at most one a target, the oldest first.
#[derive(Debug)]
pub(crate) struct Inserts<I> {
    open: Vec<Open<I>>,
    /// Those that are ended and not finished, at most one a target, the oldest first.
    ended: Vec<Open<I>>,
    rows: Rows,
    sent_bytes: u64,
}

/// What was sent since the last flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// New rows only.
    New,
    /// Changes too.
    Changed,
}

#[derive(Debug)]
struct Open<I> {
    plan: Rc<Plan>,
    insert: I,
    rows: u64,
    bytes: usize,
}

impl<I: Insert> Inserts<I> {
    pub(crate) fn new() -> Self {
        Self { open: Vec::new(), ended: Vec::new(), rows: Rows::New, sent_bytes: 0 }
    }

    /// Sends a block's rows and empties the block. They are in the table once the insert is finished.
    pub(crate) fn append(
        &mut self,
        client: &mut impl Client<Insert = I>,
        plan: &Rc<Plan>,
        block: &mut Block,
    ) -> Result<(), Failure> {
        if block.rows == 0 {
            return Ok(());
        }
        let at = self.position(client, plan)?;
        let open = &mut self.open[at];
        open.insert.append(&block.bytes).map_err(|error| failure(plan, error))?;
        open.rows += u64::from(block.rows);
        open.bytes += block.bytes.len();
        self.sent_bytes += block.bytes.len() as u64;
        block.clear();
        if open.rows >= INSERT_ROWS_MAX || open.bytes >= INSERT_BYTES_MAX {
            self.end_at(at)?;
        }
        Ok(())
    }

    /// Notes that what is sent from here on has changes of earlier rows.
    pub(crate) fn note_change(&mut self) -> Result<(), Failure> {
        if self.rows == Rows::Changed {
            return Ok(());
        }
        self.rows = Rows::Changed;
        let open = &self.open;
        let is_followed = |ended: &Open<I>| open.iter().any(|open| open.plan.target == ended.plan.target);
        let (followed, alone) = self.ended.drain(..).partition(is_followed);
        self.ended = alone;
        Vec::into_iter(followed).try_for_each(Open::finish)
    }

    /// Waits until what was sent to a target is in the table.
    pub(crate) fn finish(&mut self, target: &str) -> Result<(), Failure> {
        self.finish_ended(target)?;
        match self.open.iter().position(|open| open.plan.target == target) {
            Some(at) => self.finish_at(at),
            None => Ok(()),
        }
    }

    /// Waits until everything that was sent is in its table.
    pub(crate) fn finish_all(&mut self) -> Result<(), Failure> {
        self.open.iter_mut().for_each(|open| open.insert.end());
        while !self.ended.is_empty() {
            self.ended.remove(0).finish()?;
        }
        while !self.open.is_empty() {
            self.finish_at(0)?;
        }
        self.rows = Rows::New;
        Ok(())
    }

    /// Whether everything that was sent is in its table.
    pub(crate) fn are_finished(&self) -> bool {
        self.open.is_empty() && self.ended.is_empty()
    }

    /// Leaves what is not finished to whoever writes it again.
    pub(crate) fn give_up(&mut self) {
        self.open.clear();
        self.ended.clear();
        self.rows = Rows::New;
    }

    /// How many bytes were sent since this was asked last.
    pub(crate) fn take_sent_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.sent_bytes)
    }

    /// The insert that is open for a plan, a new one where there is none.
    fn position(&mut self, client: &mut impl Client<Insert = I>, plan: &Rc<Plan>) -> Result<usize, Failure> {
        let is_open = |open: &Open<I>| Rc::ptr_eq(&open.plan, plan) || open.plan.shares_insert(plan);
        if let Some(at) = self.open.iter().position(is_open) {
            return Ok(at);
        }
        // One of the same target is by an earlier form of it.
        if self.open.iter().any(|open| open.plan.target == plan.target) {
            self.finish(&plan.target)?;
        }
        if self.rows == Rows::Changed {
            self.finish_ended(&plan.target)?;
        }
        if self.open.len() >= INSERTS_OPEN_MAX {
            self.end(0)?;
        }
        let mut insert =
            client.insert(&plan.insert_sql, &plan.settings).map_err(|error| failure(plan, error))?;
        insert.append(&plan.header).map_err(|error| failure(plan, error))?;
        self.open.push(Open { plan: Rc::clone(plan), insert, rows: 0, bytes: 0 });
        Ok(self.open.len() - 1)
    }

    /// Ends an insert that is large.
    fn end_at(&mut self, at: usize) -> Result<(), Failure> {
        if self.rows == Rows::Changed {
            return self.finish_at(at);
        }
        self.end(at)
    }

    fn end(&mut self, at: usize) -> Result<(), Failure> {
        let mut open = self.open.remove(at);
        open.insert.end();
        self.finish_ended(&open.plan.target)?;
        if self.ended.len() >= INSERTS_ENDED_MAX {
            self.ended.remove(0).finish()?;
        }
        self.ended.push(open);
        Ok(())
    }

    /// Waits for the ended insert of a target, where there is one.
    fn finish_ended(&mut self, target: &str) -> Result<(), Failure> {
        match self.ended.iter().position(|ended| ended.plan.target == target) {
            Some(at) => self.ended.remove(at).finish(),
            None => Ok(()),
        }
    }

    fn finish_at(&mut self, at: usize) -> Result<(), Failure> {
        self.open.remove(at).finish()
    }
}

impl<I: Insert> Open<I> {
    fn finish(mut self) -> Result<(), Failure> {
        self.insert.finish().map_err(|error| failure(&self.plan, error))
    }
}

fn failure(plan: &Plan, error: Error) -> Failure {
    of_insert_error(error, &format!("writing to table {}", plan.target))
        .with_table(plan.table.qualified_name())
}
