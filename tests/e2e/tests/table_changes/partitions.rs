//! Partitions that come, leave and change, and what identifies rows.

use serde_json::json;
use tarn_e2e::Scene;

use crate::{SOURCE, TARGET, streaming, wait_for_line};

#[test]
fn a_renamed_column_of_a_partitioned_table_is_one_column_where_the_stream_is_behind() {
    let mut scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE items (id int, name text, part int, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
         CREATE TABLE items_1 PARTITION OF items FOR VALUES IN (1);
         INSERT INTO items VALUES (1, 'loaded', 1)",
    );
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    scene.wait_until_equal(SOURCE, TARGET);
    scene.tarn.kill();
    scene.postgres.query(
        "INSERT INTO items VALUES (2, 'before', 1);
         ALTER TABLE items ADD note text;
         INSERT INTO items VALUES (3, 'between', 1, 'a note');
         ALTER TABLE items RENAME name TO label;
         ALTER TABLE items RENAME note TO name;
         INSERT INTO items VALUES (4, 'after', 1, 'another')",
    );
    scene.tarn.start_again();
    scene.wait_until_equal(
        "SELECT id::text, label, name FROM items ORDER BY items.id",
        "SELECT toString(id), label, name FROM items FINAL ORDER BY id",
    );
    scene.wait_for_target(
        "SELECT arrayStringConcat(arraySort(groupArray(name)), ' ') FROM system.columns
         WHERE database = currentDatabase() AND table = 'items' AND name NOT LIKE '\\_tarn%'",
        "id label name part",
    );
}

#[test]
fn rows_of_attached_partitions_arrive_and_what_partitions_take_away_is_told() {
    let mut scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE items (id int, name text, part int, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
         CREATE TABLE items_1 PARTITION OF items FOR VALUES IN (1);
         CREATE TABLE items_2 PARTITION OF items FOR VALUES IN (2);
         INSERT INTO items SELECT n, 'item ' || n, 1 + n % 2 FROM generate_series(1, 100) n",
    );
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.wait_until_equal(SOURCE, TARGET);
    // Columns in another order, and rows that the stream has not.
    let attach = |part: i32| {
        scene.postgres.query(&format!(
            "CREATE TABLE items_{part} (part int NOT NULL, name text, id int NOT NULL);
             INSERT INTO items_{part} SELECT {part}, 'attached', {part}000 + n FROM generate_series(1, 20) n;
             ALTER TABLE items ATTACH PARTITION items_{part} FOR VALUES IN ({part});
             UPDATE items SET name = 'changed' WHERE id = {part}001"
        ))
    };
    attach(3);
    wait_for_line(&scene, &["public.items has new partitions, public.items_3"]);
    scene.wait_until_equal(SOURCE, TARGET);
    wait_for_line(&scene, &["the rows of public.items were read again: 20"]);
    scene.tarn.kill();
    attach(4);
    scene.tarn.start_again();
    scene.wait_until_equal(SOURCE, TARGET);
    scene.postgres.query("TRUNCATE items_1; ALTER TABLE items DETACH PARTITION items_2; DROP TABLE items_2");
    wait_for_line(&scene, &["warn", "public.items were detached or dropped: public.items_2"]);
    wait_for_line(&scene, &["warn", "public.items were emptied by themselves: public.items_1"]);
    scene.tarn.kill();
    scene.postgres.query("ALTER TABLE items DETACH PARTITION items_3; DROP TABLE items_4");
    scene.tarn.start_again();
    wait_for_line(
        &scene,
        &[
            "warn",
            "public.items were detached or dropped: public.items_3, ",
            " dropped while the mirror did not look",
        ],
    );
    scene.postgres.query("TRUNCATE items; INSERT INTO items VALUES (1, 'after', 1)");
    scene.wait_until_equal(SOURCE, TARGET);
}

#[test]
fn a_replica_identity_that_is_taken_away_is_told_with_the_remedy_and_inserts_go_on() {
    let scene = Scene::start();
    streaming(&scene);
    scene
        .postgres
        .query("ALTER TABLE items REPLICA IDENTITY NOTHING; INSERT INTO items VALUES (1001, 'new')");
    scene.wait_for_target("SELECT name FROM items FINAL WHERE id = 1001", "new");
    let refused = scene.postgres.try_query("UPDATE items SET name = 'x' WHERE id = 1").expect_err("refused");
    assert!(refused.contains("replica identity"), "{refused}");
    wait_for_line(&scene, &["warn", "public.items", "REPLICA IDENTITY DEFAULT", "inserts are mirrored"]);
    assert_eq!(scene.state("items"), "STATUS_RUNNING");
    scene.postgres.query(
        "ALTER TABLE items REPLICA IDENTITY DEFAULT; UPDATE items SET name = 'x' WHERE id = 1; DELETE FROM items WHERE id = 2",
    );
    scene.wait_until_equal(SOURCE, TARGET);
    assert_eq!(scene.log("items").matches("REPLICA IDENTITY DEFAULT").count(), 1, "it is told once");
}

#[test]
fn an_identity_that_was_the_only_key_stops_the_mirror_until_it_is_back() {
    let scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE items (id int NOT NULL, name text); CREATE UNIQUE INDEX items_id ON items (id);
         ALTER TABLE items REPLICA IDENTITY USING INDEX items_id; INSERT INTO items VALUES (1, 'a')",
    );
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.postgres.query("ALTER TABLE items REPLICA IDENTITY NOTHING; INSERT INTO items VALUES (2, 'b')");
    scene.wait_for_state("items", "STATUS_FAILED");
    wait_for_line(&scene, &["error", "public.items", "USING INDEX", "then resume"]);
    scene
        .postgres
        .query("ALTER TABLE items REPLICA IDENTITY USING INDEX items_id; UPDATE items SET name = 'c'");
    scene.request_state("items", "STATUS_RUNNING");
    scene.wait_until_equal(SOURCE, TARGET);
    // With no row that would stop the mirror.
    scene.postgres.query("DROP INDEX items_id");
    wait_for_line(&scene, &["warn", "public.items has no key any more"]);
}

#[test]
fn a_partition_that_is_identified_otherwise_than_its_table_is_refused_and_stops_a_mirror() {
    let scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE items (id int, name text, part int, code int NOT NULL, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
         CREATE TABLE items_1 PARTITION OF items FOR VALUES IN (1);
         CREATE UNIQUE INDEX items_1_code ON items_1 (code);
         INSERT INTO items SELECT n, 'item ' || n, 1, n FROM generate_series(1, 100) n",
    );
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    scene.wait_until_equal(SOURCE, TARGET);
    // The server says nothing of the row with the key from before.
    scene.postgres.query(
        "ALTER TABLE items_1 REPLICA IDENTITY USING INDEX items_1_code; UPDATE items SET id = id + 1000 WHERE id = 7",
    );
    scene.wait_for_state("items", "STATUS_FAILED");
    wait_for_line(
        &scene,
        &["error", "the replica identity of its partition public.items_1 lacks", "id, part", "resync"],
    );
    scene.postgres.query("ALTER TABLE items_1 REPLICA IDENTITY DEFAULT");
    scene.request_state("items", "STATUS_RESYNC");
    scene.wait_until_equal(SOURCE, TARGET);
    // A delete that comes before anybody looked.
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.postgres.query(
        "ALTER TABLE items_1 REPLICA IDENTITY USING INDEX items_1_code; DELETE FROM items WHERE id = 8;
         ALTER TABLE items_1 REPLICA IDENTITY DEFAULT",
    );
    wait_for_line(&scene, &["error", "a change has the key of a row without a value", "partition"]);
    scene.postgres.query("ALTER TABLE items_1 REPLICA IDENTITY FULL");
    scene.request_state("items", "STATUS_RESYNC");
    scene.wait_until_equal(SOURCE, TARGET);
    scene.postgres.query("UPDATE items SET id = id + 1000 WHERE id = 9; DELETE FROM items WHERE id = 10");
    scene.wait_until_equal(SOURCE, TARGET);
}
