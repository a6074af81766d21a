//! Rows that are written anew at the source, and what a change means to rows from before it.

use serde_json::json;
use tarn_e2e::{PATIENCE, Scene};
use tarn_harness::{until, until_within};

use crate::{SOURCE, TABLE, TARGET, streaming, wait_for_line};

const WITH_TOKEN: [&str; 2] = [
    "SELECT id::text, name, token::text FROM items ORDER BY items.id",
    "SELECT toString(id), name, toString(token) FROM items FINAL ORDER BY id",
];

#[test]
fn rows_that_were_written_anew_at_the_source_are_told_in_the_log_where_they_are_not_to_be_read_again() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.mirror("items", &[("public.items", "items")], &json!({"env": {"TARN_REREAD": "false"}}));
    scene.wait_until_equal(SOURCE, TARGET);
    scene.postgres.query("ALTER TABLE items ADD token uuid DEFAULT gen_random_uuid()");
    scene.postgres.query("INSERT INTO items VALUES (1001, 'new')");
    wait_for_line(&scene, &["warn", "public.items", "the added columns token", "resync"]);
    scene.wait_for_target("SELECT countIf(token IS NULL) FROM items FINAL", "1000");
    assert_eq!(scene.state("items"), "STATUS_RUNNING");
}

#[test]
fn rows_that_were_written_anew_at_the_source_are_read_again() {
    // B092, B107.
    let scene = Scene::start();
    streaming(&scene);
    scene.postgres.query("ALTER TABLE items ADD token uuid DEFAULT gen_random_uuid()");
    scene.postgres.query("INSERT INTO items VALUES (1001, 'new')");
    scene.wait_until_equal(WITH_TOKEN[0], WITH_TOKEN[1]);
    // Nothing comes through the stream.
    scene.postgres.query("ALTER TABLE items ALTER name TYPE text USING upper(name)");
    scene.wait_until_equal(WITH_TOKEN[0], WITH_TOKEN[1]);
    // Packing a table changes nothing.
    let lines = scene.log("items").matches("written anew").count();
    scene.postgres.query("VACUUM FULL items");
    scene.postgres.query("INSERT INTO items VALUES (1002, 'packed')");
    scene.wait_for_target("SELECT count() FROM items FINAL", "1002");
    assert_eq!(scene.log("items").matches("written anew").count(), lines);
    // What the catalog had of the default goes when the rows are written anew.
    scene.postgres.query(
        "ALTER TABLE items ADD kind text DEFAULT 'usual'; ALTER TABLE items ALTER kind DROP DEFAULT;
         VACUUM FULL items; INSERT INTO items VALUES (1003, 'late', NULL, 'x')",
    );
    scene.wait_until_equal(
        "SELECT id::text, kind FROM items ORDER BY items.id",
        "SELECT toString(id), kind FROM items FINAL ORDER BY id",
    );
    assert_eq!(scene.state("items"), "STATUS_RUNNING");
}

#[test]
fn rows_are_not_read_again_before_the_stream_has_what_came_before_they_were_written_anew() {
    let mut scene = Scene::start();
    streaming(&scene);
    for change in [
        "UPDATE items SET name = 'changed' WHERE id < 10; INSERT INTO items VALUES (1001, 'new')",
        "TRUNCATE items; INSERT INTO items SELECT n, 'late ' || n FROM generate_series(1, 50) n",
    ] {
        let told = scene.log("items").matches("were read again: ").count();
        scene.tarn.kill();
        scene.postgres.query(change);
        // The columns are as they were: nothing in the stream says that the rows are others.
        scene.postgres.query("ALTER TABLE items ALTER name TYPE text USING upper(name)");
        scene.tarn.start_again();
        until_within(PATIENCE, "the rows were read again", || {
            (scene.log("items").matches("were read again: ").count() > told).then_some(())
        });
        scene.wait_until_equal(SOURCE, TARGET);
    }
}

#[test]
fn a_table_that_cannot_be_read_again_is_told_of_and_the_stream_goes_on() {
    let scene = Scene::start();
    streaming(&scene);
    let (mut writer, mut holder) = (scene.postgres.session(), scene.postgres.session());
    for session in [&mut writer, &mut holder] {
        session.query("BEGIN");
    }
    writer.query("ALTER TABLE items ALTER name TYPE text USING upper(name)");
    // Nobody reads the table between the two.
    std::thread::scope(|scope| {
        scope.spawn(|| holder.query("LOCK TABLE items IN ACCESS EXCLUSIVE MODE"));
        until("the lock is waited for", || {
            let waiting = scene.postgres.scalar("SELECT count(*) FROM pg_locks WHERE NOT granted");
            (waiting.as_deref() == Some("1")).then_some(())
        });
        writer.query("COMMIT");
    });
    wait_for_line(&scene, &["warn", "the rows of public.items cannot be read again now", "lock timeout"]);
    holder.query("COMMIT");
    wait_for_line(&scene, &["info", "the rows of public.items were read again: 1000"]);
    scene.wait_until_equal(SOURCE, TARGET);
    scene.postgres.query("ALTER TABLE items ADD token uuid DEFAULT gen_random_uuid()");
    // No row follows that would have the stream describe the column.
    scene.wait_until_equal(WITH_TOKEN[0], WITH_TOKEN[1]);
    scene.postgres.query("ALTER TABLE items ALTER name TYPE numeric(20, 6) USING id / 3.0");
    scene.wait_until_equal("SELECT id::text, name::text FROM items ORDER BY items.id", TARGET);
}

#[test]
fn packing_a_table_whose_defaults_the_destination_knows_reads_nothing_again() {
    let scene = Scene::start();
    streaming(&scene);
    scene
        .postgres
        .query("ALTER TABLE items ADD kind text DEFAULT 'usual'; INSERT INTO items VALUES (1001, 'new')");
    scene.wait_for_target("SELECT countIf(kind = 'usual') FROM items FINAL", "1001");
    // That the default is an old one is known once the catalog was looked at after it.
    for state in ["STATUS_PAUSED", "STATUS_RUNNING"] {
        scene.request_state("items", state);
        scene.wait_for_state("items", state);
    }
    scene.postgres.query("INSERT INTO items VALUES (1005, 'looked at')");
    scene.wait_for_target("SELECT max(id) FROM items", "1005");
    // Each writes the default into the rows and changes the column's definition.
    for (id, pack) in [(1006, "VACUUM FULL items"), (1007, "CLUSTER items USING items_pkey")] {
        scene.postgres.query(&format!("{pack}; INSERT INTO items VALUES ({id}, 'packed')"));
        scene.wait_for_target("SELECT max(id) FROM items", &id.to_string());
    }
    assert!(!scene.log("items").contains("written anew"), "{}", scene.log("items"));
    // The same file and the same place in the catalog, but other values.
    scene.postgres.query(
        "ALTER TABLE items ALTER kind TYPE text USING kind || id; INSERT INTO items VALUES (1004, 'x')",
    );
    scene.wait_until_equal(
        "SELECT id::text, name, kind FROM items ORDER BY items.id",
        "SELECT toString(id), name, kind FROM items FINAL ORDER BY id",
    );
}

#[test]
fn rows_that_are_read_again_lose_against_every_change_beside_and_come_after_a_kill() {
    let mut scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.postgres.query(
        "ALTER TABLE items ADD big text, ALTER big SET STORAGE EXTERNAL;
         INSERT INTO items SELECT n, 'item ' || n, repeat(md5(n::text), 90) FROM generate_series(1001, 30000) n",
    );
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    scene.wait_until_equal(SOURCE, TARGET);
    scene.tarn.kill();
    // Of all of this the stream has the rows, and none of the values that are new in those from before.
    scene.postgres.query("UPDATE items SET name = 'before' WHERE id % 7 = 0");
    scene.postgres.query("ALTER TABLE items ADD kind text DEFAULT 'usual'; VACUUM FULL items");
    scene.postgres.query("ALTER TABLE items ALTER big TYPE text USING big || id");
    scene.tarn.start_again();
    scene.postgres.query("UPDATE items SET name = 'beside' WHERE id % 5 = 0");
    scene
        .postgres
        .query("DELETE FROM items WHERE id % 11 = 0; UPDATE items SET id = id + 100000 WHERE id % 13 = 0");
    wait_for_line(&scene, &["info", "reading the rows of public.items again"]);
    scene.tarn.kill();
    scene
        .postgres
        .query("DELETE FROM items WHERE id % 17 = 0; UPDATE items SET kind = 'other' WHERE id % 19 = 0");
    scene.tarn.start_again();
    scene.wait_until_equal(
        "SELECT id::text, name, md5(coalesce(big, '')), kind FROM items ORDER BY items.id",
        "SELECT toString(id), name, lower(hex(MD5(assumeNotNull(big)))), kind FROM items FINAL ORDER BY id",
    );
    scene.postgres.query("TRUNCATE items; INSERT INTO items VALUES (1, 'again')");
    scene.wait_until_equal(SOURCE, TARGET);
}

#[test]
fn values_left_out_of_rows_that_never_came_are_read_where_there_is_no_snapshot() {
    let scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE items (id int PRIMARY KEY, name text);
         ALTER TABLE items ALTER name SET STORAGE EXTERNAL;
         ALTER TABLE items ADD n int DEFAULT 0;
         INSERT INTO items SELECT n, repeat(n::text, 3000) FROM generate_series(1, 3) n",
    );
    scene.mirror("items", &[("public.items", "items")], &json!({"do_initial_snapshot": false}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.postgres.query("UPDATE items SET n = 1 WHERE id < 3; DELETE FROM items WHERE id = 2");
    scene.wait_until_equal(
        "SELECT id::text, name, n::text FROM items WHERE n > 0 ORDER BY items.id",
        "SELECT toString(id), name, toString(n) FROM items FINAL ORDER BY id",
    );
}

#[test]
fn rows_from_before_show_a_decimal_that_lost_its_bound_and_a_column_that_is_generated_no_longer() {
    // Neither writes a row anew.
    let mut scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE items (id int PRIMARY KEY, price numeric(10,2), twice int GENERATED ALWAYS AS (id * 2) STORED);
         INSERT INTO items SELECT n, n * 1.5 FROM generate_series(1, 100) n",
    );
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    let prices = "SELECT id::text, price::text FROM items ORDER BY items.id";
    scene.wait_until_equal(
        prices,
        "SELECT toString(id), toDecimalString(price, 2) FROM items FINAL ORDER BY id",
    );
    scene
        .postgres
        .query("ALTER TABLE items ALTER price TYPE numeric; INSERT INTO items VALUES (101, 1.2345)");
    scene.wait_until_equal(prices, "SELECT toString(id), price_string FROM items FINAL ORDER BY id");
    wait_for_line(&scene, &["info", "columns of public.items hold decimals of any size now: price"]);
    scene.tarn.kill();
    scene
        .postgres
        .query("ALTER TABLE items ALTER twice DROP EXPRESSION; INSERT INTO items VALUES (102, 3, 7)");
    scene.tarn.start_again();
    scene.wait_until_equal(
        "SELECT id::text, price::text, twice::text FROM items ORDER BY items.id",
        "SELECT toString(id), price_string, toString(twice) FROM items FINAL ORDER BY id",
    );
    wait_for_line(&scene, &["info", "columns of public.items are generated no longer: twice"]);
    // What is known by now is read no more: a mirror that is paused has stored how far it came.
    let lines = scene.log("items").matches("are to be read again").count();
    scene.request_state("items", "STATUS_PAUSED");
    scene.wait_for_state("items", "STATUS_PAUSED");
    scene.postgres.query("ALTER TABLE items RENAME twice TO double; INSERT INTO items VALUES (103, 4, 8)");
    scene.request_state("items", "STATUS_RUNNING");
    scene.wait_for_target("SELECT double FROM items FINAL WHERE id = 103", "8");
    assert_eq!(scene.log("items").matches("are to be read again").count(), lines);
}
