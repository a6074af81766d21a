//! A resync is not seen before it is done: readers have the old rows in full until the new ones are there in full.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use tarn_e2e::Scene;
use tarn_harness::until;

const ROWS: u64 = 40_000;
const SOURCE: &str = "SELECT id::text, name FROM items ORDER BY items.id";
const TARGET: &str = "SELECT toString(id), name FROM items FINAL ORDER BY id";
const TABLES: &str = "SELECT arrayStringConcat(arraySort(groupArray(name)), ' ') FROM system.tables WHERE database = \
                      currentDatabase() AND name LIKE 'items%'";

fn mirrored() -> Scene {
    let scene = Scene::start();
    scene.postgres.query(&format!(
        "CREATE TABLE items (id int PRIMARY KEY, name text);
         INSERT INTO items SELECT n, 'item ' || n FROM generate_series(1, {ROWS}) n"
    ));
    scene.mirror("items", &[("public.items", "items")], &json!({"snapshot_num_rows_per_partition": 2000}));
    scene.wait_until_equal(SOURCE, TARGET);
    scene
}

/// Whether the mirror has begun to load beside.
fn loads_beside(scene: &Scene) -> bool {
    scene.clickhouse.try_query(TABLES).is_ok_and(|rows| format!("{rows:?}").contains("items_tarn_beside"))
}

fn wait_until_resynced(scene: &Scene, times: usize) {
    until("the resync is done", || {
        let placed = scene.log("items").matches("took the place of the old ones").count();
        (placed >= times && scene.state("items") == "STATUS_RUNNING").then_some(())
    });
}

#[test]
fn readers_see_all_rows_all_the_time_and_views_go_on() {
    let scene = mirrored();
    scene.clickhouse.query("CREATE VIEW seen AS SELECT id, name FROM items FINAL");
    let done = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let reader = threads.spawn(|| {
            let mut reads = 0;
            while !done.load(Ordering::Relaxed) {
                let rows = scene.clickhouse.scalar("SELECT count() FROM seen");
                assert_eq!(rows.as_deref(), Some("40000"), "after {reads} reads");
                reads += 1;
            }
            reads
        });
        for times in 1..=2 {
            scene.request_state("items", "STATUS_RESYNC");
            until("it loads beside", || loads_beside(&scene).then_some(()));
            // Meanwhile: these rows reach the table that people read after the load took its place.
            scene.postgres.query("UPDATE items SET name = 'changed ' || id WHERE id % 100 = 0");
            wait_until_resynced(&scene, times);
            scene.wait_until_equal(SOURCE, TARGET);
        }
        done.store(true, Ordering::Relaxed);
        assert!(reader.join().expect("every read was complete") > 10);
    });
    scene.wait_until_equal(SOURCE, "SELECT toString(id), name FROM seen ORDER BY id");
    scene.wait_for_target(TABLES, "items");
    let verification = scene.verify("items");
    assert_eq!(verification["verdict"], "VERDICT_EQUAL", "{verification:#}");
}

#[test]
fn killed_while_it_loads_beside_it_goes_on_and_the_old_rows_stay_meanwhile() {
    let mut scene = mirrored();
    scene.request_state("items", "STATUS_RESYNC");
    for _ in 0..4 {
        until("it loads beside, or is done", || {
            let done = scene.log("items").contains("took the place of the old ones");
            (loads_beside(&scene) || done).then_some(())
        });
        scene.tarn.kill();
        assert_eq!(scene.clickhouse.scalar("SELECT count() FROM items FINAL").as_deref(), Some("40000"));
        scene.postgres.query("UPDATE items SET name = name || '!' WHERE id % 1000 = 0");
        scene.tarn.start_again();
    }
    wait_until_resynced(&scene, 1);
    scene.postgres.query("DELETE FROM items WHERE id % 50 = 0");
    scene.wait_until_equal(SOURCE, TARGET);
    scene.wait_for_target(TABLES, "items");
}

#[test]
fn dropped_while_it_loads_beside_nothing_of_the_load_stays() {
    let scene = mirrored();
    // The load cannot end before the drop.
    scene.clickhouse.fault_inserts(&["hold"]);
    scene.request_state("items", "STATUS_RESYNC");
    until("it loads beside", || loads_beside(&scene).then_some(()));
    scene.request_state("items", "STATUS_TERMINATED");
    until("it is dropped", || {
        (scene.log("items").contains("dropped; the destination's tables stay")).then_some(())
    });
    assert!(!scene.log("items").contains("took the place of the old ones"), "{}", scene.log("items"));
    scene.clickhouse.fault_inserts(&[]);
    scene.wait_for_target(TABLES, "items");
    assert_eq!(scene.clickhouse.scalar("SELECT count() FROM items FINAL").as_deref(), Some("40000"));
}

#[test]
fn a_mirror_created_to_replace_anothers_tables_leaves_them_until_it_has_its_rows() {
    let scene = mirrored();
    scene.request_state("items", "STATUS_TERMINATED");
    until("it is dropped", || {
        (scene.log("items").contains("dropped; the destination's tables stay")).then_some(())
    });
    scene.postgres.query("DELETE FROM items WHERE id > 100; UPDATE items SET name = 'x'");
    scene.mirror("items", &[("public.items", "items")], &json!({"resync": true}));
    wait_until_resynced(&scene, 1);
    scene.wait_until_equal(SOURCE, TARGET);
    scene.wait_for_target(TABLES, "items");
}
