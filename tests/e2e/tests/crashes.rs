//! Killing any of the three processes at any time loses and doubles nothing.

use serde_json::json;
use tarn_e2e::Scene;
use tarn_harness::until;

const TABLE: &str = "CREATE TABLE t (id bigint PRIMARY KEY, n int NOT NULL, big text, pad text NOT NULL);
    ALTER TABLE t ALTER COLUMN big SET STORAGE EXTERNAL;
    INSERT INTO t SELECT n, 0, CASE WHEN n % 10 = 0 THEN repeat(md5(n::text), 100) END, repeat('x', n % 200)
    FROM generate_series(1, 100000) n";
const SOURCE: &str = "SELECT id::text, n::text, md5(big), md5(pad) FROM t ORDER BY t.id";
const TARGET: &str =
    "SELECT toString(id), toString(n), lower(hex(MD5(big))), lower(hex(MD5(pad))) FROM t FINAL ORDER BY id";

/// One transaction of every kind of change; `round` makes it touch other rows each time.
fn change(scene: &Scene, round: u64) {
    let first = 200_000 + round * 100;
    scene.postgres.query(&format!(
        "BEGIN;
         INSERT INTO t SELECT n, 1, NULL, 'p' FROM generate_series({first}, {first} + 99) n;
         UPDATE t SET n = n + 1 WHERE id % 997 = {round};
         UPDATE t SET id = id + 1000000 WHERE id % 1999 = {round};
         DELETE FROM t WHERE id % 1501 = {round};
         COMMIT"
    ));
}

#[test]
fn tarn_killed_ten_times_in_snapshot_and_stream_ends_with_both_sides_equal() {
    let mut scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.mirror("t", &[("public.t", "t")], &json!({"snapshot_num_rows_per_partition": 5000}));
    for round in 0..10 {
        change(&scene, round);
        // Kills fall on different moments: right after the start, within the load, within the stream.
        let rows = round * 15_000;
        until("some rows arrived", || {
            let arrived = scene.clickhouse.scalar(
                "SELECT count() FROM system.tables WHERE name = 't' AND database = currentDatabase()",
            );
            if arrived.as_deref() != Some("1") {
                return (round == 0).then_some(());
            }
            let count = scene.clickhouse.scalar("SELECT count() FROM t")?.parse::<u64>().ok()?;
            (count >= rows.min(100_000)).then_some(())
        });
        scene.tarn.kill();
        change(&scene, round + 100);
        scene.tarn.start_again();
    }
    scene.wait_for_state("t", "STATUS_RUNNING");
    change(&scene, 300);
    scene.wait_until_equal(SOURCE, TARGET);
    // The server's own comparison looks at every column, in its own way.
    let verification = scene.verify("t");
    assert_eq!(verification["verdict"], "VERDICT_EQUAL", "{verification:#}");
    assert_eq!(scene.leftovers(), ["slot tarn_slot_t", "publication tarn_pub_t"]);
}

#[test]
fn a_load_that_goes_on_does_not_make_a_target_anew_whose_rows_somebody_dropped() {
    let mut scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.mirror(
        "t",
        &[("public.t", "t")],
        &json!({"snapshot_num_rows_per_partition": 2000, "snapshot_max_parallel_workers": 1}),
    );
    until("a part of the rows is there", || {
        let count = scene.clickhouse.try_query("SELECT count() FROM t").ok()?;
        let count: u64 = count[0][0].as_deref()?.parse().ok()?;
        (count >= 4000).then_some(())
    });
    // The load cannot end before the kill.
    scene.clickhouse.fault_inserts(&["hold"]);
    scene.tarn.kill();
    scene.clickhouse.fault_inserts(&[]);
    scene.clickhouse.query("DROP TABLE t SYNC");
    scene.tarn.start_again();
    scene.wait_for_state("t", "STATUS_FAILED");
    assert!(scene.log("t").contains("(target_missing)"), "{}", scene.log("t"));
}

#[test]
fn the_mirror_goes_on_by_itself_after_either_store_was_away() {
    let mut scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.mirror("t", &[("public.t", "t")], &json!({}));
    scene.wait_for_state("t", "STATUS_RUNNING");
    scene.clickhouse.kill();
    change(&scene, 1);
    until("the log tells of the destination", || {
        scene.log("t").lines().any(|line| line.starts_with("warn")).then_some(())
    });
    scene.clickhouse.start_again();
    scene.wait_until_equal(SOURCE, TARGET);
    scene.postgres.kill();
    scene.postgres.start_again();
    change(&scene, 2);
    scene.wait_until_equal(SOURCE, TARGET);
    let log = scene.log("t");
    assert!(log.lines().filter(|line| line.starts_with("warn")).count() >= 2, "{log}");
}

#[test]
fn tarn_stopped_in_order_ends_with_success_and_goes_on() {
    let mut scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.mirror("t", &[("public.t", "t")], &json!({}));
    scene.wait_for_state("t", "STATUS_RUNNING");
    change(&scene, 1);
    assert!(scene.tarn.stop(), "a stopped server ends with success");
    change(&scene, 2);
    scene.tarn.start_again();
    scene.wait_until_equal(SOURCE, TARGET);
}
