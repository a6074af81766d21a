//! Writing batches: rows gather in one block a target, blocks join the target's open insert when they are
//! large enough and at the end.
//!
//! Within an insert the order of rows does not matter: versions decide which one of a key is seen.
//! Between inserts it does, for a write that is cut off and repeated: a target has one open insert at a
//! time, and a block joins it only after everything of the target that came before has.

use std::rc::Rc;

use tarn_batch::{Batch, Op, Row, Version};
use tarn_sdk::{Ack, Failure, clock};

use crate::block::Block;
use crate::client::Client;
use crate::config::BLOCKS_BYTES_MAX;
use crate::design::Engine;
use crate::emptied;
use crate::failure::of_error;
use crate::inserts::Inserts;
use crate::plan::{Plan, RowError, Stamp};
use crate::targets::Targets;
use crate::unchanged;

/// Writes all rows of the batches, in order. What is in an open insert afterwards is not durable yet. A
/// failure gives up all of them: the whole is written again.
pub(crate) fn write<C: Client>(
    targets: &mut Targets,
    client: &mut C,
    inserts: &mut Inserts<C::Insert>,
    batches: &[Vec<u8>],
) -> Result<Ack, Failure> {
    let bytes = batches.iter().map(Vec::len).sum();
    let batches = batches.iter().map(|bytes| Batch::parse(bytes)).collect::<Result<Vec<_>, _>>()?;
    let mut call = Call {
        client,
        inserts,
        batches: &batches,
        bytes,
        segments: Vec::new(),
        routes: batches.iter().map(|batch| vec![None; batch.tables().len()]).collect(),
        stamp: Stamp { synced_at: clock::now() },
    };
    match call.take_all(targets) {
        Ok(rows) => Ok(Ack { rows, bytes: inserts.take_sent_bytes(), durable: inserts.are_finished() }),
        Err(failure) => {
            inserts.give_up();
            Err(failure)
        }
    }
}

/// Where a row is in the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    batch: usize,
    row: usize,
}

/// One call of `write`.
struct Call<'c, 'b, C: Client> {
    client: &'c mut C,
    inserts: &'c mut Inserts<C::Insert>,
    batches: &'b [Batch<'b>],
    /// Their size, which rows of one table hardly exceed in RowBinary.
    bytes: usize,
    /// One a target, in the order of appearance.
    segments: Vec<Segment<'b>>,
    /// For each table of each batch where its rows go.
    routes: Vec<Vec<Option<Route>>>,
    stamp: Stamp,
}

/// Which segment rows of a table go to, and how they are written there.
#[derive(Clone)]
struct Route {
    segment: usize,
    plan: Rc<Plan>,
}

/// The rows of one target that are not sent yet.
struct Segment<'b> {
    plan: Rc<Plan>,
    /// Its first row may be here.
    start: Place,
    block: Block,
    /// Rows with values that have to be read back, not in the block yet.
    pending: Vec<Row<'b>>,
}

/// A message is not a row: it has no columns that could be written.
fn message_refused(table: String) -> Failure {
    Failure::record(
        "message_for_table",
        "a script made a message of a record, and the destination takes rows",
    )
    .with_table(table)
    .with_hint("return the row from the script: messages are for queues")
}

impl<'b, C: Client> Call<'_, 'b, C> {
    /// Takes every row; how many.
    fn take_all(&mut self, targets: &mut Targets) -> Result<u64, Failure> {
        let mut rows = 0;
        for (at, batch) in self.batches.iter().enumerate() {
            for (row_at, row) in batch.rows().enumerate() {
                self.take(targets, &row?, Place { batch: at, row: row_at })?;
                rows += 1;
            }
        }
        let end = Place { batch: self.batches.len(), row: 0 };
        for segment in 0..self.segments.len() {
            self.send(segment, end)?;
        }
        Ok(rows)
    }

    fn take(&mut self, targets: &mut Targets, row: &Row<'b>, place: Place) -> Result<(), Failure> {
        let table = usize::from(row.table_index().0);
        match row.op() {
            Op::Insert | Op::Update | Op::Delete | Op::Truncate => {}
            // A table holds neither; changed columns come with the rows that have them.
            Op::Message | Op::Relation => return Ok(()),
            Op::Outgoing => {
                let table = self.batches[place.batch].table(row).qualified_name();
                return Err(message_refused(table));
            }
        }
        let at = match &self.routes[place.batch][table] {
            Some(route) if Rc::ptr_eq(&route.plan, &self.segments[route.segment].plan) => route.segment,
            Some(route) => self.segment(&Rc::clone(&route.plan), place)?,
            None => {
                let plan = targets.plan(self.client, self.batches[place.batch].table(row))?;
                let segment = self.segment(&plan, place)?;
                self.routes[place.batch][table] = Some(Route { segment, plan });
                segment
            }
        };
        if row.op() != Op::Insert {
            self.inserts.note_change()?;
        }
        if row.op() == Op::Truncate {
            return self.truncate(targets, at, row.version(), place);
        }
        let segment = &mut self.segments[at];
        let start = segment.block.bytes.len();
        segment.block.make_room(row.raw().len());
        match segment.plan.write(row, self.stamp, &mut segment.block.bytes) {
            Ok(rows) => segment.block.rows += rows,
            Err(RowError::Unchanged) => {
                segment.block.bytes.truncate(start);
                segment.pending.push(*row);
            }
            Err(error) => {
                let failure = segment.plan.row_failure(row, error);
                return Err(targets.failure_of_row(self.client, &segment.plan, failure));
            }
        }
        if segment.is_due() {
            return self.send(at, place.next());
        }
        // Blocks of many tables together: the fullest goes.
        if start >> 20 != segment.block.bytes.len() >> 20 && self.waiting() > BLOCKS_BYTES_MAX {
            let fullest = (0..self.segments.len()).max_by_key(|&at| self.segments[at].block.bytes.len());
            return self.send(fullest.unwrap_or(at), place.next());
        }
        Ok(())
    }

    /// The segment of a plan's target, for rows of this plan. Those of another version of the table go before them.
    fn segment(&mut self, plan: &Rc<Plan>, start: Place) -> Result<usize, Failure> {
        let Some(at) = self.segments.iter().position(|segment| segment.plan.target == plan.target) else {
            // Most writes are of one table, or of one much more than of others.
            let block =
                if self.segments.is_empty() { Block::with_room(self.bytes) } else { Block::default() };
            self.segments.push(Segment { plan: Rc::clone(plan), start, block, pending: Vec::new() });
            return Ok(self.segments.len() - 1);
        };
        if !Rc::ptr_eq(&self.segments[at].plan, plan) {
            self.send(at, start)?;
            self.segments[at].plan = Rc::clone(plan);
        }
        Ok(at)
    }

    fn waiting(&self) -> usize {
        self.segments.iter().map(|segment| segment.block.bytes.len()).sum()
    }

    /// Sends what a target's segment has up to a place.
    fn send(&mut self, at: usize, end: Place) -> Result<(), Failure> {
        if !self.segments[at].pending.is_empty() {
            let rows = self.rows(at, end)?;
            let segment = &mut self.segments[at];
            // Values are read back from the table: what was sent before has to be in it.
            self.inserts.finish(&segment.plan.target)?;
            let pending = std::mem::take(&mut segment.pending);
            let work =
                unchanged::Work { plan: &segment.plan, rows: &rows, pending: &pending, stamp: self.stamp };
            work.write(self.client, self.inserts, &mut segment.block)?;
        }
        let segment = &mut self.segments[at];
        self.inserts.append(self.client, &segment.plan, &mut segment.block)?;
        segment.start = end;
        Ok(())
    }

    /// The rows of a segment that are not sent, up to a place.
    fn rows(&self, at: usize, end: Place) -> Result<Vec<Row<'b>>, Failure> {
        let start = self.segments[at].start;
        let mut rows = Vec::new();
        for (batch_at, batch) in self.batches.iter().enumerate().skip(start.batch) {
            for (row_at, row) in batch.rows().enumerate() {
                let place = Place { batch: batch_at, row: row_at };
                if place >= end {
                    return Ok(rows);
                }
                let row = row?;
                let route = &self.routes[batch_at][usize::from(row.table_index().0)];
                let is_of_table =
                    row.op() != Op::Relation && route.as_ref().is_some_and(|route| route.segment == at);
                if place >= start && is_of_table {
                    rows.push(row);
                }
            }
        }
        Ok(rows)
    }

    /// Empties a target, after what came before and before what comes after (B115, B116).
    fn truncate(
        &mut self,
        targets: &mut Targets,
        at: usize,
        version: Version,
        place: Place,
    ) -> Result<(), Failure> {
        self.send(at, place)?;
        let segment = &mut self.segments[at];
        segment.start = place.next();
        let plan = Rc::clone(&segment.plan);
        self.inserts.finish(&plan.target)?;
        if plan.engine == Engine::Null {
            return Ok(());
        }
        let comment = emptied::written(&plan.comment, version.to_u128());
        for sql in [targets.ddl.comment(&plan.target, &comment), targets.ddl.truncate(&plan.target)] {
            self.client.query(&sql).map_err(|error| {
                of_error(error, &format!("emptying table {}", plan.target))
                    .with_table(plan.table.qualified_name())
            })?;
        }
        // The comment is part of the plan.
        targets.forget(&plan.target);
        Ok(())
    }
}

impl Segment<'_> {
    /// Whether its rows are sent now: as pieces where none of them waits for anything.
    fn is_due(&self) -> bool {
        self.pending.is_empty() && self.block.is_a_piece()
            || self.block.is_full()
            || self.pending.len() >= self.plan.pending_max()
    }
}

impl Place {
    fn next(self) -> Self {
        Self { row: self.row + 1, ..self }
    }
}
