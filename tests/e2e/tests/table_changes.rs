//! What is done to tables at the source while they are replicated.

use serde_json::json;
use tarn_e2e::{PATIENCE, Scene};
use tarn_harness::{until, until_within};

const TABLE: &str = "CREATE TABLE items (id int PRIMARY KEY, name text);
    INSERT INTO items SELECT n, 'item ' || n FROM generate_series(1, 1000) n";
const SOURCE: &str = "SELECT id::text, name FROM items ORDER BY items.id";
const TARGET: &str = "SELECT toString(id), name FROM items FINAL ORDER BY id";

/// A mirror of the table, streaming.
fn streaming(scene: &Scene) {
    scene.postgres.query(TABLE);
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.wait_until_equal(SOURCE, TARGET);
}

/// Waits for a line of the mirror's log that has all of these.
#[track_caller]
fn wait_for_line(scene: &Scene, parts: &[&str]) -> String {
    until_within(PATIENCE, &format!("a line with {parts:?}"), || {
        scene
            .log("items")
            .lines()
            .find(|line| parts.iter().all(|part| line.contains(part)))
            .map(str::to_owned)
    })
}

#[test]
fn a_column_added_with_a_default_shows_it_in_rows_from_before() {
    // B092, B104, B107.
    let scene = Scene::start();
    streaming(&scene);
    scene.postgres.query(
        "ALTER TABLE items ADD kind text NOT NULL DEFAULT 'usual', ADD price numeric(10,2) DEFAULT 1.5,
         ADD seen timestamptz DEFAULT '2026-01-01 12:30:00+02', ADD note text",
    );
    scene.postgres.query("INSERT INTO items VALUES (1001, 'new', 'other', NULL, now(), 'x')");
    scene.postgres.query("UPDATE items SET name = 'changed' WHERE id = 7");
    scene.wait_until_equal(
        "SELECT id::text, name, kind, price::text, to_char(seen AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), note
         FROM items ORDER BY items.id",
        "SELECT toString(id), name, kind, toDecimalString(price, 2), toString(seen), note FROM items FINAL ORDER BY id",
    );
    scene.clickhouse.query("OPTIMIZE TABLE items FINAL");
    scene.wait_for_target("SELECT countIf(kind = 'usual') FROM items FINAL", "1000");
}

#[test]
fn a_column_added_and_used_in_a_transaction_that_others_do_not_see_yet_keeps_its_values_under_later_names() {
    // The commit is in the log, and so in the stream, while it waits for a standby that never comes.
    let scene =
        Scene::start_with(&[("synchronous_standby_names", "nobody"), ("synchronous_commit", "local")], &[]);
    streaming(&scene);
    let mut session = scene.postgres.session();
    session.query("SET synchronous_commit = on");
    let pid = session.query("SELECT pg_backend_pid()")[0][0].clone().expect("a process has a number");
    session.query("BEGIN");
    session.query("ALTER TABLE items ADD note text");
    session.query("INSERT INTO items VALUES (1001, 'new', 'first')");
    session.query("ALTER TABLE items RENAME note TO remark");
    session.query("INSERT INTO items VALUES (1002, 'new', 'second')");
    std::thread::scope(|scope| {
        scope.spawn(|| session.query("COMMIT"));
        wait_for_line(&scene, &["public.items", "other sessions do not see it yet"]);
        scene.postgres.query(&format!("SELECT pg_cancel_backend({pid})"));
    });
    scene.postgres.query("ALTER TABLE items RENAME remark TO words");
    scene.postgres.query("INSERT INTO items VALUES (1003, 'new', 'third')");
    scene.wait_until_equal(
        "SELECT id::text, name, words FROM items ORDER BY items.id",
        "SELECT toString(id), name, words FROM items FINAL ORDER BY id",
    );
    scene.wait_for_target(
        "SELECT count() FROM system.columns
         WHERE database = currentDatabase() AND table = 'items' AND name IN ('note', 'remark')",
        "0",
    );
}

#[test]
fn generated_columns_are_left_out_and_the_log_says_so_from_the_beginning() {
    // B070.
    let scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE items (id int PRIMARY KEY, name text, twice int GENERATED ALWAYS AS (id * 2) STORED);
         INSERT INTO items VALUES (1, 'a')",
    );
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    wait_for_line(&scene, &["warn", "generated columns of public.items are left out", "twice"]);
    scene.wait_until_equal(SOURCE, TARGET);
    scene.postgres.query("INSERT INTO items VALUES (2, 'b'); UPDATE items SET name = 'c' WHERE id = 1");
    scene.wait_until_equal(SOURCE, TARGET);
    scene.wait_for_target(
        "SELECT count() FROM system.columns WHERE database = currentDatabase() AND name = 'twice'",
        "0",
    );
}

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
fn a_column_that_is_left_out_stays_out_under_another_name() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.postgres.query("ALTER TABLE items ADD secret text DEFAULT 'hidden'");
    let mapping = json!([{"sourceTableIdentifier": "public.items", "destinationTableIdentifier": "items",
        "exclude": ["secret"]}]);
    scene.mirror("items", &[], &json!({"table_mappings": mapping}));
    scene.wait_until_equal(SOURCE, TARGET);
    scene
        .postgres
        .query("ALTER TABLE items RENAME secret TO open; INSERT INTO items VALUES (1001, 'new', 'told')");
    scene.wait_for_state("items", "STATUS_FAILED");
    wait_for_line(&scene, &["secret, which is left out, is called open by now"]);
    scene.wait_for_target(
        "SELECT count() FROM system.columns
         WHERE database = currentDatabase() AND table = 'items' AND name = 'open'",
        "0",
    );
    scene.postgres.query("ALTER TABLE items RENAME open TO secret");
    scene.request_state("items", "STATUS_RESYNC");
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
fn a_column_that_somebody_drops_at_the_target_stops_the_mirror_until_it_is_back() {
    let scene = Scene::start();
    streaming(&scene);
    scene.clickhouse.query("ALTER TABLE items DROP COLUMN name");
    scene.postgres.query("UPDATE items SET name = 'changed' WHERE id = 7");
    let fails = |times| {
        until_within(PATIENCE, &format!("the mirror failed {times} times"), || {
            let told = scene.log("items").matches("table items: column name is missing").count();
            (told >= times && scene.state("items") == "STATUS_FAILED").then_some(())
        });
    };
    fails(1);
    scene.request_state("items", "STATUS_RUNNING");
    fails(2);
    let is_there = "SELECT count() FROM system.columns
        WHERE database = currentDatabase() AND table = 'items' AND name = 'name'";
    scene.wait_for_target(is_there, "0");
    scene.clickhouse.query("ALTER TABLE items ADD COLUMN name Nullable(String)");
    scene.request_state("items", "STATUS_RUNNING");
    scene.wait_for_target("SELECT name FROM items FINAL WHERE id = 7", "changed");
    scene.request_state("items", "STATUS_RESYNC");
    scene.wait_until_equal(SOURCE, TARGET);
}

#[test]
fn a_table_made_again_while_tarn_was_down_fails_the_mirror() {
    let mut scene = Scene::start();
    streaming(&scene);
    scene.tarn.kill();
    scene.postgres.query("DROP TABLE items; CREATE TABLE items (id int PRIMARY KEY, name text)");
    scene.postgres.query(
        "ALTER PUBLICATION tarn_pub_items ADD TABLE ONLY items; INSERT INTO items VALUES (1, 'other')",
    );
    scene.tarn.start_again();
    scene.wait_for_state("items", "STATUS_FAILED");
    wait_for_line(&scene, &["error", "public.items", "dropped and made again", "resync"]);
    // The remedy that it names.
    scene.request_state("items", "STATUS_RESYNC");
    scene.wait_until_equal(SOURCE, TARGET);
}

#[test]
fn a_column_added_while_the_table_loads_comes_with_its_values() {
    // B095.
    let scene = Scene::start();
    scene.postgres.query("CREATE TABLE items (id int PRIMARY KEY, name text)");
    scene.postgres.query("INSERT INTO items SELECT n, repeat('x', 100) FROM generate_series(1, 200000) n");
    let partitions = json!({"snapshot_num_rows_per_partition": 5000, "snapshot_max_parallel_workers": 1});
    scene.mirror("items", &[("public.items", "items")], &partitions);
    until("rows of the load arrive", || {
        let count = scene.clickhouse.try_query("SELECT count() FROM items").ok()?;
        (count != [[Some("0".to_owned())]]).then_some(())
    });
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
    until("rows of the load arrive", || {
        let count = scene.clickhouse.try_query("SELECT count() FROM more WHERE id > 0").ok()?;
        (count != [[Some("0".to_owned())]]).then_some(())
    });
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
    until("rows of the load arrive", || {
        let count = scene.clickhouse.try_query("SELECT count() FROM items").ok()?;
        (count != [[Some("0".to_owned())]]).then_some(())
    });
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
    until("rows of the first table arrive", || {
        let count = scene.clickhouse.try_query("SELECT count() FROM first").ok()?;
        (count != [[Some("0".to_owned())]]).then_some(())
    });
    scene.postgres.query("ALTER TABLE items ADD kind text DEFAULT 'usual'");
    scene.postgres.query("UPDATE items SET kind = 'other' WHERE id % 10 = 0");
    scene.wait_until_equal(
        "SELECT id::text, name, kind FROM items ORDER BY items.id",
        "SELECT toString(id), name, kind FROM items FINAL ORDER BY id",
    );
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

#[test]
fn a_table_that_is_made_unlogged_stops_the_mirror() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.postgres.query("CREATE PUBLICATION given FOR ALL TABLES");
    scene.mirror("items", &[("public.items", "items")], &json!({"publication_name": "given"}));
    scene.wait_until_equal(SOURCE, TARGET);
    scene.postgres.query("ALTER TABLE items SET UNLOGGED; UPDATE items SET name = 'changed' WHERE id < 10");
    scene.wait_for_state("items", "STATUS_FAILED");
    wait_for_line(&scene, &["error", "public.items", "unlogged", "SET LOGGED", "resync"]);
    scene.postgres.query("ALTER TABLE items SET LOGGED");
    scene.request_state("items", "STATUS_RESYNC");
    scene.wait_until_equal(SOURCE, TARGET);
}
