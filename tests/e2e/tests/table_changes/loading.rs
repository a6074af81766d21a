//! What is done to a table while its rows are loaded.

use serde_json::json;
use tarn_e2e::Scene;

use crate::{SOURCE, TABLE, TARGET, wait_for_first_rows, wait_for_line};

#[test]
fn a_column_added_while_the_table_loads_comes_with_its_values() {
    // B095.
    let scene = Scene::start();
    scene.postgres.query("CREATE TABLE items (id int PRIMARY KEY, name text)");
    scene.postgres.query("INSERT INTO items SELECT n, repeat('x', 100) FROM generate_series(1, 200000) n");
    let partitions = json!({"snapshot_num_rows_per_partition": 5000, "snapshot_max_parallel_workers": 1});
    scene.mirror("items", &[("public.items", "items")], &partitions);
    wait_for_first_rows(&scene, "items");
    scene.postgres.query("ALTER TABLE items ADD kind text DEFAULT 'usual'");
    scene.postgres.query("UPDATE items SET kind = 'other' WHERE id % 1000 = 0");
    scene.wait_until_equal(
        "SELECT id::text, name, kind FROM items ORDER BY items.id",
        "SELECT toString(id), name, kind FROM items FINAL ORDER BY id",
    );
}

/// A mirror to which table `more` of so many rows was added, and of whose load the first rows are there.
fn loading_beside(rows: u32) -> Scene {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.postgres.query(&format!(
        "CREATE TABLE more (id int PRIMARY KEY, t text);
         INSERT INTO more SELECT n, repeat('x', 100) FROM generate_series(1, {rows}) n"
    ));
    let partitions = json!({"snapshot_num_rows_per_partition": 5000, "snapshot_max_parallel_workers": 2});
    scene.mirror("items", &[("public.items", "items")], &partitions);
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.request_state("items", "STATUS_PAUSED");
    scene.wait_for_state("items", "STATUS_PAUSED");
    let edit = json!({"flowJobName": "items", "requestedFlowState": "STATUS_RUNNING", "flowConfigUpdate": {
        "cdcFlowConfigUpdate": {"additionalTables": [
            {"sourceTableIdentifier": "public.more", "destinationTableIdentifier": "more"}]}}});
    assert_eq!(scene.post("mirrors/state_change", &edit), json!({}));
    wait_for_first_rows(&scene, "more WHERE id > 0");
    scene
}

#[test]
fn a_table_emptied_while_it_loads_beside_the_stream_keeps_no_row_of_before() {
    // B115.
    let scene = loading_beside(200_000);
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

#[test]
fn a_column_added_while_its_table_loads_beside_the_stream_has_nothing_written_again() {
    let scene = loading_beside(400_000);
    // The first description of this life, then one with another column.
    scene.postgres.query("UPDATE more SET t = 'first' WHERE id = 1");
    scene.wait_for_target("SELECT t FROM more FINAL WHERE id = 1", "first");
    scene.postgres.query("ALTER TABLE more ADD kind text DEFAULT 'usual'");
    scene.postgres.query("UPDATE more SET kind = 'other' WHERE id % 1000 = 0");
    scene.wait_until_equal(
        "SELECT id::text, t, kind FROM more ORDER BY more.id",
        "SELECT toString(id), t, kind FROM more FINAL ORDER BY id",
    );
    let told = scene.log("items");
    assert!(!told.contains("it is written again"), "{told}");
}

#[test]
fn columns_that_exchange_their_names_while_the_table_loads_keep_their_values() {
    let scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE items (id int PRIMARY KEY, one text, two text, three text);
         INSERT INTO items SELECT n, 'one', 'two', repeat('x', 100) FROM generate_series(1, 200000) n",
    );
    let partitions = json!({"snapshot_num_rows_per_partition": 5000, "snapshot_max_parallel_workers": 1});
    scene.mirror("items", &[("public.items", "items")], &partitions);
    wait_for_first_rows(&scene, "items");
    scene.postgres.query(
        "BEGIN;
         ALTER TABLE items RENAME one TO between;
         ALTER TABLE items RENAME two TO one;
         ALTER TABLE items RENAME between TO two;
         ALTER TABLE items RENAME three TO last;
         COMMIT",
    );
    scene.postgres.query("UPDATE items SET last = 'changed' WHERE id % 1000 = 0");
    scene.wait_until_equal(
        "SELECT id::text, one, two, last FROM items ORDER BY items.id",
        "SELECT toString(id), one, two, last FROM items FINAL ORDER BY id",
    );
}

#[test]
fn values_of_a_dropped_column_do_not_show_in_the_one_that_was_made_under_its_name_meanwhile() {
    // B091: the stream comes to the rows of before when the catalog has the new column only.
    let mut scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE items (id int PRIMARY KEY, kind text, name text, size int);
         INSERT INTO items SELECT n, 'old', 'item ' || n, n FROM generate_series(1, 100) n",
    );
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.tarn.kill();
    scene.postgres.query("UPDATE items SET kind = 'older', size = 7 WHERE id <= 50");
    scene.postgres.query("ALTER TABLE items DROP kind, ADD kind text");
    scene.postgres.query("ALTER TABLE items DROP size, ADD size text");
    scene.postgres.query("UPDATE items SET kind = 'new', size = 'large' WHERE id <= 10");
    scene.tarn.start_again();
    scene.wait_until_equal(
        "SELECT id::text, name, kind, size FROM items ORDER BY items.id",
        "SELECT toString(id), name, kind, size FROM items FINAL ORDER BY id",
    );
}

#[test]
fn a_column_added_before_its_table_is_cut_for_the_load_comes_with_its_values() {
    let scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE first (id int PRIMARY KEY, name text);
         INSERT INTO first SELECT n, repeat('x', 100) FROM generate_series(1, 200000) n",
    );
    scene.postgres.query(TABLE);
    let partitions = json!({"snapshot_num_rows_per_partition": 5000, "snapshot_max_parallel_workers": 1});
    scene.mirror("items", &[("public.first", "first"), ("public.items", "items")], &partitions);
    wait_for_first_rows(&scene, "first");
    scene.postgres.query("ALTER TABLE items ADD kind text DEFAULT 'usual'");
    scene.postgres.query("UPDATE items SET kind = 'other' WHERE id % 10 = 0");
    scene.wait_until_equal(
        "SELECT id::text, name, kind FROM items ORDER BY items.id",
        "SELECT toString(id), name, kind FROM items FINAL ORDER BY id",
    );
}

/// A mirror of a table without its column `secret`, of whose load the first rows are there.
fn loading_without_secret() -> Scene {
    let scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE items (id int PRIMARY KEY, secret text, name text);
         INSERT INTO items SELECT n, 'hidden', repeat('x', 100) FROM generate_series(1, 200000) n",
    );
    let mapping = json!([{"sourceTableIdentifier": "public.items", "destinationTableIdentifier": "items",
        "exclude": ["secret"]}]);
    let partitions = json!({"snapshot_num_rows_per_partition": 5000, "snapshot_max_parallel_workers": 1,
        "table_mappings": mapping});
    scene.mirror("items", &[], &partitions);
    wait_for_first_rows(&scene, "items");
    scene
}

/// That the load has stopped without a value of `secret`, which is called so now; and goes on once that is left out as well.
fn require_hidden(scene: &Scene, called: &str, equal: (&str, &str)) {
    scene.wait_for_state("items", "STATUS_FAILED");
    wait_for_line(scene, &["error", &format!("secret, which is left out, is called {called} by now")]);
    let other =
        "SELECT countIf(name NOT IN ('id', 'name') AND name NOT LIKE '\\\\_tarn%') FROM system.columns
        WHERE database = currentDatabase() AND table = 'items'";
    let hidden = "SELECT countIf(name = 'hidden') FROM items";
    for sql in [other, hidden] {
        scene.wait_for_target(sql, "0");
    }
    let mirror = scene.post("mirrors/status", &json!({"flowJobName": "items", "includeFlowInfo": true}));
    let mut mapping = mirror["cdcStatus"]["config"]["tableMappings"][0].clone();
    mapping["exclude"] = json!(["secret", called]);
    let edit = json!({"flowJobName": "items", "requestedFlowState": "STATUS_RUNNING",
        "flowConfigUpdate": {"cdcFlowConfigUpdate": {"changedTables": [mapping]}}});
    assert_eq!(scene.post("mirrors/state_change", &edit), json!({}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.wait_until_equal(equal.0, equal.1);
    scene.wait_for_target(hidden, "0");
}

#[test]
fn a_column_that_is_left_out_and_renamed_while_the_table_loads_is_not_loaded() {
    let scene = loading_without_secret();
    scene.postgres.query("ALTER TABLE items RENAME secret TO open");
    // Where the load was faster, the stream stops.
    scene.postgres.query("UPDATE items SET id = id WHERE id = 1");
    require_hidden(&scene, "open", (SOURCE, TARGET));
}

#[test]
fn a_column_that_is_left_out_and_exchanges_its_name_while_its_load_is_cut_off_is_not_loaded() {
    let mut scene = loading_without_secret();
    scene.tarn.kill();
    scene.postgres.query(
        "BEGIN;
         ALTER TABLE items RENAME secret TO between;
         ALTER TABLE items RENAME name TO secret;
         ALTER TABLE items RENAME between TO name;
         COMMIT;
         UPDATE items SET id = id WHERE id = 1",
    );
    scene.tarn.start_again();
    require_hidden(
        &scene,
        "name",
        ("SELECT id::text FROM items ORDER BY items.id", "SELECT toString(id) FROM items FINAL ORDER BY id"),
    );
}
