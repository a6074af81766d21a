use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tarn_model::{Failure, FailureClass};
use tarn_replication::{
    Ended, NoStage, NoTransform, OpenStage, Resume, Run, StreamBounds, StreamParts, StreamSettings, stream,
    supervise,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::fakes::{FakeCheckpoints, FakeDestination, FakeSource, Journal, Reply, position, skipping};

fn run(journal: &Journal) -> Run {
    Run::new(Arc::new(journal.clone()), CancellationToken::new())
}

#[tokio::test(start_paused = true)]
async fn passing_trouble_is_tried_again_and_told_once_each() {
    let journal = Journal::default();
    let mut ends = VecDeque::from([
        Err(Failure::retry("down", "connection refused")),
        Err(Failure::retry("reset", "connection reset")),
        Ok("done"),
    ]);
    let began = Instant::now();
    let ended = supervise(&run(&journal), |_| std::future::ready(ends.pop_front().unwrap())).await;
    assert_eq!(ended, Ok(Ended::Value("done")));
    assert_eq!(journal.lines(), ["retry 1: down", "retry 2: reset", "given up"]);
    assert!(began.elapsed() >= Duration::from_millis(1_500), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn what_only_a_person_or_a_resync_can_mend_ends_it_at_once() {
    for class in [FailureClass::Permanent, FailureClass::Record, FailureClass::PositionLost] {
        let journal = Journal::default();
        let failure = Failure::new(class, "slot_missing", "the slot is gone");
        let ended = supervise(&run(&journal), |_| std::future::ready(Err::<(), _>(failure.clone()))).await;
        assert_eq!(ended, Err(failure));
        assert_eq!(journal.lines(), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_wait() {
    let journal = Journal::default();
    let run = run(&journal);
    let stop = run.stop.clone();
    let stopper = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        stop.cancel();
    };
    let began = Instant::now();
    let lives = supervise(&run, |_| std::future::ready(Err::<(), _>(Failure::retry("down", "refused"))));
    let (ended, ()) = tokio::join!(lives, stopper);
    assert_eq!(ended, Ok(Ended::Stopped { trouble: None }));
    assert_eq!(began.elapsed(), Duration::from_millis(100));
}

/// A source that brings rows, if any, then is lost.
fn lost_after(rows: u32) -> Vec<Reply> {
    let lost = Reply::Fail(Failure::retry("lost", "connection lost"));
    match rows {
        0 => vec![lost],
        rows => vec![Reply::Rows(rows), lost],
    }
}

/// A life of a stream whose source replies this.
async fn life(journal: Journal, run: Run, replies: Vec<Reply>) -> Result<tarn_replication::Stopped, Failure> {
    let parts = StreamParts {
        source: FakeSource::new(&journal, replies),
        transform: None::<NoTransform>,
        destination: FakeDestination::new(&journal, []),
        checkpoints: FakeCheckpoints { journal },
        stage: None::<OpenStage<NoStage>>,
    };
    let settings = StreamSettings {
        batch_rows_max: 10,
        idle_timeout: Duration::ZERO,
        records: skipping(),
        bounds: StreamBounds::default(),
    };
    stream(parts, Resume { position: position(100), sequence: 100, batch: 0 }, settings, run).await
}

#[tokio::test(start_paused = true)]
async fn progress_is_told_as_recovery_and_makes_the_next_failure_the_first_again() {
    let journal = Journal::default();
    let run = run(&journal);
    let mut rows = VecDeque::from([0, 0, 4, 0]);
    let stop = run.stop.clone();
    let lives = supervise(&run, |run| {
        let next = rows.pop_front();
        if next.is_none() {
            stop.cancel();
        }
        life(journal.clone(), run, lost_after(next.unwrap_or(0)))
    });
    assert!(matches!(lives.await, Ok(Ended::Value(_) | Ended::Stopped { .. })));
    let told: Vec<_> = journal
        .lines()
        .into_iter()
        .filter(|line| line.starts_with("retry") || line.starts_with("recovered"))
        .collect();
    assert_eq!(
        told,
        ["retry 1: lost", "retry 2: lost", "recovered from 2", "retry 1: lost", "retry 2: lost"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_any_change_has_recovered_once_it_has_lasted() {
    let journal = Journal::default();
    let run = run(&journal);
    let stop = run.stop.clone();
    let mut replies = VecDeque::from([lost_after(0), Vec::new()]);
    let lives = supervise(&run, |run| life(journal.clone(), run, replies.pop_front().expect("two lives")));
    let stopper = async {
        tokio::time::sleep(Duration::from_secs(20)).await;
        stop.cancel();
    };
    let (ended, ()) = tokio::join!(lives, stopper);
    assert!(matches!(ended, Ok(Ended::Value(_))), "{ended:?}");
    assert_eq!(
        journal.lines(),
        ["opened", "confirmed 100", "retry 1: lost", "opened", "confirmed 100", "recovered from 1"]
    );
}
