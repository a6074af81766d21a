//! Reading tables at one point in time.

use crate::fixture::{BEFORE_READING, Seen, config, interrupted_source, read, snapshot, source, stream};
use crate::server;

fn ids(rows: &[Seen]) -> Vec<i64> {
    let mut ids: Vec<i64> = rows.iter().map(|row| row.after[0].parse().expect("a number")).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn partitions_cover_a_table_once_and_snapshot_and_stream_meet() {
    // B160, B220, B226: rows of transactions that run while the slot is made are in one of the two.
    let server = server();
    server.query("CREATE TABLE covered (id bigint PRIMARY KEY, t text)");
    server.query("INSERT INTO covered SELECT i, repeat('x', 200) FROM generate_series(1, 20000) i");
    let mut open = server.session();
    open.query("BEGIN; INSERT INTO covered VALUES (20001, 'before')");
    let mut source = source(server, config("covered", &["public.covered"]));
    let setup = std::thread::spawn(move || {
        let start = source.setup().expect("a slot");
        (source, start)
    });
    // Making the slot waits for the transaction above.
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tarn covered' AND wait_event_type = 'Lock'";
    tarn_harness::until("the slot waits", || (server.scalar(waits).as_deref() == Some("1")).then_some(()));
    open.query("COMMIT");
    let (mut source, start) = setup.join().expect("no panic");
    server.query("INSERT INTO covered VALUES (20002, 'after')");
    let loaded = snapshot(&mut source, "public.covered", &start, 1500);
    assert_eq!(ids(&loaded), (1..=20_001).collect::<Vec<_>>());
    source.open(&start).expect("the stream");
    let (streamed, _) = stream(&mut source, 1, 100).expect("a row");
    assert_eq!(ids(&streamed), [20_002]);
    assert!(loaded.iter().all(|row| row.version < streamed[0].version));
    let partitions = source.plan_snapshot("public.covered", 1500, 1).expect("partitions");
    assert!((10..=30).contains(&partitions.len()), "{}", partitions.len());
    source.teardown().expect("no failure");
}

#[test]
fn a_table_that_was_never_analysed_and_a_small_one_are_cut_sensibly() {
    let server = server();
    server.query("CREATE TABLE unknown_size (id bigint PRIMARY KEY, t text) WITH (autovacuum_enabled = off)");
    server.query("INSERT INTO unknown_size SELECT i, repeat('x', 100) FROM generate_series(1, 100000) i");
    server.query("CREATE TABLE small_size (id bigint PRIMARY KEY); INSERT INTO small_size VALUES (1)");
    let mut source = source(server, config("sizes", &["public.unknown_size", "public.small_size"]));
    let count = |source: &mut crate::fixture::Source, table: &str, rows, parallel| {
        source.plan_snapshot(table, rows, parallel).expect("partitions").len()
    };
    assert!((4..=8).contains(&count(&mut source, "public.unknown_size", 20_000, 1)));
    assert_eq!(count(&mut source, "public.unknown_size", 1_000_000, 4), 4);
    assert_eq!(count(&mut source, "public.small_size", 1, 4), 1);
    server.query("TRUNCATE small_size");
    // B230.
    assert_eq!(count(&mut source, "public.small_size", 1000, 4), 0);
}

#[test]
fn a_lost_point_is_made_up_for_by_what_changed_since() {
    // B221: a finished partition is caught up, an unfinished one is read again.
    let server = server();
    server.query("CREATE TABLE caught_up (id bigint PRIMARY KEY, t text)");
    server.query(
        "INSERT INTO caught_up SELECT i, 'old' FROM generate_series(1, 1000) i; VACUUM FREEZE caught_up",
    );
    let mut first = source(server, config("caught_up", &["public.caught_up"]));
    let start = first.setup().expect("a slot");
    let held = first.hold_snapshot().expect("a point");
    let partitions = first.plan_snapshot("public.caught_up", 1_000_000, 1).expect("partitions");
    assert_eq!(read(&mut first, &held.token, &partitions[0], &start, 0).len(), 1000);
    server.query("UPDATE caught_up SET t = 'new' WHERE id <= 3; INSERT INTO caught_up VALUES (1001, 'new')");
    drop(first);

    let mut second = source(server, config("caught_up", &["public.caught_up"]));
    let lost = second.open_snapshot(&held.token, &partitions[0], &start, 1).expect_err("the point is lost");
    assert_eq!(lost.code, "snapshot_lost");
    let caught_up = second.plan_catch_up(&partitions[0], &held.horizon).expect("a partition");
    let again = second.hold_snapshot().expect("a new point");
    let rows = read(&mut second, &again.token, &caught_up, &start, 1);
    assert_eq!(ids(&rows), [1, 2, 3, 1001]);
    assert!(rows.iter().all(|row| row.version.ordinal == 1));
    second.open(&start).expect("the stream");
    let (streamed, _) = stream(&mut second, 4, 100).expect("rows");
    assert!(streamed.iter().all(|row| row.version > rows[0].version));
    second.teardown().expect("no failure");
}

#[test]
fn a_table_that_was_rewritten_is_read_whole_and_never_at_an_older_point() {
    let server = server();
    server.query("CREATE TABLE rewritten (id bigint PRIMARY KEY, t text)");
    server.query("INSERT INTO rewritten SELECT i, repeat('x', 200) FROM generate_series(1, 20000) i");
    server.query("DELETE FROM rewritten WHERE id % 2 = 0");
    let mut source = source(server, config("rewritten", &["public.rewritten"]));
    let start = source.setup().expect("a slot");
    let held = source.hold_snapshot().expect("a point");
    let partitions = source.plan_snapshot("public.rewritten", 1000, 1).expect("partitions");
    assert!(partitions.len() > 5);
    // After this, the point above sees an empty table: the rows look as if they came later.
    server.query("ALTER TABLE rewritten ALTER t TYPE varchar(300)");
    server.query("ALTER TABLE rewritten ALTER id TYPE numeric");
    let last = partitions.last().expect("partitions");
    let failure = source.open_snapshot(&held.token, last, &start, 0).expect_err("it sees nothing");
    assert_eq!((failure.code.as_str(), failure.table.as_str()), ("table_rewritten", "public.rewritten"));

    let mut later = crate::fixture::source(server, config("rewritten", &["public.rewritten"]));
    let held = later.hold_snapshot().expect("a new point");
    let rows = read(&mut later, &held.token, last, &start, 1);
    assert_eq!(ids(&rows), (1..=20_000).step_by(2).collect::<Vec<_>>());
    source.teardown().expect("no failure");
}

#[test]
fn a_column_that_is_renamed_while_a_partition_is_opened_is_read_at_another_attempt() {
    let server = server();
    server.query("CREATE TABLE renamed_late (id bigint PRIMARY KEY, old text); INSERT INTO renamed_late VALUES (1, 'a')");
    let (mut source, meanwhile) =
        interrupted_source(server, config("renamed_late", &["public.renamed_late"]));
    let start = source.setup().expect("a slot");
    let held = source.hold_snapshot().expect("a point");
    let partitions = source.plan_snapshot("public.renamed_late", 1000, 1).expect("partitions");
    *meanwhile.lock().expect("no panic") =
        Some((BEFORE_READING, "ALTER TABLE public.renamed_late RENAME old TO new".to_owned()));
    let failure = source.open_snapshot(&held.token, &partitions[0], &start, 0).expect_err("no such column");
    assert_eq!(
        (failure.class, failure.code.as_str()),
        (tarn_sdk::FailureClass::Retry, "table_changed_meanwhile"),
        "{failure}"
    );
    let rows = read(&mut source, &held.token, &partitions[0], &start, 0);
    assert_eq!(rows[0].after, ["1", "a"]);
    source.teardown().expect("no failure");
}

#[test]
fn rows_that_came_after_the_plan_are_in_the_last_range() {
    let server = server();
    server.query("CREATE TABLE grown (id bigint PRIMARY KEY, t text)");
    server.query("INSERT INTO grown SELECT i, repeat('x', 200) FROM generate_series(1, 1000) i");
    let mut source = source(server, config("grown", &["public.grown"]));
    let start = source.setup().expect("a slot");
    let partitions = source.plan_snapshot("public.grown", 100, 1).expect("partitions");
    server.query("INSERT INTO grown SELECT i, repeat('x', 200) FROM generate_series(1001, 5000) i");
    let mut later = crate::fixture::source(server, config("grown", &["public.grown"]));
    let held = later.hold_snapshot().expect("a point");
    let rows: Vec<Seen> =
        partitions.iter().flat_map(|partition| read(&mut later, &held.token, partition, &start, 0)).collect();
    assert_eq!(ids(&rows), (1..=5000).collect::<Vec<_>>());
    source.teardown().expect("no failure");
}

#[test]
fn a_column_may_have_the_tables_name_and_rows_may_be_wide() {
    // B179.
    let server = server();
    server.query("CREATE TABLE alias (alias int, t text, id bigint PRIMARY KEY)");
    server.query("INSERT INTO alias SELECT i, repeat('x', 3000000), i FROM generate_series(1, 3) i");
    let mut source = source(server, config("alias", &["public.alias"]));
    let start = source.setup().expect("a slot");
    let rows = snapshot(&mut source, "public.alias", &start, 10);
    assert!(rows.len() == 3 && rows.iter().all(|row| row.after[1].len() == 3_000_000));
    source.teardown().expect("no failure");
}

#[test]
fn a_partition_is_read_with_the_columns_it_was_cut_with() {
    // The destination has no others: it is told of an added one by the stream.
    let server = server();
    server.query("CREATE TABLE grown_loading (id int PRIMARY KEY, a text, b text)");
    server.query("INSERT INTO grown_loading VALUES (1, 'a', 'b')");
    let mut source = source(server, config("grown_loading", &["public.grown_loading"]));
    let start = source.setup().expect("a slot");
    let partition = source.plan_snapshot("public.grown_loading", 100, 1).expect("partitions").remove(0);
    server.query(
        "ALTER TABLE grown_loading ADD c int DEFAULT 5, DROP b; ALTER TABLE grown_loading RENAME a TO d",
    );
    let held = source.hold_snapshot().expect("a point");
    let rows = read(&mut source, &held.token, &partition, &start, 1);
    assert_eq!(rows.iter().map(|row| row.after.clone()).collect::<Vec<_>>(), [["1", "a"]]);
    let again = source.plan_catch_up(&partition, &held.horizon).expect("a partition");
    server.query("UPDATE grown_loading SET c = 6");
    drop(source);
    let mut source = crate::fixture::source(server, config("grown_loading", &["public.grown_loading"]));
    let later = source.hold_snapshot().expect("a point");
    let rows = read(&mut source, &later.token, &again, &start, 2);
    assert_eq!(rows.iter().map(|row| row.after.clone()).collect::<Vec<_>>(), [["1", "a"]]);
    source.teardown().expect("no failure");
}
