//! What a mirror waits for can be seen while it waits, and is gone once it goes on.

use serde_json::{Value, json};
use tarn_e2e::{PATIENCE, Scene};
use tarn_harness::until_within;

const MIRROR: &str = "t";

fn mirrored() -> Scene {
    let scene = Scene::start();
    scene.postgres.query("CREATE TABLE t (id bigint PRIMARY KEY); INSERT INTO t VALUES (1)");
    scene.mirror(MIRROR, &[("public.t", "t")], &json!({}));
    scene.wait_for_state(MIRROR, "STATUS_RUNNING");
    scene.wait_for_target("SELECT count() FROM t FINAL", "1");
    until_within(PATIENCE, "it streams", || scene.log(MIRROR).contains("streaming").then_some(()));
    scene
}

/// What the status tells that is tried again.
fn retrying(scene: &Scene) -> Value {
    let status = scene.post("mirrors/status", &json!({"flowJobName": MIRROR, "includeFlowInfo": true}));
    assert!(status["cdcStatus"].as_object().expect("an object").contains_key("retrying"), "{status}");
    status["cdcStatus"]["retrying"].clone()
}

fn listed(scene: &Scene) -> Value {
    scene.tarn.get("/api/v1/mirrors/list").json()["mirrors"][0].clone()
}

fn failed_attempts(scene: &Scene) -> String {
    let metrics = scene.tarn.get("/metrics").text();
    let mut lines = metrics.lines();
    let line = lines.find_map(|line| line.strip_prefix("tarn_mirror_failed_attempts{mirror=\"t\"} "));
    line.unwrap_or_else(|| panic!("{metrics}")).to_owned()
}

/// Waits until so many attempts failed, and returns what is told of them.
fn wait_for_attempt(scene: &Scene, attempt: u64) -> Value {
    until_within(PATIENCE, "attempts fail", || {
        let told = retrying(scene);
        (told["attempt"].as_u64() >= Some(attempt)).then_some(told)
    })
}

fn wait_until_nothing_fails(scene: &Scene) {
    until_within(PATIENCE, "nothing fails", || retrying(scene).is_null().then_some(()));
    assert_eq!((listed(scene)["retrying"].clone(), failed_attempts(scene)), (Value::Null, "0".into()));
}

#[test]
fn a_source_that_is_away_is_told_of_until_the_stream_goes_on() {
    let mut scene = mirrored();
    wait_until_nothing_fails(&scene);
    scene.postgres.stop();
    let first = wait_for_attempt(&scene, 1);
    let told = wait_for_attempt(&scene, 2);
    assert_eq!(told["since"], first["since"]);
    assert!(told["nextAttemptAt"].as_str() > told["since"].as_str(), "{told}");
    let (message, code) = (told["message"].as_str().expect("text"), told["code"].as_str().expect("text"));
    assert!(message.contains(&format!("({code})")) && !code.is_empty(), "{told}");
    assert!(!message.contains(scene.postgres.password()), "{told}");
    let item = listed(&scene);
    assert_eq!((&item["status"], &item["retrying"]["since"]), (&json!("STATUS_RUNNING"), &told["since"]));
    assert_ne!(failed_attempts(&scene), "0");
    let shown = scene.tarn.command(&["mirror", "describe", MIRROR]).output().expect("it runs");
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.lines().any(|line| line.starts_with("retrying ") && line.contains(code)), "{shown}");

    scene.postgres.start_again();
    scene.postgres.query("INSERT INTO t VALUES (2)");
    scene.wait_for_target("SELECT count() FROM t FINAL", "2");
    wait_until_nothing_fails(&scene);
    let log = scene.log(MIRROR);
    assert!(log.contains("went on after"), "{log}");
    assert_eq!(log.matches("streaming").count(), 1, "{log}");

    // Nobody waits for it while the mirror rests.
    scene.postgres.stop();
    wait_for_attempt(&scene, 1);
    scene.request_state(MIRROR, "STATUS_PAUSED");
    scene.wait_for_state(MIRROR, "STATUS_PAUSED");
    wait_until_nothing_fails(&scene);
    scene.request_state(MIRROR, "STATUS_RUNNING");
    wait_for_attempt(&scene, 1);
    assert_eq!(scene.log(MIRROR).matches("streaming").count(), 1, "it is not open");
    scene.postgres.start_again();
    wait_until_nothing_fails(&scene);
}

#[test]
fn a_destination_that_is_away_is_told_of_while_changes_wait_in_the_stage() {
    let mut scene = mirrored();
    scene.clickhouse.kill();
    scene.postgres.query("INSERT INTO t VALUES (2)");
    let told = wait_for_attempt(&scene, 2);
    assert!(told["code"].as_str().expect("text").starts_with("clickhouse"), "{told}");
    assert_eq!(listed(&scene)["status"], "STATUS_RUNNING");
    scene.clickhouse.start_again();
    scene.wait_for_target("SELECT count() FROM t FINAL", "2");
    wait_until_nothing_fails(&scene);
}
