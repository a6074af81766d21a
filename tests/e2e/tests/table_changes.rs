//! What is done to tables at the source while they are replicated. Each file has changes of one kind.

#[path = "table_changes/loading.rs"]
mod loading;
#[path = "table_changes/partitions.rs"]
mod partitions;
#[path = "table_changes/publication.rs"]
mod publication;
#[path = "table_changes/rewritten.rs"]
mod rewritten;

use serde_json::json;
use tarn_e2e::{PATIENCE, Scene};
use tarn_harness::{until, until_within};

const TABLE: &str = "CREATE TABLE items (id int PRIMARY KEY, name text);
    INSERT INTO items SELECT n, 'item ' || n FROM generate_series(1, 1000) n";
const SOURCE: &str = "SELECT id::text, name FROM items ORDER BY items.id";
const TARGET: &str = "SELECT toString(id), name FROM items FINAL ORDER BY id";

/// A mirror of the table, whose stream has brought a change.
fn streaming(scene: &Scene) {
    scene.postgres.query(TABLE);
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.postgres.query("UPDATE items SET name = 'streamed' WHERE id = 1");
    scene.wait_for_target("SELECT name FROM items FINAL WHERE id = 1", "streamed");
}

/// Waits until a load has brought rows of a target.
#[track_caller]
fn wait_for_first_rows(scene: &Scene, target: &str) {
    until("rows of the load arrive", || {
        let count = scene.clickhouse.try_query(&format!("SELECT count() FROM {target}")).ok()?;
        (count != [[Some("0".to_owned())]]).then_some(())
    });
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
fn a_column_that_somebody_drops_at_the_target_stops_the_mirror_until_it_is_back() {
    let scene = Scene::start();
    streaming(&scene);
    scene.clickhouse.query("ALTER TABLE items DROP COLUMN name");
    // What streams writes by what it knew, and a start looks.
    scene.postgres.query("UPDATE items SET name = 'changed' WHERE id = 7");
    wait_for_line(&scene, &["error", "the table's columns were changed by hand"]);
    scene.wait_for_state("items", "STATUS_FAILED");
    scene.request_state("items", "STATUS_RUNNING");
    wait_for_line(&scene, &["error", "table items: column name is missing"]);
    scene.wait_for_state("items", "STATUS_FAILED");
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
