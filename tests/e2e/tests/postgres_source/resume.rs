//! A stream that is opened anywhere goes on exactly there.

use tarn_harness::until;

use crate::fixture::{Source, config, limits, rows, source, stream};
use crate::server;

const ROWS: usize = 60;

/// A mirror of one new table, set up, and transactions of several sizes, aborted and interleaved ones
/// among them.
fn written(name: &str) -> (Source, Vec<u8>) {
    let server = server();
    server.query(&format!(
        "CREATE TABLE {name} (id int PRIMARY KEY, t text); CREATE TABLE {name}_other (id int)"
    ));
    let mut source = source(server, config(name, &[&format!("public.{name}")]));
    let start = source.setup().expect("a slot");
    let mut long = server.session();
    long.query(&format!("BEGIN; INSERT INTO {name} SELECT i, 'long' FROM generate_series(1, 10) i"));
    server.query(&format!("INSERT INTO {name} SELECT i, 'short' FROM generate_series(11, 15) i"));
    server.query(&format!("INSERT INTO {name}_other VALUES (1)"));
    server.query(&format!("BEGIN; INSERT INTO {name} VALUES (99, 'aborted'); ROLLBACK"));
    long.query(&format!("SAVEPOINT s; INSERT INTO {name} VALUES (99, 'aborted'); ROLLBACK TO s"));
    long.query(&format!("INSERT INTO {name} SELECT i, 'long' FROM generate_series(16, 40) i; COMMIT"));
    server.query(&format!("INSERT INTO {name} SELECT i, 'last' FROM generate_series(41, 60) i"));
    (source, start)
}

#[test]
fn every_cut_inside_and_between_transactions_resumes_with_the_next_row() {
    // B140, B143, B146.
    let (mut source, start) = written("resumed");
    source.open(&start).expect("the stream");
    let (whole, _) = stream(&mut source, ROWS, 10_000).expect("rows");
    let ids: Vec<i32> = whole.iter().map(|row| row.after[0].parse().expect("a number")).collect();
    let expected: Vec<i32> = (11..=15).chain(1..=10).chain(16..=60).collect();
    assert_eq!(ids, expected, "in the order of commits");

    for rows_max in [1, 7] {
        let mut seen = Vec::new();
        let mut position = start.clone();
        let mut sequence = 0;
        while seen.len() < ROWS {
            source.open(&position).expect("the stream");
            let changes = source.read(limits(rows_max)).expect("changes");
            assert!(changes.sequence >= sequence);
            sequence = changes.sequence;
            seen.extend(rows(&changes.batch));
            position = changes.position;
        }
        assert_eq!(seen, whole, "cut every {rows_max} rows");
    }
    source.teardown().expect("no failure");
}

#[test]
fn what_was_confirmed_in_the_middle_of_a_transaction_is_still_delivered_whole() {
    // B139.
    let (mut source, start) = written("half_confirmed");
    source.open(&start).expect("the stream");
    let (first, positions) = stream(&mut source, 12, 4).expect("rows");
    let position = positions.last().expect("a position").clone();
    source.confirm(&position).expect("confirmed");
    source.open(&position).expect("the stream");
    let (rest, _) = stream(&mut source, ROWS - first.len(), 10_000).expect("rows");
    let ids: Vec<&str> = first.iter().chain(&rest).map(|row| row.after[0].as_str()).collect();
    let expected: Vec<String> = (11..=15).chain(1..=10).chain(16..=60).map(|id| id.to_string()).collect();
    assert_eq!(ids, expected);
    source.teardown().expect("no failure");
}

#[test]
fn an_idle_table_does_not_hold_the_log() {
    // B158: changes elsewhere move the position, and confirming it moves the slot.
    let server = server();
    server.query("CREATE TABLE idle (id int PRIMARY KEY); CREATE TABLE busy (id int)");
    let mut source = source(server, config("idle", &["public.idle"]));
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    let confirmed = "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = 'tarn_slot_idle'";
    let before = server.scalar(confirmed);
    server.query("INSERT INTO busy SELECT generate_series(1, 1000)");
    let target = server.scalar("SELECT pg_current_wal_insert_lsn()").expect("a position");
    until("the slot moves past what was written", || {
        let changes = source.read(tarn_sdk::Limits { wait_ms: 50, ..limits(10) }).expect("changes");
        assert_eq!(changes.rows, 0);
        source.confirm(&changes.position).expect("confirmed");
        let passed = format!("SELECT ({confirmed}) >= '{target}'");
        (server.scalar(&passed).as_deref() == Some("t")).then_some(())
    });
    assert_ne!(server.scalar(confirmed), before);
    source.teardown().expect("no failure");
}

#[test]
fn nothing_is_confirmed_before_the_host_says_so() {
    // B139.
    let server = server();
    server.query("CREATE TABLE unconfirmed (id int PRIMARY KEY)");
    let mut source = source(server, config("unconfirmed", &["public.unconfirmed"]));
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    let confirmed =
        "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = 'tarn_slot_unconfirmed'";
    let before = server.scalar(confirmed);
    server.query("INSERT INTO unconfirmed VALUES (1)");
    stream(&mut source, 1, 10).expect("a row");
    source.open(&start).expect("it is still there");
    stream(&mut source, 1, 10).expect("the same row");
    assert_eq!(server.scalar(confirmed), before);
    source.teardown().expect("no failure");
}

#[test]
fn a_large_transaction_comes_in_bounded_batches() {
    // B127, B128.
    let server = server();
    server.query("CREATE TABLE large_txn (id int PRIMARY KEY, t text)");
    let mut source = source(server, config("large_txn", &["public.large_txn"]));
    let start = source.setup().expect("a slot");
    server.query("INSERT INTO large_txn SELECT i, repeat('x', i % 500) FROM generate_series(1, 200000) i");
    source.open(&start).expect("the stream");
    let mut count = 0;
    while count < 200_000 {
        let limits = tarn_sdk::Limits { rows_max: 100_000, bytes_max: 300_000, wait_ms: 20_000 };
        let changes = source.read(limits).expect("changes");
        assert!(changes.rows > 0 && changes.batch.len() < 302_000, "{} bytes", changes.batch.len());
        count += changes.rows;
    }
    assert_eq!(count, 200_000);
    source.teardown().expect("no failure");
}

#[test]
fn a_wide_row_comes_whole_in_a_batch_of_its_own() {
    let server = server();
    server.query("CREATE TABLE wide_row (id int PRIMARY KEY, t text)");
    let mut source = source(server, config("wide_row", &["public.wide_row"]));
    let start = source.setup().expect("a slot");
    server.query("INSERT INTO wide_row SELECT i, repeat('x', 20000000) FROM generate_series(1, 2) i");
    source.open(&start).expect("the stream");
    let (seen, _) = stream(&mut source, 2, 10).expect("rows");
    assert!(seen.iter().all(|row| row.after[1].len() == 20_000_000));
    source.teardown().expect("no failure");
}
