//! Mirrors into Kafka, end to end: what is in the topics is what happened at the source.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tarn_e2e::PATIENCE;
use tarn_e2e::queue::{QueueMessage, QueueScene, replayed};
use tarn_harness::until_within;

/// The rows of a table by their keys, as records have them.
fn rows(scene: &QueueScene, table: &str, row: &str) -> BTreeMap<String, Value> {
    let sql = format!("SELECT json_build_object('id', id)::text, {row}::text FROM {table} t");
    let rows = scene.postgres.query(&sql).into_iter();
    rows.map(|row| {
        let [key, value]: [Option<String>; 2] = row.try_into().expect("two columns");
        let key: Value = serde_json::from_str(&key.expect("a key")).expect("JSON");
        (key.to_string(), serde_json::from_str(&value.expect("a row")).expect("JSON"))
    })
    .collect()
}

/// How many records of each kind there are.
fn kinds(messages: &[QueueMessage]) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for message in messages {
        *kinds.entry(message.json()["op"].as_str().expect("a kind").to_owned()).or_default() += 1;
    }
    kinds
}

fn count(kinds: &BTreeMap<String, usize>, kind: &str) -> usize {
    kinds.get(kind).copied().unwrap_or_default()
}

#[test]
fn every_row_and_every_change_is_in_the_topic_once_and_in_the_order_of_its_key() {
    let scene = QueueScene::start();
    scene.postgres.query(
        "CREATE TABLE t (id bigint PRIMARY KEY, n numeric(12,3), note text, at timestamptz, doc jsonb, tags text[]);
         INSERT INTO t SELECT i, i * 1.5, 'note ' || i, '2024-01-02 03:04:05+00', '{\"a\": 1.0}', ARRAY['x', NULL]
         FROM generate_series(1, 5000) i",
    );
    scene.mirror("m", &[("public.t", "shop.t")], &json!({"snapshot_num_partitions_override": 4}));
    let loaded = scene.wait_for_messages("m", "shop.t", 5000);
    assert_eq!(kinds(&loaded), BTreeMap::from([("read".to_owned(), 5000)]));
    scene.wait_for_state("m", "STATUS_RUNNING");
    scene.postgres.query("UPDATE t SET note = note || '!' WHERE id % 10 = 0");
    scene.postgres.query("DELETE FROM t WHERE id % 10 = 1");
    scene.postgres.query("INSERT INTO t (id, note) SELECT i, 'new' FROM generate_series(5001, 5100) i");
    scene.postgres.query("UPDATE t SET id = id + 100000 WHERE id <= 100 AND id % 10 = 5");
    // 500 updates, 500 deletes, 100 inserts; 10 keys that changed are a delete and an update each.
    let messages = scene.wait_for_messages("m", "shop.t", 5000 + 500 + 500 + 100 + 20);
    let kinds = kinds(&messages);
    let found = ["read", "update", "delete", "insert"].map(|kind| count(&kinds, kind));
    assert_eq!(found, [5000, 510, 510, 100]);
    let row = "json_build_object('id', id, 'n', n::text, 'note', note, 'at', \
               replace(at::text, '+00', '+0000'), 'doc', doc, 'tags', tags)";
    assert_eq!(replayed(&messages), rows(&scene, "t", row));
    assert!(messages.iter().map(|message| message.partition).collect::<BTreeSet<_>>().len() == 3);
    let update = messages.iter().find(|message| message.json()["op"] == "update").expect("one").json();
    assert_eq!(update["table"], "public.t");
    assert!(update["transaction"].as_u64().is_some_and(|number| number > 0), "{update}");
    let committed = update["committed"].as_str().expect("a time");
    assert!(
        committed.starts_with("20") && committed.contains('T') && committed.ends_with('Z'),
        "{committed}"
    );
}

/// B209: a delete is a record that says so, and has a tombstone behind it only where that is asked for.
#[test]
fn deletes_are_records_tombstones_or_both() {
    let scene = QueueScene::start();
    for table in ["a", "b", "c"] {
        scene.postgres.query(&format!("CREATE TABLE {table} (id int PRIMARY KEY, note text)"));
    }
    for (table, deletes) in [("a", "record"), ("b", "tombstone"), ("c", "both")] {
        let env = json!({"env": {"TARN_KAFKA_DELETES": deletes}});
        scene.mirror(&format!("m_{table}"), &[(&format!("public.{table}"), table)], &env);
        scene.wait_for_state(&format!("m_{table}"), "STATUS_RUNNING");
        scene.postgres.query(&format!("INSERT INTO {table} VALUES (1, 'x'); DELETE FROM {table}"));
    }
    let values = |topic: &str, count| {
        let messages = scene.wait_for_messages(&format!("m_{topic}"), topic, count);
        assert!(messages.iter().all(|message| message.key.as_deref() == Some(r#"{"id":1}"#)), "{messages:?}");
        let value = |message: &QueueMessage| match &message.value {
            Some(_) => message.json()["op"].as_str().unwrap_or_default().to_owned(),
            None => "~".to_owned(),
        };
        messages.iter().map(value).collect::<Vec<_>>()
    };
    assert_eq!(values("a", 2), ["insert", "delete"]);
    assert_eq!(values("b", 2), ["insert", "~"]);
    assert_eq!(values("c", 3), ["insert", "delete", "~"]);
}

/// B205: keys of several columns do not run into each other.
#[test]
fn keys_of_several_columns_are_told_apart() {
    let scene = QueueScene::start();
    scene.postgres.query("CREATE TABLE t (a text, b text, n int, PRIMARY KEY (b, a))");
    scene.mirror("m", &[("public.t", "t")], &json!({}));
    scene.wait_for_state("m", "STATUS_RUNNING");
    scene.postgres.query("INSERT INTO t VALUES ('a,b', 'c', 1), ('a', 'b,c', 2)");
    let messages = scene.wait_for_messages("m", "t", 2);
    let keys: BTreeSet<_> = messages.iter().filter_map(|message| message.key.as_deref()).collect();
    assert_eq!(keys, BTreeSet::from([r#"{"b":"c","a":"a,b"}"#, r#"{"b":"b,c","a":"a"}"#]));
}

#[test]
fn what_concerns_a_whole_table_is_in_every_partition_between_the_changes_around_it() {
    let scene = QueueScene::start();
    scene.postgres.query("CREATE TABLE t (id int PRIMARY KEY, note text)");
    scene.mirror("m", &[("public.t", "t")], &json!({}));
    scene.wait_for_state("m", "STATUS_RUNNING");
    let insert = "INSERT INTO t SELECT i, 'x' FROM generate_series(1, 30) i";
    scene.postgres.query(insert);
    scene.postgres.query("TRUNCATE t");
    scene.postgres.query("ALTER TABLE t ADD COLUMN more int DEFAULT 7");
    scene.postgres.query(insert);
    let messages = scene.wait_for_messages("m", "t", 66);
    for partition in 0..3 {
        let of = messages.iter().filter(|message| message.partition == partition);
        let kinds: Vec<String> =
            of.map(|message| message.json()["op"].as_str().unwrap_or_default().to_owned()).collect();
        let apart: Vec<_> = kinds.iter().filter(|kind| *kind != "insert").collect();
        assert_eq!(apart, ["truncate", "schema"], "{kinds:?}");
        let middle = kinds.iter().position(|kind| kind == "truncate").expect("it is there");
        assert_eq!(kinds[middle + 1], "schema", "{kinds:?}");
        assert!(middle > 0 && kinds.len() > middle + 2, "{kinds:?}");
    }
    let schema = messages.iter().find(|message| message.json()["op"] == "schema").expect("one").json();
    let names: Vec<_> = schema["columns"].as_array().expect("a list").iter().map(|c| &c["name"]).collect();
    assert_eq!(names, ["id", "note", "more"]);
}

/// The example in `examples/scripts`, as it is.
#[test]
fn change_events_are_those_that_consumers_of_debezium_read() {
    let scene = QueueScene::start();
    scene
        .postgres
        .query("CREATE TABLE t (id int PRIMARY KEY, name text); ALTER TABLE t REPLICA IDENTITY FULL");
    scene.postgres.query("INSERT INTO t VALUES (1, 'a')");
    scene.script("change_events", include_str!("../../../examples/scripts/change_events.lua"));
    scene.mirror("m", &[("public.t", "t")], &json!({"script": "change_events"}));
    scene.wait_for_messages("m", "t", 1);
    scene.wait_for_state("m", "STATUS_RUNNING");
    scene.postgres.query("UPDATE t SET name = 'b'");
    // A column that is added is a relation record, of which this script makes nothing.
    scene.postgres.query("ALTER TABLE t ADD COLUMN n int; UPDATE t SET n = 2; DELETE FROM t");
    let messages = scene.wait_for_messages("m", "t", 4);
    assert!(messages.iter().all(|message| message.key.as_deref() == Some(r#"{"id":1}"#)), "{messages:?}");
    let told: Vec<_> = messages.iter().map(|message| message.json()).collect();
    let ops: Vec<_> = told.iter().map(|event| event["op"].as_str().unwrap_or_default()).collect();
    assert_eq!(ops, ["c", "u", "u", "d"]);
    assert_eq!((&told[1]["before"]["name"], &told[1]["after"]["name"]), (&json!("a"), &json!("b")));
    assert_eq!((&told[3]["before"]["n"], &told[3]["after"]), (&json!(2), &Value::Null));
    assert_eq!(told[2]["source"]["table"], "public.t");
    assert_eq!(messages[2].timestamp_ms, told[2]["ts_ms"].as_i64());
}

#[test]
fn scripts_route_messages_with_headers_and_get_messages_and_relations() {
    let scene = QueueScene::start();
    scene.postgres.query(
        "CREATE TABLE orders (id int PRIMARY KEY, country text, total numeric(10,2));
         INSERT INTO orders VALUES (1, 'CH', 10), (2, 'DE', 20.5)",
    );
    scene.script(
        "route",
        r#"
        local json = require "json"
        function onRecord(r)
          if r.kind == "message" then
            return {topic = "events", key = r.prefix, value = r.content}
          elseif r.kind == "relation" then
            return {topic = "schemas", key = r.source, value = r.kind}
          elseif r.kind == "delete" then
            return {topic = "orders_" .. r.old.id, key = tostring(r.old.id)}
          end
          return {topic = "orders_" .. r.row.country, key = tostring(r.row.id), value = json.encode(r.row),
                  headers = {kind = r.kind, table = r.source}}, r.kind
        end"#,
    );
    scene.mirror("m", &[("public.orders", "orders")], &json!({"script": "route"}));
    scene.wait_for_state("m", "STATUS_RUNNING");
    scene.postgres.query(
        "BEGIN; INSERT INTO orders VALUES (3, 'CH', 30);
         SELECT pg_logical_emit_message(true, 'audit', 'by hand'); COMMIT;
         ALTER TABLE orders ADD COLUMN note text; UPDATE orders SET note = 'n' WHERE id = 3",
    );
    let swiss = scene.wait_for_messages("m", "orders_CH", 3);
    let of: Vec<_> = swiss.iter().map(|m| (m.key.clone().unwrap_or_default(), m.headers.clone())).collect();
    let header = |kind: &str| {
        vec![
            ("kind".to_owned(), Some(kind.to_owned())),
            ("table".to_owned(), Some("public.orders".to_owned())),
        ]
    };
    assert!(of.contains(&("1".to_owned(), header("insert"))), "{of:?}");
    assert!(of.contains(&("3".to_owned(), header("update"))), "{of:?}");
    assert_eq!(
        scene.wait_for_messages("m", "orders_DE", 1)[0].json(),
        json!({"id": 2, "country": "DE", "total": "20.50"})
    );
    // The second message of each record names no topic: it goes to the table's, and those of one row to one partition.
    let plain = scene.wait_for_messages("m", "orders", 4);
    assert!(plain.iter().all(|message| message.key.is_none()), "{plain:?}");
    let event = &scene.wait_for_messages("m", "events", 1)[0];
    assert_eq!((event.key.as_deref(), event.value.as_deref()), (Some("audit"), Some("by hand")));
    let relation = &scene.wait_for_messages("m", "schemas", 1)[0];
    assert_eq!(
        (relation.key.as_deref(), relation.value.as_deref()),
        (Some("public.orders"), Some("relation"))
    );
    // What a script makes of a delete without a value deletes what a compacted topic has.
    scene.postgres.query("DELETE FROM orders WHERE id = 3");
    let tombstone = &scene.wait_for_messages("m", "orders_3", 1)[0];
    assert_eq!((tombstone.key.as_deref(), tombstone.value.as_deref()), (Some("3"), None));
}

/// Those before the last change rows, and the last one makes the messages.
#[test]
fn scripts_one_after_another_make_the_messages_together() {
    let scene = QueueScene::start();
    scene.postgres.query(
        "CREATE TABLE users (id int PRIMARY KEY, email text, country text);
         INSERT INTO users VALUES (1, 'a@b', 'CH'), (2, 'c@d', 'XX')",
    );
    scene.script(
        "mask",
        r#"function transformRow(row)
             row.email = "***"
           end"#,
    );
    scene.script(
        "route",
        r#"local json = require "json"
           function onRecord(r)
             if r.row.country == "XX" then return nil end
             return {topic = "users_" .. r.row.country, key = tostring(r.row.id), value = json.encode(r.row)}
           end"#,
    );
    scene.mirror("m", &[("public.users", "users")], &json!({"script": "mask,route"}));
    scene.wait_for_messages("m", "users_CH", 1);
    scene.wait_for_state("m", "STATUS_RUNNING");
    scene.postgres.query("INSERT INTO users VALUES (3, 'e@f', 'XX'), (4, 'g@h', 'CH')");
    let messages = scene.wait_for_messages("m", "users_CH", 2);
    let mut told: Vec<_> = messages.iter().map(|message| message.json()["email"].clone()).collect();
    told.dedup();
    assert_eq!(told, ["***"]);
    assert!(scene.messages("users_XX").is_empty() && scene.messages("users").is_empty());
}

/// Several instances of a script share the changes: each is there once all the same, in the order of its key, also where
/// a kill makes the source send some again.
#[test]
fn changes_that_instances_of_a_script_share_are_there_once_and_in_order() {
    let mut scene = QueueScene::start();
    scene.postgres.query("CREATE TABLE t (id int PRIMARY KEY, n int)");
    scene.script(
        "two",
        r#"function onRecord(r)
             return {key = tostring(r.row.id), value = r.row.n .. "a"}, {key = tostring(r.row.id), value = r.row.n .. "b"}
           end"#,
    );
    scene.mirror("m", &[("public.t", "t")], &json!({"script": "two", "script_workers": 3}));
    scene.wait_for_state("m", "STATUS_RUNNING");
    scene.postgres.query("INSERT INTO t SELECT i, 0 FROM generate_series(1, 2000) i");
    for _ in 0..2 {
        scene.postgres.query("UPDATE t SET n = n + 1");
    }
    until_within(PATIENCE, "some messages", || (!scene.messages("t").is_empty()).then_some(()));
    scene.tarn.kill();
    scene.tarn.start_again();
    let messages = scene.wait_for_messages("m", "t", 2000 * 3 * 2);
    let mut of: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for message in messages {
        of.entry(message.key.unwrap_or_default()).or_default().push(message.value.unwrap_or_default());
    }
    assert_eq!(of.len(), 2000);
    for (key, values) in of {
        assert_eq!(values, ["0a", "0b", "1a", "1b", "2a", "2b"], "{key}");
    }
}
