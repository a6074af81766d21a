//! What ClickHouse refuses an insert with, through a whole mirror: told once with what helps, tried again or stopped
//! at, and no row lost or doubled.

use std::time::Duration;

use serde_json::{Value, json};
use tarn_e2e::{PATIENCE, Scene};
use tarn_harness::{ClickHouse, Postgres, Tarn, until_within};

const SOURCE: &str = "SELECT id::text, n::text FROM t ORDER BY t.id";
const TARGET: &str = "SELECT toString(id), toString(n) FROM t FINAL WHERE _tarn_is_deleted = 0 ORDER BY id";

/// What becomes of the mirror.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    /// It goes on by itself.
    GoesOn,
    /// It fails, and goes on when it is resumed.
    Fails,
}
use Fate::{Fails, GoesOn};

/// An insert's fault, the mirror's fate, and what its log tells.
const FAULTS: &[(&str, Fate, &[&str])] = &[
    ("243 NOT_ENOUGH_SPACE", GoesOn, &["make room on the server's disk"]),
    ("75 CANNOT_WRITE_TO_FILE_DESCRIPTOR", GoesOn, &["make room on the server's disk"]),
    ("201 QUOTA_EXCEEDED", GoesOn, &["wait for the quota's next interval"]),
    ("242 TABLE_IS_READ_ONLY", GoesOn, &["see why the replica is read-only"]),
    ("241 MEMORY_LIMIT_EXCEEDED", GoesOn, &["more memory", "max_batch_size"]),
    ("252 TOO_MANY_PARTS", GoesOn, &["let merges catch up", "idle_timeout_seconds"]),
    ("692 TOO_MANY_MUTATIONS", GoesOn, &["KILL MUTATION"]),
    ("159 TIMEOUT_EXCEEDED", GoesOn, &[]),
    ("319 UNKNOWN_STATUS_OF_INSERT", GoesOn, &[]),
    ("cut", GoesOn, &[]),
    // Its rows are in, and nobody was told.
    ("reset", GoesOn, &[]),
    ("164 READONLY", Fails, &["clickhouse_read_only", "a profile that may write"]),
    (
        "516 AUTHENTICATION_FAILED",
        Fails,
        &["clickhouse_authentication", "check the peer's user and password"],
    ),
    ("497 ACCESS_DENIED", Fails, &["clickhouse_privilege", "GRANT SELECT, INSERT"]),
    ("81 UNKNOWN_DATABASE", Fails, &["database_missing", "create the peer's database"]),
];

fn status(scene: &Scene) -> Value {
    scene.post("mirrors/status", &json!({"flowJobName": "t", "includeFlowInfo": true}))
}

/// The lines of the log that tell of a failure.
fn told(scene: &Scene) -> Vec<String> {
    let tells = |line: &&str| line.contains("failed, the next is in") || line.starts_with("error: ");
    scene.log("t").lines().filter(tells).map(str::to_owned).collect()
}

#[test]
fn every_class_of_failure_is_told_once_with_what_helps_and_loses_and_doubles_nothing() {
    let scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE t (id bigint PRIMARY KEY, n int NOT NULL);
         INSERT INTO t SELECT i, 0 FROM generate_series(1, 100) i",
    );
    scene.mirror("t", &[("public.t", "t")], &json!({}));
    scene.wait_for_state("t", "STATUS_RUNNING");
    scene.wait_until_equal(SOURCE, TARGET);
    for (round, (fault, fate, words)) in (1..).zip(FAULTS) {
        let before = told(&scene).len();
        scene.clickhouse.fault_inserts(&[fault]);
        scene.postgres.query(&format!(
            "UPDATE t SET n = {round} WHERE id % 3 = 0; UPDATE t SET id = -id WHERE id = {round};
             DELETE FROM t WHERE id = 100 - {round};
             INSERT INTO t SELECT {round} * 1000 + i, {round} FROM generate_series(1, 100) i"
        ));
        let lines = until_within(PATIENCE, &format!("the log tells of {fault}"), || {
            let lines = told(&scene).split_off(before);
            (!lines.is_empty()).then_some(lines)
        });
        if *fate == Fails {
            scene.wait_for_state("t", "STATUS_FAILED");
            let failure = status(&scene)["cdcStatus"]["failure"].to_string();
            assert!(words.iter().all(|word| failure.contains(word)), "{fault}: {failure}");
            scene.request_state("t", "STATUS_RUNNING");
        } else {
            assert_eq!(scene.state("t"), "STATUS_RUNNING", "{fault}");
        }
        assert_eq!(scene.clickhouse.faults_left(), 0, "{fault}");
        scene.wait_until_equal(SOURCE, TARGET);
        scene.wait_for_state("t", "STATUS_RUNNING");
        let name = fault.split(' ').nth(1).unwrap_or_default();
        let line = lines.join("\n");
        assert!(line.contains(name) && words.iter().all(|word| line.contains(word)), "{fault}: {line}");
        let all = told(&scene).split_off(before);
        assert_eq!(all.len(), 1, "{fault} is told once: {all:#?}");
    }
    let verification = scene.verify("t");
    assert_eq!(verification["verdict"], "VERDICT_EQUAL", "{verification:#}");
}

/// Fills the server's disk: what is left is less than a row of the mirror's needs.
fn fill(clickhouse: &ClickHouse) {
    clickhouse.query("CREATE TABLE filler (s String CODEC(NONE)) ENGINE = MergeTree ORDER BY tuple()");
    clickhouse.query("SYSTEM STOP MERGES filler");
    for bytes in [4 << 20, 256 << 10, 16 << 10] {
        let more = format!("INSERT INTO filler SELECT randomString({bytes})");
        while clickhouse.try_query(&more).is_ok() {}
    }
}

#[test]
fn a_disk_that_is_really_full_is_told_of_once_and_nothing_is_lost_when_there_is_room_again() {
    let clickhouse = ClickHouse::start_on_disk(64);
    let scene = Scene { postgres: Postgres::start(), clickhouse, tarn: Tarn::start() };
    scene.create_peers();
    scene.postgres.query(
        "CREATE TABLE t (id bigint PRIMARY KEY, n int NOT NULL, s text);
         INSERT INTO t SELECT i, 0, md5(i::text) FROM generate_series(1, 100) i",
    );
    scene.mirror("t", &[("public.t", "t")], &json!({}));
    scene.wait_for_state("t", "STATUS_RUNNING");
    scene.wait_until_equal(SOURCE, TARGET);
    fill(&scene.clickhouse);
    scene.postgres.query(
        "UPDATE t SET n = 1 WHERE id % 3 = 0; UPDATE t SET id = -id WHERE id = 7; DELETE FROM t WHERE id = 9;
         INSERT INTO t SELECT 1000 + i, 1, md5(random()::text) || md5(random()::text) FROM generate_series(1, 20000) i",
    );
    let lines = until_within(PATIENCE, "the log tells of the full disk", || {
        let lines = told(&scene);
        (!lines.is_empty()).then_some(lines)
    });
    assert!(lines[0].contains("make room on the server's disk"), "{lines:#?}");
    // It is tried again and again, and told of once.
    let stage = || status(&scene)["cdcStatus"]["stage"]["entries"].clone();
    until_within(PATIENCE, "the changes wait in the stage", || (stage() != "0").then_some(()));
    assert_eq!(scene.state("t"), "STATUS_RUNNING");
    scene.clickhouse.query("DROP TABLE filler SYNC");
    scene.wait_until_equal(SOURCE, TARGET);
    assert_eq!(told(&scene).len(), 1, "{:#?}", told(&scene));
    let verification = scene.verify("t");
    assert_eq!(verification["verdict"], "VERDICT_EQUAL", "{verification:#}");
}

#[test]
fn a_quota_that_is_really_used_up_is_told_of_once_and_the_next_interval_brings_the_rest() {
    let clickhouse = ClickHouse::start_with_quota(200_000, Duration::from_secs(30));
    let scene = Scene { postgres: Postgres::start(), clickhouse, tarn: Tarn::start() };
    scene.create_peers();
    scene.postgres.query(
        "CREATE TABLE t (id bigint PRIMARY KEY, n int NOT NULL, s text);
         INSERT INTO t SELECT i, 0, repeat('x', 100) FROM generate_series(1, 500) i",
    );
    scene.mirror("t", &[("public.t", "t")], &json!({}));
    scene.wait_until_equal(SOURCE, TARGET);
    scene.wait_for_state("t", "STATUS_RUNNING");
    scene.clickhouse.query("CREATE TABLE filler (s String) ENGINE = MergeTree ORDER BY tuple()");
    // An interval may end between what uses it up and the mirror's write; not each time.
    let lines = until_within(PATIENCE, "the log tells of the quota", || {
        let fill = || scene.clickhouse.try_query("INSERT INTO filler SELECT repeat('x', 50000)");
        assert!((0..20).any(|_| fill().is_err()), "a megabyte does not use up the quota");
        scene.postgres.query("UPDATE t SET n = n + 1");
        let lines = until_within(PATIENCE, "it is written, or told of", || {
            let lines = told(&scene);
            let rows = |of: &str| format!("SELECT min(n) FROM {of}");
            let is_there = || scene.clickhouse.scalar(&rows("t FINAL")) == scene.postgres.scalar(&rows("t"));
            (!lines.is_empty() || is_there()).then_some(lines)
        });
        lines.into_iter().next()
    });
    assert!(
        lines.contains("QUOTA_EXCEEDED") && lines.contains("wait for the quota's next interval"),
        "{lines}"
    );
    assert_eq!(scene.state("t"), "STATUS_RUNNING");
    scene.wait_until_equal(SOURCE, TARGET);
    assert_eq!(told(&scene).len(), 1, "{:#?}", told(&scene));
    let verification = scene.verify("t");
    assert_eq!(verification["verdict"], "VERDICT_EQUAL", "{verification:#}");
}
