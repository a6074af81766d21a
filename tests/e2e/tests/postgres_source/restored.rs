//! A server that was put back to an earlier time is told from one that has what was replicated.

use tarn_harness::{Postgres, until};
use tarn_sdk::{FailureClass, Limits};

use crate::fixture::{Aside, Seen, Source, config, limits, rows, source, spooling_source, stream};

const END: &str = "SELECT pg_current_wal_insert_lsn()";

/// A mirror of a table with one row that was replicated, and the position after it.
fn replicated(server: &Postgres) -> (Source, Vec<u8>) {
    server.query("CREATE TABLE kept (id int PRIMARY KEY, t text); CREATE TABLE other (t text)");
    let mut source = source(server, config("kept", &["public.kept"]));
    let start = source.setup().expect("a slot");
    server.query("INSERT INTO kept VALUES (1, 'a')");
    source.open(&start).expect("the stream");
    let (_, positions) = stream(&mut source, 1, 10).expect("a row");
    (source, positions[0].clone())
}

/// A server of which a copy is kept, as it was at the position after that row.
fn saved() -> (Postgres, Vec<u8>) {
    let mut server = Postgres::start();
    let (source, position) = replicated(&server);
    drop(source);
    server.stop();
    server.save();
    server.start_again();
    (server, position)
}

/// Writes what no mirror has until the log is longer.
fn grow(server: &Postgres, beyond: &str) {
    until("the log is longer", || {
        server.query("INSERT INTO other SELECT repeat('x', 500) FROM generate_series(1, 1000)");
        (server.scalar(&format!("SELECT '{beyond}' < ({END})")).as_deref() == Some("t")).then_some(())
    });
}

/// The position at which nothing is left before a place, once the server has it confirmed.
fn confirmed_beyond(server: &Postgres, source: &mut Source, place: &str) -> Vec<u8> {
    let confirmed = "SELECT confirmed_flush_lsn FROM pg_replication_slots";
    until("the position moves", || {
        let changes = source.read(Limits { wait_ms: 50, ..limits(10) }).expect("changes");
        assert_eq!(changes.rows, 0);
        source.confirm(&changes.position).expect("confirmed");
        let has_passed = server.scalar(&format!("SELECT ({confirmed}) >= '{place}'"));
        (has_passed.as_deref() == Some("t")).then_some(changes.position)
    })
}

fn ids(seen: &[Seen]) -> Vec<&str> {
    seen.iter().map(|row| row.after[0].as_str()).collect()
}

#[test]
fn a_server_that_was_put_back_to_before_what_was_replicated_is_refused_also_once_its_log_is_longer() {
    let (mut server, position) = saved();
    let mut source = self::source(&server, config("kept", &["public.kept"]));
    server.query("INSERT INTO kept VALUES (2, 'given up')");
    source.open(&position).expect("the stream");
    stream(&mut source, 1, 10).expect("a row");
    // Its transaction, too, is known to have ended.
    let end = server.scalar(END).expect("a place");
    let position = confirmed_beyond(&server, &mut source, &end);
    drop(source);
    server.stop();
    server.put_back();
    server.start_again();
    // What was replicated happens again, at the same places of the log even, but later.
    server.query("INSERT INTO kept VALUES (2, 'anew')");
    grow(&server, &end);
    // Neither the first attempt nor what it confirms changes what the second one sees.
    for _ in 0..2 {
        let mut source = self::source(&server, config("kept", &["public.kept"]));
        source.open(&position).expect("the stream");
        source.confirm(&position).expect("it is not passed on");
        let failure = until("it is told", || source.read(limits(10)).err());
        assert_eq!(
            (failure.class, failure.code.as_str()),
            (FailureClass::PositionLost, "history_diverged"),
            "{failure}"
        );
        assert!(failure.hint.contains("resync"), "{failure}");
    }
}

#[test]
fn a_server_that_was_put_back_to_after_what_was_replicated_goes_on_with_all_that_is_new() {
    let (mut server, position) = saved();
    let mut source = self::source(&server, config("kept", &["public.kept"]));
    source.open(&position).expect("the stream");
    // The position moves with what is of no mirror.
    let end = server.scalar(END).expect("a place");
    grow(&server, &end);
    let end = server.scalar(END).expect("a place");
    let position = confirmed_beyond(&server, &mut source, &end);
    drop(source);
    let end = server.scalar(END).expect("a place");
    server.stop();
    server.put_back();
    server.start_again();
    server.query("INSERT INTO kept VALUES (2, 'new')");
    grow(&server, &end);
    server.query("INSERT INTO kept VALUES (3, 'new')");
    let mut source = self::source(&server, config("kept", &["public.kept"]));
    source.open(&position).expect("the stream");
    let (first, positions) = stream(&mut source, 1, 1).expect("a row");
    source.open(&positions[0]).expect("the stream");
    let (second, _) = stream(&mut source, 1, 1).expect("a row");
    assert_eq!((ids(&first), ids(&second)), (vec!["2"], vec!["3"]));
}

#[test]
fn what_was_delivered_and_not_confirmed_is_passed_over() {
    let server = Postgres::start_with(&[("logical_decoding_work_mem", "64kB")]);
    for in_progress in [false, true] {
        server.query("DROP TABLE IF EXISTS kept, other");
        let (source, position) = replicated(&server);
        drop(source);
        let aside = Aside::of(1 << 30);
        let config = || config("kept", &["public.kept"]);
        let open = |position: &[u8]| {
            let mut source = match in_progress {
                true => spooling_source(&server, config(), &aside),
                false => self::source(&server, config()),
            };
            source.open(position).expect("the stream");
            source
        };
        server.query("ALTER TABLE kept RENAME t TO u; INSERT INTO kept VALUES (2, 'b')");
        server.query("INSERT INTO kept SELECT i, repeat('x', 100) FROM generate_series(10, 2009) i");
        server.query("ALTER TABLE kept RENAME u TO v; INSERT INTO kept VALUES (3, 'c')");
        server.query("TRUNCATE kept; INSERT INTO kept SELECT i, 'd' FROM generate_series(4, 6) i");
        let mut source = open(&position);
        let (seen, _) = stream(&mut source, 2001, 5000).expect("rows");
        assert_eq!(seen.len(), 2001, "up to where the columns change");
        let (seen, positions) = stream(&mut source, 1, 1).expect("a row");
        assert_eq!(ids(&seen), ["3"]);
        drop(source);
        // Nothing was confirmed since the slot was made.
        let mut source = open(&positions[0]);
        let (mut seen, mut columns, mut position) = (Vec::new(), Vec::new(), Vec::new());
        while seen.len() < 3 {
            let changes = source.read(limits(3 - seen.len() as u32)).expect("changes");
            let tables = changes.schema.iter().map(|described| &described.table);
            columns.extend(tables.flat_map(|table| &table.columns).map(|column| column.name.clone()));
            seen.extend(rows(&changes.batch));
            position = changes.position;
        }
        assert_eq!(columns, ["id", "v"]);
        assert_eq!(ids(&seen[1..]), ["4", "5"]);
        // In the middle of a transaction, behind others that come again.
        let mut source = open(&position);
        let (seen, positions) = stream(&mut source, 1, 10).expect("a row");
        assert_eq!(ids(&seen), ["6"]);
        source.confirm(&positions[0]).expect("confirmed");
        server.query("INSERT INTO kept VALUES (7, 'e')");
        let (seen, _) = stream(&mut source, 1, 10).expect("a row");
        assert_eq!(ids(&seen), ["7"]);
        source.teardown().expect("no failure");
    }
}
