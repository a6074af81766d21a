//! What people are told of the slots of their mirrors.

use serde_json::{Value, json};
use tarn_e2e::{PATIENCE, Scene};
use tarn_harness::{Session, until, until_within};

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

/// Settings of a server that soon gives slots up.
const LITTLE_LOG: [(&str, &str); 3] =
    [("max_slot_wal_keep_size", "160MB"), ("max_wal_size", "64MB"), ("min_wal_size", "32MB")];

/// Has the source give up what no reader holds of its log.
fn outrun_slots(scene: &Scene) {
    for _ in 0..12 {
        write_log(scene);
        scene.postgres.query("SELECT pg_switch_wal(); CHECKPOINT");
    }
}

/// A mirror that has loaded rows of one table, and cannot read the other one for as long as the session lasts.
fn held_while_it_loads(further: &Value) -> (Scene, Session) {
    let scene = Scene::start_with(&LITTLE_LOG, &[]);
    scene.postgres.query(
        "CREATE TABLE items (id int PRIMARY KEY, name text); CREATE TABLE later (id int PRIMARY KEY); CREATE TABLE noise (t text);
         INSERT INTO items SELECT n, repeat('x', 100) FROM generate_series(1, 100000) n; INSERT INTO later VALUES (1)",
    );
    let mut settings = json!({"snapshot_num_rows_per_partition": 1000, "snapshot_max_parallel_workers": 1,
                              "snapshot_num_tables_in_parallel": 1});
    settings.as_object_mut().expect("it is one").extend(further.as_object().expect("it is one").clone());
    scene.mirror("items", &[("public.items", "items"), ("public.later", "later")], &settings);
    let mut holder = scene.postgres.session();
    until("rows of the load arrive", || {
        let count = scene.clickhouse.try_query("SELECT count() FROM items").ok()?;
        (count != [[Some("0".to_owned())]]).then_some(())
    });
    holder.query("BEGIN; LOCK TABLE later IN ACCESS EXCLUSIVE MODE");
    (scene, holder)
}

#[test]
fn a_load_ends_once_the_source_gives_up_the_slot_that_it_leads_to() {
    let (scene, mut holder) = held_while_it_loads(&json!({}));
    outrun_slots(&scene);
    scene.wait_for_state("items", "STATUS_FAILED");
    wait_for_line(&scene, "the server gave up the log that replication slot \"tarn_slot_items\" needs");
    wait_for_line(&scene, "raise max_slot_wal_keep_size");
    holder.query("COMMIT");

    // The remedy, and what a look said of the slot before says nothing of the one that is made now.
    scene.request_state("items", "STATUS_RESYNC");
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.postgres.query("INSERT INTO later VALUES (2)");
    scene.wait_for_target("SELECT toString(count()) FROM later FINAL", "2");
    scene.wait_for_target("SELECT toString(count()) FROM items FINAL", "100000");
}

#[test]
fn a_load_ends_once_its_slot_is_gone() {
    let (mut scene, _holder) = held_while_it_loads(&json!({}));
    scene.tarn.kill();
    scene.postgres.query("SELECT pg_drop_replication_slot('tarn_slot_items')");
    scene.tarn.start_again();
    scene.wait_for_state("items", "STATUS_FAILED");
    wait_for_line(&scene, "replication slot \"tarn_slot_items\" does not exist any more");
}

#[test]
fn what_only_loads_needs_no_slot() {
    let (scene, mut holder) = held_while_it_loads(&json!({"initial_snapshot_only": true}));
    scene.postgres.query("SELECT pg_drop_replication_slot('tarn_slot_items')");
    wait_for_slot(&scene, "MISSING");
    holder.query("COMMIT");
    scene.wait_for_state("items", "STATUS_COMPLETED");
    scene.wait_for_target("SELECT toString(count()) FROM later FINAL", "1");
}

#[test]
fn a_mirror_that_rests_is_warned_of_before_and_when_the_source_gives_its_slot_up() {
    // B148.
    let scene = Scene::start_with(&LITTLE_LOG, &[]);
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

    outrun_slots(&scene);
    let slot = wait_for_slot(&scene, "LOST");
    assert!(slot["remedy"].as_str().is_some_and(|remedy| remedy.contains("resync")), "{slot}");

    scene.postgres.query("SELECT pg_drop_replication_slot('tarn_slot_items')");
    wait_for_slot(&scene, "MISSING");
    wait_for_line(&scene, "no such replication slot any more; resync the mirror");
}
