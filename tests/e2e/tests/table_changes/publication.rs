//! Publications that are changed behind the mirror's back.

use serde_json::json;
use tarn_e2e::Scene;

use crate::{SOURCE, TABLE, TARGET, streaming, wait_for_first_rows, wait_for_line};

#[test]
fn a_publication_that_was_told_to_leave_a_column_out_fails_the_mirror() {
    let scene = Scene::start();
    if scene.postgres.scalar("SELECT current_setting('server_version_num')::int < 150000").as_deref()
        == Some("t")
    {
        return;
    }
    streaming(&scene);
    scene.postgres.query("ALTER PUBLICATION tarn_pub_items SET TABLE ONLY items (id)");
    scene.postgres.query("UPDATE items SET id = id + 5000 WHERE id = 1");
    scene.wait_for_state("items", "STATUS_FAILED");
    wait_for_line(&scene, &["error", "tarn_pub_items", "public.items", "name", "ALTER PUBLICATION"]);
    scene.wait_for_target("SELECT countIf(name IS NULL) FROM items FINAL", "0");
}

#[test]
fn a_publication_that_was_changed_for_a_moment_is_told_of() {
    let mut scene = Scene::start();
    streaming(&scene);
    let change = "ALTER PUBLICATION tarn_pub_items DROP TABLE items;
         INSERT INTO items VALUES (1001, 'unpublished');
         ALTER PUBLICATION tarn_pub_items ADD TABLE items";
    scene.postgres.query(change);
    wait_for_line(&scene, &["warn", "\"tarn_pub_items\" was changed in the last seconds"]);
    scene.request_state("items", "STATUS_RESYNC");
    scene.wait_until_equal(SOURCE, TARGET);
    // A start in itself is no change.
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.tarn.kill();
    scene.tarn.start_again();
    scene.postgres.query("DELETE FROM items WHERE id = 1001");
    scene.wait_until_equal(SOURCE, TARGET);
    let unseen = "\"tarn_pub_items\" was changed while the mirror did not look";
    assert!(!scene.log("items").contains(unseen), "{}", scene.log("items"));
    scene.tarn.kill();
    scene.postgres.query(change);
    scene.tarn.start_again();
    wait_for_line(&scene, &["warn", unseen]);
}

#[test]
fn a_publication_that_was_changed_while_its_table_loads_is_told_of() {
    let scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE items (id int PRIMARY KEY, name text);
         INSERT INTO items SELECT n, repeat('x', 100) FROM generate_series(1, 200000) n",
    );
    let partitions = json!({"snapshot_num_rows_per_partition": 5000, "snapshot_max_parallel_workers": 1});
    scene.mirror("items", &[("public.items", "items")], &partitions);
    wait_for_first_rows(&scene, "items");
    scene.postgres.query(
        "ALTER PUBLICATION tarn_pub_items DROP TABLE items;
         UPDATE items SET name = 'unpublished' WHERE id = 1;
         ALTER PUBLICATION tarn_pub_items ADD TABLE items",
    );
    // By the start of the stream, or by a look of its own where the load was faster.
    wait_for_line(&scene, &["warn", "\"tarn_pub_items\" was changed "]);
}

#[test]
fn a_given_publication_that_lacks_deletes_from_now_on_stops_the_mirror() {
    let mut scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.postgres.query("CREATE PUBLICATION given FOR TABLE items");
    scene.mirror("items", &[("public.items", "items")], &json!({"publication_name": "given"}));
    scene.wait_until_equal(SOURCE, TARGET);
    scene.tarn.kill();
    scene.postgres.query(
        "ALTER PUBLICATION given SET (publish = 'insert, update, truncate'); DELETE FROM items WHERE id < 10",
    );
    scene.tarn.start_again();
    scene.wait_for_state("items", "STATUS_FAILED");
    wait_for_line(
        &scene,
        &["error", "given", "does not publish delete any more", "ALTER PUBLICATION", "resync"],
    );
    scene.postgres.query("ALTER PUBLICATION given SET (publish = 'insert, update, delete, truncate')");
    scene.request_state("items", "STATUS_RESYNC");
    scene.wait_until_equal(SOURCE, TARGET);
}

#[test]
fn a_row_filter_that_a_publication_gets_while_tarn_is_down_stops_the_mirror() {
    let mut scene = Scene::start();
    if scene.postgres.scalar("SELECT current_setting('server_version_num')::int < 150000").as_deref()
        == Some("t")
    {
        return;
    }
    scene.postgres.query(TABLE);
    scene.postgres.query("CREATE PUBLICATION given FOR TABLE items WHERE (id > 10)");
    scene.mirror("items", &[("public.items", "items")], &json!({"publication_name": "given"}));
    scene.wait_until_equal("SELECT id::text, name FROM items WHERE id > 10 ORDER BY items.id", TARGET);
    scene.tarn.kill();
    scene
        .postgres
        .query("ALTER PUBLICATION given SET TABLE items WHERE (id > 20); UPDATE items SET name = 'changed'");
    scene.tarn.start_again();
    scene.wait_for_state("items", "STATUS_FAILED");
    wait_for_line(&scene, &["error", "given", "public.items", "another row filter", "id > 20", "resync"]);
    scene.request_state("items", "STATUS_RESYNC");
    let filtered = "SELECT id::text, name FROM items WHERE id > 20 ORDER BY items.id";
    scene.wait_until_equal(filtered, TARGET);
    // The same condition under another name of its column.
    scene.postgres.query("ALTER TABLE items RENAME name TO label; INSERT INTO items VALUES (1001, 'new')");
    scene.wait_for_target("SELECT label FROM items FINAL WHERE id = 1001", "new");
    scene.tarn.kill();
    scene.tarn.start_again();
    scene.postgres.query("INSERT INTO items VALUES (1002, 'newer')");
    scene.wait_for_target("SELECT label FROM items FINAL WHERE id = 1002", "newer");
    assert_eq!(scene.state("items"), "STATUS_RUNNING");
}
