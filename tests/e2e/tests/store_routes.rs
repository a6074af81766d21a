//! What clients ask of stores, through the API, the sandbox and the real stores.

use serde_json::{Value, json};
use tarn_e2e::{PATIENCE, Scene};
use tarn_harness::until_within;

fn get(scene: &Scene, path: &str) -> Value {
    let answer = scene.tarn.get(&format!("/api/v1/{path}"));
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()
}

fn names(list: &Value, key: &str) -> Vec<String> {
    let items = list.as_array().expect("a list").iter();
    items.map(|item| item[key].as_str().expect("a text").to_owned()).collect()
}

#[test]
fn a_source_is_looked_into_and_a_mirrors_rows_are_counted_at_both_sides() {
    let scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE items (id int PRIMARY KEY, name text NOT NULL); CREATE TABLE keyless (id int);
         INSERT INTO items SELECT n, 'x' FROM generate_series(1, 1000) n",
    );
    assert_eq!(get(&scene, "peers/schemas?peer_name=source"), json!({"schemas": ["public"]}));
    let tables =
        get(&scene, "peers/tables?peer_name=source&schema_name=public&cdc_enabled=true")["tables"].clone();
    assert_eq!(names(&tables, "tableName"), ["items", "keyless"]);
    assert_eq!((&tables[0]["canMirror"], &tables[1]["canMirror"]), (&json!(true), &json!(false)));
    let columns =
        get(&scene, "peers/columns?peer_name=source&schema_name=public&table_name=items")["columns"].clone();
    assert_eq!(names(&columns, "qkind"), ["int32", "string"]);

    scene.mirror("items", &[("public.items", "items")], &json!({}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.postgres.query("DELETE FROM items WHERE id <= 10; INSERT INTO items VALUES (2000, 'new')");
    scene.wait_for_target("SELECT count() FROM items FINAL", "991");
    let publications = get(&scene, "peers/publications?peer_name=source");
    assert_eq!(publications, json!({"publicationNames": ["tarn_pub_items"]}));
    let slots = get(&scene, "peers/slots/source?peerdb_managed_only=true")["slotData"].clone();
    assert_eq!(names(&slots, "slotName"), ["tarn_slot_items"]);
    assert_eq!(slots[0]["active"], true);
    let activity = get(&scene, "peers/stats/source")["statData"].clone();
    assert!(names(&activity, "query").iter().any(|query| query.contains("tarn_slot_items")), "{activity}");
    let counts = scene.post("mirrors/row_counts", &json!({"flowJobName": "items"}));
    let expected = json!({"sourceTable": "public.items", "destinationTable": "items", "sourceCount": "991",
        "destinationCount": "991", "sourceIsApproximate": false, "destinationIsApproximate": false});
    assert_eq!(counts, json!({"tableCounts": [expected]}));
    // A row counts once its batch is checkpointed, shortly after it is in the table.
    until_within(PATIENCE, "the graph to show what changes brought", || {
        let graph = scene.post("mirrors/cdc/graph", &json!({"flowJobName": "items", "aggregateType": 3}));
        (graph["totalRows"] == "11").then_some(())
    });
}

#[test]
fn a_store_that_is_away_is_told_with_cause_and_no_secret() {
    let mut scene = Scene::start();
    let password = scene.postgres.password().to_owned();
    scene.postgres.stop();
    for path in ["peers/schemas?peer_name=source", "peers/slots/source", "peers/schemas?peer_name=target"] {
        let answer = scene.tarn.get(&format!("/api/v1/{path}"));
        assert_eq!((answer.status, &answer.json()["code"]), (400, &json!(9)), "{path}: {}", answer.text());
        assert!(!answer.text().contains(&password), "{path}");
    }
}
