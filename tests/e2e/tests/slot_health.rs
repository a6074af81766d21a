//! What people are told of the slots of their mirrors.

use serde_json::{Value, json};
use tarn_e2e::{PATIENCE, Scene};
use tarn_harness::until_within;

/// The mirror's slot as its status shows it, once it is in this state.
#[track_caller]
fn wait_for_slot(scene: &Scene, state: &str) -> Value {
    until_within(PATIENCE, &format!("a slot that is {state}"), || {
        let status =
            scene.post("mirrors/status", &json!({"flow_job_name": "items", "include_flow_info": true}));
        let slot = status["cdcStatus"]["slotHealth"].clone();
        (slot["state"] == state).then_some(slot)
    })
}

/// Waits for a line of the mirror's log with these words: it is stored after the slot's state is shown.
#[track_caller]
fn wait_for_line(scene: &Scene, words: &str) {
    until_within(PATIENCE, words, || scene.log("items").contains(words).then_some(()));
}

fn number(slot: &Value, field: &str) -> u64 {
    slot[field].as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{field} of {slot}"))
}

/// Writes some 24 MB to the source's log.
fn write_log(scene: &Scene) {
    scene.postgres.query(
        "INSERT INTO noise SELECT repeat(md5(n::text), 60) FROM generate_series(1, 10000) n; TRUNCATE noise",
    );
}

#[test]
fn a_mirror_that_rests_is_warned_of_before_and_when_the_source_gives_its_slot_up() {
    // B148.
    let sizes = [("max_slot_wal_keep_size", "160MB"), ("max_wal_size", "64MB"), ("min_wal_size", "32MB")];
    let scene = Scene::start_with(&sizes, &[]);
    scene.postgres.query("CREATE TABLE items (id int PRIMARY KEY); CREATE TABLE noise (t text)");
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    let slot = wait_for_slot(&scene, "HEALTHY");
    assert_eq!((&slot["slotName"], &slot["walStatus"]), (&json!("tarn_slot_items"), &json!("reserved")));
    assert!(number(&slot, "safeBytes") > 100 << 20, "{slot}");

    scene.request_state("items", "STATUS_PAUSED");
    scene.wait_for_state("items", "STATUS_PAUSED");
    write_log(&scene);
    let slot = wait_for_slot(&scene, "AT_RISK");
    assert!(number(&slot, "secondsLeft") < 3600 && number(&slot, "heldBytes") > 8 << 20, "{slot}");
    assert_eq!(slot["active"], false);
    wait_for_line(&scene, "removes what the replication slot holds in about");
    wait_for_line(&scene, "raise max_slot_wal_keep_size; resume the mirror, or drop it");

    for _ in 0..12 {
        write_log(&scene);
        scene.postgres.query("SELECT pg_switch_wal(); CHECKPOINT");
    }
    let slot = wait_for_slot(&scene, "LOST");
    assert!(slot["remedy"].as_str().is_some_and(|remedy| remedy.contains("resync")), "{slot}");

    scene.postgres.query("SELECT pg_drop_replication_slot('tarn_slot_items')");
    wait_for_slot(&scene, "MISSING");
    wait_for_line(&scene, "no such replication slot any more; resync the mirror");
}
