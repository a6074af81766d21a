//! One worker: its instances, the partitions it takes, the trouble it waits out.

use std::sync::Arc;
use std::time::Duration;

use tarn_model::{Failure, Position};
use tokio_util::sync::CancellationToken;

use super::board::Board;
use super::plan::{Extent, Job, Task};
use crate::batch::{Batch, Limits};
use crate::config::{CONNECTION_ATTEMPTS_MAX, PARTITION_SOURCE_ATTEMPTS_MAX, SNAPSHOT_WIDE_BATCHES};
use crate::destination::{Ack, Destination, PartState};
use crate::hand::Hand;
use crate::instances::Instances;
use crate::ledger::{PartitionDone, SnapshotLedger};
use crate::observer::{Notice, Observer};
use crate::retry::{BackOff, Remedy, remedy};
use crate::run::Run;
use crate::settings::SnapshotSettings;
use crate::source::{HeldSnapshot, PartitionRead, SnapshotSource};
use crate::transform::Transform;

/// Why a worker ended early.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The source or the transform.
    Reader(Failure),
    /// The source has no connection for this worker.
    Unserved(Failure),
    /// The destination.
    Writer(Failure),
    /// The ledger.
    Ledger(Failure),
    /// Asked to.
    Halted,
}

/// See the module's documentation.
pub(super) struct Worker<I: Instances, L> {
    instances: Arc<I>,
    ledger: Arc<L>,
    held: HeldSnapshot,
    settings: SnapshotSettings,
    /// Of the whole snapshot: progress of any worker is progress.
    run: Run,
    /// Of this worker: what it waits out in place.
    own: Run,
    back_off: BackOff,
    board: Arc<Board>,
    reader: Hand<Reader<I::Source, I::Transform>, Filled>,
    writer: Option<I::Destination>,
    /// The part that the writer is told of.
    part: Option<String>,
}

/// What a worker reads with.
struct Reader<S, T> {
    source: S,
    transform: Option<T>,
}

/// One write's worth of rows.
struct Filled {
    batches: Vec<Batch>,
    end: End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The partition has no more rows.
    Reached,
    /// It may have more.
    Ahead,
}

impl<I: Instances, L: SnapshotLedger> Worker<I, L> {
    pub(super) fn new(
        instances: Arc<I>,
        ledger: Arc<L>,
        held: HeldSnapshot,
        settings: SnapshotSettings,
        run: Run,
        board: Arc<Board>,
    ) -> Self {
        let own = run.apart().until(board.halt_token().clone());
        Self {
            instances,
            ledger,
            held,
            settings,
            back_off: run.back_off(),
            run,
            own,
            board,
            reader: Hand::gone(),
            writer: None,
            part: None,
        }
    }

    /// Takes tasks until none is left.
    pub(super) async fn work(mut self) -> Result<(), Trouble> {
        let mut refusals = 0;
        while let Some(task) = self.board.next().await {
            let mut source_attempts = 0;
            loop {
                let trouble = match self.perform(&task).await {
                    Ok(()) => {
                        refusals = 0;
                        break;
                    }
                    Err(trouble) => trouble,
                };
                match trouble {
                    Trouble::Reader(failure) if is_refusal(&failure) => {
                        // Somebody else may have a connection, and reads the partition whole.
                        (self.reader, self.writer, self.part) = (Hand::gone(), None, None);
                        self.board.update(|plan| plan.give_back(task));
                        refusals += 1;
                        if refusals >= CONNECTION_ATTEMPTS_MAX {
                            return Err(Trouble::Unserved(failure));
                        }
                        self.wait_out(failure).await?;
                        break;
                    }
                    Trouble::Reader(failure) if is_passing(&failure) => {
                        self.reader = Hand::gone();
                        source_attempts += 1;
                        if source_attempts >= PARTITION_SOURCE_ATTEMPTS_MAX {
                            return Err(Trouble::Reader(failure));
                        }
                        self.wait_out(failure).await?;
                    }
                    Trouble::Writer(failure) if is_passing(&failure) => {
                        self.writer = None;
                        self.wait_out(failure).await?;
                    }
                    other => return Err(other),
                }
            }
        }
        Ok(())
    }

    async fn perform(&mut self, task: &Task) -> Result<(), Trouble> {
        match task {
            Task::Plan { table } => self.plan(table).await,
            Task::Read(job) => self.load(job).await,
            Task::Wait => Ok(()), // the board keeps these to itself
        }
    }

    async fn plan(&mut self, table: &str) -> Result<(), Trouble> {
        let (rows, parallel) = (self.settings.partition_rows, self.settings.partitions_min);
        let source = &mut self.reader().await?.source;
        let partitions = source.plan_snapshot(table, rows, parallel).await.map_err(Trouble::Reader)?;
        self.ledger.planned(table, &partitions).await.map_err(Trouble::Ledger)?;
        let count = u32::try_from(partitions.len()).unwrap_or(u32::MAX);
        self.run.observer.notice(Notice::TablePlanned { table, partitions: count });
        self.board.update(|plan| plan.planned(table, &partitions));
        Ok(())
    }

    /// Reads a partition from its beginning to its end, and stores that it is done.
    async fn load(&mut self, job: &Job) -> Result<(), Trouble> {
        let state = self.begin_part(job).await.map_err(Trouble::Writer)?;
        let rows = match state {
            // It ended before a crash that the ledger does not know the end of it by.
            PartState::Ended => 0,
            PartState::Untold | PartState::Missing => self.read_part(job, state).await?,
        };
        self.part = None;
        let done = PartitionDone {
            table: job.table.clone(),
            number: job.number,
            generation: self.held.generation,
            horizon: self.held.horizon.clone(),
            rows,
        };
        self.store(&done).await?;
        self.run.note_progress();
        self.run.observer.notice(Notice::PartitionEnded(&done));
        self.board.update(|plan| plan.finished(&job.table));
        Ok(())
    }

    /// Writes the rows of a partition, all of them durable in the end, and returns how many there are.
    async fn read_part(&mut self, job: &Job, state: PartState) -> Result<u64, Trouble> {
        self.open(job).await?;
        self.run.observer.notice(Notice::PartitionBegun { table: &job.table, number: job.number });
        let mut rows = 0;
        let mut durable = true;
        self.fill();
        loop {
            let Filled { batches, end } = self.reader.done().await.map_err(Trouble::Reader)?;
            if end == End::Ahead && self.board.halt_token().is_cancelled() {
                return Err(Trouble::Halted);
            }
            // Reading on overlaps the write, unless rows are so wide that one more of them is too much to hold.
            let bytes = batches.iter().map(Batch::len_bytes).sum::<u64>();
            let overlaps = bytes <= self.settings.bounds.batch_bytes_max * SNAPSHOT_WIDE_BATCHES;
            if end == End::Ahead && overlaps {
                self.fill();
            }
            let count = batches.iter().map(|batch| u64::from(batch.rows)).sum::<u64>();
            if count > 0 {
                durable = self.write(batches, durable).await?.durable;
                rows += count;
                let (table, number) = (job.table.as_str(), job.number);
                self.run.observer.notice(Notice::PartitionRows { table, number, rows: count });
            }
            if end == End::Reached {
                break;
            }
            if !overlaps {
                self.fill();
            }
        }
        if state == PartState::Missing {
            let ended = self.writer().await.map_err(Trouble::Writer)?.end_part().await;
            ended.map_err(Trouble::Writer)?;
        } else if !durable {
            let writer = self.writer.as_mut().expect("it took the rows that are not durable yet");
            writer.flush().await.map_err(Trouble::Writer)?;
        }
        Ok(rows)
    }

    /// Tells the writer which part comes. Its name holds the load, by where its stream starts.
    async fn begin_part(&mut self, job: &Job) -> Result<PartState, Failure> {
        let extent = match &job.extent {
            Extent::Whole => "whole".to_owned(),
            Extent::Since(horizon) => format!("{} since {horizon}", self.held.generation),
        };
        let part = part_name(job, &extent, &self.held.start);
        self.part = None;
        let state = self.writer().await?.begin_part(&part).await?;
        self.part = Some(part);
        Ok(state)
    }

    /// Stores that a partition is done. Repeatable, so passing trouble costs time and not the partition.
    async fn store(&mut self, done: &PartitionDone) -> Result<(), Trouble> {
        while let Err(failure) = self.ledger.done(done).await {
            if !is_passing(&failure) {
                return Err(Trouble::Ledger(failure));
            }
            self.wait_out(failure).await?;
        }
        self.own.note_progress();
        Ok(())
    }

    async fn open(&mut self, job: &Job) -> Result<(), Trouble> {
        let (token, start, generation) =
            (self.held.token.clone(), self.held.start.clone(), self.held.generation);
        let source = &mut self.reader().await?.source;
        let partition = match &job.extent {
            Extent::Whole => job.partition.clone(),
            Extent::Since(horizon) => {
                source.plan_catch_up(&job.partition, horizon).await.map_err(Trouble::Reader)?
            }
        };
        let read = PartitionRead { token, partition, start, generation };
        source.open_snapshot(&read).await.map_err(Trouble::Reader)?;
        Ok(())
    }

    /// Begins to read the next write's worth.
    fn fill(&mut self) {
        let settings = self.settings.clone();
        let observer = Arc::clone(&self.run.observer);
        let halt = self.board.halt_token().clone();
        self.reader.begin(|mut reader| async move {
            let filled = reader.fill(&settings, &*observer, &halt).await;
            (reader, filled)
        });
    }

    /// Writes, waiting out passing trouble with new instances. Where earlier rows of the partition are not
    /// durable, the instance that holds them cannot be replaced: then the partition is read again.
    async fn write(&mut self, batches: Vec<Batch>, earlier_durable: bool) -> Result<Ack, Trouble> {
        loop {
            let written = match self.writer().await {
                Ok(writer) => writer.write(batches.clone()).await,
                Err(failure) => Err(failure),
            };
            match written {
                Ok(ack) => {
                    self.own.note_progress();
                    return Ok(ack);
                }
                Err(failure) if earlier_durable && is_passing(&failure) => {
                    self.writer = None;
                    self.wait_out(failure).await?;
                }
                Err(failure) => return Err(Trouble::Writer(failure)),
            }
        }
    }

    /// The reader, a new one where there is none at rest.
    async fn reader(&mut self) -> Result<&mut Reader<I::Source, I::Transform>, Trouble> {
        if self.reader.idle_mut().is_none() {
            let source = self.instances.source().await.map_err(Trouble::Reader)?;
            let transform = self.instances.transform().await.map_err(Trouble::Reader)?;
            self.reader = Hand::new(Reader { source, transform });
        }
        Ok(self.reader.idle_mut().expect("it was just made"))
    }

    async fn writer(&mut self) -> Result<&mut I::Destination, Failure> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => {
                let mut writer = self.instances.destination().await?;
                if let Some(part) = &self.part {
                    // It goes on where another one failed; had that ended the part, nobody would write to it.
                    writer.begin_part(part).await?;
                }
                writer
            }
        };
        Ok(self.writer.insert(writer))
    }

    async fn wait_out(&mut self, failure: Failure) -> Result<(), Trouble> {
        let delay = self.own.note_failure(&failure, &mut self.back_off);
        let waited = self.own.stop.run_until_cancelled(tokio::time::sleep(delay)).await;
        waited.ok_or(Trouble::Halted)
    }
}

impl<S: SnapshotSource, T: Transform> Reader<S, T> {
    async fn fill(
        &mut self,
        settings: &SnapshotSettings,
        observer: &dyn Observer,
        halt: &CancellationToken,
    ) -> Result<Filled, Failure> {
        let (rows_max, bytes_max) = (u64::from(settings.batch_rows_max), settings.bounds.batch_bytes_max);
        let (mut rows, mut bytes) = (0, 0);
        let mut batches = Vec::new();
        while rows < rows_max && bytes < bytes_max && !halt.is_cancelled() {
            let limits = Limits {
                rows_max: u32::try_from(rows_max - rows).unwrap_or(u32::MAX),
                bytes_max: settings.bounds.read_bytes_max,
                // An answer without rows is the partition's end, so this read never gives up waiting.
                wait: Duration::from_millis(u64::from(u32::MAX)),
            };
            let Some(batch) = self.source.read_snapshot(limits).await? else {
                return Ok(Filled { batches, end: End::Reached });
            };
            let batch = match &mut self.transform {
                Some(transform) => {
                    let answer = transform.apply(batch.clone()).await?;
                    settings.records.judge(&batch, answer, observer).await?
                }
                None => batch,
            };
            if batch.rows > 0 {
                rows += u64::from(batch.rows);
                bytes += batch.len_bytes();
                batches.push(batch);
            }
        }
        Ok(Filled { batches, end: End::Ahead })
    }
}

/// The name of a part. Destinations keep it, so that it is the same in every version: the load's start is in it as its
/// bytes are.
fn part_name(job: &Job, extent: &str, start: &Position) -> String {
    let Job { table, number, partition, .. } = job;
    let start: String = start.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{table} {number} {partition} {extent} Position({start})")
}

/// The code by which a source says that it gives out no further connection (`wit/README.md`).
const NO_CONNECTION_LEFT: &str = "no_connection_left";

fn is_refusal(failure: &Failure) -> bool {
    is_passing(failure) && failure.code == NO_CONNECTION_LEFT
}

fn is_passing(failure: &Failure) -> bool {
    remedy(failure) == Remedy::BackOff
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A destination knows by it which parts ended: never change it.
    #[test]
    fn a_part_has_the_name_that_it_had_in_every_version() {
        let job = Job {
            table: "public.t".to_owned(),
            number: 3,
            partition: "{\"from\":0}".to_owned(),
            extent: Extent::Whole,
        };
        let start = Position::new(vec![0, 7, 255]);
        assert_eq!(part_name(&job, "whole", &start), "public.t 3 {\"from\":0} whole Position(0007ff)");
        assert_eq!(
            part_name(&job, "2 since 731", &start),
            "public.t 3 {\"from\":0} 2 since 731 Position(0007ff)"
        );
    }
}
