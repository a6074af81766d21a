//! Changes of columns that a person approves, and what becomes of columns whose type changes.

use serde_json::{Value, json};
use tarn_e2e::Scene;
use tarn_harness::{HttpAnswer, until, until_within};

const TABLE: &str = "CREATE TABLE items (id int PRIMARY KEY, name text, size numeric(10));
    INSERT INTO items SELECT n, 'item ' || n, n FROM generate_series(1, 1000) n";
const SOURCE: &str = "SELECT id::text, name, size::text FROM items ORDER BY items.id";
const TARGET: &str = "SELECT toString(id), name, toString(size) FROM items FINAL ORDER BY id";
const COLUMNS: &str = "SELECT arrayStringConcat(groupArray(name), ' ') FROM (SELECT name FROM system.columns
    WHERE database = currentDatabase() AND table = 'items' AND name NOT LIKE '\\\\_tarn%' ORDER BY position)";

/// A mirror of the table, streaming, under a policy. It does not read rows again that the source wrote anew: rows from
/// before are to be seen.
fn streaming(policy: &str) -> Scene {
    streaming_with(&json!({"schema_changes": policy, "env": {"TARN_REREAD": "false"}}))
}

fn streaming_with(further: &Value) -> Scene {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.mirror("items", &[("public.items", "items")], further);
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.postgres.query("UPDATE items SET name = 'changed' WHERE id = 1");
    scene.wait_until_equal(SOURCE, TARGET);
    scene
}

/// The changes that the mirror stopped at.
fn waiting(scene: &Scene) -> Vec<Value> {
    let answer = scene.tarn.get("/api/v1/mirrors/schema_changes/items");
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["changes"].as_array().expect("a list").clone()
}

fn wait_for_failure(scene: &Scene, times: usize) {
    until_within(tarn_e2e::PATIENCE, &format!("it failed {times} times:\n{}", scene.log("items")), || {
        (scene.log("items").matches("(schema_change_waits)").count() >= times).then_some(())
    });
    scene.wait_for_state("items", "STATUS_FAILED");
}

fn approve(scene: &Scene, change: &Value) {
    let body = json!({"flowJobName": "items", "digest": change["digest"]});
    let answer = scene.post("mirrors/approve_schema_change", &body);
    assert_eq!(answer["resumed"], true, "{answer}");
}

/// What would be done for the source's present columns.
fn plan(scene: &Scene) -> Value {
    let body = json!({"attach_to_existing": true, "connection_configs": {"flow_job_name": "items"}});
    scene.post("mirrors/cdc/validate", &body)["plans"][0].clone()
}

#[test]
fn a_change_waits_over_kills_until_it_is_approved_and_the_next_one_asks_again() {
    let mut scene = streaming("ASK");
    assert_eq!(plan(&scene)["steps"], json!([]), "nothing is to be done");
    scene.postgres.query("INSERT INTO items VALUES (1001, 'before', 1)");
    scene.postgres.query("ALTER TABLE items ADD price numeric(10,2) DEFAULT 1.5");
    let planned = plan(&scene);
    scene
        .postgres
        .query("INSERT INTO items VALUES (1002, 'after', 2, 7.25); UPDATE items SET size = 9 WHERE id < 10");
    scene.postgres.query("ALTER TABLE items ADD note text, ALTER size TYPE numeric(12)");
    scene.postgres.query("INSERT INTO items VALUES (1003, 'last', 5000000000, 7, 'n')");
    wait_for_failure(&scene, 1);
    let log = scene.log("items");
    for part in
        ["public.items", "ADD price", "ALTER TABLE", "tarn mirror approve items", "tarn mirror refuse items"]
    {
        assert!(log.contains(part), "{part} in {log}");
    }
    // Everything before it is there, and nothing behind it.
    scene.wait_for_target("SELECT groupArray(id) FROM items FINAL WHERE id > 1000", "[1001]");
    scene.wait_for_target(COLUMNS, "id name size");
    let first = waiting(&scene);
    assert_eq!((first.len(), &first[0]["approved"]), (1, &json!(false)));
    assert_eq!(first[0]["plan"]["steps"], planned["steps"], "as it was shown beforehand");
    // A kill and a resume change nothing about it.
    scene.tarn.kill();
    scene.tarn.start_again();
    assert_eq!((scene.state("items").as_str(), waiting(&scene)), ("STATUS_FAILED", first.clone()));
    scene.request_state("items", "STATUS_RUNNING");
    wait_for_failure(&scene, 2);
    assert_eq!(waiting(&scene), first);
    scene.wait_for_target(COLUMNS, "id name size");
    let unknown = json!({"flowJobName": "items", "digest": "0000"});
    assert_eq!(scene.try_post("mirrors/approve_schema_change", &unknown).status, 400);

    approve(&scene, &first[0]);
    scene.tarn.kill();
    scene.tarn.start_again();
    wait_for_failure(&scene, 3);
    scene.wait_for_target(COLUMNS, "id name size price");
    scene.wait_for_target("SELECT groupArray(id) FROM items FINAL WHERE id > 1000", "[1001,1002]");
    let second = waiting(&scene);
    let kinds: Vec<_> =
        second[0]["plan"]["steps"].as_array().expect("steps").iter().map(|step| &step["kind"]).collect();
    assert_eq!(kinds, ["WIDEN", "ADD"]);
    assert_ne!(second[0]["digest"], first[0]["digest"]);
    approve(&scene, &second[0]);
    scene.wait_until_equal(
        "SELECT id::text, name, size::text, price::text, note FROM items ORDER BY items.id",
        "SELECT toString(id), name, toString(size), toDecimalString(price, 2), note FROM items FINAL ORDER BY id",
    );
    assert_eq!(scene.state("items"), "STATUS_RUNNING");
    until("nothing waits any more", || waiting(&scene).is_empty().then_some(()));
    let log = scene.log("items");
    for statement in ["ADD COLUMN IF NOT EXISTS `price`", "ADD COLUMN IF NOT EXISTS `note`"] {
        let ran =
            log.lines().filter(|line| line.starts_with("info: table items: ") && line.contains(statement));
        assert_eq!(ran.count(), 1, "{statement} in {log}");
    }
    let verification = scene.verify("items");
    assert_eq!(verification["verdict"], "VERDICT_EQUAL", "{verification:#}");
}

/// Refuses a change; the answer.
fn refuse(scene: &Scene, change: &Value) -> HttpAnswer {
    let body = json!({"flowJobName": "items", "digest": change["digest"]});
    scene.try_post("mirrors/refuse_schema_change", &body)
}

fn edit(scene: &Scene, update: &Value) {
    let edit = json!({"flowJobName": "items", "requestedFlowState": "STATUS_RUNNING",
        "flowConfigUpdate": {"cdcFlowConfigUpdate": update}});
    assert_eq!(scene.post("mirrors/state_change", &edit), json!({}));
}

#[test]
fn a_change_that_is_refused_leaves_the_table_as_it_is_and_the_stream_goes_on() {
    let mut scene = streaming("ASK");
    let only = |scene: &Scene| {
        let [change] = &waiting(scene)[..] else { panic!("one change waits: {:?}", waiting(scene)) };
        change.clone()
    };
    // A new column is left out, from here on and over restarts.
    scene.postgres.query("ALTER TABLE items ADD secret text DEFAULT 'x'");
    scene.postgres.query("INSERT INTO items VALUES (1001, 'after', 2, 'y')");
    wait_for_failure(&scene, 1);
    let change = only(&scene);
    let unknown = json!({"flowJobName": "items", "digest": "0000"});
    assert_eq!(scene.try_post("mirrors/refuse_schema_change", &unknown).status, 400);
    let answer = refuse(&scene, &change);
    assert_eq!((answer.status, &answer.json()["resumed"]), (200, &json!(true)), "{}", answer.text());
    scene.wait_until_equal(SOURCE, TARGET);
    scene.tarn.kill();
    scene.tarn.start_again();
    scene.postgres.query(
        "UPDATE items SET secret = 'z' WHERE id = 1; INSERT INTO items VALUES (1002, 'later', 3, 'z')",
    );
    scene.wait_until_equal(SOURCE, TARGET);
    scene.wait_for_target(COLUMNS, "id name size");
    assert_eq!(waiting(&scene), Vec::<Value>::new());
    assert!(
        scene.log("items").contains("public.items without secret from here on"),
        "{}",
        scene.log("items")
    );

    // A renamed one keeps its name there.
    scene
        .postgres
        .query("ALTER TABLE items RENAME name TO title; INSERT INTO items VALUES (1003, 'titled', 4)");
    wait_for_failure(&scene, 2);
    assert_eq!(refuse(&scene, &only(&scene)).status, 200);
    let renamed = SOURCE.replace(" name,", " title,");
    scene.wait_until_equal(&renamed, TARGET);
    scene.wait_for_target(COLUMNS, "id name size");

    // Values that would have no place are not given up by a refusal, but by who leaves the column out.
    scene
        .postgres
        .query("ALTER TABLE items ALTER size TYPE numeric(20); INSERT INTO items VALUES (1004, 'wide', 5)");
    wait_for_failure(&scene, 3);
    let answer = refuse(&scene, &only(&scene));
    assert_eq!(answer.status, 400);
    for part in ["WIDEN", "size", "tarn mirror edit items --exclude public.items:"] {
        assert!(answer.text().contains(part), "{part} in {}", answer.text());
    }
    assert_eq!(scene.state("items"), "STATUS_FAILED");
    let mapping = scene.post("mirrors/status", &json!({"flowJobName": "items", "includeFlowInfo": true}));
    let mut mapping = mapping["cdcStatus"]["config"]["tableMappings"][0].clone();
    assert_eq!(mapping["exclude"], json!(["secret"]));
    mapping["exclude"] = json!(["secret", "size"]);
    edit(&scene, &json!({"changedTables": [mapping]}));
    let left = |sql: &str, size: &str| sql.replace(&format!(", {size}"), "");
    scene.wait_until_equal(&left(&renamed, "size::text"), &left(TARGET, "toString(size)"));
    assert_eq!(plan(&scene)["steps"][0]["kind"], "KEEP", "{}", plan(&scene));
    scene.wait_for_target("SELECT toString(size) FROM items FINAL WHERE id = 1003", "4");
    scene.wait_for_target("SELECT toString(size) FROM items FINAL WHERE id = 1004", "NULL");
    let verification = scene.verify("items");
    assert_eq!(verification["verdict"], "VERDICT_EQUAL", "{verification:#}");

    // The next one is asked for as ever, and taken by another policy.
    scene
        .postgres
        .query("ALTER TABLE items ADD note text; INSERT INTO items VALUES (1005, 'noted', 3, 'z', 'n')");
    wait_for_failure(&scene, 4);
    edit(&scene, &json!({"schemaChanges": "APPLY"}));
    scene.wait_for_target("SELECT note FROM items FINAL WHERE id = 1005", "n");
    until("nothing waits any more", || waiting(&scene).is_empty().then_some(()));
}

#[test]
fn rows_that_waited_in_the_stage_follow_a_refusal() {
    let mut scene = streaming("ASK");
    scene.clickhouse.stop();
    scene.postgres.query("INSERT INTO items VALUES (1001, 'before', 2)");
    scene.postgres.query("ALTER TABLE items ADD secret text; ALTER TABLE items DROP COLUMN size");
    scene
        .postgres
        .query("INSERT INTO items VALUES (1002, 'behind', 'y'); UPDATE items SET secret = 's' WHERE id = 1");
    let passed = "SELECT confirmed_flush_lsn >= pg_current_wal_insert_lsn() - 64 FROM pg_replication_slots";
    until_within(tarn_e2e::PATIENCE, "the stage has it", || {
        (scene.postgres.scalar(passed).as_deref() == Some("t")).then_some(())
    });
    scene.clickhouse.start_again();
    wait_for_failure(&scene, 1);
    let [change] = &waiting(&scene)[..] else { panic!("one change waits") };
    let answer = refuse(&scene, change);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let (source, target) = (
        "SELECT id::text, name FROM items ORDER BY items.id",
        "SELECT toString(id), name FROM items FINAL ORDER BY id",
    );
    scene.wait_until_equal(source, target);
    scene
        .postgres
        .query("UPDATE items SET secret = 't', name = 'more' WHERE id < 9; DELETE FROM items WHERE id = 7");
    scene.wait_until_equal(source, target);
    scene.wait_for_target(COLUMNS, "id name size");
    assert_eq!(scene.state("items"), "STATUS_RUNNING", "{}", scene.log("items"));
}

#[test]
fn values_that_a_column_cannot_hold_go_to_one_beside_it_and_no_value_is_lost() {
    let mut scene = streaming("APPLY");

    scene
        .postgres
        .query("ALTER TABLE items ALTER size TYPE uuid USING '00000000-0000-0000-0000-000000000001'::uuid");
    let planned = plan(&scene);
    assert_eq!(
        (&planned["steps"][0]["kind"], &planned["steps"][0]["column"]),
        (&json!("BESIDE"), &json!("size_uuid")),
        "{planned}"
    );
    scene.postgres.query(
        "INSERT INTO items VALUES (1001, 'new', '00000000-0000-0000-0000-000000000002');
         UPDATE items SET size = NULL WHERE id = 2;
         UPDATE items SET name = 'other' WHERE id = 3",
    );
    scene.wait_for_target("SELECT name FROM items FINAL WHERE id = 3", "other");
    let shown = |id: u32| {
        let sql = format!("SELECT toString(size), toString(size_uuid) FROM items FINAL WHERE id = {id}");
        scene.clickhouse.query(&sql).remove(0)
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(shown(1), [text("1"), None], "a row from before");
    assert_eq!(shown(2), [None, None]);
    assert_eq!(shown(3), [None, text("00000000-0000-0000-0000-000000000001")]);
    assert_eq!(shown(1001), [None, text("00000000-0000-0000-0000-000000000002")]);
    assert!(scene.log("items").contains("values of column size go to size_uuid"), "{}", scene.log("items"));
    // Rows from before differ, as they do: the source wrote them anew and told nobody.
    let verification = scene.verify("items");
    assert_eq!(verification["verdict"], "VERDICT_DIFFERENT", "{verification:#}");
    scene.tarn.kill();
    scene.postgres.query("UPDATE items SET name = name");
    scene.tarn.start_again();
    scene.wait_until_equal(SOURCE, &TARGET.replace("toString(size)", "toString(size_uuid)"));
    let verification = scene.verify("items");
    assert_eq!(verification["verdict"], "VERDICT_EQUAL", "{verification:#}");
    scene.request_state("items", "STATUS_RESYNC");
    scene.wait_for_target(COLUMNS, "id name size");
    scene.wait_until_equal(SOURCE, TARGET);
    scene.wait_for_state("items", "STATUS_RUNNING");
}

#[test]
fn a_large_value_that_an_update_leaves_out_comes_to_the_column_beside_of_a_row_from_before() {
    for rereads in ["false", "true"] {
        let mut scene = Scene::start();
        scene.postgres.query(
            "CREATE TABLE items (id int PRIMARY KEY, name text, size date);
             ALTER TABLE items ALTER size SET STORAGE PLAIN;
             INSERT INTO items SELECT n, 'item ' || n, '2026-01-01' FROM generate_series(1, 6) n",
        );
        scene.mirror("items", &[("public.items", "items")], &json!({"env": {"TARN_REREAD": rereads}}));
        scene.wait_until_equal(SOURCE, TARGET);
        scene.postgres.query(
            "ALTER TABLE items ALTER size TYPE text USING repeat(md5(id::text), 200), ALTER size SET STORAGE EXTERNAL;
             UPDATE items SET name = 'first' WHERE id = 1;
             UPDATE items SET id = 10 WHERE id = 2;
             UPDATE items SET name = 'twice' WHERE id = 3; UPDATE items SET name = 'gone' WHERE id = 4;
             UPDATE items SET name = 'thrice', size = size || '!' WHERE id = 3; DELETE FROM items WHERE id = 4",
        );
        let changed =
            |sql: &str, order: &str| sql.replace(order, &format!("WHERE id IN (1, 3, 4, 10) {order}"));
        let source = changed(SOURCE, "ORDER BY items.id");
        let target = changed(TARGET, "ORDER BY id").replace("toString(size)", "size_string");
        scene.wait_until_equal(&source, &target);
        // What the position says of the table holds over a kill.
        scene.tarn.kill();
        scene.postgres.query("UPDATE items SET name = 'after' WHERE id = 5");
        scene.tarn.start_again();
        scene.wait_for_target("SELECT name FROM items FINAL WHERE id = 5", "after");
        let of_row = |sql: &str| sql.replace("IN (1, 3, 4, 10)", "= 5");
        scene.wait_until_equal(&of_row(&source), &of_row(&target));
        assert_eq!(scene.state("items"), "STATUS_RUNNING", "{}", scene.log("items"));
    }
}

#[test]
fn rows_that_the_source_wrote_anew_are_read_into_the_column_beside_once_it_is_approved() {
    let mut scene = streaming_with(&json!({"schema_changes": "ASK"}));
    scene.postgres.query(
        "ALTER TABLE items ALTER size TYPE uuid USING lpad(id::text, 32, '0')::uuid;
         INSERT INTO items VALUES (1001, 'new', '00000000-0000-0000-0000-000000000002')",
    );
    wait_for_failure(&scene, 1);
    scene.tarn.kill();
    scene.tarn.start_again();
    scene.wait_for_state("items", "STATUS_FAILED");
    let [change] = &waiting(&scene)[..] else { panic!("one change waits") };
    approve(&scene, change);
    scene.wait_until_equal(SOURCE, &TARGET.replace("toString(size)", "toString(size_uuid)"));
    let verification = scene.verify("items");
    assert_eq!(verification["verdict"], "VERDICT_EQUAL", "{verification:#}");
}

#[test]
fn a_column_whose_new_name_is_a_parts_of_a_nested_goes_on_under_its_old_one_until_a_resync() {
    let mut scene = streaming("APPLY");
    scene
        .postgres
        .query("ALTER TABLE items RENAME name TO \"x.y\"; INSERT INTO items VALUES (1001, 'new', 1)");
    let source = "SELECT id::text, \"x.y\" FROM items ORDER BY items.id";
    let before = "SELECT toString(id), name FROM items FINAL ORDER BY id";
    scene.wait_until_equal(source, before);
    let warning = "what column x.y holds at the source goes to column name here";
    until("it is told", || scene.log("items").contains(warning).then_some(()));
    assert_eq!(plan(&scene)["steps"][0]["kind"], "KEEP");
    scene.tarn.kill();
    scene.tarn.start_again();
    scene
        .postgres
        .query("UPDATE items SET size = 7 WHERE id = 2; UPDATE items SET \"x.y\" = 'newer' WHERE id = 3");
    scene.wait_until_equal(source, before);
    let verification = scene.verify("items");
    assert_eq!(verification["verdict"], "VERDICT_EQUAL", "{verification:#}");
    scene.request_state("items", "STATUS_RESYNC");
    scene.wait_until_equal(source, "SELECT toString(id), `x.y` FROM items FINAL ORDER BY id");
    scene.wait_for_state("items", "STATUS_RUNNING");
    // And back.
    scene
        .postgres
        .query("ALTER TABLE items RENAME \"x.y\" TO name; INSERT INTO items VALUES (1002, 'last', 1)");
    scene.wait_until_equal(
        "SELECT id::text, name FROM items ORDER BY items.id",
        "SELECT toString(id), `x.y` FROM items FINAL ORDER BY id",
    );
}

#[test]
fn an_array_that_would_join_another_ones_nested_stops_the_mirror_until_it_has_a_name_of_its_own() {
    let scene = Scene::start();
    scene.postgres.query("CREATE TABLE items (id int PRIMARY KEY, \"tags.a\" int[] NOT NULL)");
    scene.postgres.query("INSERT INTO items VALUES (1, '{1,2}')");
    let both = [("public.items", "items")];
    scene.postgres.query("ALTER TABLE items ADD \"tags.b\" text[] NOT NULL DEFAULT '{}'");
    let answer = scene.try_mirror("items", &both, &json!({}));
    assert_eq!(answer.status, 400, "{}", answer.text());
    for part in ["the arrays tags.a and tags.b", "--column-name public.items:tags.a=tags_a"] {
        assert!(answer.text().contains(part), "{part} in {}", answer.text());
    }
    scene.postgres.query("ALTER TABLE items DROP \"tags.b\"");
    scene.mirror("items", &both, &json!({}));
    scene.wait_for_target("SELECT `tags.a` FROM items FINAL WHERE id = 1", "[1,2]");
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.postgres.query("ALTER TABLE items ADD \"tags.b\" text[] NOT NULL DEFAULT '{}'");
    scene.postgres.query("INSERT INTO items VALUES (2, '{}', '{x}')");
    scene.wait_for_state("items", "STATUS_FAILED");
    let log = scene.log("items");
    assert!(
        log.contains("column_change_unsupported") && log.contains("--column-name public.items:tags.b="),
        "{log}"
    );
    let named = json!([{"source_name": "tags.b", "destination_name": "tags_b"}]);
    edit(
        &scene,
        &json!({"changedTables": [{"sourceTableIdentifier": "public.items", "destinationTableIdentifier": "items", "columns": named}]}),
    );
    scene.wait_for_target(
        "SELECT concat(toString(`tags.a`), toString(tags_b)) FROM items FINAL WHERE id = 2",
        "[]['x']",
    );
    scene.request_state("items", "STATUS_RESYNC");
    scene.postgres.query("INSERT INTO items VALUES (3, '{3}', '{}')");
    scene.wait_for_target("SELECT groupArray(id) FROM (SELECT id FROM items FINAL ORDER BY id)", "[1,2,3]");
    scene.wait_for_state("items", "STATUS_RUNNING");
}
