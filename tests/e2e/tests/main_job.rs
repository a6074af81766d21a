//! A table is loaded, then follows; a script changes it on the way; dropping leaves nothing behind.

use serde_json::json;
use tarn_e2e::{PATIENCE, Scene};
use tarn_harness::{until, until_within};

const TABLE: &str = "CREATE TABLE items (id bigint PRIMARY KEY, name text, price numeric(12,2), at timestamptz NOT NULL);
    INSERT INTO items SELECT n, 'item ' || n, n / 100.0, timestamptz '2025-01-01 00:00:00Z' + n * interval '1 second'
    FROM generate_series(1, 20000) n";
const SOURCE: &str = "SELECT id::text, name, price::text, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') \
    FROM items ORDER BY items.id";
const TARGET: &str =
    "SELECT toString(id), name, toDecimalString(price, 2), toString(at) FROM items FINAL ORDER BY id";

#[test]
fn a_table_is_loaded_and_every_kind_of_change_follows() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.mirror("items", &[("public.items", "items")], &json!({"snapshot_num_rows_per_partition": 3000}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.wait_until_equal(SOURCE, TARGET);
    scene.postgres.query(
        "INSERT INTO items VALUES (20001, NULL, 1.10, '2026-01-01Z');
         UPDATE items SET name = name || ' new' WHERE id % 100 = 0;
         UPDATE items SET id = -id WHERE id BETWEEN 10 AND 19;
         DELETE FROM items WHERE id BETWEEN 500 AND 599;
         DELETE FROM items WHERE id = 7; INSERT INTO items VALUES (7, 'again', 0, now());",
    );
    scene.wait_until_equal(SOURCE, TARGET);
    // Rows are counted once they are durable, which is after they can be seen.
    until("all changes are counted", || {
        let counts = scene.tarn.get("/api/v1/mirrors/cdc/table_total_counts/items").json();
        let counted =
            |kind: &str| counts["totalData"][kind].as_str().and_then(|count| count.parse::<u64>().ok());
        let updates = counted("updatesCount").is_some_and(|updates| updates >= 200);
        (updates && counted("insertsCount") == Some(2) && counted("deletesCount") == Some(101)).then_some(())
    });
    scene.postgres.query("TRUNCATE items; INSERT INTO items VALUES (1, 'after', 2, now())");
    scene.wait_until_equal(SOURCE, TARGET);
}

#[test]
fn a_script_changes_and_drops_rows_in_snapshot_and_stream_alike() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.script(
        "even",
        "function onRecord(r)\n  if r.row.id % 2 == 1 then return nil end\n  r.row.name = '***'\n  return r.row\nend",
    );
    scene.mirror("items", &[("public.items", "items")], &json!({"script": "even"}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.wait_for_target(
        "SELECT concat(toString(count()), ' ', min(name), max(name)) FROM items FINAL",
        "10000 ******",
    );
    scene.postgres.query("INSERT INTO items VALUES (20001, 'odd', 1, now()), (20002, 'even', 1, now())");
    scene.wait_for_target(
        "SELECT concat(toString(count()), ' ', min(name), max(name)) FROM items FINAL",
        "10001 ******",
    );
}

#[test]
fn a_script_adds_columns_and_requires_another_one() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.script("words", "return { loud = function(text) return text and text:upper() end }");
    scene.script(
        "loud",
        "local words = require 'words'
         tarn.column('public.items', 'loud', 'text')
         tarn.column('public.items', 'tax', 'numeric(12,2)')
         function onRecord(r)
           if r.new then
             r.new.loud = words.loud(r.new.name)
             r.new.tax = r.new.price and (r.new.price * '0.19'):round(2)
           end
           return r
         end",
    );
    let options = json!({"script": "loud", "snapshot_num_rows_per_partition": 3000});
    scene.mirror("items", &[("public.items", "items")], &options);
    scene.wait_for_state("items", "STATUS_RUNNING");
    let source =
        "SELECT id::text, name, upper(name), round(price * 0.19, 2)::text FROM items ORDER BY items.id";
    let target = "SELECT toString(id), name, loud, toDecimalString(tax, 2) FROM items FINAL ORDER BY id";
    scene.wait_until_equal(source, target);
    scene.postgres.query(
        "INSERT INTO items VALUES (20001, NULL, 1.10, now()), (20002, 'new', NULL, now());
         UPDATE items SET name = name || ' new', price = price + 1 WHERE id % 100 = 0;
         DELETE FROM items WHERE id BETWEEN 500 AND 599;
         ALTER TABLE items ADD COLUMN note text;
         UPDATE items SET note = 'x' WHERE id = 1;",
    );
    scene.wait_until_equal(source, target);
}

#[test]
fn a_javascript_script_adds_columns_and_imports_another_one() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.script_in(
        "javascript",
        "words",
        "export const loud = text => text === null ? null : text.toUpperCase();",
    );
    scene.script_in(
        "javascript",
        "loud",
        "import { loud } from './words.js';
         tarn.column('public.items', 'loud', 'text');
         tarn.column('public.items', 'tax', 'numeric(12,2)');
         export function onRecord(r) {
           const row = r.new;
           if (row) {
             // What an update does not send is undefined, and stays as it is.
             if (row.name !== undefined) row.loud = loud(row.name);
             if (row.id % 2n === 1n && row.id > 20000n) return null;
             row.tax = row.price === null ? null : row.price.times('0.19').round(2);
           }
           return r;
         }",
    );
    let options = json!({"script": "loud", "snapshot_num_rows_per_partition": 3000});
    scene.mirror("items", &[("public.items", "items")], &options);
    scene.wait_for_state("items", "STATUS_RUNNING");
    let source = "SELECT id::text, name, upper(name), round(price * 0.19, 2)::text, \
        to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') FROM items WHERE id <> 20003 ORDER BY items.id";
    let target =
        "SELECT toString(id), name, loud, toDecimalString(tax, 2), toString(at) FROM items FINAL ORDER BY id";
    scene.wait_until_equal(source, target);
    scene.postgres.query(
        "INSERT INTO items VALUES (20002, NULL, 1.10, now()), (20003, 'dropped', 1, now()), (20004, 'new', NULL, now());
         UPDATE items SET name = name || ' new', price = price + 1 WHERE id % 100 = 0;
         DELETE FROM items WHERE id BETWEEN 500 AND 599;",
    );
    scene.wait_until_equal(source, target);
}

#[test]
fn a_javascript_error_stops_the_mirror_with_line_and_function() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.script_in(
        "javascript",
        "picky",
        "const check = row => {\n  if (row.id === 20001n) throw new Error('no more');\n};
         function onRecord(r) { check(r.row); return r }",
    );
    scene.mirror("items", &[("public.items", "items")], &json!({"script": "picky"}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.postgres.query("INSERT INTO items VALUES (20001, 'bad', 1, now())");
    scene.wait_for_state("items", "STATUS_FAILED");
    let log = scene.log("items");
    for part in ["picky", "line 2", "public.items", "20001", "no more", "function check, column"] {
        assert!(log.contains(part), "{part} in {log}");
    }
}

#[test]
fn a_script_error_stops_the_mirror_with_script_line_table_and_key() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.script(
        "picky",
        "function onRecord(r)\n  if r.row.id == 20001 then\n    error('no more')\n  end\n  return r.row\nend",
    );
    scene.mirror("items", &[("public.items", "items")], &json!({"script": "picky"}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.postgres.query("INSERT INTO items VALUES (20001, 'bad', 1, now())");
    scene.wait_for_state("items", "STATUS_FAILED");
    let log = scene.log("items");
    for part in ["picky", "3", "public.items", "20001", "no more"] {
        assert!(log.contains(part), "{part} in {log}");
    }
}

#[test]
fn dropping_a_mirror_leaves_no_slot_and_no_publication() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    assert_eq!(scene.leftovers(), ["slot tarn_slot_items", "publication tarn_pub_items"]);
    scene.request_state("items", "STATUS_TERMINATED");
    scene.wait_for_state("items", "STATUS_TERMINATED");
    assert_eq!(scene.leftovers(), [""; 0]);
    let log = scene.log("items");
    assert!(!log.is_empty(), "the log of a dropped mirror stays readable");
}

#[test]
fn a_mirror_that_only_snapshots_ends_completed_and_leaves_nothing() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.mirror("items", &[("public.items", "items")], &json!({"initial_snapshot_only": true}));
    scene.wait_for_state("items", "STATUS_COMPLETED");
    scene.wait_until_equal(SOURCE, TARGET);
    assert_eq!(scene.leftovers(), [""; 0]);
}

#[test]
fn a_paused_mirror_rests_and_goes_on_where_it_was() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.request_state("items", "STATUS_PAUSED");
    scene.wait_for_state("items", "STATUS_PAUSED");
    scene.postgres.query("INSERT INTO items VALUES (20001, 'while paused', 1, now())");
    scene.request_state("items", "STATUS_RUNNING");
    scene.wait_until_equal(SOURCE, TARGET);
}

#[test]
fn a_table_added_by_an_edit_is_loaded_and_follows() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.postgres.query("CREATE TABLE more (id int PRIMARY KEY, t text); INSERT INTO more SELECT n, 'x' FROM generate_series(1, 1000) n");
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.request_state("items", "STATUS_PAUSED");
    scene.wait_for_state("items", "STATUS_PAUSED");
    scene
        .postgres
        .query("INSERT INTO more VALUES (2000, 'while paused'); UPDATE items SET name = 'p' WHERE id = 1");
    let edit = json!({"flowJobName": "items", "requestedFlowState": "STATUS_RUNNING", "flowConfigUpdate": {
        "cdcFlowConfigUpdate": {"additionalTables": [
            {"sourceTableIdentifier": "public.more", "destinationTableIdentifier": "more"}]}}});
    assert_eq!(scene.post("mirrors/state_change", &edit), json!({}));
    scene.wait_for_target("SELECT count() FROM more FINAL", "1001");
    scene.postgres.query("DELETE FROM more WHERE id <= 10; INSERT INTO more VALUES (3000, 'later')");
    scene.wait_until_equal(
        "SELECT id::text, t FROM more ORDER BY more.id",
        "SELECT toString(id), t FROM more FINAL ORDER BY id",
    );
    scene.wait_until_equal(SOURCE, TARGET);
}

#[test]
fn a_new_version_of_a_script_changes_the_rows_that_follow() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    let id = scene.script("mark", "function onRecord(r)\n  r.row.name = 'one'\n  return r.row\nend");
    scene.mirror("items", &[("public.items", "items")], &json!({"script": "mark"}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    let second = "function onRecord(r)\n  r.row.name = 'two'\n  return r.row\nend";
    scene.post("scripts", &json!({"script": {"id": id, "lang": "lua", "name": "mark", "source": second}}));
    until_within(PATIENCE, "the second version is in use", || {
        scene.log("items").contains("version 2").then_some(())
    });
    scene.postgres.query("INSERT INTO items VALUES (20001, 'new', 1, now())");
    scene.wait_for_target("SELECT name FROM items FINAL WHERE id = 20001", "two");
    scene.wait_for_target("SELECT uniqExact(name) FROM items FINAL WHERE id <= 20000 AND name = 'one'", "1");
}

#[test]
fn a_changed_peer_is_taken_up_by_a_mirror_that_runs() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    let streams = |times: usize| {
        until_within(PATIENCE, "the stream is open", || {
            (scene.log("items").matches("streaming").count() >= times).then_some(())
        });
    };
    streams(1);
    scene.clickhouse.query("CREATE DATABASE elsewhere");
    scene.clickhouse.query("CREATE TABLE elsewhere.items AS items");
    let mut config = scene.clickhouse.peer_config();
    config["database"] = "elsewhere".into();
    let peer = json!({"name": "target", "type": 8, "clickhouse_config": config});
    assert_eq!(scene.post("peers/create", &json!({"peer": peer, "allow_update": true}))["status"], "CREATED");
    streams(2);
    scene.postgres.query("INSERT INTO items VALUES (20001, 'new', 1, now())");
    scene.wait_for_target("SELECT count() FROM elsewhere.items FINAL WHERE id = 20001", "1");
}

#[test]
fn a_server_with_few_connections_is_told_how_many_a_mirror_needs_and_loads_it_all_the_same() {
    let scene = Scene::start_with(&[("max_connections", "20"), ("superuser_reserved_connections", "2")], &[]);
    scene.postgres.query(TABLE);
    let database = scene.postgres.database();
    scene.postgres.query(&format!(
        "CREATE ROLE few LOGIN REPLICATION PASSWORD 'few'; ALTER TABLE items OWNER TO few;
         GRANT CREATE ON DATABASE \"{database}\" TO few; ALTER DATABASE \"{database}\" CONNECTION LIMIT 17"
    ));
    let mut config = scene.postgres.peer_config();
    config["user"] = json!("few");
    config["password"] = json!("few");
    let peer =
        json!({"peer": {"name": "source", "type": 3, "postgres_config": config}, "allow_update": true});
    assert_eq!(scene.post("peers/create", &peer)["status"], "CREATED");
    let further = json!({"snapshot_num_rows_per_partition": 3000, "snapshot_max_parallel_workers": 8});
    scene.mirror("items", &[("public.items", "items")], &further);
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.wait_until_equal(SOURCE, TARGET);
    let log = scene.log("items");
    let warnings: Vec<_> = log.lines().filter(|line| line.contains("connections left")).collect();
    let [of_server, of_database] = warnings[..] else { panic!("two warnings: {log}") };
    let needed = "and the mirror needs 19 with 8 workers of its load at a time";
    assert!(of_server.starts_with("warn: the server has ") && of_server.contains("of its 20"), "{of_server}");
    assert!(of_server.contains(needed) && of_server.contains("raise max_connections"), "{of_server}");
    assert!(of_database.contains(&format!("database \"{database}\" has ")), "{of_database}");
    assert!(of_database.contains("of its 17") && of_database.contains(needed), "{of_database}");
    assert!(
        of_database.contains(&format!("ALTER DATABASE \"{database}\" CONNECTION LIMIT")),
        "{of_database}"
    );
}
