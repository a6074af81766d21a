//! Loads existing rows: partitions of tables, read by several workers at one held point.
//!
//! # The argument
//!
//! All workers read at one point of the source's history, held open by the caller. The stream that goes
//! with the load starts at or before that point, and every row of the load has a version below the
//! stream's: whatever order the two arrive in, the stream wins.
//!
//! The point can be lost (the process or the server dies) and a later one is held, one *generation* up. At
//! the later point:
//!
//! - a partition that was not finished is read whole;
//! - a partition that was finished is caught up: read again, but only for rows that changed since its point
//!   (`plan_catch_up`). Without that, a row that was updated in between and thereby moved from an
//!   unfinished partition into a finished one would be in neither read. The stream does deliver the update,
//!   but as a row whose large values are "unchanged": nothing would ever bring those values;
//! - a table whose partitions are all finished at one and the same generation is complete: at that point,
//!   each of its rows was in some partition. It is not read again.
//!
//! A partition counts as finished once its rows are durable at the destination, and not before.
//!
//! Where the load runs beside its stream, versions do not help against a change that empties the whole table:
//! rows that a worker read before it, and writes after it, have nothing that beats them. So the source of such
//! a stream holds the change back (the contract's setting `loading`) until all of the load is written.
//!
//! # A worker
//!
//! ```text
//!   read + transform   ── 1 ──── 2 ──── 3 ──┐            one write's worth each
//!   write                   ── 1 ──── 2 ──── 3 ── flush ── done
//! ```
//!
//! Its read of one write's worth overlaps the write before. Passing trouble of the destination,
//! and of the ledger when a partition is done, is waited out in place, since the held point is worth more
//! than the time; passing trouble of the source is tried again at the same point once, then the run ends
//! and the caller holds a new point.

mod board;
mod plan;
mod worker;

use std::sync::Arc;

use tarn_model::Failure;
use tokio::task::JoinSet;

use self::board::Board;
use self::plan::Plan;
use self::worker::{Trouble, Worker};
use crate::instances::Instances;
use crate::ledger::SnapshotLedger;
use crate::retry::{Remedy, remedy};
use crate::run::Run;
use crate::settings::SnapshotSettings;
use crate::source::HeldSnapshot;

/// How a run of a snapshot ended without failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotEnd {
    /// All tables of the ledger are loaded and durable.
    Complete,
    /// Asked to stop. Partitions that were not finished are read whole next time.
    Paused,
}

/// Loads what the ledger says is missing, at the held point, until done or `run.stop`.
///
/// # Errors
///
/// The first failure that a worker could not wait out. After passing trouble the other workers still finish
/// their partitions; after any other they stop at their next write. A worker that the source has no connection for leaves
/// the work to those that have one; only where nobody has is that the run's failure.
pub async fn snapshot<I, L>(
    instances: Arc<I>,
    ledger: Arc<L>,
    held: HeldSnapshot,
    settings: SnapshotSettings,
    run: Run,
) -> Result<SnapshotEnd, Failure>
where
    I: Instances,
    L: SnapshotLedger,
{
    let plan = Plan::new(ledger.load().await?, settings.tables_in_parallel, held.generation);
    let board = Arc::new(Board::new(plan, &run.stop));
    let drain_deadline = settings.bounds.drain_deadline;
    let mut workers = JoinSet::new();
    for _ in 0..settings.workers.max(1) {
        let worker = Worker::new(
            Arc::clone(&instances),
            Arc::clone(&ledger),
            held.clone(),
            settings.clone(),
            run.clone(),
            Arc::clone(&board),
        );
        workers.spawn(worker.work());
    }
    let (mut failure, mut unserved) = (None, None);
    while let Some(ended) = join_until(&mut workers, &board, drain_deadline).await {
        let trouble = match ended {
            Ok(Ok(())) | Ok(Err(Trouble::Halted)) => continue,
            Ok(Err(Trouble::Unserved(failure))) => {
                unserved.get_or_insert(failure);
                continue;
            }
            Ok(Err(Trouble::Reader(failure) | Trouble::Writer(failure) | Trouble::Ledger(failure))) => {
                failure
            }
            Err(fault) => Failure::permanent("worker_panicked", format!("a snapshot worker ended: {fault}")),
        };
        match remedy(&trouble) {
            Remedy::BackOff => board.close(),
            Remedy::AskPerson | Remedy::Resync => board.halt(),
        }
        failure.get_or_insert(trouble);
    }
    match failure {
        Some(failure) => Err(failure),
        None if board.is_complete() => Ok(SnapshotEnd::Complete),
        None => match unserved.filter(|_| !run.stop.is_cancelled()) {
            Some(failure) => Err(failure),
            None => Ok(SnapshotEnd::Paused),
        },
    }
}

type Joined = Result<Result<(), Trouble>, tokio::task::JoinError>;

/// The next worker's end; `None` when all ended, or when a stop's drain deadline has passed (dropping the
/// set then aborts the rest).
async fn join_until(
    workers: &mut JoinSet<Result<(), Trouble>>,
    board: &Board,
    drain_deadline: std::time::Duration,
) -> Option<Joined> {
    let late = async {
        let halted = board.halted_at().await;
        tokio::time::sleep_until(halted + drain_deadline).await;
    };
    tokio::select! {
        biased;
        ended = workers.join_next() => ended, // cancel safe
        () = late => None,
    }
}
