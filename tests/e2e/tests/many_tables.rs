//! Mirrors of hundreds of tables. `tests/bench/run tables` measures one of ten thousand.

use serde_json::json;
use tarn_e2e::Scene;

const TABLES: usize = 300;

#[test]
fn hundreds_of_tables_load_and_follow_in_one_mirror() {
    // B134, B224, B230.
    let scene = Scene::start_with(&[("max_locks_per_transaction", "1000")], &[]);
    // Every tenth has rows.
    scene.postgres.query(&format!(
        "DO $$ BEGIN FOR t IN 1..{TABLES} LOOP
            EXECUTE format('CREATE TABLE t%s (id int PRIMARY KEY, a text)', t);
            IF t % 10 = 0 THEN EXECUTE format('INSERT INTO t%s SELECT n, ''x'' FROM generate_series(1, 100) n', t); END IF;
        END LOOP; END $$"
    ));
    let names: Vec<(String, String)> =
        (1..=TABLES).map(|table| (format!("public.t{table}"), format!("t{table}"))).collect();
    let tables: Vec<(&str, &str)> =
        names.iter().map(|(source, target)| (source.as_str(), target.as_str())).collect();
    scene.mirror("many", &tables, &json!({}));
    scene.wait_for_state("many", "STATUS_RUNNING");
    let rows = |expected: usize| {
        let all = "SELECT sum(total_rows) FROM system.tables WHERE database = currentDatabase()";
        scene.wait_for_target(all, &expected.to_string());
    };
    rows(TABLES / 10 * 100);
    // One transaction with a row of each.
    scene.postgres.query(&format!(
        "DO $$ BEGIN FOR t IN 1..{TABLES} LOOP EXECUTE format('INSERT INTO t%s VALUES (1000, ''y'')', t); END LOOP; END $$"
    ));
    rows(TABLES / 10 * 100 + TABLES);
    scene.request_state("many", "STATUS_PAUSED");
    scene.wait_for_state("many", "STATUS_PAUSED");
    scene.postgres.query("INSERT INTO t1 VALUES (1001, 'while paused')");
    scene.request_state("many", "STATUS_RUNNING");
    rows(TABLES / 10 * 100 + TABLES + 1);
    assert_eq!(scene.clickhouse.scalar("SELECT groupArray(a)[1] FROM t2"), Some("y".to_owned()));
}
