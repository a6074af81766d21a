//! What people choose of a target's form, by the API: it is made so, filled by snapshot and stream, and verified.

use serde_json::{Value, json};
use tarn_e2e::Scene;

const SOURCE: &str = "SELECT t.id::text, region, trim_scale(n)::text, at::text, j #>> '{a}', note FROM t ORDER BY t.id, region";
const TARGET: &str = "SELECT toString(key), toString(region), toString(amount), substring(toString(at), 1, 8), \
                      toString(j.a::Nullable(Int64)), toString(note) FROM t FINAL ORDER BY key, region";

/// A mirror of `public.t` into `t`, whose mapping and settings are these besides.
fn body(mapping: &Value, env: &Value) -> Value {
    let mut table = json!({"sourceTableIdentifier": "public.t", "destinationTableIdentifier": "t"});
    table.as_object_mut().expect("an object").extend(mapping.as_object().expect("an object").clone());
    json!({"connectionConfigs": {"flowJobName": "m", "sourceName": "source", "destinationName": "target",
        "tableMappings": [table], "idleTimeoutSeconds": 1, "doInitialSnapshot": true, "env": env}})
}

/// B013, B058, B101, B188, B190, B191.
#[test]
fn a_target_is_made_as_it_was_chosen_and_holds_what_the_source_has() {
    let scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE t (id bigint, region text, n numeric, at time, j jsonb, note text NOT NULL, secret text,
                         PRIMARY KEY (id, region));
         ALTER TABLE t ALTER COLUMN j SET STORAGE EXTERNAL;
         INSERT INTO t SELECT i, 'r' || i % 3, i / 8.0, '24:00:00', jsonb_build_object('a', i, 'b', repeat('x', 5000)),
                              'note', 'secret' FROM generate_series(1, 300) i;
         INSERT INTO t VALUES (0, 'r0', NULL, NULL, NULL, '', NULL)",
    );
    let columns = json!([
        {"sourceName": "id", "destinationName": "key"},
        {"sourceName": "region", "destinationType": "LowCardinality(String) CODEC(ZSTD(3))", "ordering": 1},
        {"sourceName": "n", "destinationName": "amount"},
        {"sourceName": "note", "nullableEnabled": true},
    ]);
    let mapping = json!({"columns": columns, "exclude": ["secret"], "partitionKey": "key % 150",
        "engine": "CH_ENGINE_REPLACING_MERGE_TREE"});
    let env = json!({"TARN_CLICKHOUSE_NUMERIC": "Decimal(76, 38)", "TARN_CLICKHOUSE_TIME": "Time64(6)",
        "TARN_CLICKHOUSE_JSON": "JSON"});
    // What the server does not take is told before anything is made.
    for (mapping, env, path) in [
        (json!({"engine": "CH_ENGINE_COALESCING_MERGE_TREE"}), json!({}), "table_mappings[0].engine"),
        (json!({"partitionKey": "nope"}), json!({}), "table_mappings[0].partition_key"),
        (json!({}), json!({"TARN_CLICKHOUSE_TIME": "Float64"}), "env.TARN_CLICKHOUSE_TIME"),
        (
            json!({"columns": [{"sourceName": "n", "destinationType": "Decimal(9, 2) CODEC(Nope)"}]}),
            json!({}),
            "table_mappings[0].columns",
        ),
    ] {
        let answer = scene.try_post("flows/cdc/create", &body(&mapping, &env));
        assert!(answer.status == 400 && answer.text().contains(path), "{path}: {}", answer.text());
    }
    scene.post("flows/cdc/create", &body(&mapping, &env));
    scene.wait_for_state("m", "STATUS_RUNNING");
    scene.wait_until_equal(SOURCE, TARGET);
    assert_eq!(
        scene.clickhouse.scalar(
            "SELECT arrayStringConcat(groupArray(concat(name, ' ', type, compression_codec)), ', ') FROM (
                 SELECT * FROM system.columns WHERE database = currentDatabase() AND table = 't'
                 AND name NOT LIKE '\\\\_tarn%' ORDER BY position)"
        ).as_deref(),
        Some(
            "key Int64, region LowCardinality(String)CODEC(ZSTD(3)), amount Nullable(Decimal(76, 38)), \
             at Nullable(Time64(6)), j Nullable(JSON), note Nullable(String)"
        )
    );
    let form = "SELECT concat(engine, ' ', partition_key, ' ', sorting_key) FROM system.tables
                WHERE database = currentDatabase() AND name = 't'";
    assert_eq!(scene.clickhouse.scalar(form).as_deref(), Some("ReplacingMergeTree key % 150 region, key"));
    // Documents that an update leaves out, deletes, changed keys, and a chosen column that leaves the source.
    scene.postgres.query(
        "UPDATE t SET n = n + 1 WHERE id % 2 = 0; UPDATE t SET j = NULL WHERE id = 3; DELETE FROM t WHERE id = 5;
         UPDATE t SET region = 'moved' WHERE id = 8; UPDATE t SET id = -id WHERE id = 9",
    );
    scene.wait_until_equal(SOURCE, TARGET);
    let verification = scene.verify("m");
    // Documents of the server's own form are compared above.
    let table = &verification["tables"][0];
    assert_eq!(
        (&table["rowsDiffering"], &table["rowsUnsettled"]),
        (&json!("0"), &json!("0")),
        "{verification:#}"
    );
    assert!(table["notes"].to_string().contains("column j is held as JSON"), "{verification:#}");
    scene.postgres.query("ALTER TABLE t DROP COLUMN n; UPDATE t SET at = '01:02:03' WHERE id < 50");
    scene.wait_until_equal(
        "SELECT t.id::text, region, at::text FROM t ORDER BY t.id, region",
        "SELECT toString(key), toString(region), substring(toString(at), 1, 8) FROM t FINAL ORDER BY key, region",
    );
    assert_eq!(scene.state("m"), "STATUS_RUNNING");
}
