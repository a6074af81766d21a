//! Transactions with first rows of many tables.

use std::sync::atomic::Ordering;

use tarn_harness::Postgres;
use tarn_sdk::SourceConfig;

use crate::fixture::{Aside, config, counted_source, limits, published_by, rows};

const TABLES: usize = 150;
/// Statements that reading them may take: more than what is looked at from time to time, and no multiple of the tables.
const STATEMENTS_MAX: usize = 50;

/// How the server sends a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sent {
    Whole,
    /// Before its commit.
    InParts,
}

/// One transaction with a row in each of many tables, some of which it changes itself, and how many statements reading it
/// took. None of the tables is known to whoever reads.
fn first_rows(wanted: SourceConfig, sent: Sent) {
    let server = match sent {
        Sent::Whole => Postgres::start(),
        Sent::InParts => Postgres::start_with(&[("logical_decoding_work_mem", "64kB")]),
    };
    server.query("CREATE TYPE mood AS ENUM ('fine', 'so so'); CREATE TABLE elsewhere (t text)");
    for table in 1..=TABLES {
        server.query(&format!("CREATE TABLE t{table} (id int PRIMARY KEY, mood mood, t text)"));
    }
    let tables: Vec<String> = (1..=TABLES).map(|table| format!("public.t{table}")).collect();
    let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
    if !wanted.publication_managed {
        server.query(&format!("CREATE PUBLICATION {} FOR TABLE {}", wanted.publication, tables.join(", ")));
    }
    let wanted = SourceConfig { tables: config("", &tables).tables, ..wanted };
    let aside = Aside::of(1 << 30);
    let (mut source, asked) = counted_source(&server, wanted, &aside);
    let start = source.setup().expect("a slot");
    server.query(&format!(
        "DO $$ BEGIN
            INSERT INTO elsewhere SELECT repeat('x', 200) FROM generate_series(1, 1000);
            FOR t IN 1..{TABLES} LOOP
            EXECUTE format('INSERT INTO t%s VALUES (1, ''so so'', ''x'')', t);
            IF t % 50 = 0 THEN
                EXECUTE format('ALTER TABLE t%s ADD c int', t);
                EXECUTE format('INSERT INTO t%s VALUES (2, ''fine'', ''y'', 7)', t);
            END IF;
        END LOOP; END $$"
    ));
    source.open(&start).expect("the stream");
    let before = asked.load(Ordering::Relaxed);
    let (mut seen, mut told, mut reads) = (Vec::new(), 0, 0);
    while seen.len() < TABLES + TABLES / 50 {
        let changes = source.read(limits(10_000)).expect("changes");
        told += changes.schema.len();
        reads += 1;
        seen.extend(rows(&changes.batch));
    }
    let took = asked.load(Ordering::Relaxed) - before;
    assert!(took <= STATEMENTS_MAX, "{took} statements");
    assert!(reads < TABLES / 5, "{reads} reads");
    assert_eq!(told, TABLES + TABLES / 50);
    assert_eq!(aside.bytes.load(Ordering::Relaxed) > 0, sent == Sent::InParts);
    for row in &seen {
        let expected: &[&str] = match row.after[0].as_str() {
            "1" => &["1", "so so"],
            _ => &["2", "fine", "y", "7"],
        };
        assert_eq!(row.after[..expected.len()], *expected, "{}", row.table);
    }
    source.teardown().expect("no failure");
}

#[test]
fn first_rows_of_many_tables_take_few_statements() {
    // B134.
    first_rows(config("whole", &[]), Sent::Whole);
}

#[test]
fn first_rows_of_many_tables_take_few_statements_where_they_are_sent_before_the_commit() {
    if crate::major() >= 14 {
        first_rows(config("parts", &[]), Sent::InParts);
    }
}

#[test]
fn first_rows_of_many_tables_take_few_statements_by_a_publication_of_somebody_else() {
    let given = published_by("given", config("given", &[]));
    first_rows(given, Sent::Whole);
}
