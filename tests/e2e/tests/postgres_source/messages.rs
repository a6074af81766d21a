//! Messages that somebody put into the log. They are of a database, not of tables, so each test has a server of
//! its own.

use tarn_batch::Op;
use tarn_harness::{Postgres, until};
use tarn_sdk::SourceConfig;

use crate::fixture::{Seen, Source, config, limits, rows, source, stream};

/// The first server that sends them.
const SINCE: u32 = 14;

/// A mirror of one new table, which wants messages or not, and transactions with messages among their rows and
/// between them. Rows have their content as their text.
fn written(server: &Postgres, name: &str, messages: bool) -> (Source, Vec<u8>) {
    server.query(&format!("CREATE TABLE {name} (id int PRIMARY KEY, t text)"));
    let mut source = open(server, name, messages);
    let start = source.setup().expect("a slot");
    let emit = |transactional: bool, content: &str| {
        format!("SELECT pg_logical_emit_message({transactional}, 'p ä', '{content}')")
    };
    server.query(&format!(
        "{}; BEGIN; {}; INSERT INTO {name} VALUES (1, 'a'), (2, 'b'); {}; {}; SAVEPOINT s; {}; ROLLBACK TO s;
         INSERT INTO {name} VALUES (3, 'c'); {}; COMMIT",
        emit(false, "before"),
        emit(true, "1"),
        emit(true, "2"),
        emit(true, "3"),
        emit(true, "undone"),
        emit(true, "4"),
    ));
    server.query(&format!("BEGIN; {}; {}; ROLLBACK", emit(true, "undone"), emit(false, "all the same")));
    server.query(&format!("BEGIN; {}; COMMIT", emit(true, "alone")));
    server.query(&format!(
        "{}; INSERT INTO {name} VALUES (4, 'd'); {}",
        emit(false, ""),
        emit(false, "last")
    ));
    (source, start)
}

fn open(server: &Postgres, name: &str, messages: bool) -> Source {
    source(server, SourceConfig { messages, ..config(name, &[&format!("public.{name}")]) })
}

const EXPECTED: [(Op, &str); 12] = [
    (Op::Message, "before"),
    (Op::Message, "1"),
    (Op::Insert, "a"),
    (Op::Insert, "b"),
    (Op::Message, "2"),
    (Op::Message, "3"),
    (Op::Insert, "c"),
    (Op::Message, "4"),
    (Op::Message, "all the same"),
    (Op::Message, "alone"),
    (Op::Message, ""),
    (Op::Insert, "d"),
];

fn said(seen: &[Seen]) -> Vec<(Op, &str)> {
    seen.iter().map(|row| (row.op, row.after[1].as_str())).collect()
}

#[test]
fn messages_come_where_they_were_written_and_every_cut_resumes_with_the_next() {
    // B145.
    if crate::major() < SINCE {
        return;
    }
    let server = Postgres::start();
    let (mut source, start) = written(&server, "messages", true);
    source.open(&start).expect("the stream");
    let (whole, _) = stream(&mut source, EXPECTED.len() + 1, 1000).expect("rows");
    assert_eq!(said(&whole[..EXPECTED.len()]), EXPECTED);
    assert_eq!(said(&whole[EXPECTED.len()..]), [(Op::Message, "last")]);
    assert!(whole.iter().filter(|row| row.op == Op::Message).all(|row| row.after[0] == "p ä"));
    // Those of a transaction are told apart, and rows have the numbers that they have without them.
    let version = |at: usize| (whole[at].version.commit, whole[at].version.ordinal);
    assert_eq!([version(1).0, version(6).0], [version(2).0; 2]);
    assert_eq!([1, 4, 5, 7].map(|at| version(at).1), [0, 1, 2, 3]);
    assert_eq!([2, 3, 6].map(|at| version(at).1), [0, 1, 2]);
    assert!(version(0).0 < version(1).0 && version(7).0 < version(8).0 && version(8).0 < version(9).0);

    for rows_max in [1, 2, 3] {
        let mut seen = Vec::new();
        let mut position = start.clone();
        while seen.len() < whole.len() {
            source.open(&position).expect("the stream");
            let changes = source.read(limits(rows_max)).expect("changes");
            seen.extend(rows(&changes.batch));
            position = changes.position;
        }
        assert_eq!(seen, whole, "cut every {rows_max} rows");
    }
    source.teardown().expect("no failure");
}

#[test]
fn a_script_that_comes_or_goes_within_a_transaction_changes_no_rows_place() {
    if crate::major() < SINCE {
        return;
    }
    let server = Postgres::start();
    let (mut source, start) = written(&server, "toggled", true);
    source.open(&start).expect("the stream");
    let (whole, positions) = stream(&mut source, EXPECTED.len(), 1).expect("rows");
    // After each record with messages the rest without, and the other way around.
    let inserts =
        |seen: &[Seen]| -> Vec<Seen> { seen.iter().filter(|row| row.op == Op::Insert).cloned().collect() };
    drop(source);
    for (at, position) in positions.iter().enumerate() {
        let rest = inserts(&whole[at + 1..]);
        let mut without = open(&server, "toggled", false);
        without.open(position).expect("the stream");
        let (seen, _) = stream(&mut without, rest.len(), 1000).expect("rows");
        assert_eq!(seen, rest, "after record {at}");
    }
    let mut without = open(&server, "toggled", false);
    without.open(&start).expect("the stream");
    let (_, positions) = stream(&mut without, 3, 1).expect("rows");
    drop(without);
    let mut with = open(&server, "toggled", true);
    for (rows, position) in positions.iter().enumerate() {
        with.open(position).expect("the stream");
        let (seen, _) = stream(&mut with, 2, 1000).expect("rows");
        // Nothing comes from before the rows that were delivered.
        let first =
            EXPECTED.iter().position(|(op, text)| (*op, *text) == (Op::Insert, ["a", "b", "c"][rows]));
        let first = first.expect("it is expected") + 1;
        assert_eq!(said(&seen)[..2], EXPECTED[first..first + 2], "after row {rows}");
    }
    with.teardown().expect("no failure");
}

#[test]
fn messages_alone_move_the_slot_with_and_without_a_script() {
    // B145, B158.
    let server = &Postgres::start();
    for (name, messages) in [("told", true), ("untold", false)] {
        server.query(&format!("CREATE TABLE {name} (id int PRIMARY KEY)"));
        let mut source = open(server, name, messages);
        let start = source.setup().expect("a slot");
        source.open(&start).expect("the stream");
        server.query("SELECT pg_logical_emit_message(false, 'p', repeat('x', 1000000))");
        let target = server.scalar("SELECT pg_current_wal_insert_lsn()").expect("a position");
        let passed = format!(
            "SELECT confirmed_flush_lsn >= '{target}' FROM pg_replication_slots WHERE slot_name = 'tarn_slot_{name}'"
        );
        until("the slot moves past the message", || {
            let changes = source.read(tarn_sdk::Limits { wait_ms: 50, ..limits(10) }).expect("changes");
            source.confirm(&changes.position).expect("confirmed");
            (server.scalar(&passed).as_deref() == Some("t")).then_some(())
        });
        source.teardown().expect("no failure");
    }
}
