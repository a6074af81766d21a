//! Changes of columns that a person approves, and what becomes of columns whose type changes.

use serde_json::{Value, json};
use tarn_e2e::Scene;
use tarn_harness::{until, until_within};

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
    for part in ["public.items", "ADD price", "ALTER TABLE", "tarn mirror approve items", "resync"] {
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

#[test]
fn a_change_is_refused_by_leaving_the_column_out_and_taken_by_another_policy() {
    let scene = streaming("ASK");
    scene.postgres.query("ALTER TABLE items ADD secret text DEFAULT 'x'");
    scene.postgres.query("INSERT INTO items VALUES (1001, 'after', 2, 'y')");
    wait_for_failure(&scene, 1);
    let table = json!({"sourceTableIdentifier": "public.items", "destinationTableIdentifier": "items2",
        "exclude": ["secret"]});
    let edit = |update: Value| {
        let edit = json!({"flowJobName": "items", "requestedFlowState": "STATUS_RUNNING",
            "flowConfigUpdate": {"cdcFlowConfigUpdate": update}});
        assert_eq!(scene.post("mirrors/state_change", &edit), json!({}));
    };
    // One request cannot do both: the table leaves, and comes back.
    scene.postgres.query("CREATE TABLE other (id int PRIMARY KEY)");
    edit(json!({
        "removedTables": [{"sourceTableIdentifier": "public.items", "destinationTableIdentifier": "items"}],
        "additionalTables": [{"sourceTableIdentifier": "public.other", "destinationTableIdentifier": "other"}]}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    assert_eq!(waiting(&scene), Vec::<Value>::new());
    scene.request_state("items", "STATUS_PAUSED");
    scene.wait_for_state("items", "STATUS_PAUSED");
    edit(json!({"additionalTables": [table]}));
    scene.wait_until_equal(SOURCE, &TARGET.replace("FROM items", "FROM items2"));
    scene.wait_for_target(COLUMNS, "id name size");
    scene.wait_for_target(&COLUMNS.replace("'items'", "'items2'"), "id name size");
    scene.postgres.query("INSERT INTO items VALUES (1002, 'later', 3, 'z')");
    scene.wait_until_equal(SOURCE, &TARGET.replace("FROM items", "FROM items2"));

    scene
        .postgres
        .query("ALTER TABLE items ADD note text; INSERT INTO items VALUES (1003, 'noted', 3, 'z', 'n')");
    wait_for_failure(&scene, 2);
    edit(json!({"schemaChanges": "APPLY"}));
    scene.wait_for_target("SELECT note FROM items2 FINAL WHERE id = 1003", "n");
    until("nothing waits any more", || waiting(&scene).is_empty().then_some(()));
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
