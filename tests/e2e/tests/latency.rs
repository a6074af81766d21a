//! The product itself measures how long changes take until they can be queried.

use serde_json::{Value, json};
use tarn_e2e::Scene;
use tarn_harness::{until, until_within};

fn latency(scene: &Scene) -> Value {
    let status = scene.post("mirrors/status", &json!({"flowJobName": "m", "includeFlowInfo": true}));
    status["cdcStatus"]["latency"].clone()
}

fn number(value: &Value) -> u64 {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("a number: {value}"))
}

fn metrics(scene: &Scene) -> String {
    let answer = scene.tarn.get("/metrics");
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.text()
}

#[test]
fn every_change_is_measured_by_table_from_its_commit_until_it_can_be_queried() {
    let mut scene = Scene::start();
    scene.postgres.query("CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY)");
    scene.mirror("m", &[("public.a", "a"), ("public.b", "b_there")], &json!({}));
    scene.wait_for_state("m", "STATUS_RUNNING");
    assert_eq!(latency(&scene)["changes"], "0");
    scene.postgres.query("INSERT INTO a SELECT generate_series(1, 500)");
    scene.postgres.query("INSERT INTO b SELECT generate_series(1, 20); DELETE FROM b WHERE id <= 10");
    scene.wait_for_target("SELECT toString(count()) FROM b_there FINAL", "10");
    let told = until("all changes are measured", || {
        let told = latency(&scene);
        (told["changes"] == "530" && told["lagMs"] == "0").then_some(told)
    });
    let tables = told["tables"].as_array().expect("a list");
    let names: Vec<_> = tables.iter().map(|table| (&table["tableName"], &table["changes"])).collect();
    assert_eq!(names, [(&json!("a"), &json!("500")), (&json!("b_there"), &json!("30"))]);
    // A row waits a second for company; both clocks are one here.
    for of in tables.iter().chain([&told]) {
        let (p50, p99) = (number(&of["p50Ms"]), number(&of["p99Ms"]));
        assert!(p50 > 0 && p50 <= p99 && p99 < 60_000, "{told:#}");
    }
    let text = metrics(&scene);
    for line in [
        r#"tarn_mirror_latency_seconds_count{mirror="m",table="a"} 500"#,
        r#"tarn_mirror_latency_seconds_bucket{mirror="m",table="b_there",le="+Inf"} 30"#,
        r#"tarn_mirror_lag_seconds{mirror="m"} 0"#,
        r#"tarn_mirror_state{mirror="m",state="STATUS_RUNNING"} 1"#,
        r#"tarn_mirror_rows_synced_total{mirror="m"} 530"#,
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }

    scene.clickhouse.kill();
    scene.postgres.query("INSERT INTO a VALUES (1000)");
    until("the lag grows", || (number(&latency(&scene)["lagMs"]) > 3_000).then_some(()));
    scene.clickhouse.start_again();
    until_within(tarn_e2e::PATIENCE, "the lag is gone", || (latency(&scene)["lagMs"] == "0").then_some(()));
    let told = latency(&scene);
    assert_eq!(told["changes"], "531");
    assert!(number(&told["tables"][0]["p99Ms"]) < 60_000, "{told:#}");
}

#[test]
fn what_waits_in_the_stage_counts_as_late_after_a_restart_too() {
    let mut scene = Scene::start();
    scene.postgres.query("CREATE TABLE a (id int PRIMARY KEY)");
    scene.mirror("m", &[("public.a", "a")], &json!({}));
    scene.wait_for_state("m", "STATUS_RUNNING");
    scene.postgres.query("INSERT INTO a VALUES (1)");
    scene.wait_for_target("SELECT toString(count()) FROM a FINAL", "1");
    scene.clickhouse.kill();
    scene.postgres.query("INSERT INTO a VALUES (2)");
    let confirmed = "SELECT confirmed_flush_lsn >= pg_current_wal_insert_lsn() - 8000 AND active \
                     FROM pg_replication_slots";
    until_within(tarn_e2e::PATIENCE, "the change waits in the stage", || {
        let waits = number(&latency(&scene)["stagedBytes"]) > 0;
        (waits && scene.postgres.scalar(confirmed).as_deref() == Some("t")).then_some(())
    });
    until("the lag grows", || (number(&latency(&scene)["lagMs"]) > 5_000).then_some(()));
    scene.tarn.kill();
    scene.tarn.start_again();
    until_within(tarn_e2e::PATIENCE, "the lag is told again", || {
        (number(&latency(&scene)["lagMs"]) > 5_000).then_some(())
    });
    scene.clickhouse.start_again();
    until_within(tarn_e2e::PATIENCE, "the lag is gone", || (latency(&scene)["lagMs"] == "0").then_some(()));
    scene.wait_for_target("SELECT toString(count()) FROM a FINAL", "2");
}
