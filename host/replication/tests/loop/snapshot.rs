use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tarn_model::Failure;
use tarn_replication::{
    Batch, HeldSnapshot, Instances, Limits, NoTransform, PartitionDone, PartitionProgress, PartitionRead,
    PartitionState, Run, SnapshotBounds, SnapshotEnd, SnapshotLedger, SnapshotSettings, SnapshotSource,
    TableProgress, snapshot,
};
use tokio_util::sync::CancellationToken;

use crate::fakes::{FakeDestination, Journal, Reply, batch, position, skipping};

/// Partitions of four reads of ten rows each.
struct FakeLoader {
    left: u32,
    journal: Journal,
    fails: Option<Failure>,
}

impl SnapshotSource for FakeLoader {
    async fn plan_snapshot(&mut self, table: &str, _: u64, _: u32) -> Result<Vec<String>, Failure> {
        Ok(vec![format!("{table}/0"), format!("{table}/1")])
    }

    async fn plan_catch_up(&mut self, partition: &str, horizon: &str) -> Result<String, Failure> {
        Ok(format!("{partition} since {horizon}"))
    }

    async fn open_snapshot(&mut self, read: &PartitionRead) -> Result<(), Failure> {
        self.journal.line(format!("open {} at {}", read.partition, read.generation));
        self.left = 4;
        Ok(())
    }

    async fn read_snapshot(&mut self, _: Limits) -> Result<Option<Batch>, Failure> {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if let Some(failure) = self.fails.take() {
            return Err(failure);
        }
        self.left = self.left.saturating_sub(1);
        Ok((self.left > 0).then(|| batch(10)))
    }
}

#[derive(Default)]
struct Factory {
    journal: Journal,
    source_fails: Mutex<Vec<Failure>>,
    writes: Mutex<Vec<Reply>>,
    /// How many sources were asked for, and what the making of each fails with.
    sources: Mutex<u32>,
    refuses: Option<fn(u32) -> Option<Failure>>,
}

impl Instances for Factory {
    type Source = FakeLoader;
    type Transform = NoTransform;
    type Destination = FakeDestination;

    async fn source(&self) -> Result<FakeLoader, Failure> {
        let number = {
            let mut sources = self.sources.lock().unwrap();
            *sources += 1;
            *sources
        };
        if let Some(failure) = self.refuses.and_then(|refuses| refuses(number)) {
            return Err(failure);
        }
        let fails = self.source_fails.lock().unwrap().pop();
        Ok(FakeLoader { left: 0, journal: self.journal.clone(), fails })
    }

    async fn transform(&self) -> Result<Option<NoTransform>, Failure> {
        Ok(None)
    }

    async fn destination(&self) -> Result<FakeDestination, Failure> {
        Ok(FakeDestination::new(&self.journal, self.writes.lock().unwrap().drain(..)))
    }
}

struct FakeLedger {
    tables: Vec<TableProgress>,
    journal: Journal,
}

impl SnapshotLedger for FakeLedger {
    async fn load(&self) -> Result<Vec<TableProgress>, Failure> {
        Ok(self.tables.clone())
    }

    async fn planned(&self, table: &str, partitions: &[String]) -> Result<(), Failure> {
        self.journal.line(format!("planned {table} {partitions:?}"));
        Ok(())
    }

    async fn done(&self, done: &PartitionDone) -> Result<(), Failure> {
        self.journal.line(format!("done {} {} at {}", done.table, done.number, done.horizon));
        Ok(())
    }
}

fn settings(workers: u32) -> SnapshotSettings {
    SnapshotSettings {
        partition_rows: 100,
        partitions_min: 2,
        workers,
        tables_in_parallel: 1,
        batch_rows_max: 20,
        records: skipping(),
        bounds: SnapshotBounds::default(),
    }
}

fn held(generation: u32) -> HeldSnapshot {
    HeldSnapshot {
        token: "t".to_owned(),
        horizon: format!("h{generation}"),
        generation,
        start: position(100),
    }
}

fn unplanned(table: &str) -> TableProgress {
    TableProgress { table: table.to_owned(), partitions: None }
}

fn full() -> Failure {
    Failure::retry("no_connection_left", "too many clients already")
}

async fn load(
    factory: Factory,
    tables: Vec<TableProgress>,
    generation: u32,
    workers: u32,
    stop_after: Duration,
) -> (Result<SnapshotEnd, Failure>, Vec<String>) {
    let journal = factory.journal.clone();
    let ledger = Arc::new(FakeLedger { tables, journal: journal.clone() });
    let run = Run::new(Arc::new(journal.clone()), CancellationToken::new());
    let stop = run.stop.clone();
    let loading = snapshot(Arc::new(factory), ledger, held(generation), settings(workers), run);
    let stopper = async {
        tokio::time::sleep(stop_after).await;
        stop.cancel();
        std::future::pending::<Infallible>().await
    };
    let end = tokio::select! {
        end = loading => end,
        never = stopper => match never {},
    };
    (end, journal.lines())
}

const LONG: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn a_table_is_planned_read_and_done_partition_by_partition() {
    let (end, lines) = load(Factory::default(), vec![unplanned("t")], 1, 1, LONG).await;
    assert_eq!(end, Ok(SnapshotEnd::Complete));
    assert_eq!(
        lines,
        [
            "planned t [\"t/0\", \"t/1\"]",
            "open t/0 at 1",
            "wrote 20",
            "wrote 10",
            "done t 0 at h1",
            "partition t 0 of 30",
            "open t/1 at 1",
            "wrote 20",
            "wrote 10",
            "done t 1 at h1",
            "partition t 1 of 30",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_restart_reads_unfinished_partitions_whole_and_catches_finished_ones_up() {
    let progress = |number, state| PartitionProgress { number, partition: format!("t/{number}"), state };
    let finished = PartitionState::Done { generation: 1, horizon: "h1".to_owned() };
    let partitions = vec![progress(0, finished), progress(1, PartitionState::Pending)];
    let tables = vec![TableProgress { table: "t".to_owned(), partitions: Some(partitions) }];
    let (end, lines) = load(Factory::default(), tables, 2, 1, LONG).await;
    assert_eq!(end, Ok(SnapshotEnd::Complete));
    let opened: Vec<_> = lines.iter().filter(|line| line.starts_with("open")).collect();
    assert_eq!(opened, ["open t/0 since h1 at 2", "open t/1 at 2"]);
}

#[tokio::test(start_paused = true)]
async fn a_stop_pauses_between_writes_and_leaves_the_partition_unfinished() {
    let (end, lines) =
        load(Factory::default(), vec![unplanned("t")], 1, 2, Duration::from_millis(1_500)).await;
    assert_eq!(end, Ok(SnapshotEnd::Paused));
    assert!(!lines.iter().any(|line| line.starts_with("done")), "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn trouble_of_the_destination_is_waited_out_at_the_held_point() {
    let factory = Factory::default();
    let down = Failure::retry("down", "connection refused");
    *factory.writes.lock().unwrap() = vec![Reply::Fail(down)];
    let (end, lines) = load(factory, vec![unplanned("t")], 1, 1, LONG).await;
    assert_eq!(end, Ok(SnapshotEnd::Complete));
    assert_eq!(lines[1..5], ["open t/0 at 1", "retry 1: down", "wrote 20", "recovered from 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_fails_twice_at_one_point_ends_the_run() {
    let factory = Factory::default();
    let lost = Failure::retry("lost", "connection lost");
    *factory.source_fails.lock().unwrap() = vec![lost.clone(), lost.clone()];
    let (end, lines) = load(factory, vec![unplanned("t")], 1, 1, LONG).await;
    assert_eq!(end, Err(lost));
    assert_eq!(lines[1..], ["open t/0 at 1", "retry 1: lost", "open t/0 at 1", "given up"]);
}

#[tokio::test(start_paused = true)]
async fn workers_that_get_no_connection_leave_their_partitions_to_those_that_have_one() {
    let of_one = Factory { refuses: Some(|number| (number > 1).then(full)), ..Factory::default() };
    let (end, lines) = load(of_one, vec![unplanned("t"), unplanned("u")], 1, 4, LONG).await;
    assert_eq!(end, Ok(SnapshotEnd::Complete));
    let mut done: Vec<&str> =
        lines.iter().map(String::as_str).filter(|line| line.starts_with("done")).collect();
    done.sort_unstable();
    assert_eq!(done, ["done t 0 at h1", "done t 1 at h1", "done u 0 at h1", "done u 1 at h1"]);
    let of_none = Factory { refuses: Some(|_| Some(full())), ..Factory::default() };
    let (end, _) = load(of_none, vec![unplanned("t")], 1, 4, LONG).await;
    assert_eq!(end.expect_err("nobody has one").code, "no_connection_left");
}

#[tokio::test(start_paused = true)]
async fn a_partition_waits_for_no_worker_that_gets_no_connection() {
    let mut took = Vec::new();
    for refuses in [None, Some((|number| (number == 2).then(full)) as fn(u32) -> Option<Failure>)] {
        let begun = tokio::time::Instant::now();
        let factory = Factory { refuses, ..Factory::default() };
        let (end, _) = load(factory, vec![unplanned("t")], 1, 3, LONG).await;
        assert_eq!(end, Ok(SnapshotEnd::Complete));
        took.push(begun.elapsed());
    }
    assert_eq!(took[0], took[1], "a third worker reads it at once");
}

#[tokio::test(start_paused = true)]
async fn a_partition_of_a_worker_that_lost_its_connection_and_gets_no_other_is_read_by_another_one() {
    let lost = Failure::retry("lost", "connection reset");
    let refuses: fn(u32) -> Option<Failure> = |number| (number > 2).then(full);
    let source_fails = Mutex::new(vec![lost]);
    let factory = Factory { source_fails, refuses: Some(refuses), ..Factory::default() };
    let (end, lines) = load(factory, vec![unplanned("t")], 1, 2, LONG).await;
    assert_eq!(end, Ok(SnapshotEnd::Complete), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("no_connection_left")), "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn a_worker_whose_source_is_away_does_not_leave_the_load_to_the_others() {
    let away = |number| (number > 1).then(|| Failure::retry("down", "connection refused"));
    let factory = Factory { refuses: Some(away), ..Factory::default() };
    let (end, _) = load(factory, vec![unplanned("t"), unplanned("u")], 1, 2, LONG).await;
    assert_eq!(end.expect_err("a new point is to be held").code, "down");
}

#[tokio::test(start_paused = true)]
async fn a_failure_only_a_person_can_mend_stops_all_workers() {
    let factory = Factory::default();
    *factory.source_fails.lock().unwrap() = vec![Failure::permanent("denied", "no SELECT on t")];
    let (end, lines) = load(factory, vec![unplanned("t")], 1, 2, LONG).await;
    assert_eq!(end.unwrap_err().code, "denied");
    assert!(!lines.iter().any(|line| line.starts_with("done")), "{lines:?}");
}
