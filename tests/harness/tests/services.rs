//! The fixtures do what tests of other crates rely on.

use std::thread;

use tarn_harness::{ClickHouse, Postgres, until};

#[test]
fn postgres_keeps_committed_rows_over_a_kill_and_knows_logical_replication() {
    let mut postgres = Postgres::start_with(&[("max_wal_senders", "7")]);
    assert_eq!(postgres.scalar("SHOW wal_level").as_deref(), Some("logical"));
    assert_eq!(postgres.scalar("SHOW max_wal_senders").as_deref(), Some("7"));
    postgres
        .query("CREATE TABLE t (a int PRIMARY KEY, b text); INSERT INTO t VALUES (1, E'x\\ny'), (2, NULL)");
    let mut session = postgres.session();
    session.query("BEGIN; INSERT INTO t VALUES (3, 'never committed')");
    assert_eq!(session.query("SELECT count(*) FROM t")[0][0].as_deref(), Some("3"));
    postgres.kill();
    assert!(postgres.try_query("SELECT 1").is_err());
    postgres.start_again();
    let rows = postgres.query("SELECT a, b FROM t ORDER BY a");
    assert_eq!(rows, [[Some("1".to_owned()), Some("x\ny".to_owned())], [Some("2".to_owned()), None]]);
    postgres.stop();
    postgres.start_again();
    assert_eq!(postgres.scalar("SELECT count(*) FROM t").as_deref(), Some("2"));
}

#[test]
fn postgres_asks_for_its_password() {
    let postgres = Postgres::start();
    let error = postgres.try_query("SELECT no_such_column").expect_err("no such column");
    assert!(error.contains("no_such_column"), "{error}");
    let rules = "SELECT string_agg(DISTINCT auth_method, ',') FROM pg_hba_file_rules WHERE type = 'host'";
    assert_eq!(postgres.scalar(rules).as_deref(), Some("scram-sha-256"));
}

#[test]
fn clickhouse_keeps_its_tables_over_a_kill_and_a_stop() {
    let mut clickhouse = ClickHouse::start();
    clickhouse.query("CREATE TABLE t (a Int64, b Nullable(String)) ENGINE = MergeTree ORDER BY a");
    clickhouse.query("INSERT INTO t VALUES (1, 'x\\ty'), (2, NULL)");
    clickhouse.kill();
    assert!(clickhouse.try_query("SELECT 1").is_err());
    clickhouse.start_again();
    let rows = clickhouse.query("SELECT a, b FROM t ORDER BY a");
    assert_eq!(rows, [[Some("1".to_owned()), Some("x\ty".to_owned())], [Some("2".to_owned()), None]]);
    clickhouse.stop();
    clickhouse.start_again();
    assert_eq!(clickhouse.scalar("SELECT count() FROM t").as_deref(), Some("2"));
}

#[test]
fn clickhouse_serves_many_at_once_and_names_what_failed() {
    let clickhouse = ClickHouse::start();
    clickhouse.query("CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a");
    thread::scope(|scope| {
        for worker in 0..8 {
            let clickhouse = &clickhouse;
            scope.spawn(move || {
                for turn in 0..10 {
                    let first = (worker * 10 + turn) * 1000;
                    clickhouse.query(&format!("INSERT INTO t SELECT number + {first} FROM numbers(1000)"));
                }
            });
        }
    });
    assert_eq!(clickhouse.scalar("SELECT uniqExact(a) FROM t").as_deref(), Some("80000"));
    let error = clickhouse.try_query("SELECT * FROM missing").expect_err("no such table");
    assert!(error.starts_with("Code: 60. DB::Exception:"), "{error}");
}

#[test]
fn until_returns_what_it_waited_for() {
    let mut looks = 0;
    let found = until("the third look", || {
        looks += 1;
        (looks == 3).then_some(looks)
    });
    assert_eq!(found, 3);
}
