//! What goes wrong on the way to a queue: kills, a broker that hangs, records that no topic takes.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tarn_e2e::PATIENCE;
use tarn_e2e::queue::{QueueMessage, QueueScene, lsn, replayed};
use tarn_harness::{Postgres, until_within};

const MIRROR: &str = "m";

/// The rows of `t (id, n)` by their keys, as records have them.
fn rows(scene: &QueueScene) -> BTreeMap<String, Value> {
    let rows = scene.postgres.query("SELECT id, n FROM t").into_iter();
    rows.map(|row| {
        let number = |at: usize| row[at].as_deref().expect("a number").parse::<i64>().expect("a number");
        (json!({"id": number(0)}).to_string(), json!({"id": number(0), "n": number(1)}))
    })
    .collect()
}

/// Each record's kind, key and place.
fn told(messages: &[QueueMessage]) -> Vec<(String, String, u64, u64)> {
    let told = messages.iter().map(|message| {
        let record = message.json();
        let text = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
        let ordinal = record["ordinal"].as_u64().expect("a number");
        (text("op"), message.key.clone().unwrap_or_default(), lsn(&record), ordinal)
    });
    let mut told: Vec<_> = told.collect();
    told.sort_unstable();
    told
}

/// Waits until what is in the topic is what the table has.
fn wait_until_equal(scene: &QueueScene) -> Vec<QueueMessage> {
    let expected = rows(scene);
    let mut messages = Vec::new();
    let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        until_within(PATIENCE, "the topic has what the table has", || {
            messages = scene.messages("t");
            (replayed(&messages) == expected).then_some(())
        });
    }));
    assert!(waited.is_ok(), "{} messages; the log:\n{}", messages.len(), scene.log(MIRROR));
    messages
}

#[test]
fn a_kill_at_any_instant_of_a_load_loses_and_doubles_no_row() {
    let mut scene = QueueScene::start();
    let rows = 60_000;
    scene.postgres.query(&format!(
        "CREATE TABLE t (id bigint PRIMARY KEY, n bigint); INSERT INTO t SELECT i, i FROM generate_series(1, {rows}) i"
    ));
    let parts = json!({"snapshot_num_partitions_override": 12, "snapshot_max_parallel_workers": 2, "max_batch_size": 1000});
    scene.mirror(MIRROR, &[("public.t", "t")], &parts);
    for at_least in [1, rows / 3, rows * 2 / 3] {
        // Of parts that are under way nothing is committed: kills come in the middle of some.
        until_within(PATIENCE, "a part of the rows", || {
            (scene.messages("t").len() >= at_least || scene.state(MIRROR) == "STATUS_RUNNING").then_some(())
        });
        scene.tarn.kill();
        scene.tarn.start_again();
    }
    scene.wait_for_state(MIRROR, "STATUS_RUNNING");
    let messages = scene.wait_for_messages(MIRROR, "t", rows);
    assert_eq!(replayed(&messages).len(), rows);
}

#[test]
fn a_kill_at_any_instant_of_the_stream_loses_and_doubles_no_change() {
    let mut scene = QueueScene::start();
    scene.postgres.query("CREATE TABLE t (id bigint PRIMARY KEY, n bigint)");
    scene.mirror(MIRROR, &[("public.t", "t")], &json!({}));
    scene.wait_for_state(MIRROR, "STATUS_RUNNING");
    let (rounds, each) = (8_i64, 3_000_i64);
    for round in 0..rounds {
        let first = round * each;
        scene.postgres.query(&format!(
            "INSERT INTO t SELECT i, 0 FROM generate_series({first}, {}) i",
            first + each - 1
        ));
        scene.postgres.query("UPDATE t SET n = n + 1 WHERE id % 7 = 0");
        // Some kills come right away, some in the middle of a write, some when everything is there.
        let wanted = scene.messages("t").len() + usize::try_from(round).expect("small") * 400;
        until_within(PATIENCE, "some more messages", || (scene.messages("t").len() >= wanted).then_some(()));
        scene.tarn.kill();
        scene.tarn.start_again();
    }
    let messages = wait_until_equal(&scene);
    let told = told(&messages);
    let doubled: Vec<_> = told.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
    assert!(doubled.is_empty(), "{} doubled: {:?}", doubled.len(), doubled.first());
    let updates = (1..=rounds).map(|round| (round * each + 6) / 7).sum::<i64>();
    let inserts = told.iter().filter(|(kind, ..)| kind == "insert").count();
    assert_eq!(i64::try_from(inserts).expect("few"), rounds * each);
    assert_eq!(i64::try_from(told.len()).expect("few"), rounds * each + updates);
}

#[test]
fn a_broker_that_hangs_costs_time_and_no_change() {
    let scene = QueueScene::start();
    scene.postgres.query("CREATE TABLE t (id bigint PRIMARY KEY, n bigint)");
    scene.mirror(MIRROR, &[("public.t", "t")], &json!({}));
    scene.wait_for_state(MIRROR, "STATUS_RUNNING");
    scene.postgres.query("INSERT INTO t SELECT i, 0 FROM generate_series(1, 100) i");
    scene.wait_for_messages(MIRROR, "t", 100);
    scene.kafka.freeze();
    scene.postgres.query("INSERT INTO t SELECT i, 0 FROM generate_series(101, 200) i");
    scene.postgres.query("UPDATE t SET n = 1 WHERE id <= 50");
    // The write is given up by its deadlines, and what waits is tried again.
    scene.wait_for_log(MIRROR, "attempt 1 failed");
    scene.kafka.thaw();
    let messages = scene.wait_for_messages(MIRROR, "t", 250);
    assert_eq!(replayed(&messages), rows(&scene));
    assert_eq!(scene.state(MIRROR), "STATUS_RUNNING");
}

#[test]
fn a_record_that_is_too_large_follows_the_mirrors_policy() {
    let scene = QueueScene::start_with(&json!({"max_record_batch_bytes": 20_000}));
    scene.postgres.query("CREATE TABLE t (id bigint PRIMARY KEY, note text)");
    // Values that do not compress to nothing.
    let large = "(SELECT string_agg(md5(i::text || $$x$$), '') FROM generate_series(1, 2000) i)";
    for (name, policy) in [("stop", "STOP"), ("skip", "SKIP"), ("letter", "DEAD_LETTER")] {
        scene.mirror(name, &[("public.t", name)], &json!({"record_error_policy": policy}));
        scene.wait_for_state(name, "STATUS_RUNNING");
    }
    scene
        .postgres
        .query(&format!("INSERT INTO t VALUES (1, 'a'); INSERT INTO t VALUES (2, {large}), (3, 'c')"));
    scene.wait_for_state("stop", "STATUS_FAILED");
    let log = scene.log("stop");
    assert!(
        log.contains("public.t") && log.contains("id=2") && log.contains("max_record_batch_bytes"),
        "{log}"
    );
    for name in ["skip", "letter"] {
        let messages = scene.wait_for_messages(name, name, 2);
        let keys: Vec<_> = messages.iter().filter_map(|message| message.key.clone()).collect();
        assert!(
            keys.contains(&r#"{"id":1}"#.to_owned()) && keys.contains(&r#"{"id":3}"#.to_owned()),
            "{keys:?}"
        );
        assert_eq!(scene.state(name), "STATUS_RUNNING");
    }
    // Once the peer takes it, the letter goes after what was sent meanwhile.
    let mut config = scene.kafka.peer_config();
    config["max_record_batch_bytes"] = json!(1_000_000);
    let peer = json!({"peer": {"name": "target", "type": 9, "kafka_config": config}, "allow_update": true});
    assert_eq!(scene.post("peers/create", &peer)["status"], "CREATED");
    let replayed = scene.post("mirrors/dead_letters/replay", &json!({"flowJobName": "letter"}));
    assert!(replayed.to_string().contains("REPLAYED"), "{replayed}");
    let messages = scene.wait_for_messages("letter", "letter", 3);
    assert!(messages.iter().any(|message| message.key.as_deref() == Some(r#"{"id":2}"#)));
}

/// A table that is added loads before the stream goes on: its rows come before the changes that follow them.
#[test]
fn a_table_that_is_added_is_in_the_order_of_its_keys_too() {
    let scene = QueueScene::start();
    scene
        .postgres
        .query("CREATE TABLE old (id int PRIMARY KEY); CREATE TABLE t (id bigint PRIMARY KEY, n bigint)");
    scene.postgres.query("INSERT INTO t SELECT i, 0 FROM generate_series(1, 2000) i");
    scene.mirror(MIRROR, &[("public.old", "old")], &json!({}));
    scene.wait_for_state(MIRROR, "STATUS_RUNNING");
    scene.request_state(MIRROR, "STATUS_PAUSED");
    scene.wait_for_state(MIRROR, "STATUS_PAUSED");
    let added = json!([{"source_table_identifier": "public.t", "destination_table_identifier": "t"}]);
    let edit = json!({"flowJobName": MIRROR, "requestedFlowState": "STATUS_RUNNING",
        "flowConfigUpdate": {"cdcFlowConfigUpdate": {"additionalTables": added}}});
    scene.post("mirrors/state_change", &edit);
    scene.postgres.query("UPDATE t SET n = 1 WHERE id <= 500");
    scene.wait_for_log(MIRROR, "the load is complete");
    scene.postgres.query("UPDATE t SET n = 2 WHERE id <= 100; INSERT INTO old VALUES (1)");
    wait_until_equal(&scene);
    scene.wait_for_messages(MIRROR, "old", 1);
}

#[test]
fn what_a_queue_cannot_do_is_refused_with_the_reason() {
    let scene = QueueScene::start();
    scene.postgres.query("CREATE TABLE t (id bigint PRIMARY KEY, n bigint)");
    let answer =
        scene.try_mirror("bad", &[("public.t", "no topic!")], &json!({"env": {"TARN_KAFKA_DELETES": "x"}}));
    let text = answer.text();
    assert_eq!(answer.status, 400, "{text}");
    assert!(text.contains("env.TARN_KAFKA_DELETES"), "{text}");
    let answer = scene.try_mirror("bad", &[("public.t", "no topic!")], &json!({}));
    assert!(answer.status == 400 && answer.text().contains("no name of a topic"), "{}", answer.text());
    let env = json!({"env": {"TARN_KAFKA_CREATE_TOPICS": "false"}});
    let answer = scene.try_mirror("bad", &[("public.t", "missing")], &env);
    let text = answer.text();
    assert!(
        answer.status == 400 && text.contains("there is no topic missing") && text.contains("tarn_positions"),
        "{text}"
    );
    scene.mirror(MIRROR, &[("public.t", "t")], &json!({}));
    scene.wait_for_state(MIRROR, "STATUS_RUNNING");
    let answer = scene.try_post("mirrors/verify", &json!({"flowJobName": MIRROR}));
    assert!(answer.status == 400 && answer.text().contains("queue"), "{}", answer.text());
    // A dropped mirror leaves its topics, and a new one of its name begins anew.
    scene.request_state(MIRROR, "STATUS_TERMINATED");
    scene.wait_for_state(MIRROR, "STATUS_TERMINATED");
    scene.mirror(MIRROR, &[("public.t", "t")], &json!({}));
    scene.wait_for_state(MIRROR, "STATUS_RUNNING");
    scene.postgres.query("INSERT INTO t VALUES (1, 1)");
    scene.wait_for_messages(MIRROR, "t", 1);
}

/// What is in the topic from before a resync says nothing of what follows it.
#[test]
fn a_resync_brings_everything_again_and_every_change_after_it() {
    let scene = QueueScene::start();
    scene.postgres.query(
        "CREATE TABLE t (id bigint PRIMARY KEY, n bigint); INSERT INTO t SELECT i, 0 FROM generate_series(1, 100) i",
    );
    scene.mirror(MIRROR, &[("public.t", "t")], &json!({}));
    scene.wait_for_messages(MIRROR, "t", 100);
    scene.wait_for_state(MIRROR, "STATUS_RUNNING");
    let mut count = 100;
    for round in 1..=2 {
        scene.postgres.query(&format!("UPDATE t SET n = {round} WHERE id <= 10"));
        count += 10;
        scene.wait_for_messages(MIRROR, "t", count);
        scene.request_state(MIRROR, "STATUS_RESYNC");
        count += 100;
        scene.wait_for_messages(MIRROR, "t", count);
        scene.wait_for_state(MIRROR, "STATUS_RUNNING");
    }
    scene.postgres.query("UPDATE t SET n = 3 WHERE id <= 10; DELETE FROM t WHERE id > 90");
    let messages = scene.wait_for_messages(MIRROR, "t", count + 20);
    assert_eq!(messages.iter().filter(|message| message.json()["op"] == "read").count(), 300);
}

/// After a failover to a server that went back, the remedy is a resync, and its places are lower than those before.
#[test]
fn a_resync_from_a_server_whose_log_is_behind_passes_over_no_change() {
    let mut scene = QueueScene::start();
    let table = "CREATE TABLE t (id bigint PRIMARY KEY, n bigint)";
    let end = |postgres: &Postgres| {
        let lsn = postgres.scalar("SELECT (pg_current_wal_lsn() - '0/0')::bigint").expect("a place");
        lsn.parse::<u64>().expect("a number")
    };
    scene.postgres.query(table);
    for _ in 0..4 {
        scene.postgres.query("INSERT INTO t SELECT 0, 0; DELETE FROM t");
        scene.postgres.query("SELECT pg_switch_wal()");
    }
    scene.mirror(MIRROR, &[("public.t", "t")], &json!({}));
    scene.wait_for_state(MIRROR, "STATUS_RUNNING");
    scene.postgres.query("INSERT INTO t SELECT i, 0 FROM generate_series(1, 50) i");
    scene.wait_for_messages(MIRROR, "t", 50);
    let other = Postgres::start();
    other.query(table);
    other.query("INSERT INTO t SELECT i, 1 FROM generate_series(1, 40) i");
    assert!(end(&other) + (16 << 20) < end(&scene.postgres), "its log is behind");
    scene.request_state(MIRROR, "STATUS_PAUSED");
    scene.wait_for_state(MIRROR, "STATUS_PAUSED");
    let peer = json!({"name": "source", "type": 3, "postgres_config": other.peer_config()});
    let answer = scene.post("peers/create", &json!({"peer": peer, "allow_update": true}));
    assert_eq!(answer["status"], "CREATED", "{answer}");
    scene.postgres = other;
    scene.request_state(MIRROR, "STATUS_RESYNC");
    scene.wait_for_messages(MIRROR, "t", 50 + 40);
    scene.wait_for_state(MIRROR, "STATUS_RUNNING");
    scene.postgres.query("UPDATE t SET n = 2 WHERE id <= 30");
    let messages = scene.wait_for_messages(MIRROR, "t", 50 + 40 + 30);
    assert_eq!(messages.iter().filter(|message| message.json()["row"]["n"] == 2).count(), 30);
}

/// Without transactions what was written last before a kill may be there twice; nothing is lost, and the last record of a
/// key is its row.
#[test]
fn without_transactions_a_kill_loses_nothing() {
    let mut scene = QueueScene::start();
    scene.postgres.query(
        "CREATE TABLE t (id bigint PRIMARY KEY, n bigint); INSERT INTO t SELECT i, 0 FROM generate_series(1, 5000) i",
    );
    let once = json!({"env": {"TARN_KAFKA_EXACTLY_ONCE": "false"}, "snapshot_num_partitions_override": 4});
    scene.mirror(MIRROR, &[("public.t", "t")], &once);
    for wanted in [1, 5_500, 6_500] {
        until_within(PATIENCE, "some more messages", || (scene.messages("t").len() >= wanted).then_some(()));
        scene.tarn.kill();
        scene.tarn.start_again();
        if wanted == 1 {
            scene.wait_for_state(MIRROR, "STATUS_RUNNING");
        }
        scene.postgres.query("UPDATE t SET n = n + 1 WHERE id % 2 = 0");
    }
    let expected = rows(&scene);
    until_within(PATIENCE, "the last record of each key is its row", || {
        let messages = scene.messages("t");
        let last: BTreeMap<_, _> = messages
            .iter()
            .map(|message| (message.key.clone().unwrap_or_default(), message.json()["row"].clone()))
            .collect();
        (last == expected).then_some(())
    });
    let messages = scene.messages("t");
    let mut told = told(&messages);
    told.dedup();
    // Each change is there: three of each second row.
    assert_eq!(told.iter().filter(|(kind, ..)| kind == "update").count(), 3 * 2_500);
}
