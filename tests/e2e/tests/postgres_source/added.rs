//! Tables that join and leave a running mirror.

use tarn_batch::Op;
use tarn_sdk::{Limits, SourceConfig};

use crate::fixture::{Seen, config, limits, read, rows, snapshot, source, stream};
use crate::server;

#[test]
fn an_added_table_is_complete_whatever_ran_while_it_was_added() {
    // B157, B167, B175.
    let server = server();
    server.query(
        "CREATE TABLE first_table (id int PRIMARY KEY); CREATE TABLE added_table (id int PRIMARY KEY)",
    );
    server.query("INSERT INTO added_table VALUES (1)");
    let mut stream_source = source(server, config("adding", &["public.first_table"]));
    let start = stream_source.setup().expect("a slot");
    let mut open = server.session();
    open.query("BEGIN; INSERT INTO added_table VALUES (2)");
    let both = config("adding", &["public.first_table", "public.added_table"]);
    let mut editor = source(server, config("adding", &["public.first_table"]));
    let edited = both.clone();
    let editing = std::thread::spawn(move || {
        let from = editor.alter(edited).expect("a position");
        (editor, from)
    });
    let member = "SELECT count(*) FROM pg_publication_tables WHERE tablename = 'added_table'";
    tarn_harness::until("the table is published", || {
        (server.scalar(member).as_deref() == Some("1")).then_some(())
    });
    // Published from now on, but not what the open transaction did before.
    open.query("INSERT INTO added_table VALUES (3); COMMIT");
    let (mut editor, from) = editing.join().expect("no panic");
    server.query("INSERT INTO added_table VALUES (4)");
    let loaded = snapshot(&mut editor, "public.added_table", &from, 100);
    let mut ids: Vec<&str> = loaded.iter().map(|row| row.after[0].as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["1", "2", "3", "4"]);

    server.query("INSERT INTO added_table VALUES (5); INSERT INTO first_table VALUES (6)");
    let mut streaming = source(server, both);
    streaming.open(&start).expect("the stream");
    let mut seen: Vec<Seen> = Vec::new();
    while seen.last().is_none_or(|row| row.table != "public.first_table") {
        seen.extend(rows(&streaming.read(limits(100)).expect("changes").batch));
    }
    // What came before the snapshot has an older version than its rows, what came after a newer one.
    let version = |id: &str| seen.iter().find(|row| row.after[0] == id).map(|row| row.version);
    assert!(version("5").expect("it is in the stream") > loaded[0].version);
    assert!(version("4").is_some_and(|version| version > loaded[0].version));
    drop(stream_source);
    streaming.teardown().expect("no failure");
}

#[test]
fn a_table_added_again_while_the_stream_lags_keeps_no_row_that_was_deleted_in_the_gap() {
    // B157, B167.
    let server = server();
    server.query(
        "CREATE TABLE stays_in (id int PRIMARY KEY); CREATE TABLE back_again (id int PRIMARY KEY, t text);
         INSERT INTO back_again VALUES (1, 'loaded')",
    );
    let both = || config("gap", &["public.stays_in", "public.back_again"]);
    let start = source(server, both()).setup().expect("a slot");
    let mut editor = source(server, both());
    // The stream has all of this before it when the table is back.
    server.query("INSERT INTO stays_in VALUES (0)");
    server.query(
        "INSERT INTO back_again VALUES (2, 'before'); UPDATE back_again SET t = 'before' WHERE id = 1",
    );
    editor.alter(config("gap", &["public.stays_in"])).expect("a position");
    server.query("DELETE FROM back_again; INSERT INTO back_again VALUES (3, 'in the gap')");
    let back = SourceConfig { loading: vec!["public.back_again".to_owned()], ..both() };
    let from = editor.alter(back).expect("a position");
    server.query("INSERT INTO back_again VALUES (4, 'after')");
    let loaded = snapshot(&mut editor, "public.back_again", &from, 100);
    let ids = |rows: &[Seen]| -> Vec<String> { rows.iter().map(|row| row.after[0].clone()).collect() };
    assert_eq!(ids(&loaded), ["3", "4"]);
    server.query("INSERT INTO back_again VALUES (5, 'last'); INSERT INTO stays_in VALUES (6)");
    let read_on = |loading: bool, start: &[u8], rows_max: u32| {
        let loading = if loading { vec!["public.back_again".to_owned()] } else { Vec::new() };
        let mut streaming = source(server, SourceConfig { loading, ..both() });
        streaming.open(start).expect("the stream");
        let (mut seen, mut positions) = (Vec::new(), vec![start.to_vec()]);
        while seen.last().is_none_or(|row: &Seen| row.after[0] != "6") {
            let changes = streaming.read(limits(rows_max)).expect("changes");
            seen.extend(rows(&changes.batch));
            positions.push(changes.position);
        }
        (seen, positions)
    };
    let (seen, positions) = read_on(true, &start, 1);
    assert_eq!(ids(&seen), ["0", "4", "5", "6"], "what the load sees, or saw gone, is not brought again");
    // Once it is loaded, from a place before the gap.
    let (rest, _) = read_on(false, &positions[1], 100);
    assert_eq!(ids(&rest), ["4", "5", "6"]);
    // Where it left and came back with no stream open in between, its load is over, and the stream begins behind it: with a
    // point to complete changes at, and without.
    for held in [true, false] {
        let loading = if held {
            vec!["public.back_again".to_owned(), "public.stays_in".to_owned()]
        } else {
            Vec::new()
        };
        let mut streaming = source(server, SourceConfig { loading, load_start: from.clone(), ..both() });
        if held {
            streaming.hold_snapshot().expect("a point");
        }
        streaming.open(&start).expect("the stream");
        let (seen, _) = stream(&mut streaming, 4, 1).expect("rows");
        assert_eq!(ids(&seen), ["0", "4", "5", "6"]);
    }
    editor.teardown().expect("no failure");
}

#[test]
fn an_added_table_that_is_written_anew_before_its_load_is_read_again_behind_the_rows_from_before() {
    // B091.
    let server = server();
    server.query(
        "CREATE TABLE stays_too (id int PRIMARY KEY); CREATE TABLE written_anew (id int PRIMARY KEY, t text);
         INSERT INTO written_anew VALUES (1, 'a')",
    );
    let both = || config("anew", &["public.stays_too", "public.written_anew"]);
    let start = source(server, config("anew", &["public.stays_too"])).setup().expect("a slot");
    let mut editor = source(server, config("anew", &["public.stays_too"]));
    let loading = || vec!["public.written_anew".to_owned()];
    let from = editor.alter(SourceConfig { loading: loading(), ..both() }).expect("a position");
    server.query(
        "UPDATE written_anew SET t = 'b'; ALTER TABLE written_anew ALTER t TYPE text USING upper(t);
         INSERT INTO stays_too VALUES (2)",
    );
    let loaded = snapshot(&mut editor, "public.written_anew", &from, 100);
    assert_eq!(loaded[0].after, ["1", "B"]);
    let open = |loading: Vec<String>, position: &[u8]| {
        let mut streaming = source(server, SourceConfig { loading, load_start: from.clone(), ..both() });
        streaming.schema().expect("the schema");
        streaming.open(position).expect("the stream");
        streaming
    };
    let mut beside = open(loading(), &start);
    let (seen, positions) = stream(&mut beside, 2, 1).expect("rows");
    assert_eq!(
        (seen[0].after.as_slice(), seen[1].after.as_slice()),
        (&["1", "b"].map(str::to_owned)[..], &["2".to_owned()][..])
    );
    assert!(seen[0].version > loaded[0].version, "the row from before wins");
    drop(beside);
    // The load is over: where the stream noticed that, and where it was not open meanwhile. The last one was part of the first
    // load.
    for (position, is_first_load) in [(&positions[1], false), (&start, false), (&start, true)] {
        let mut streaming = if is_first_load {
            let loading = ["public.stays_too", "public.written_anew"].map(str::to_owned).to_vec();
            let mut streaming = source(server, SourceConfig { loading, load_start: from.clone(), ..both() });
            streaming.hold_snapshot().expect("a point");
            streaming.schema().expect("the schema");
            streaming.open(position).expect("the stream");
            streaming
        } else {
            open(Vec::new(), position)
        };
        let again = tarn_harness::until("it is read again", || {
            // The stream passes with it what it has to.
            server.query("INSERT INTO stays_too SELECT max(id) + 1 FROM stays_too");
            let seen = rows(&streaming.read(limits(100)).expect("changes").batch);
            seen.into_iter().find(|row| row.after == ["1", "B"])
        });
        assert!(again.version > seen[0].version);
    }
    editor.teardown().expect("no failure");
}

#[test]
fn what_is_left_of_a_load_loses_against_the_stream_also_after_a_table_was_added() {
    // B098: the rest of a load has the columns that it was cut with. The stream brings those that came since.
    let server = server();
    server.query(
        "CREATE TABLE half_loaded (id int PRIMARY KEY, c text); CREATE TABLE comes_later (id int PRIMARY KEY);
         INSERT INTO half_loaded VALUES (1, 'a')",
    );
    let both = || config("rest", &["public.half_loaded", "public.comes_later"]);
    let of = |load_start: &[u8]| SourceConfig { load_start: load_start.to_vec(), ..both() };
    let one = config("rest", &["public.half_loaded"]);
    let start = source(server, one.clone()).setup().expect("a slot");
    let partitions = source(server, SourceConfig { load_start: start.clone(), ..one })
        .plan_snapshot("public.half_loaded", 100, 1)
        .expect("partitions");
    server.query(
        "ALTER TABLE half_loaded DROP c; ALTER TABLE half_loaded ADD c int; UPDATE half_loaded SET c = 7",
    );
    let loading = vec!["public.comes_later".to_owned()];
    let later = source(server, of(&start)).alter(SourceConfig { loading, ..both() }).expect("a position");
    let mut reader = source(server, of(&later));
    let held = reader.hold_snapshot().expect("a point");
    let rest: Vec<Seen> = partitions
        .iter()
        .flat_map(|partition| read(&mut reader, &held.token, partition, &later, 3))
        .collect();
    assert_eq!(rest.iter().map(|row| row.after.len()).collect::<Vec<_>>(), [1]);
    let mut streaming = source(server, of(&later));
    streaming.open(&start).expect("the stream");
    let (seen, _) = stream(&mut streaming, 1, 1).expect("rows");
    assert_eq!(seen[0].after, ["1", "7"]);
    assert!(seen[0].version > rest[0].version, "the row with the new column wins");
    // A table that is cut for the later load begins there.
    let fresh = reader.plan_snapshot("public.half_loaded", 100, 1).expect("partitions");
    let fresh = read(&mut reader, &held.token, &fresh[0], &later, 3);
    assert!(fresh[0].version > seen[0].version);
    streaming.teardown().expect("no failure");
}

#[test]
fn the_publication_is_altered_only_where_it_differs() {
    // B175.
    let server = server();
    server.query("CREATE TABLE stays (id int PRIMARY KEY); CREATE TABLE leaves (id int PRIMARY KEY)");
    let mut source = source(server, config("diffed", &["public.stays", "public.leaves"]));
    source.setup().expect("a slot");
    let row = "SELECT string_agg(xmin::text, ',' ORDER BY prrelid) FROM pg_publication_rel
               WHERE prpubid = (SELECT oid FROM pg_publication WHERE pubname = 'tarn_pub_diffed')";
    let before = server.scalar(row);
    source.alter(config("diffed", &["public.stays", "public.leaves"])).expect("a position");
    assert_eq!(server.scalar(row), before, "nothing was touched");
    source.alter(config("diffed", &["public.stays"])).expect("a position");
    let tables =
        "SELECT string_agg(tablename, ',') FROM pg_publication_tables WHERE pubname = 'tarn_pub_diffed'";
    assert_eq!(server.scalar(tables).as_deref(), Some("stays"));
    source.teardown().expect("no failure");
}

#[test]
fn a_table_that_somebody_has_locked_is_not_waited_for_without_end() {
    // B175.
    let server = server();
    server.query(
        "CREATE TABLE free_table (id int PRIMARY KEY); CREATE TABLE locked_table (id int PRIMARY KEY)",
    );
    let both = config("locked", &["public.free_table", "public.locked_table"]);
    let mut locking = server.session();
    locking.query("BEGIN; LOCK TABLE locked_table IN ACCESS EXCLUSIVE MODE");
    let mut source = source(server, both.clone());
    let in_time = |failure: tarn_sdk::Failure| {
        assert_eq!(failure.class, tarn_sdk::FailureClass::Retry, "{failure}");
        assert!(failure.hint.contains("pg_locks"), "{}", failure.hint);
    };
    in_time(source.setup().expect_err("it is locked"));
    locking.query("COMMIT");
    source.setup().expect("a slot");
    source.alter(config("locked", &["public.free_table"])).expect("a position");
    locking.query("BEGIN; LOCK TABLE locked_table IN ACCESS EXCLUSIVE MODE");
    in_time(source.alter(both.clone()).expect_err("it is locked"));
    locking.query("COMMIT");
    source.alter(both).expect("a position");
    source.teardown().expect("no failure");
}

#[test]
fn unchanged_values_of_a_loading_table_are_fetched_by_key() {
    // B077 as far as the source decides.
    let server = server();
    server.query("CREATE TYPE load_kind AS ENUM ('x', 'it''s')");
    server.query("CREATE TABLE loading_table (k load_kind, id int, t text, big text, PRIMARY KEY (k, id))");
    server.query("ALTER TABLE loading_table ALTER big SET STORAGE EXTERNAL");
    let mut config = config("loading", &["public.loading_table"]);
    config.loading = vec!["public.loading_table".to_owned()];
    let mut source = source(server, config);
    let start = source.setup().expect("a slot");
    server.query("INSERT INTO loading_table VALUES ('it''s', 1, 'a', repeat('x', 9000)), ('x', 2, 'a', repeat('y', 9000))");
    server.query(
        "UPDATE loading_table SET t = 'b' WHERE id = 1; UPDATE loading_table SET t = 'b' WHERE id = 2",
    );
    server.query("DELETE FROM loading_table WHERE id = 2");
    source.open(&start).expect("the stream");
    let (seen, _) = stream(&mut source, 5, 100).expect("rows");
    assert_eq!(seen[2].after[3], "x".repeat(9000));
    // The row is gone: it counts as deleted until its delete follows.
    assert_eq!(seen[3].op, Op::Delete);
    source.teardown().expect("no failure");
}

#[test]
fn a_truncate_waits_until_the_tables_load_has_ended() {
    // B115: rows that the load read before it would come back after it.
    let server = server();
    for table in ["truncated_loading", "truncated_other"] {
        server.query(&format!("CREATE TABLE {table} (id int PRIMARY KEY)"));
    }
    let tables = ["public.truncated_loading", "public.truncated_other"];
    let mut loading = config("truncating", &tables);
    loading.loading = vec![tables[0].to_owned()];
    let mut beside = source(server, loading);
    let start = beside.setup().expect("a slot");
    server.query("INSERT INTO truncated_other VALUES (1); INSERT INTO truncated_loading VALUES (1)");
    server.query("TRUNCATE truncated_other");
    server.query(
        "BEGIN; INSERT INTO truncated_other VALUES (2); TRUNCATE truncated_loading, truncated_other; COMMIT",
    );
    server.query("INSERT INTO truncated_other VALUES (3)");
    beside.open(&start).expect("the stream");
    let (seen, positions) = stream(&mut beside, 4, 100).expect("rows");
    let kinds =
        |seen: &[Seen]| -> Vec<(Op, String)> { seen.iter().map(|row| (row.op, row.table.clone())).collect() };
    let [of_loading, of_other] = tables.map(str::to_owned);
    assert_eq!(
        kinds(&seen),
        [
            (Op::Insert, of_other.clone()),
            (Op::Insert, of_loading.clone()),
            (Op::Truncate, of_other.clone()),
            (Op::Insert, of_other.clone())
        ]
    );
    // Nothing passes it, and the position stays right before it.
    let before = positions.last().expect("a position").clone();
    for _ in 0..3 {
        let held = beside.read(Limits { wait_ms: 50, ..limits(100) }).expect("a heartbeat");
        assert_eq!((held.rows, &held.position), (0, &before));
        beside.confirm(&held.position).expect("confirmed");
    }
    drop(beside);

    let mut after = source(server, config("truncating", &tables));
    after.open(&before).expect("the stream");
    let (seen, _) = stream(&mut after, 3, 100).expect("rows");
    assert_eq!(
        kinds(&seen),
        [(Op::Truncate, of_loading), (Op::Truncate, of_other.clone()), (Op::Insert, of_other)]
    );
    assert_eq!((seen[0].version.ordinal, seen[1].version.ordinal), (1, 2), "counted once");
    after.teardown().expect("no failure");
}
