//! A table that is another one than it was.

use tarn_harness::until;
use tarn_plugin_postgres::{Peer as _, Session as _};
use tarn_sdk::{FailureClass, SourceConfig};

use crate::fixture::{
    BEFORE_READING, DriverPeer, Source, config, interrupted_source, limits, published_by, read, source,
    stream,
};
use crate::server;

/// A mirror of a new table, and the position where it was left.
fn left(name: &str, config: SourceConfig) -> (Source, Vec<u8>) {
    let mut source = source(server(), config);
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    server().query(&format!("INSERT INTO {name} VALUES (1)"));
    let (_, mut positions) = stream(&mut source, 1, 10).expect("a row");
    (source, positions.pop().expect("a position"))
}

fn table(name: &str) -> SourceConfig {
    server().query(&format!("CREATE TABLE {name} (id int PRIMARY KEY)"));
    config(name, &[&format!("public.{name}")])
}

#[track_caller]
fn assert_refused(source: &mut Source, position: &[u8], code: &str, name: &str) -> String {
    let failure = source.open(position).expect_err("another table");
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Permanent, code), "{failure}");
    assert_eq!(failure.table, format!("public.{name}"));
    assert!(failure.hint.contains("resync"), "{failure}");
    failure.message
}

#[test]
fn a_table_dropped_and_made_again_while_nobody_looked_is_noticed_at_the_start() {
    let (mut source, position) = left("replaced", table("replaced"));
    server().query("DROP TABLE replaced");
    assert_refused(&mut source, &position, "table_replaced", "replaced");
    server().query("CREATE TABLE replaced (id int PRIMARY KEY)");
    assert_refused(&mut source, &position, "table_replaced", "replaced");
    // Also where it is published again, by whomever.
    server().query("ALTER PUBLICATION tarn_pub_replaced ADD TABLE replaced; INSERT INTO replaced VALUES (2)");
    assert_refused(&mut source, &position, "table_replaced", "replaced");
    source.teardown().expect("no failure");
}

#[test]
fn the_same_from_the_first_position_and_where_everything_is_published() {
    let config = table("replaced_first");
    server().query("CREATE PUBLICATION replaced_first_pub FOR ALL TABLES");
    let config = published_by("replaced_first_pub", config);
    let mut source = source(server(), config);
    let start = source.setup().expect("a slot");
    server().query("DROP TABLE replaced_first; CREATE TABLE replaced_first (id int PRIMARY KEY)");
    assert_refused(&mut source, &start, "table_replaced", "replaced_first");
    source.teardown().expect("no failure");
    server().query("DROP PUBLICATION replaced_first_pub");
}

#[test]
fn a_table_renamed_while_nobody_looked_is_told_with_its_new_name() {
    // B112.
    let (mut source, position) = left("renamed_away", table("renamed_away"));
    server().query("ALTER TABLE renamed_away RENAME TO renamed_elsewhere");
    let message = assert_refused(&mut source, &position, "table_renamed", "renamed_away");
    assert!(message.contains("public.renamed_elsewhere"), "{message}");
    // Another one in its place changes nothing about that.
    server().query("CREATE TABLE renamed_away (id int PRIMARY KEY)");
    assert_refused(&mut source, &position, "table_renamed", "renamed_away");
    server().query("DROP TABLE renamed_away; ALTER TABLE renamed_elsewhere RENAME TO renamed_away");
    source.open(&position).expect("it is back");
    source.teardown().expect("no failure");
}

#[test]
fn a_table_that_loads_anew_may_be_another_one() {
    // It was taken out of the mirror, replaced, and added again.
    let (mut source, position) = left("loads_anew", table("loads_anew"));
    server().query("DROP TABLE loads_anew; CREATE TABLE loads_anew (id int PRIMARY KEY)");
    let mut config = config("loads_anew", &["public.loads_anew"]);
    source.alter(config.clone()).expect("it is published again");
    config.loading = vec!["public.loads_anew".to_owned()];
    let mut beside = crate::fixture::source(server(), config);
    beside.open(&position).expect("it loads");
    server().query("INSERT INTO loads_anew VALUES (7)");
    let (_, positions) = stream(&mut beside, 1, 10).expect("a row");
    drop(beside);
    source.open(positions.last().expect("a position")).expect("it is known as it is now");
    source.teardown().expect("no failure");
}

/// Rows by their table, as they came.
fn rows_by_table(source: &mut Source, count: usize) -> Vec<(String, String)> {
    let (seen, _) = stream(source, count, 10).expect("rows");
    seen.into_iter().map(|row| (row.table, row.after.join(" "))).collect()
}

const EXCHANGE: &str = "BEGIN; ALTER TABLE $1 RENAME TO $1_away; ALTER TABLE $2 RENAME TO $1; ALTER TABLE $1_away RENAME TO $2; COMMIT";

#[test]
fn rows_go_by_their_tables_number_where_names_were_exchanged_and_are_back() {
    let server = server();
    let exchange = EXCHANGE.replace("$1", "exchanged").replace("$2", "other_one");
    for is_everything in [false, true] {
        server.query("DROP TABLE IF EXISTS exchanged, other_one; DROP PUBLICATION IF EXISTS exchanged_pub");
        server.query(
            "CREATE TABLE exchanged (id int PRIMARY KEY); CREATE TABLE other_one (id int PRIMARY KEY)",
        );
        // Either both are mapped, or the other one is published all the same.
        let config = if is_everything {
            server.query("CREATE PUBLICATION exchanged_pub FOR ALL TABLES");
            published_by("exchanged_pub", config("exchanged", &["public.exchanged"]))
        } else {
            config("exchanged", &["public.exchanged", "public.other_one"])
        };
        let mut source = source(server, config);
        let start = source.setup().expect("a slot");
        server.query(&exchange);
        server.query("INSERT INTO exchanged VALUES (1); INSERT INTO other_one VALUES (2)");
        server.query(&exchange);
        server.query("INSERT INTO exchanged VALUES (3)");
        source.open(&start).expect("the stream");
        let rows = rows_by_table(&mut source, if is_everything { 2 } else { 3 });
        let of = |table: &str, id: &str| (format!("public.{table}"), id.to_owned());
        let expected = [of("other_one", "1"), of("exchanged", "2"), of("exchanged", "3")];
        assert_eq!(rows, expected[usize::from(is_everything)..]);
        // While they are exchanged, nothing goes on.
        server.query(&exchange);
        server.query("INSERT INTO other_one VALUES (4)");
        let failure = source.read(limits(10)).expect_err("it has the other's name");
        assert_eq!((failure.code.as_str(), failure.table.as_str()), ("table_renamed", "public.exchanged"));
        source.teardown().expect("no failure");
    }
}

#[test]
fn rows_of_partitions_go_by_the_number_of_their_table_where_names_were_exchanged() {
    let server = server();
    for table in ["swapped", "swapped_other"] {
        server.query(&format!(
            "CREATE TABLE {table} (id int PRIMARY KEY) PARTITION BY RANGE (id);
             CREATE TABLE {table}_low PARTITION OF {table} FOR VALUES FROM (0) TO (10);
             CREATE TABLE {table}_high PARTITION OF {table} FOR VALUES FROM (10) TO (20)"
        ));
    }
    server.query("CREATE PUBLICATION swapped_pub FOR ALL TABLES");
    let config = published_by("swapped_pub", config("swapped", &["public.swapped"]));
    let exchange = EXCHANGE.replace("$1", "swapped").replace("$2", "swapped_other");
    let mut source = source(server, config);
    let start = source.setup().expect("a slot");
    server.query(&exchange);
    server.query("INSERT INTO swapped VALUES (1); INSERT INTO swapped_other VALUES (2)");
    server.query(&exchange);
    server.query("INSERT INTO swapped VALUES (3)");
    source.open(&start).expect("the stream");
    let (seen, positions) = stream(&mut source, 2, 10).expect("rows");
    let rows: Vec<_> = seen.iter().map(|row| (row.table.as_str(), row.after[0].as_str())).collect();
    assert_eq!(rows, [("public.swapped", "2"), ("public.swapped", "3")]);
    // While they are exchanged, the other's rows under its name are left out, and nothing goes on at its own.
    server.query(&exchange);
    server.query("INSERT INTO swapped VALUES (11)");
    server.query("INSERT INTO swapped_other VALUES (12)");
    let failure = source.read(limits(10)).expect_err("it has the other's name");
    assert_eq!((failure.code.as_str(), failure.table.as_str()), ("table_renamed", "public.swapped"));
    server.query(&exchange);
    source.open(positions.last().expect("a position")).expect("it is back");
    assert_eq!(rows_by_table(&mut source, 1), [("public.swapped".to_owned(), "12".to_owned())]);
    source.teardown().expect("no failure");
    server.query("DROP PUBLICATION swapped_pub");
}

#[test]
fn a_table_that_is_made_anew_while_the_stream_runs_is_told_and_its_rows_are_left_out() {
    let server = server();
    server.query("CREATE PUBLICATION made_anew_pub FOR ALL TABLES");
    let config = published_by("made_anew_pub", table("made_anew"));
    let (mut source, position) = left("made_anew", config);
    source.open(&position).expect("the stream");
    server.query(
        "DROP TABLE made_anew; CREATE TABLE made_anew (id int PRIMARY KEY); INSERT INTO made_anew VALUES (2)",
    );
    let failure = until("the next look", || match source.read(limits(10)) {
        Ok(changes) => {
            assert_eq!(changes.rows, 0);
            None
        }
        Err(failure) => Some(failure),
    });
    assert_eq!((failure.code.as_str(), failure.table.as_str()), ("table_replaced", "public.made_anew"));
    source.teardown().expect("no failure");
}

#[test]
fn rows_that_another_key_told_apart_come_with_that_key() {
    let server = server();
    server.query("CREATE TABLE keyed_anew (id int NOT NULL, n int NOT NULL, v int, PRIMARY KEY (id))");
    let mut source = source(server, config("keyed_anew", &["public.keyed_anew"]));
    let start = source.setup().expect("a slot");
    let key = |columns: &str| {
        server.query(&format!(
            "BEGIN; ALTER TABLE keyed_anew DROP CONSTRAINT keyed_anew_pkey;
             ALTER TABLE keyed_anew ADD PRIMARY KEY ({columns}); COMMIT"
        ));
    };
    server.query("INSERT INTO keyed_anew VALUES (1, 1, 1)");
    key("id, n");
    server.query("INSERT INTO keyed_anew VALUES (1, 2, 2)");
    server.query("DELETE FROM keyed_anew WHERE n = 2");
    key("id");
    server.query("INSERT INTO keyed_anew VALUES (2, 2, 2)");
    source.open(&start).expect("the stream");
    let (mut keys, mut count) = (Vec::new(), 0);
    while count < 4 {
        let changes = source.read(limits(10)).expect("changes");
        for described in &changes.schema {
            keys.push(described.table.columns.iter().map(|column| column.key).collect::<Vec<_>>());
        }
        count += changes.rows;
    }
    assert_eq!(keys, [[1, 0, 0], [1, 2, 0], [1, 0, 0]]);
    source.teardown().expect("no failure");
}

/// Makes another table of the name.
fn replacing(name: &str) -> String {
    format!("BEGIN; DROP TABLE public.{name}; CREATE TABLE public.{name} (id int PRIMARY KEY); COMMIT")
}

#[test]
fn a_table_dropped_and_made_again_while_it_loads_is_told_at_its_next_part() {
    let (mut source, meanwhile) = interrupted_source(server(), table("replaced_loading"));
    server().query("INSERT INTO replaced_loading SELECT generate_series(1, 10000)");
    let start = source.setup().expect("a slot");
    let held = source.hold_snapshot().expect("a point");
    let parts = source.plan_snapshot("public.replaced_loading", 1000, 1).expect("partitions");
    assert!(parts.len() > 2, "{parts:?}");
    read(&mut source, &held.token, &parts[0], &start, 0);
    *meanwhile.lock().expect("no panic") = Some((BEFORE_READING, replacing("replaced_loading")));
    // A session that knows the name from before looks again.
    let mut attempt = || source.open_snapshot(&held.token, &parts[1], &start, 0).expect_err("another table");
    let (first, second) = (attempt(), attempt());
    assert_eq!(first.class, FailureClass::Retry, "{first}");
    assert_eq!((second.class, second.code.as_str()), (FailureClass::Permanent, "table_replaced"), "{second}");
    assert_eq!(second.table, "public.replaced_loading");
    assert!(second.hint.contains("resync"), "{second}");
    source.teardown().expect("no failure");
}

#[test]
fn a_table_dropped_and_made_again_while_its_load_is_planned_is_looked_at_again() {
    let (mut source, meanwhile) = interrupted_source(server(), table("replaced_planned"));
    server().query("INSERT INTO replaced_planned SELECT generate_series(1, 10000)");
    source.setup().expect("a slot");
    let dropped = "DROP TABLE public.replaced_planned".to_owned();
    *meanwhile.lock().expect("no panic") = Some(("SELECT count(*) FROM ONLY", dropped));
    let failure = source.plan_snapshot("public.replaced_planned", 1000, 1).expect_err("it is gone");
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Retry, "table_changed_meanwhile"));
    server().query("CREATE TABLE replaced_planned (id int PRIMARY KEY)");
    server().query("INSERT INTO replaced_planned VALUES (1)");
    // One that waits for whoever does so.
    let oid = server().scalar("SELECT 'public.replaced_planned'::regclass::oid").expect("a number");
    let mut other = DriverPeer::new(server()).open().expect("a session");
    other.query(replacing("replaced_planned").trim_end_matches("; COMMIT")).expect("it is dropped");
    let failure = std::thread::scope(|scope| {
        let planned = scope.spawn(|| source.plan_snapshot("public.replaced_planned", 1000, 1));
        until("it waits", || {
            let waits = format!("SELECT count(*) > 0 FROM pg_locks WHERE relation = {oid} AND NOT granted");
            (server().scalar(&waits).as_deref() == Some("t")).then_some(())
        });
        other.query("COMMIT").expect("it is another one");
        planned.join().expect("no panic").expect_err("the one that was to be read is gone")
    });
    assert_eq!(failure.class, FailureClass::Retry, "{failure}");
    assert_eq!(source.plan_snapshot("public.replaced_planned", 1000, 1), Ok(Vec::new()));
    source.teardown().expect("no failure");
}
