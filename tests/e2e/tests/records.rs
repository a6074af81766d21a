//! Records that a script or the destination cannot take: nothing of them is lost, nothing doubled.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tarn_e2e::Scene;
use tarn_harness::until;

/// A new version of a Lua script.
fn correct(scene: &Scene, id: i64, name: &str, source: &str) {
    let script = json!({"id": id, "lang": "lua", "name": name, "source": source});
    scene.post("scripts", &json!({"script": script}));
}

/// Every dead letter of a mirror, oldest first.
fn letters(scene: &Scene, mirror: &str) -> Vec<Value> {
    let (mut all, mut after) = (Vec::new(), json!("0"));
    loop {
        let body = json!({"flow_job_name": mirror, "after_id": after});
        let answer = scene.post("mirrors/dead_letters", &body);
        let page = answer["deadLetters"].as_array().expect("a list").clone();
        all.extend(page.iter().cloned());
        match page.last() {
            Some(last) if answer["hasMore"] == true => after = last["id"].clone(),
            _ => return all,
        }
    }
}

fn waiting(scene: &Scene, mirror: &str) -> Vec<Value> {
    letters(scene, mirror).into_iter().filter(|letter| letter["state"] == "WAITING").collect()
}

#[track_caller]
fn wait_for_waiting(scene: &Scene, mirror: &str, count: usize) {
    until(&format!("{count} letters wait; the log:\n{}", scene.log(mirror)), || {
        (waiting(scene, mirror).len() == count).then_some(())
    });
}

fn status(scene: &Scene, mirror: &str) -> Value {
    let body = json!({"flow_job_name": mirror, "include_flow_info": true});
    scene.post("mirrors/status", &body)["cdcStatus"].clone()
}

/// Replays until nothing that waits can be taken; what still waits.
fn replay(scene: &Scene, mirror: &str) -> Vec<Value> {
    loop {
        let answer = scene.post("mirrors/dead_letters/replay", &json!({"flow_job_name": mirror}));
        let outcomes = answer["outcomes"].as_array().expect("a list").clone();
        if outcomes.iter().all(|outcome| outcome["state"] == "WAITING") {
            return outcomes;
        }
    }
}

const REJECTING: &str = "function onRecord(r)
  print('record ' .. r.row.id)
  if r.row.id % 20 == 0 then
    error('no twentieth')
  end
  r.row.note = 'seen'
  return r.row
end";
const TAKING: &str = "function onRecord(r) r.row.note = 'seen' return r.row end";
const SOURCE: &str = "SELECT id::text, n::text, 'seen' FROM t ORDER BY t.id";
const TARGET: &str =
    "SELECT toString(id), toString(n), note FROM t FINAL WHERE _tarn_is_deleted = 0 ORDER BY id";

/// A mirror `m` that streams, five of whose hundred rows wait as dead letters, and its script's id.
fn with_five_letters() -> (Scene, i64) {
    let scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE t (id bigint PRIMARY KEY, n int NOT NULL, note text);
         INSERT INTO t SELECT i, 0, NULL FROM generate_series(1, 100) i",
    );
    let id = scene.script("mask", REJECTING);
    let policy = json!({"script": "mask", "record_error_policy": "DEAD_LETTER"});
    scene.mirror("m", &[("public.t", "t")], &policy);
    scene.wait_for_state("m", "STATUS_RUNNING");
    wait_for_waiting(&scene, "m", 5);
    (scene, id)
}

#[test]
fn rejected_records_are_kept_and_replayed_by_the_corrected_script_without_overwriting_later_rows() {
    let (scene, id) = with_five_letters();
    let loaded = waiting(&scene, "m").remove(0);
    for (field, expected) in [
        ("table", json!("public.t")),
        ("kind", json!("insert")),
        ("stage", json!("SCRIPT")),
        ("script", json!("mask")),
        ("scriptVersion", json!(1)),
        ("line", json!(4)),
        ("function", json!("onRecord")),
        ("message", json!("no twentieth")),
        ("commitTime", Value::Null),
    ] {
        assert_eq!(loaded[field], expected, "{field} of {loaded}");
    }
    assert!(loaded["logLines"].to_string().contains("record "), "{loaded}");
    let body = json!({"flow_job_name": "m", "id": loaded["id"]});
    let shown = scene.post("mirrors/dead_letters/show", &body);
    assert_eq!(
        shown["record"]["after"][1],
        json!({"name": "n", "type": "integer", "value": "0", "isUnchanged": false})
    );
    // Changes of the same rows, and of others.
    scene.postgres.query("UPDATE t SET n = 1 WHERE id IN (5, 20, 40)");
    wait_for_waiting(&scene, "m", 7);
    scene.wait_for_target("SELECT toString(n) FROM t FINAL WHERE id = 5", "1");
    scene.wait_for_target("SELECT toString(count()) FROM t FINAL", "95");
    let log = scene.log("m");
    assert!(log.contains("script mask version 1, line 4, function onRecord could not transform"), "{log}");
    let errors = &status(&scene, "m")["recordErrors"];
    assert_eq!((&errors["waiting"], &errors["skipped"]), (&json!("7"), &json!("0")), "{errors}");

    // A replay by the same script changes nothing.
    assert_eq!(replay(&scene, "m").len(), 7);
    correct(&scene, id, "mask", TAKING);
    until("the script is swapped", || {
        let log = scene.log("m");
        (log.contains("script mask changes from version 1 to 2 at the next batch")
            && log.contains("streaming, with script mask version 2"))
        .then_some(())
    });
    // A later row of a key with two letters: it is there when they are replayed, and stays.
    scene.postgres.query("UPDATE t SET n = 2 WHERE id = 20");
    scene.wait_for_target("SELECT toString(n) FROM t FINAL WHERE id = 20", "2");
    assert_eq!(replay(&scene, "m"), [json!(null); 0]);
    scene.wait_until_equal(SOURCE, TARGET);
    let states: BTreeSet<_> = letters(&scene, "m").iter().map(|letter| letter["state"].to_string()).collect();
    assert_eq!(states, BTreeSet::from(["\"REPLAYED\"".to_owned()]));
    let errors = &status(&scene, "m")["recordErrors"];
    assert_eq!(
        (&errors["waiting"], &errors["replayed"], &errors["bytes"]),
        (&json!("0"), &json!("7"), &json!("0"))
    );
}

#[test]
fn tarn_killed_while_records_are_rejected_keeps_each_of_them_once() {
    let mut scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE t (id bigint PRIMARY KEY, n int NOT NULL, note text);
         INSERT INTO t SELECT i, 0, NULL FROM generate_series(1, 40000) i",
    );
    scene.script("mask", &REJECTING.replace("print('record ' .. r.row.id)", ""));
    let further =
        json!({"script": "mask", "record_error_policy": 3, "snapshot_num_rows_per_partition": 5000});
    scene.mirror("m", &[("public.t", "t")], &further);
    until("the stream has its start", || scene.log("m").contains("are set up").then_some(()));
    for round in 0..6_u64 {
        let first = 100_000 + round * 1_000;
        let last = first + 999;
        scene.postgres.query(&format!(
            "INSERT INTO t SELECT i, 0, NULL FROM generate_series({first}, {last}) i;
             UPDATE t SET n = n + 1 WHERE id BETWEEN {first} AND {last}"
        ));
        // Kills fall into the load and into the stream.
        let letters_before = round * 400;
        until("some records were rejected", || {
            let answer =
                scene.try_post("mirrors/status", &json!({"flow_job_name": "m", "include_flow_info": true}));
            let waiting =
                answer.json()["cdcStatus"]["recordErrors"]["waiting"].as_str()?.parse::<u64>().ok()?;
            (waiting >= letters_before.min(2_000)).then_some(())
        });
        scene.tarn.kill();
        scene.tarn.start_again();
    }
    scene.wait_for_state("m", "STATUS_RUNNING");
    scene.wait_until_equal(&SOURCE.replace("ORDER", "WHERE id % 20 <> 0 ORDER"), TARGET);
    // Each change of a rejected row once; of the load each row once, too, whichever of its points brought it.
    // The sides may be equal before the stream has passed all of it: a load brings what is there by then.
    until("the stream has passed every change", || {
        let streamed = waiting(&scene, "m").iter().filter(|letter| letter["commitTime"].is_string()).count();
        (streamed >= 600).then_some(())
    });
    let letters = waiting(&scene, "m");
    let rejected =
        |ids: std::ops::RangeInclusive<u64>| ids.filter(|id| id % 20 == 0).map(|id| format!("id={id}"));
    let told = |of_load: bool| -> Vec<(String, String)> {
        let text = |letter: &Value, field: &str| letter[field].as_str().expect("a text").to_owned();
        let letters = letters.iter().filter(|letter| letter["commitTime"].is_null() == of_load);
        let mut told: Vec<_> = letters.map(|letter| (text(letter, "key"), text(letter, "kind"))).collect();
        told.sort();
        told
    };
    let streamed = rejected(100_000..=105_999);
    let mut expected: Vec<_> =
        streamed.flat_map(|key| ["insert", "update"].map(|kind| (key.clone(), kind.to_owned()))).collect();
    expected.sort();
    assert_eq!(told(false), expected);
    let mut loaded = told(true);
    let count = loaded.len();
    loaded.dedup();
    assert_eq!(loaded.len(), count, "a row of the load is kept twice");
    let loaded: BTreeSet<_> = loaded.into_iter().map(|(key, _)| key).collect();
    assert!(rejected(1..=40_000).all(|key| loaded.contains(&key)), "a row of the load is lost");
}

#[test]
fn a_change_that_leaves_values_out_waits_for_the_letter_that_has_them() {
    let scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE t (id bigint PRIMARY KEY, n int NOT NULL, big text);
         ALTER TABLE t ALTER COLUMN big SET STORAGE EXTERNAL;
         INSERT INTO t SELECT i, 0, repeat('a', 9000) FROM generate_series(1, 3) i",
    );
    let unlucky = "function onRecord(r) if r.row.n == 13 then error('unlucky') end return r end";
    let id = scene.script("luck", unlucky);
    let policy = json!({"script": "luck", "record_error_policy": "DEAD_LETTER"});
    scene.mirror("m", &[("public.t", "t")], &policy);
    scene.wait_for_state("m", "STATUS_RUNNING");
    scene.wait_for_target("SELECT toString(count()) FROM t FINAL", "3");
    // In one batch, and in a later one.
    scene.postgres.query(
        "UPDATE t SET n = 13, big = repeat('b', 9000) WHERE id = 1; UPDATE t SET n = 14 WHERE id = 1;
         UPDATE t SET n = 1 WHERE id = 2",
    );
    wait_for_waiting(&scene, "m", 2);
    scene.postgres.query("UPDATE t SET n = 15 WHERE id = 1; UPDATE t SET n = 2 WHERE id = 2");
    wait_for_waiting(&scene, "m", 3);
    scene.wait_for_target("SELECT toString(n) FROM t FINAL WHERE id = 2", "2");
    scene.wait_for_target("SELECT toString(n) FROM t FINAL WHERE id = 1", "0");
    correct(&scene, id, "luck", "function onRecord(r) return r end");
    until("the script is swapped", || scene.log("m").contains("luck version 2").then_some(()));
    assert_eq!(replay(&scene, "m"), [json!(null); 0]);
    scene.wait_until_equal(
        "SELECT id::text, n::text, md5(big) FROM t ORDER BY t.id",
        "SELECT toString(id), toString(n), lower(hex(MD5(big))) FROM t FINAL ORDER BY id",
    );
    // Nothing holds later changes back any more.
    scene.postgres.query("UPDATE t SET n = 16 WHERE id = 1");
    scene.wait_for_target("SELECT toString(n) FROM t FINAL WHERE id = 1", "16");
}

#[test]
fn a_value_that_the_destination_cannot_hold_follows_the_policy_in_load_and_stream() {
    let scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE t (id bigint PRIMARY KEY, n int NOT NULL);
         INSERT INTO t SELECT i, i % 100 FROM generate_series(1, 3000) i;
         UPDATE t SET n = 1000 WHERE id IN (7, 1500, 2999)",
    );
    let columns = json!([{"source_name": "n", "destination_type": "Int8"}]);
    let mirror = |name: &str, policy: &str| {
        let mapping = json!({"source_table_identifier": "public.t", "destination_table_identifier": name,
            "columns": columns});
        json!({"connection_configs": {"flow_job_name": name, "source_name": "source", "destination_name": "target",
            "table_mappings": [mapping], "do_initial_snapshot": true, "idle_timeout_seconds": 1,
            "record_error_policy": policy, "snapshot_num_rows_per_partition": 1000, "max_batch_size": 200}})
    };
    for (name, policy) in [("skipped", "SKIP"), ("kept", "DEAD_LETTER"), ("stopped", "STOP")] {
        scene.post("flows/cdc/create", &mirror(name, policy));
    }
    scene.wait_for_state("stopped", "STATUS_FAILED");
    let failure = status(&scene, "stopped")["failure"].to_string();
    assert!(failure.contains("column n is outside the range of Int8"), "{failure}");
    for name in ["skipped", "kept"] {
        scene.wait_for_state(name, "STATUS_RUNNING");
        scene.wait_for_target(&format!("SELECT toString(count()) FROM {name} FINAL"), "2997");
    }
    scene
        .postgres
        .query("UPDATE t SET n = n + 200 WHERE id IN (3, 5); UPDATE t SET n = 1 WHERE id IN (4, 7)");
    for name in ["skipped", "kept"] {
        scene.wait_for_target(&format!("SELECT toString(n) FROM {name} FINAL WHERE id = 7"), "1");
    }
    let errors = status(&scene, "skipped")["recordErrors"].clone();
    assert_eq!((&errors["skipped"], &errors["waiting"]), (&json!("5"), &json!("0")), "{errors}");
    let log = scene.log("skipped");
    assert!(log.contains("went on without a record of public.t"), "{log}");
    wait_for_waiting(&scene, "kept", 5);
    let letters = waiting(&scene, "kept");
    let keys: BTreeSet<_> = letters.iter().map(|letter| letter["key"].as_str().unwrap_or_default()).collect();
    assert_eq!(keys, BTreeSet::from(["id=1500", "id=2999", "id=3", "id=5", "id=7"]));
    assert!(letters.iter().all(|letter| letter["stage"] == "DESTINATION"), "{letters:?}");
    // What cannot be held cannot be replayed, but can be given up.
    assert_eq!(replay(&scene, "kept").len(), 5);
    let answer = scene.post("mirrors/dead_letters/discard", &json!({"flow_job_name": "kept", "all": true}));
    assert_eq!(answer["discarded"], "5", "{answer}");
    // A letter from before the table was emptied is void.
    scene.postgres.query("UPDATE t SET n = 300 WHERE id = 9");
    wait_for_waiting(&scene, "kept", 1);
    scene.postgres.query("TRUNCATE t; INSERT INTO t VALUES (1, 1)");
    scene.wait_for_target("SELECT toString(count()) FROM kept FINAL", "1");
    wait_for_waiting(&scene, "kept", 0);
    let errors = status(&scene, "kept")["recordErrors"].clone();
    assert_eq!(errors["discarded"], "6", "{errors}");
}

#[test]
fn scripts_of_a_chain_see_each_others_rows_and_errors_name_theirs() {
    let scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE t (id bigint PRIMARY KEY, n int NOT NULL, note text);
         INSERT INTO t SELECT i, 0, 'x' FROM generate_series(1, 50) i",
    );
    let first = scene.script("first", "function onRecord(r) if r.row.id % 10 == 0 then return nil end r.row.note = r.row.note .. '1' return r.row end");
    scene.script("second", "local function check(r)\n  if r.row.id == 7 then error('seven') end\nend\nfunction onRecord(r) check(r) r.row.note = r.row.note .. '2' return r.row end");
    for (script, wrong) in [
        ("first,nobody", "there is no script nobody"),
        ("first,first@1", "names first twice"),
        ("first,,second", "neither name"),
    ] {
        let answer = scene.try_mirror("m", &[("public.t", "t")], &json!({"script": script}));
        assert!(answer.status == 400 && answer.text().contains(wrong), "{}", answer.text());
    }
    let further = json!({"script": ["first", "second@1"], "record_error_policy": "SKIP"});
    scene.mirror("m", &[("public.t", "t")], &further);
    scene.wait_for_state("m", "STATUS_RUNNING");
    scene.postgres.query("INSERT INTO t VALUES (51, 0, 'y'), (60, 0, 'y')");
    scene.wait_for_target("SELECT concat(toString(count()), any(note)) FROM t FINAL WHERE id < 51", "44x12");
    scene.wait_for_target("SELECT arrayStringConcat(groupArray(note)) FROM t FINAL WHERE id > 50", "y12");
    let log = scene.log("m");
    assert!(log.contains("streaming, with script first version 1, then script second version 1"), "{log}");
    assert!(
        log.contains(
            "script second version 1, line 2, function check could not transform the record with key id=7"
        ),
        "{log}"
    );
    assert_eq!(status(&scene, "m")["config"]["script"], "first,second@1");
    let answer = scene.tarn.request("DELETE", &format!("/api/v1/scripts/{first}"), b"");
    assert!(answer.status == 400 && answer.text().contains("is used by m"), "{}", answer.text());
}

#[test]
fn a_script_that_rejects_everything_stops_its_mirror_whatever_the_policy() {
    let scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE t (id bigint PRIMARY KEY, n int NOT NULL, note text);
         INSERT INTO t SELECT i, 0, 'x' FROM generate_series(1, 50) i",
    );
    scene.script("broken", "function onRecord(r) return r.row.note.missing.deeper end");
    let further = json!({"script": "broken", "record_error_policy": "SKIP", "record_error_limit": 20});
    scene.mirror("m", &[("public.t", "t")], &further);
    scene.wait_for_state("m", "STATUS_FAILED");
    let failure = status(&scene, "m")["failure"].to_string();
    assert!(failure.contains("more than 20 of the last 200 records could not be taken"), "{failure}");
    assert!(failure.contains("script broken version 1"), "{failure}");
}

#[test]
fn a_record_at_which_a_script_loops_for_ever_is_found_and_the_others_go_on() {
    let times = [("TARN_SCRIPT_BATCH_MS_MAX", "2000"), ("TARN_SCRIPT_RECORD_MS_MAX", "300")];
    let scene = Scene::start_with(&[], &times);
    scene.postgres.query(
        "CREATE TABLE t (id bigint PRIMARY KEY, n int NOT NULL, note text);
         INSERT INTO t SELECT i, 0, 'x' FROM generate_series(1, 500) i",
    );
    scene.script("slow", "function onRecord(r) if r.row.id == 333 then while true do end end return r end");
    let policy = json!({"script": "slow", "record_error_policy": "DEAD_LETTER"});
    scene.mirror("m", &[("public.t", "t")], &policy);
    scene.wait_for_state("m", "STATUS_RUNNING");
    scene.wait_for_target("SELECT toString(count()) FROM t FINAL", "499");
    let letter = waiting(&scene, "m").remove(0);
    assert_eq!((&letter["key"], &letter["script"]), (&json!("id=333"), &json!("slow")), "{letter}");
    assert!(letter["message"].to_string().contains("it ran longer than 300 ms"), "{letter}");
    // Without such a policy it stops its mirror.
    scene.mirror("stops", &[("public.t", "other")], &json!({"script": "slow"}));
    scene.wait_for_state("stops", "STATUS_FAILED");
    let failure = status(&scene, "stops")["failure"].to_string();
    assert!(failure.contains("it ran longer than 2000 ms"), "{failure}");
}

#[test]
fn rows_that_are_refused_again_after_a_resync_wait_again() {
    let (scene, id) = with_five_letters();
    scene.request_state("m", "STATUS_RESYNC");
    until("it loads again", || scene.log("m").contains("gave up 5 dead letters").then_some(()));
    scene.wait_for_state("m", "STATUS_RUNNING");
    wait_for_waiting(&scene, "m", 5);
    correct(&scene, id, "mask", TAKING);
    assert_eq!(replay(&scene, "m"), [json!(null); 0]);
    scene.wait_until_equal(SOURCE, TARGET);
}

#[test]
fn letters_of_a_table_that_leaves_the_mirror_are_given_up_and_those_of_others_are_replayed() {
    let scene = Scene::start();
    for table in ["t", "u"] {
        scene.postgres.query(&format!(
            "CREATE TABLE {table} (id bigint PRIMARY KEY, n int NOT NULL, note text);
             INSERT INTO {table} SELECT i, 0, NULL FROM generate_series(1, 100) i"
        ));
    }
    let id = scene.script("mask", REJECTING);
    let policy = json!({"script": "mask", "record_error_policy": "DEAD_LETTER"});
    scene.mirror("m", &[("public.t", "t"), ("public.u", "u")], &policy);
    scene.wait_for_state("m", "STATUS_RUNNING");
    wait_for_waiting(&scene, "m", 10);
    scene.request_state("m", "STATUS_PAUSED");
    scene.wait_for_state("m", "STATUS_PAUSED");
    let leaving = json!({"sourceTableIdentifier": "public.u", "destinationTableIdentifier": "u"});
    let edit = json!({"flowJobName": "m", "requestedFlowState": "STATUS_RUNNING",
        "flowConfigUpdate": {"cdcFlowConfigUpdate": {"removedTables": [leaving]}}});
    scene.post("mirrors/state_change", &edit);
    wait_for_waiting(&scene, "m", 5);
    scene.wait_for_state("m", "STATUS_RUNNING");
    assert!(scene.log("m").contains("gave up 5 dead letters of public.u"), "{}", scene.log("m"));
    correct(&scene, id, "mask", TAKING);
    assert_eq!(replay(&scene, "m"), Vec::<Value>::new());
    scene.wait_until_equal(SOURCE, TARGET);
}
