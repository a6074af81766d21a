//! Transactions that the server sends before they commit.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use tarn_batch::Op;
use tarn_harness::{Postgres, until};
use tarn_sdk::{Limits, SourceConfig};

use crate::fixture::{Aside, Seen, Source, config, limits, rows, source, spooling_source};

/// Bytes that may be put aside where a test does not say.
const ROOM: usize = 1 << 30;

/// A server that sends whatever is larger than its smallest bound before the commit.
fn server() -> Postgres {
    Postgres::start_with(&[("logical_decoding_work_mem", "64kB"), ("max_prepared_transactions", "10")])
}

/// The first server that does.
fn sends_early() -> bool {
    crate::major() >= 14
}

fn wanted(name: &str) -> SourceConfig {
    SourceConfig { messages: true, ..config(name, &["public.t", "public.u"]) }
}

/// Tables with transactions of all kinds: large ones beside each other, rolled back in part and as a whole, prepared,
/// with other columns from their middle on; small ones between. Where the stream begins.
fn written(server: &Postgres, name: &str) -> Vec<u8> {
    server.query(
        "CREATE TABLE t (id int PRIMARY KEY, t text); CREATE TABLE u (id int PRIMARY KEY, t text);
         CREATE TABLE elsewhere (id int, t text)",
    );
    let start = source(server, wanted(name)).setup().expect("a slot");
    let (mut one, mut two, mut lost) = (server.session(), server.session(), server.session());
    let many = |table: &str, first: i32| {
        format!(
            "INSERT INTO {table} SELECT n, repeat('x', 200) FROM generate_series({first}, {first} + 999) n;
             INSERT INTO elsewhere SELECT n, 'y' FROM generate_series({first}, {first} + 99) n;"
        )
    };
    one.query(&format!("BEGIN; {}", many("t", 1)));
    two.query(&format!("BEGIN; SAVEPOINT a; {}", many("u", 10_001)));
    lost.query(&format!("BEGIN; {}", many("t", 20_001)));
    server.query("INSERT INTO t VALUES (30000, 'small'); UPDATE t SET t = 'changed' WHERE id = 30000");
    one.query(&format!(
        "SAVEPOINT a; {} SAVEPOINT b; {} RELEASE b; ROLLBACK TO a",
        many("t", 2_001),
        many("u", 2_001)
    ));
    one.query("SELECT pg_logical_emit_message(true, 'p', 'kept'); SAVEPOINT c; SELECT pg_logical_emit_message(true, 'p', 'undone'); ROLLBACK TO c");
    // The first rows of a table in a transaction come with its description: this part is undone.
    two.query(&format!("SAVEPOINT d; {} ROLLBACK TO d; {}", many("t", 40_001), many("t", 50_001)));
    one.query(&format!("{} UPDATE t SET t = 'again' WHERE id <= 10", many("t", 3_001)));
    lost.query(&format!("{} ROLLBACK", many("t", 60_001)));
    server.query(&format!(
        "BEGIN; {} PREPARE TRANSACTION 'kept'; BEGIN; {} PREPARE TRANSACTION 'lost'",
        many("t", 70_001),
        many("t", 71_001)
    ));
    server.query("INSERT INTO u VALUES (30000, 'small')");
    two.query("COMMIT");
    one.query(&format!("{} COMMIT", many("u", 4_001)));
    server.query("COMMIT PREPARED 'kept'; ROLLBACK PREPARED 'lost'");
    server.query(&format!(
        "BEGIN; {} ALTER TABLE u ADD c int DEFAULT 7; {} COMMIT",
        many("u", 80_001),
        many("u", 81_001)
    ));
    server.query("INSERT INTO t VALUES (99999, 'last')");
    start
}

/// Everything up to the last row. `turn` opens the source of each read.
fn everything(mut turn: impl FnMut(usize, &[u8]) -> Source, start: &[u8], cut: Option<u32>) -> Vec<Seen> {
    let mut seen: Vec<Seen> = Vec::new();
    let mut position = start.to_vec();
    let mut turns = 0;
    let mut stream = turn(turns, &position);
    while seen.last().is_none_or(|row| row.after.get(1).is_none_or(|text| text != "last")) {
        let changes = stream.read(limits(cut.unwrap_or(10_000))).expect("changes");
        seen.extend(rows(&changes.batch));
        position = changes.position;
        if cut.is_some() && changes.rows > 0 {
            turns += 1;
            drop(stream);
            stream = turn(turns, &position);
        }
    }
    seen
}

fn opened(mut source: Source, position: &[u8]) -> Source {
    source.open(position).expect("the stream");
    source
}

#[test]
fn large_transactions_taken_before_they_commit_are_delivered_as_those_that_come_whole() {
    // B127, B130, B140, B143.
    if !sends_early() {
        return;
    }
    let server = server();
    let start = written(&server, "early");
    let whole = everything(|_, position| opened(source(&server, wanted("early")), position), &start, None);
    let ids = |table: &str| -> BTreeSet<String> {
        let of_table = whole.iter().filter(|row| row.table == table && row.op == Op::Insert);
        of_table.map(|row| row.after[0].clone()).collect()
    };
    for table in ["t", "u"] {
        let there = server.query(&format!("SELECT id FROM {table}"));
        assert_eq!(ids(&format!("public.{table}")), there.into_iter().flatten().flatten().collect());
    }
    let messages = whole.iter().filter(|row| row.op == Op::Message).map(|row| row.after[1].as_str());
    assert_eq!(messages.collect::<Vec<_>>(), ["kept"]);

    let aside = Aside::of(ROOM);
    let early = |position: &[u8]| opened(spooling_source(&server, wanted("early"), &aside), position);
    assert!(everything(|_, position| early(position), &start, None) == whole, "the rows differ");
    assert!(aside.bytes.load(Ordering::Relaxed) > 1 << 20, "transactions came before they had committed");
    assert_eq!(aside.files(), 0, "what was delivered is not kept");
    // Cut anywhere, and taken up in the other way.
    let turn = |turns: usize, position: &[u8]| match turns % 2 {
        0 => early(position),
        _ => opened(source(&server, wanted("early")), position),
    };
    assert!(everything(turn, &start, Some(777)) == whole, "the rows differ");
    early(&start).teardown().expect("no failure");
}

#[test]
fn a_transaction_is_sent_while_it_runs_and_delivered_once_it_has_committed() {
    if !sends_early() {
        return;
    }
    let server = server();
    server.query("CREATE TABLE t (id int PRIMARY KEY, t text); CREATE TABLE u (id int PRIMARY KEY, t text)");
    let aside = Aside::of(ROOM);
    let mut source = spooling_source(&server, wanted("running"), &aside);
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    let mut session = server.session();
    session.query("BEGIN; INSERT INTO t SELECT n, repeat('x', 500) FROM generate_series(1, 2000) n");
    let short = Limits { wait_ms: 50, ..limits(10_000) };
    until("it is sent", || {
        assert_eq!(source.read(short).expect("changes").rows, 0);
        (aside.bytes.load(Ordering::Relaxed) > 500_000).then_some(())
    });
    assert_eq!(aside.files(), 1);
    // Others do not wait for it, and confirming them does not lose it.
    server.query("INSERT INTO u VALUES (1, 'small')");
    let changes = source.read(limits(10)).expect("changes");
    assert_eq!(rows(&changes.batch)[0].after, ["1", "small"]);
    source.confirm(&changes.position).expect("confirmed");
    source.open(&changes.position).expect("the stream");
    assert_eq!(aside.files(), 0, "what was put aside before comes again");
    session.query("COMMIT");
    let mut seen = Vec::new();
    while seen.len() < 2000 {
        seen.extend(rows(&source.read(limits(10_000)).expect("changes").batch));
    }
    assert!(seen.iter().all(|row| row.table == "public.t" && row.after[1].len() == 500));
    source.teardown().expect("no failure");
}

#[test]
fn what_was_rolled_back_changes_no_table() {
    // B130.
    if !sends_early() {
        return;
    }
    let server = server();
    server.query("CREATE TABLE t (id int PRIMARY KEY, t text); CREATE TABLE u (id int PRIMARY KEY, t text)");
    let aside = Aside::of(ROOM);
    let mut source = spooling_source(&server, wanted("undone"), &aside);
    source.schema().expect("the schema");
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    let mut session = server.session();
    let short = Limits { wait_ms: 50, ..limits(10_000) };
    let many = |table: &str, first: i32| {
        format!(
            "INSERT INTO {table} (id, t) SELECT n, repeat('x', 500) FROM generate_series({first}, {first} + 1999) n"
        )
    };
    // Whether a part was rolled back is known when it has been sent.
    let mut sent = |sql: String| {
        let before = aside.bytes.load(Ordering::Relaxed);
        session.query(&sql);
        until("it is sent", || {
            assert_eq!(source.read(short).expect("changes").rows, 0);
            (aside.bytes.load(Ordering::Relaxed) > before + 500_000).then_some(())
        });
    };
    sent(format!("BEGIN; {}", many("t", 1)));
    sent(format!("SAVEPOINT a; ALTER TABLE t ADD undone int DEFAULT 7; {}", many("t", 10_001)));
    sent(format!("ROLLBACK TO a; {}", many("t", 20_001)));
    sent(format!("SAVEPOINT b; ALTER TABLE t DROP CONSTRAINT t_pkey; {}", many("t", 30_001)));
    // The part that is the first to have rows of a table is rolled back, and its description stays the only one.
    sent(format!("ROLLBACK TO b; SAVEPOINT c; {}", many("u", 10_001)));
    sent(format!("ROLLBACK TO c; {}", many("u", 20_001)));
    sent(format!("SAVEPOINT d; ALTER TABLE t ADD kept int DEFAULT 8; {}; RELEASE d", many("t", 40_001)));
    session.query(
        "SAVEPOINT e; ALTER TABLE u ADD undone int; INSERT INTO u VALUES (2, 'x'); ROLLBACK TO e; COMMIT",
    );
    server.query("INSERT INTO u VALUES (1, 'last')");
    let (mut seen, mut schemas) = (Vec::new(), Vec::new());
    while seen.last().is_none_or(|row: &Seen| row.after[1] != "last") {
        let changes = source.read(limits(10_000)).expect("changes");
        schemas.extend(changes.schema.into_iter().map(|described| {
            let columns = described.table.columns;
            columns.into_iter().map(|column| (column.name, column.attribute)).collect::<Vec<_>>()
        }));
        seen.extend(rows(&changes.batch));
    }
    let of = |name: &str, number: i32| (name.to_owned(), number);
    assert_eq!(schemas, [[of("id", 1), of("t", 2), of("kept", 3)]]);
    for table in ["t", "u"] {
        let there = server.scalar(&format!("SELECT count(*) FROM {table}"));
        let came = seen.iter().filter(|row| row.table == format!("public.{table}")).count();
        assert_eq!(Some(came.to_string()), there, "{table}");
    }
    source.teardown().expect("no failure");
}

#[test]
fn the_description_of_an_undone_part_is_that_of_the_rows_before_the_next_one() {
    if !sends_early() {
        return;
    }
    let server = server();
    server.query("CREATE TABLE t (id int PRIMARY KEY, t text); CREATE TABLE u (id int PRIMARY KEY, t text)");
    let aside = Aside::of(ROOM);
    let mut source = spooling_source(&server, wanted("described"), &aside);
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    let mut session = server.session();
    session.query(
        "BEGIN; SAVEPOINT a; INSERT INTO u SELECT n, repeat('x', 500) FROM generate_series(1, 2000) n",
    );
    let short = Limits { wait_ms: 50, ..limits(10_000) };
    until("it is sent", || {
        assert_eq!(source.read(short).expect("changes").rows, 0);
        (aside.bytes.load(Ordering::Relaxed) > 500_000).then_some(())
    });
    // The first description of `t` looks ahead for others, and finds one of `u` that is not the first.
    session.query(
        "ROLLBACK TO a; INSERT INTO t VALUES (1, 'first'); INSERT INTO u VALUES (2, 'of two columns');
         ALTER TABLE u ADD c int; INSERT INTO u VALUES (3, 'of three', 7); COMMIT",
    );
    let mut seen = Vec::new();
    while seen.len() < 3 {
        seen.extend(rows(&source.read(limits(10_000)).expect("changes").batch));
    }
    let seen: Vec<_> = seen.into_iter().map(|row| row.after).collect();
    assert_eq!(seen, [vec!["1", "first"], vec!["2", "of two columns"], vec!["3", "of three", "7"]]);
    source.teardown().expect("no failure");
}

#[test]
fn without_room_large_transactions_come_once_they_have_committed() {
    if !sends_early() {
        return;
    }
    let server = server();
    let start = written(&server, "no_room");
    let whole = everything(|_, position| opened(source(&server, wanted("no_room")), position), &start, None);
    for room in [0, 200_000] {
        let aside = Aside::of(room);
        let early = |position: &[u8]| opened(spooling_source(&server, wanted("no_room"), &aside), position);
        assert!(
            everything(|_, position| early(position), &start, None) == whole,
            "the rows differ with {room} bytes"
        );
        assert_eq!(aside.files(), 0);
    }
    source(&server, wanted("no_room")).teardown().expect("no failure");
}
