//! Setting up, losing, and leaving nothing behind.

use tarn_harness::Postgres;
use tarn_sdk::FailureClass;

use crate::fixture::{Source, config, limits, source, stream};
use crate::server;

fn slots(server: &Postgres, mirror: &str) -> Option<String> {
    server.scalar(&format!(
        "SELECT (SELECT count(*) FROM pg_replication_slots WHERE slot_name = 'tarn_slot_{mirror}')
              + (SELECT count(*) FROM pg_publication WHERE pubname = 'tarn_pub_{mirror}')"
    ))
}

fn made(name: &str) -> (Source, Vec<u8>) {
    server().query(&format!("CREATE TABLE {name} (id int PRIMARY KEY)"));
    let mut source = source(server(), config(name, &[&format!("public.{name}")]));
    let start = source.setup().expect("a slot");
    (source, start)
}

#[test]
fn setting_up_again_removes_what_was_left_and_teardown_removes_all() {
    let (mut first, _) = made("repeated");
    // Killed before anything else happened; the walsender may still hold the slot.
    first.setup().expect("again in the same instance");
    drop(first);
    let mut second = source(server(), config("repeated", &["public.repeated"]));
    let start = second.setup().expect("again after a restart");
    second.open(&start).expect("the stream");
    server().query("INSERT INTO repeated VALUES (1)");
    stream(&mut second, 1, 10).expect("a row");
    assert_eq!(slots(server(), "repeated").as_deref(), Some("2"));
    for _ in 0..2 {
        assert_eq!(second.teardown().expect("no failure"), []);
        assert_eq!(slots(server(), "repeated").as_deref(), Some("0"));
    }
}

#[test]
fn a_slot_that_a_walsender_of_ours_holds_is_taken_over_and_dropped() {
    // B152.
    let (mut zombie, start) = made("zombie");
    zombie.open(&start).expect("the stream");
    let mut second = source(server(), config("zombie", &["public.zombie"]));
    second.open(&start).expect("the zombie is ended");
    server().query("INSERT INTO zombie VALUES (1)");
    stream(&mut second, 1, 10).expect("a row");
    let failure = zombie.read(limits(10)).expect_err("ended");
    assert_eq!(failure.class, FailureClass::Retry);
    let mut third = source(server(), config("zombie", &["public.zombie"]));
    assert_eq!(third.teardown().expect("no failure"), [], "also while the stream runs");
    assert_eq!(slots(server(), "zombie").as_deref(), Some("0"));
}

#[test]
fn a_slot_of_somebody_else_is_left_alone() {
    let server = server();
    server.query("CREATE TABLE foreign_slot (id int PRIMARY KEY)");
    server.query("SELECT pg_create_physical_replication_slot('tarn_slot_foreign_slot')");
    let mut source = source(server, config("foreign_slot", &["public.foreign_slot"]));
    assert_eq!(source.setup().expect_err("taken").code, "slot_taken");
    let problems = source.teardown().expect("no failure");
    assert_eq!(problems.len(), 1);
    assert!(problems[0].hint.contains("pg_drop_replication_slot('tarn_slot_foreign_slot')"));
    server.query("SELECT pg_drop_replication_slot('tarn_slot_foreign_slot')");
}

#[test]
fn a_slot_that_cannot_serve_the_position_is_never_started() {
    // B142, B149, B151.
    let (mut source, start) = made("lost");
    let lost = |source: &mut Source, position: &[u8]| {
        let failure = source.open(position).expect_err("lost");
        assert_eq!(failure.class, FailureClass::PositionLost, "{failure}");
        assert!(failure.hint.contains("resync"), "{failure}");
        failure.code
    };
    server().query("INSERT INTO lost VALUES (1)");
    server().query("SELECT pg_drop_replication_slot('tarn_slot_lost')");
    assert_eq!(lost(&mut source, &start), "slot_missing");
    server().query("SELECT pg_create_logical_replication_slot('tarn_slot_lost', 'pgoutput')");
    assert_eq!(lost(&mut source, &start), "slot_ahead");
    server().query("SELECT pg_drop_replication_slot('tarn_slot_lost')");
    server().query("SELECT pg_create_logical_replication_slot('tarn_slot_lost', 'test_decoding')");
    assert_eq!(lost(&mut source, &start), "slot_replaced");

    let mut other_cluster = start.clone();
    other_cluster[1] ^= 1;
    assert_eq!(lost(&mut source, &other_cluster), "another_cluster");
    server().query("SELECT pg_drop_replication_slot('tarn_slot_lost')");
    server().query("SELECT pg_create_logical_replication_slot('tarn_slot_lost', 'pgoutput')");
    let mut ahead = start.clone();
    ahead[16] = 0x7F;
    assert_eq!(lost(&mut source, &ahead), "server_behind");
    source.teardown().expect("no failure");
}

#[test]
fn a_slot_whose_log_was_given_up_is_lost() {
    // B148, B149.
    let sizes = [("max_slot_wal_keep_size", "1MB"), ("max_wal_size", "32MB"), ("min_wal_size", "32MB")];
    let server = Postgres::start_with(&sizes);
    server.query("CREATE TABLE given_up (id int, t text, PRIMARY KEY (id))");
    let mut source = source(&server, config("given_up", &["public.given_up"]));
    let start = source.setup().expect("a slot");
    for round in 0..4 {
        server.query(&format!("INSERT INTO given_up SELECT i + {round} * 100000, repeat('x', 200) FROM generate_series(1, 80000) i"));
        server.query("SELECT pg_switch_wal(); CHECKPOINT");
    }
    let failure = source.open(&start).expect_err("given up");
    assert_eq!(
        (failure.class, failure.code.as_str()),
        (FailureClass::PositionLost, "slot_invalidated"),
        "{failure}"
    );
    source.teardown().expect("no failure");
}

#[test]
fn a_restarted_server_is_a_reason_to_try_again_and_the_stream_goes_on() {
    let mut server = Postgres::start();
    server.query("CREATE TABLE survivor (id int PRIMARY KEY)");
    let mut source = source(&server, config("survivor", &["public.survivor"]));
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    server.query("INSERT INTO survivor VALUES (1)");
    let (_, positions) = stream(&mut source, 1, 10).expect("a row");
    let mut position = positions.last().expect("a position").clone();
    for crash in [true, false] {
        source.confirm(&position).ok();
        if crash {
            server.kill();
        } else {
            // A stop waits until everything was confirmed: the host goes on reading meanwhile.
            let stopping = std::thread::spawn(move || {
                server.stop();
                server
            });
            while let Ok(changes) = source.read(tarn_sdk::Limits { wait_ms: 20, ..limits(10) }) {
                if source.confirm(&changes.position).is_err() {
                    break;
                }
                position = changes.position;
            }
            server = stopping.join().expect("it stops");
        }
        let failure = source.open(&position).expect_err("it is down");
        assert_eq!(failure.class, FailureClass::Retry, "{failure}");
        server.start_again();
        source.open(&position).expect("the stream goes on");
        let id = if crash { 2 } else { 3 };
        server.query(&format!("INSERT INTO survivor VALUES ({id})"));
        let (seen, positions) = stream(&mut source, 1, 10).expect("the next row");
        assert_eq!(seen[0].after, [id.to_string()]);
        position = positions.last().expect("a position").clone();
    }
    source.teardown().expect("no failure");
}

#[test]
fn a_promoted_server_that_has_all_that_was_replicated_goes_on() {
    let mut server = Postgres::start();
    server.query("CREATE TABLE promoted (id int PRIMARY KEY)");
    let mut first = source(&server, config("promoted", &["public.promoted"]));
    let start = first.setup().expect("a slot");
    first.open(&start).expect("the stream");
    server.query("INSERT INTO promoted VALUES (1)");
    let (_, positions) = stream(&mut first, 1, 10).expect("a row");
    drop(first);
    server.stop();
    server.promote();
    server.query("INSERT INTO promoted VALUES (2)");
    let mut second = source(&server, config("promoted", &["public.promoted"]));
    second.open(&positions[0]).expect("the stream goes on");
    let (rows, positions) = stream(&mut second, 1, 10).expect("a row");
    assert_eq!(rows[0].after[0], "2");
    drop(second);
    // Its position is one of the new timeline.
    server.stop();
    server.start_again();
    source(&server, config("promoted", &["public.promoted"])).open(&positions[0]).expect("the stream");
}

#[test]
fn a_promoted_server_that_lacks_what_was_replicated_is_refused() {
    // B151: its log has grown past the position, and its slot begins before it.
    let mut server = Postgres::start();
    server.query("CREATE TABLE behind (id int PRIMARY KEY, t text)");
    let mut first = source(&server, config("behind", &["public.behind"]));
    let start = first.setup().expect("a slot");
    server.stop();
    server.save();
    server.start_again();
    server.query("INSERT INTO behind VALUES (1), (2)");
    let mut first = source(&server, config("behind", &["public.behind"]));
    first.open(&start).expect("the stream");
    let (_, positions) = stream(&mut first, 2, 10).expect("rows");
    let replicated = positions.last().expect("a position");
    drop(first);
    server.stop();
    server.put_back();
    server.promote();
    server.query("INSERT INTO behind SELECT n, repeat('x', 500) FROM generate_series(3, 5000) n");
    let failure = source(&server, config("behind", &["public.behind"])).open(replicated).expect_err("a gap");
    assert_eq!(
        (failure.class, failure.code.as_str()),
        (FailureClass::PositionLost, "timeline_diverged"),
        "{failure}"
    );
    assert!(failure.hint.contains("resync"), "{failure}");
}
