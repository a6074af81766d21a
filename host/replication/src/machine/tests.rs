//! The machine's promises, one by one. The simulation covers their combinations.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use tarn_model::{Failure, FailureClass, Position};

use super::{Effect, Event, Machine, Now, Part, Script};
use crate::batch::Batch;
use crate::checkpoint::Resume;
use crate::destination::Ack;
use crate::records::Records;
use crate::settings::{StreamBounds, StreamSettings};
use crate::source::Changes;

const DURABLE: Ack = Ack { rows: 0, bytes: 0, durable: true };

/// A machine with its calls in flight as text, at a time the test sets.
struct Bench {
    machine: Machine,
    elapsed: Duration,
}

impl Bench {
    fn new(script: Script) -> Self {
        let settings = StreamSettings {
            batch_rows_max: 10,
            idle_timeout: Duration::from_secs(10),
            records: Records::stop(),
            bounds: StreamBounds {
                window_bytes_max: 20_000,
                batch_bytes_max: 5_000,
                read_bytes_max: 1_000,
                ..StreamBounds::default()
            },
        };
        Self::with(settings, script)
    }

    fn with(settings: StreamSettings, script: Script) -> Self {
        let resume = Resume { position: position(100), sequence: 100, batch: 7 };
        Self { machine: Machine::new(settings, script, None, &resume), elapsed: Duration::ZERO }
    }

    fn apply(&mut self, event: Event) -> Vec<String> {
        let now = Now { elapsed: self.elapsed, wall: SystemTime::UNIX_EPOCH + self.elapsed };
        self.machine.apply(now, event).iter().map(text).collect()
    }

    fn read(&mut self, sequence: u64, rows: u32) -> Vec<String> {
        self.apply(Event::Read(changes(sequence, rows, 100)))
    }

    /// Starts, and confirms where it starts from, with the first read in flight.
    fn started(script: Script) -> Self {
        let mut bench = Self::new(script);
        assert_eq!(bench.apply(Event::Woke), ["confirm 100"]);
        assert_eq!(bench.apply(Event::Confirmed), ["read"]);
        bench
    }
}

fn position(sequence: u64) -> Position {
    Position::new(sequence.to_le_bytes().to_vec())
}

fn batch(rows: u32, bytes: usize) -> Batch {
    Batch { bytes: Bytes::from(vec![0; bytes]), rows }
}

fn changes(sequence: u64, rows: u32, bytes: usize) -> Changes {
    let batch = (rows > 0).then(|| batch(rows, bytes));
    Changes { schema: None, batch, position: position(sequence), sequence }
}

fn text(effect: &Effect) -> String {
    let number =
        |position: &Position| u64::from_le_bytes(position.as_bytes().try_into().expect("eight bytes"));
    match effect {
        Effect::Read(_) => "read".to_owned(),
        Effect::Confirm(position) => format!("confirm {}", number(position)),
        Effect::Transform(batch) => format!("transform {}", batch.rows),
        Effect::Write(batches) => {
            format!("write {:?}", batches.iter().map(|batch| batch.rows).collect::<Vec<_>>())
        }
        Effect::Flush => "flush".to_owned(),
        Effect::Evolve(_) => "evolve".to_owned(),
        Effect::Save(checkpoint) => {
            let batches: Vec<_> = checkpoint.batches.iter().map(|batch| (batch.number, batch.rows)).collect();
            format!("save {} {batches:?}", number(&checkpoint.position))
        }
        Effect::Stage(ticket, _) => format!("stage {} after {}", ticket.number, ticket.after),
        Effect::Fetch(number) => format!("fetch {number}"),
        Effect::Unstage(number) => format!("unstage {number}"),
        Effect::Tell(standing) => format!("tell {standing:?}"),
        Effect::Begun { number, first_sequence } => format!("begun {number} after {first_sequence}"),
        Effect::Finish(Ok(stopped)) => format!("stopped {:?}", stopped.trouble.as_ref().map(|f| &f.code)),
        Effect::Finish(Err(failure)) => format!("failed {}", failure.code),
    }
}

#[test]
fn a_full_batch_leaves_while_reading_goes_on() {
    let mut bench = Bench::started(Script::Absent);
    assert_eq!(bench.read(110, 6), ["begun 8 after 100", "read"]);
    assert_eq!(bench.read(120, 4), ["write [6, 4]", "read"]);
    assert_eq!(bench.read(130, 3), ["begun 9 after 120", "read"]);
}

#[test]
fn a_batch_that_would_grow_too_large_leaves_without_the_rows_that_do_not_fit() {
    let mut bench = Bench::started(Script::Absent);
    bench.read(110, 6);
    assert_eq!(bench.read(120, 5), ["begun 9 after 110", "write [6]", "read"]);
}

#[test]
fn a_batch_full_by_bytes_leaves() {
    let mut bench = Bench::started(Script::Absent);
    assert_eq!(bench.apply(Event::Read(changes(110, 1, 9_000))), ["begun 8 after 100", "write [1]", "read"]);
}

#[test]
fn a_batch_leaves_at_the_idle_timeout_since_its_first_row() {
    // B194: nothing has to come after the last row for it to be written.
    let mut bench = Bench::started(Script::Absent);
    bench.elapsed = Duration::from_secs(3);
    bench.read(110, 1);
    bench.elapsed = Duration::from_secs(9);
    bench.read(120, 1);
    assert_eq!(bench.machine.wake_at(), Some(Duration::from_secs(13)));
    bench.elapsed = Duration::from_secs(13);
    assert_eq!(bench.apply(Event::Woke), ["write [1, 1]"]);
}

#[test]
fn without_idle_timeout_rows_leave_as_soon_as_the_destination_is_free() {
    let mut bench = Bench::new(Script::Absent);
    bench.machine.settings.idle_timeout = Duration::ZERO;
    bench.apply(Event::Woke);
    bench.apply(Event::Confirmed);
    assert_eq!(bench.read(110, 1), ["begun 8 after 100", "write [1]", "read"]);
    assert_eq!(bench.read(120, 1), ["begun 9 after 110", "read"]);
    assert_eq!(bench.read(130, 1), ["read"]);
    assert_eq!(bench.apply(Event::Written(DURABLE)), ["write [1, 1]", "save 110 [(8, 1)]"]);
}

#[test]
fn changed_columns_reach_the_destination_between_the_rows_they_came_between() {
    let mut bench = Bench::started(Script::Absent);
    bench.read(110, 2);
    let with_schema = Changes { schema: Some(Bytes::from_static(b"columns")), ..changes(120, 3, 100) };
    assert_eq!(bench.apply(Event::Read(with_schema)), ["begun 9 after 110", "write [2]", "read"]);
    assert_eq!(bench.apply(Event::Written(DURABLE)), ["evolve", "save 110 [(8, 2)]"]);
    assert_eq!(bench.apply(Event::Evolved), Vec::<String>::new());
    bench.elapsed = Duration::from_secs(10);
    assert_eq!(bench.apply(Event::Woke), ["write [3]"]);
}

#[test]
fn an_answer_without_rows_moves_the_position_when_nothing_is_on_its_way() {
    let mut bench = Bench::started(Script::Absent);
    assert_eq!(bench.read(150, 0), ["save 150 []", "read"]);
    assert_eq!(bench.apply(Event::Saved), Vec::<String>::new());
    assert_eq!(bench.read(150, 0), ["confirm 150"]);
    assert_eq!(bench.apply(Event::Confirmed), ["read"]);
}

#[test]
fn an_answer_without_rows_does_not_pass_rows_that_are_on_their_way() {
    let mut bench = Bench::started(Script::Absent);
    bench.read(110, 1);
    assert_eq!(bench.read(150, 0), ["read"]);
    bench.elapsed = Duration::from_secs(10);
    assert_eq!(bench.apply(Event::Woke), ["write [1]"]);
    assert_eq!(bench.read(170, 0), ["read"]);
    assert_eq!(bench.apply(Event::Written(DURABLE)), ["save 170 [(8, 1)]"]);
}

#[test]
fn rows_dropped_by_the_script_move_the_position() {
    let mut bench = Bench::started(Script::Present);
    assert_eq!(bench.read(110, 4), ["transform 4", "read"]);
    assert_eq!(bench.apply(Event::Transformed(batch(0, 16))), ["save 110 []"]);
    assert_eq!(bench.machine.window_bytes(), 0);
}

#[test]
fn batches_go_through_the_script_one_at_a_time_and_in_order() {
    let mut bench = Bench::started(Script::Present);
    assert_eq!(bench.read(110, 4), ["transform 4", "read"]);
    assert_eq!(bench.read(120, 5), ["read"]);
    assert_eq!(bench.read(130, 0), ["read"]);
    assert_eq!(bench.apply(Event::Transformed(batch(4, 100))), ["begun 8 after 100", "transform 5"]);
    assert_eq!(bench.machine.watermarks().durable, 100);
}

#[test]
fn a_write_that_is_not_durable_is_flushed_before_it_is_checkpointed() {
    let mut bench = Bench::started(Script::Absent);
    bench.read(110, 10);
    assert_eq!(bench.apply(Event::Written(Ack { durable: false, ..DURABLE })), ["flush"]);
    assert_eq!((bench.machine.watermarks().written, bench.machine.watermarks().durable), (110, 100));
    assert_eq!(bench.apply(Event::Flushed), ["save 110 [(8, 10)]"]);
}

#[test]
fn reading_stops_when_the_window_is_full_and_goes_on_when_a_write_made_room() {
    let mut bench = Bench::started(Script::Absent);
    let mut sequence = 100;
    loop {
        sequence += 1;
        let effects = bench.apply(Event::Read(changes(sequence, 1, 1_000)));
        assert!(bench.machine.window_bytes() <= 20_000);
        if !effects.contains(&"read".to_owned()) {
            break;
        }
    }
    assert!(bench.apply(Event::Written(DURABLE)).contains(&"read".to_owned()));
}

#[test]
fn a_busy_stream_confirms_once_a_second() {
    let mut bench = Bench::started(Script::Absent);
    bench.read(110, 10);
    bench.read(120, 3);
    bench.apply(Event::Written(DURABLE));
    bench.apply(Event::Saved);
    bench.elapsed = Duration::from_millis(900);
    assert_eq!(bench.read(130, 3), ["read"]);
    bench.elapsed = Duration::from_millis(1_000);
    assert_eq!(bench.read(140, 3), ["confirm 110"]);
}

#[test]
fn a_stream_at_rest_confirms_right_after_its_checkpoint() {
    let mut bench = Bench::started(Script::Absent);
    bench.read(110, 10);
    bench.apply(Event::Written(DURABLE));
    bench.apply(Event::Saved);
    assert_eq!(bench.read(110, 0), ["confirm 110"]);
}

#[test]
fn an_idle_stream_does_not_save_every_position() {
    let mut bench = Bench::started(Script::Absent);
    bench.read(110, 0);
    bench.apply(Event::Saved);
    bench.read(120, 0);
    bench.apply(Event::Confirmed);
    assert_eq!(bench.read(130, 0), ["read"]);
    assert_eq!(bench.machine.wake_at(), Some(Duration::from_secs(5)));
    bench.elapsed = Duration::from_secs(5);
    assert_eq!(bench.apply(Event::Woke), ["save 130 []"]);
}

// B164
#[test]
fn a_stop_writes_saves_and_confirms_what_was_read() {
    let mut bench = Bench::started(Script::Absent);
    bench.read(110, 2);
    assert_eq!(bench.apply(Event::Stop), ["write [2]"]);
    assert_eq!(bench.read(120, 5), Vec::<String>::new()); // the next run reads it again
    assert_eq!(bench.apply(Event::Written(DURABLE)), ["save 110 [(8, 2)]"]);
    assert_eq!(bench.apply(Event::Saved), ["confirm 110"]);
    assert_eq!(bench.apply(Event::Confirmed), ["stopped None"]);
}

#[test]
fn a_stop_that_meets_trouble_is_no_failure() {
    let mut bench = Bench::started(Script::Absent);
    bench.read(110, 2);
    bench.apply(Event::Stop);
    bench.apply(Event::Failed(Part::Destination, Failure::retry("down", "connection refused")));
    assert_eq!(bench.read(120, 5), ["stopped Some(\"down\")"]);
}

#[test]
fn rows_read_before_the_source_failed_are_still_written_and_saved() {
    let mut bench = Bench::started(Script::Present);
    bench.read(110, 2);
    assert_eq!(
        bench.apply(Event::Failed(Part::Source, Failure::retry("reset", "connection reset"))),
        Vec::<String>::new()
    );
    assert_eq!(bench.apply(Event::Transformed(batch(2, 100))), ["begun 8 after 100", "write [2]"]);
    assert_eq!(bench.apply(Event::Written(DURABLE)), ["save 110 [(8, 2)]"]);
    assert_eq!(bench.apply(Event::Saved), ["failed reset"]);
}

#[test]
fn rows_before_the_one_the_script_rejects_are_still_written() {
    let mut bench = Bench::started(Script::Present);
    bench.read(110, 2);
    bench.apply(Event::Transformed(batch(2, 100)));
    bench.read(120, 3);
    let rejected = Failure::new(FailureClass::Record, "record_rejected", "line 3");
    assert_eq!(bench.apply(Event::Failed(Part::Transform, rejected)), ["write [2]"]);
    bench.read(130, 3);
    assert_eq!(bench.apply(Event::Written(DURABLE)), ["save 110 [(8, 2)]"]);
    assert_eq!(bench.apply(Event::Saved), ["confirm 110"]);
    assert_eq!(bench.apply(Event::Confirmed), ["failed record_rejected"]);
}

#[test]
fn nothing_more_is_written_once_checkpoints_fail() {
    let mut bench = Bench::started(Script::Absent);
    bench.read(110, 10);
    bench.read(120, 10);
    assert_eq!(bench.apply(Event::Written(DURABLE)), ["write [10]", "save 110 [(8, 10)]"]);
    bench.apply(Event::Failed(Part::Checkpoints, Failure::permanent("fenced", "another run is at work")));
    assert_eq!(bench.read(130, 10), Vec::<String>::new());
    assert_eq!(bench.apply(Event::Written(DURABLE)), ["failed fenced"]);
    assert_eq!(bench.machine.watermarks().checkpointed, 100);
}

#[test]
fn a_source_that_goes_back_fails_for_good() {
    let mut bench = Bench::started(Script::Absent);
    assert_eq!(bench.read(90, 1), ["failed sequence_went_back"]);
}

#[test]
#[should_panic(expected = "written while the destination is Idle")]
fn an_answer_nobody_asked_for_is_a_fault() {
    Bench::started(Script::Absent).apply(Event::Written(DURABLE));
}
