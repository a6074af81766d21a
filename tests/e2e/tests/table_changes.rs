//! What is done to tables at the source while they are replicated.

use serde_json::json;
use tarn_e2e::Scene;
use tarn_harness::until;

const TABLE: &str = "CREATE TABLE items (id int PRIMARY KEY, name text);
    INSERT INTO items SELECT n, 'item ' || n FROM generate_series(1, 1000) n";
const SOURCE: &str = "SELECT id::text, name FROM items ORDER BY items.id";
const TARGET: &str = "SELECT toString(id), name FROM items FINAL ORDER BY id";

#[test]
fn a_table_emptied_while_it_loads_beside_the_stream_keeps_no_row_of_before() {
    // B115.
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.postgres.query(
        "CREATE TABLE more (id int PRIMARY KEY, t text);
         INSERT INTO more SELECT n, repeat('x', 100) FROM generate_series(1, 200000) n",
    );
    let partitions = json!({"snapshot_num_rows_per_partition": 5000, "snapshot_max_parallel_workers": 2});
    scene.mirror("items", &[("public.items", "items")], &partitions);
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.request_state("items", "STATUS_PAUSED");
    scene.wait_for_state("items", "STATUS_PAUSED");
    let edit = json!({"flowJobName": "items", "requestedFlowState": "STATUS_RUNNING", "flowConfigUpdate": {
        "cdcFlowConfigUpdate": {"additionalTables": [
            {"sourceTableIdentifier": "public.more", "destinationTableIdentifier": "more"}]}}});
    assert_eq!(scene.post("mirrors/state_change", &edit), json!({}));
    until("rows of the load arrive", || {
        let count = scene.clickhouse.try_query("SELECT count() FROM more WHERE id > 0").ok()?;
        (count != [[Some("0".to_owned())]]).then_some(())
    });
    scene
        .postgres
        .query("INSERT INTO more VALUES (-1, 'before'); TRUNCATE more; INSERT INTO more VALUES (1, 'after')");
    scene.postgres.query("UPDATE items SET name = 'after' WHERE id = 1");
    scene.wait_until_equal(SOURCE, TARGET);
    scene.wait_until_equal(
        "SELECT id::text, t FROM more ORDER BY more.id",
        "SELECT toString(id), t FROM more FINAL ORDER BY id",
    );
}
