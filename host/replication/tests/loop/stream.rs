use std::sync::Arc;
use std::time::Duration;

use tarn_model::{Failure, FailureClass};
use tarn_replication::{
    NoStage, OpenStage, Records, Resume, Run, Stopped, StreamBounds, StreamParts, StreamSettings, Transform,
    stream,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::fakes::{
    FakeCheckpoints, FakeDesk, FakeDestination, FakeScript, FakeSource, Journal, Reply, position, skipping,
};

fn settings(records: Records) -> StreamSettings {
    StreamSettings {
        batch_rows_max: 1_000,
        idle_timeout: Duration::ZERO,
        records,
        bounds: StreamBounds::default(),
    }
}

/// Streams with these parts, and stops after some time.
async fn streamed<T: Transform>(
    journal: &Journal,
    source: FakeSource,
    transform: Option<T>,
    destination: FakeDestination,
    records: Records,
    stop_after: Duration,
) -> Result<Stopped, Failure> {
    let stop = CancellationToken::new();
    let run = Run::new(Arc::new(journal.clone()), stop.clone());
    let checkpoints = FakeCheckpoints { journal: journal.clone() };
    let parts =
        StreamParts { source, transform, destination, checkpoints, stage: None::<OpenStage<NoStage>> };
    let resume = Resume { position: position(100), sequence: 100, batch: 0 };
    let stopper = async {
        tokio::time::sleep(stop_after).await;
        stop.cancel();
    };
    tokio::join!(stream(parts, resume, settings(records), run), stopper).0
}

#[tokio::test(start_paused = true)]
async fn rows_are_written_saved_and_confirmed_and_a_stop_ends_it() {
    let journal = Journal::default();
    let source = FakeSource::new(&journal, [Reply::Rows(3)]);
    let destination = FakeDestination::new(&journal, []);
    let end = streamed(&journal, source, None::<FakeScript>, destination, skipping(), Duration::from_secs(4));
    let stopped = end.await.unwrap();
    assert_eq!((stopped.watermarks.confirmed, stopped.trouble), (103, None));
    assert_eq!(
        journal.lines(),
        ["opened", "confirmed 100", "wrote 3", "saved 103", "batch 1 of 3", "confirmed 103"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_rejected_record_stops_the_mirror_and_names_script_line_table_and_key() {
    let journal = Journal::default();
    let source = FakeSource::new(&journal, [Reply::Rows(5)]);
    let destination = FakeDestination::new(&journal, []);
    let policy = Records::stop();
    let failure =
        streamed(&journal, source, Some(FakeScript), destination, policy, Duration::from_secs(60)).await;
    let failure = failure.unwrap_err();
    assert_eq!((failure.class, failure.table.as_str()), (FailureClass::Record, "public.users"));
    assert_eq!(
        failure.message,
        "script mask version 2, line 3, function onRecord could not transform the record with key id=42: attempt \
         to index a nil value; its last log lines: seen 41"
    );
    assert_eq!(journal.lines(), ["opened", "confirmed 100"]);
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_left_out_is_noted_before_the_others_go_on() {
    let journal = Journal::default();
    let source = FakeSource::new(&journal, [Reply::Rows(5)]);
    let destination = FakeDestination::new(&journal, []);
    let records = Records::leave_out(Arc::new(FakeDesk(journal.clone())), 1_000);
    let end = streamed(&journal, source, Some(FakeScript), destination, records, Duration::from_secs(4));
    end.await.unwrap();
    let lines = journal.lines();
    assert_eq!(lines[2..7], ["noted 1 of 5", "left out id=42", "dropped 1", "wrote 3", "saved 105"]);
}

#[tokio::test(start_paused = true)]
async fn more_records_than_the_limit_stop_the_mirror_whatever_the_policy() {
    let journal = Journal::default();
    let source = FakeSource::new(&journal, [Reply::Rows(5), Reply::Rows(5), Reply::Rows(5)]);
    let destination = FakeDestination::new(&journal, []);
    let records = Records::leave_out(Arc::new(FakeDesk(journal.clone())), 2);
    let end = streamed(&journal, source, Some(FakeScript), destination, records, Duration::from_secs(60));
    let failure = end.await.unwrap_err();
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Record, "record_errors_too_many"));
    assert!(failure.message.contains("more than 2 of the last 20 records"), "{failure}");
    assert!(failure.message.contains("script mask version 2"), "{failure}");
    assert_eq!(journal.lines().iter().filter(|line| line.starts_with("noted")).count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_a_source_that_is_still_opening() {
    let journal = Journal::default();
    let source = FakeSource::new(&journal, [Reply::Hang]);
    let destination = FakeDestination::new(&journal, []);
    let end = streamed(&journal, source, None::<FakeScript>, destination, skipping(), Duration::from_secs(1));
    assert_eq!(end.await.unwrap().trouble, None);
    assert_eq!(journal.lines(), Vec::<String>::new(), "nobody is told that it is open");
}

#[tokio::test(start_paused = true)]
async fn a_stop_gives_up_a_write_that_outlasts_the_drain_deadline() {
    let journal = Journal::default();
    let source = FakeSource::new(&journal, [Reply::Rows(3)]);
    let destination = FakeDestination::new(&journal, [Reply::Hang]);
    let began = Instant::now();
    let end = streamed(&journal, source, None::<FakeScript>, destination, skipping(), Duration::from_secs(1));
    let stopped = end.await.unwrap();
    assert_eq!(stopped.trouble.unwrap().code, "drain_deadline");
    assert_eq!(began.elapsed().as_secs(), 9);
    assert_eq!(journal.lines(), ["opened", "confirmed 100"]);
}

#[tokio::test(start_paused = true)]
async fn a_write_in_flight_is_finished_when_the_source_fails() {
    let journal = Journal::default();
    let lost = Failure::retry("connection_lost", "connection reset");
    let source = FakeSource::new(&journal, [Reply::Rows(3), Reply::Fail(lost)]);
    let mut destination = FakeDestination::new(&journal, []);
    destination.delay = Duration::from_secs(2);
    let end =
        streamed(&journal, source, None::<FakeScript>, destination, skipping(), Duration::from_secs(60));
    assert_eq!(end.await.unwrap_err().code, "connection_lost");
    assert_eq!(journal.lines(), ["opened", "confirmed 100", "wrote 3", "saved 103", "batch 1 of 3"]);
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_call_is_a_failure_of_the_mirror_and_not_of_the_host() {
    let journal = Journal::default();
    let source = FakeSource::new(&journal, [Reply::Panic]);
    let destination = FakeDestination::new(&journal, []);
    let end =
        streamed(&journal, source, None::<FakeScript>, destination, skipping(), Duration::from_secs(60));
    let failure = end.await.unwrap_err();
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Permanent, "call_panicked"));
}
