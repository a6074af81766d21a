//! A ClickHouse that is away does not make PostgreSQL keep its log: changes wait in the stage, and arrive.

use serde_json::{Value, json};
use tarn_e2e::Scene;
use tarn_harness::{until, until_within};

const SOURCE: &str = "SELECT id::text, n::text, md5(big), to_jsonb(t)->>'late' FROM t ORDER BY t.id";
const TARGET: &str =
    "SELECT toString(id), toString(n), lower(hex(MD5(big))), toString(late) FROM t FINAL ORDER BY id";

fn mirrored(tarn: &[(&str, &str)]) -> Scene {
    let scene = Scene::start_with(&[], tarn);
    scene.postgres.query(
        "CREATE TABLE t (id bigint PRIMARY KEY, n int NOT NULL, big text);
         ALTER TABLE t ALTER COLUMN big SET STORAGE EXTERNAL;
         CREATE TABLE emptied (id int PRIMARY KEY); INSERT INTO emptied VALUES (1);
         INSERT INTO t SELECT n, 0, repeat(md5(n::text), 100) FROM generate_series(1, 1000) n",
    );
    scene.mirror("t", &[("public.t", "t"), ("public.emptied", "emptied")], &json!({}));
    scene.wait_for_state("t", "STATUS_RUNNING");
    scene
}

fn status(scene: &Scene) -> Value {
    scene.post("mirrors/status", &json!({"flowJobName": "t", "includeFlowInfo": true}))
}

/// Waits until the source may forget everything that was committed so far.
fn wait_until_confirmed(scene: &Scene) {
    let now = scene.postgres.scalar("SELECT pg_current_wal_lsn()").expect("a position");
    let sql = format!(
        "SELECT confirmed_flush_lsn >= '{now}' FROM pg_replication_slots WHERE slot_name = 'tarn_slot_t'"
    );
    until_within(tarn_e2e::PATIENCE, "the slot moves on", || {
        (scene.postgres.scalar(&sql).as_deref() == Some("t")).then_some(())
    });
}

#[test]
fn with_clickhouse_away_the_slot_moves_on_and_everything_arrives_over_kills_of_tarn() {
    let mut scene = mirrored(&[]);
    scene.clickhouse.kill();
    for round in 1..=4 {
        for part in 0..10 {
            let first = round * 100_000 + part * 1_000;
            scene.postgres.query(&format!(
                "INSERT INTO t (id, n, big) SELECT n, 1, 'new' FROM generate_series({first}, {first} + 999) n;
                 UPDATE t SET n = n + 1 WHERE id % 10 = {part};
                 UPDATE t SET id = -id WHERE id = {round} * 20 + {part};
                 DELETE FROM t WHERE id % 997 = {part}"
            ));
        }
        match round {
            1 => wait_until_confirmed(&scene),
            2 => drop(scene.postgres.query("ALTER TABLE t ADD COLUMN late int DEFAULT 7")),
            3 => drop(scene.postgres.query("TRUNCATE emptied; INSERT INTO emptied VALUES (2)")),
            _ => {}
        }
        // In the middle of what is read, staged and confirmed.
        scene.tarn.kill();
        scene.tarn.start_again();
    }
    wait_until_confirmed(&scene);
    assert_eq!(status(&scene)["currentFlowState"], "STATUS_RUNNING");
    assert_ne!(status(&scene)["cdcStatus"]["latency"]["stagedBytes"], "0");
    let log = scene.log("t");
    assert!(log.contains("wait in the stage until the destination takes them"), "{log}");

    scene.clickhouse.start_again();
    scene.wait_until_equal(SOURCE, TARGET);
    scene.wait_for_target("SELECT toString(groupArray(id)) FROM emptied FINAL", "[2]");
    until("nothing waits any more", || {
        (status(&scene)["cdcStatus"]["latency"]["stagedBytes"] == "0").then_some(())
    });
    // From here on the stage is passed by.
    scene.postgres.query("UPDATE t SET n = -1 WHERE id % 3 = 0");
    scene.wait_until_equal(SOURCE, TARGET);
    let verification = scene.verify("t");
    assert_eq!(verification["verdict"], "VERDICT_EQUAL", "{verification:#}");
    let log = scene.log("t");
    assert!(log.contains("the destination has everything that waited in the stage"), "{log}");
}

#[test]
fn a_full_stage_is_told_of_with_its_remedy_and_the_rest_waits_at_the_source() {
    let mut scene = mirrored(&[("TARN_STAGE_MIB_MAX", "1")]);
    scene.clickhouse.kill();
    for round in 1..=8 {
        let first = round * 10_000;
        scene.postgres.query(&format!(
            "INSERT INTO t (id, n, big) SELECT n, 1, repeat(md5(n::text), 100) FROM generate_series({first}, {first} + 199) n"
        ));
    }
    until_within(tarn_e2e::PATIENCE, "the log tells of the full stage", || {
        let log = scene.log("t");
        (log.contains("the stage is full") && log.contains("stage_mib_max")).then_some(())
    });
    scene.postgres.query("ALTER TABLE t ADD COLUMN late int; UPDATE t SET late = 1 WHERE id = 1");
    scene.clickhouse.start_again();
    scene.wait_until_equal(SOURCE, TARGET);
}

#[test]
fn what_waits_is_delivered_before_an_edit_and_gone_after_a_resync_or_a_drop() {
    let mut scene = mirrored(&[]);
    scene.postgres.query("ALTER TABLE t ADD COLUMN late int; UPDATE t SET late = 1 WHERE id = 1");
    scene.wait_until_equal(SOURCE, TARGET);
    scene.clickhouse.kill();
    scene
        .postgres
        .query("INSERT INTO t (id, n) VALUES (5000, 1); TRUNCATE emptied; INSERT INTO emptied VALUES (3)");
    wait_until_confirmed(&scene);
    // What waits for a table that is removed reaches it all the same, and first.
    scene.request_state("t", "STATUS_PAUSED");
    scene.wait_for_state("t", "STATUS_PAUSED");
    let edit = json!({"flowJobName": "t", "requestedFlowState": "STATUS_RUNNING", "flowConfigUpdate":
        {"cdcFlowConfigUpdate": {"removedTables": [
            {"sourceTableIdentifier": "public.emptied", "destinationTableIdentifier": "emptied"}]}}});
    scene.post("mirrors/state_change", &edit);
    scene.clickhouse.start_again();
    scene.wait_until_equal(SOURCE, TARGET);
    scene.wait_for_target("SELECT toString(groupArray(id)) FROM emptied FINAL", "[3]");

    scene.wait_for_state("t", "STATUS_RUNNING");
    scene.clickhouse.kill();
    scene.postgres.query("UPDATE t SET n = 5");
    wait_until_confirmed(&scene);
    scene.request_state("t", "STATUS_RESYNC");
    scene.clickhouse.start_again();
    until_within(tarn_e2e::PATIENCE, "the resync is done", || {
        scene.log("t").contains("took the place of the old ones").then_some(())
    });
    scene.wait_until_equal(SOURCE, TARGET);
    scene.wait_for_state("t", "STATUS_RUNNING");

    scene.clickhouse.kill();
    scene.postgres.query("UPDATE t SET n = 6");
    wait_until_confirmed(&scene);
    let staged = || {
        let folders = std::fs::read_dir(scene.tarn.data_dir().join("stage")).expect("a folder");
        folders.flatten().flat_map(|folder| std::fs::read_dir(folder.path())).flatten().flatten().count()
    };
    assert!(staged() > 0);
    scene.request_state("t", "STATUS_TERMINATED");
    until_within(tarn_e2e::PATIENCE, "it is dropped", || {
        scene.log("t").contains("dropped; the destination's tables stay").then_some(())
    });
    assert_eq!(staged(), 0);
}
