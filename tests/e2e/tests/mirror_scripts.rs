//! Scripts of a mirror that runs: replaced and taken away, shared out to several instances, uploaded as a module, and
//! what its server alone refuses.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tarn_e2e::{PATIENCE, Scene};
use tarn_harness::until_within;

/// A table of some rows that a script can mark.
const TABLE: &str = "CREATE TABLE t (id bigint PRIMARY KEY, n int NOT NULL, note text);
    INSERT INTO t SELECT i, 0, 'source' FROM generate_series(1, 100) i";

/// Pauses the mirror and edits it; it runs again then.
#[track_caller]
fn edit(scene: &Scene, mirror: &str, update: &Value) {
    scene.request_state(mirror, "STATUS_PAUSED");
    scene.wait_for_state(mirror, "STATUS_PAUSED");
    let edit = json!({"flowJobName": mirror, "requestedFlowState": "STATUS_RUNNING",
        "flowConfigUpdate": {"cdcFlowConfigUpdate": update}});
    assert_eq!(scene.post("mirrors/state_change", &edit), json!({}));
    scene.wait_for_state(mirror, "STATUS_RUNNING");
}

#[track_caller]
fn wait_for_log(scene: &Scene, mirror: &str, text: &str) {
    until_within(PATIENCE, &format!("{text:?} in the log"), || {
        scene.log(mirror).contains(text).then_some(())
    });
}

fn marking(mark: &str) -> String {
    format!(
        "function onRecord(r) r.row.note = '{mark}' r.row.by_{mark} = r.row.id return r.row end
        tarn.column('public.t', 'by_{mark}', 'bigint')"
    )
}

#[test]
fn edits_replace_scripts_and_take_them_away_between_two_changes() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.script("one", &marking("one"));
    scene.script("two", &marking("two"));
    scene.mirror("m", &[("public.t", "t")], &json!({"script": "one"}));
    scene.wait_for_state("m", "STATUS_RUNNING");
    // Rows come all the while, each in a transaction of its own.
    let mut session = scene.postgres.session();
    let done = Arc::new(AtomicBool::new(false));
    let is_done = Arc::clone(&done);
    let writer = std::thread::spawn(move || {
        for id in 101..100_000 {
            if is_done.load(Ordering::Relaxed) {
                break;
            }
            session.query(&format!("INSERT INTO t VALUES ({id}, {id}, 'source'); SELECT pg_sleep(0.005)"));
        }
    });
    scene.wait_for_target("SELECT countIf(id > 100) > 0 FROM t FINAL", "1");
    edit(&scene, "m", &json!({"removeScript": true}));
    wait_for_log(&scene, "m", "an edit was requested: without script one from here on");
    scene.wait_for_target("SELECT countIf(note = 'source') > 0 FROM t FINAL", "1");
    edit(&scene, "m", &json!({"script": ["two", "one@1"]}));
    wait_for_log(&scene, "m", "an edit was requested: with script two,one@1 from here on");
    wait_for_log(&scene, "m", "streaming, with script two version 1, then script one version 1");
    scene.postgres.query("INSERT INTO t VALUES (1000000, 0, 'source')");
    scene.wait_for_target("SELECT note FROM t FINAL WHERE id = 1000000", "one");
    edit(&scene, "m", &json!({"script": "two"}));
    scene.postgres.query("INSERT INTO t VALUES (1000001, 0, 'source')");
    scene.wait_for_target("SELECT note FROM t FINAL WHERE id = 1000001", "two");
    done.store(true, Ordering::Relaxed);
    writer.join().expect("written");
    scene.wait_until_equal(
        "SELECT id::text, n::text FROM t ORDER BY t.id",
        "SELECT toString(id), toString(n) FROM t FINAL ORDER BY id",
    );
    // Each change met the scripts of one moment, whole: what they mark and what they add agree.
    let rows = scene
        .clickhouse
        .query("SELECT DISTINCT note, toString(by_one = id), toString(by_two = id) FROM t FINAL");
    let rows: BTreeSet<String> = rows
        .iter()
        .map(|row| row.iter().map(|cell| cell.as_deref().unwrap_or("NULL")).collect::<Vec<_>>().join(" "))
        .collect();
    let allowed = ["one 1 NULL", "one 1 1", "source NULL NULL", "two NULL 1"];
    assert!(rows.iter().all(|row| allowed.contains(&row.as_str())), "{rows:?}");
    // In the order of the changes: with the first script, without, and with the second one.
    let turns = scene.clickhouse.query(
        "SELECT max(id) FILTER (WHERE note = 'one' AND by_two IS NULL), min(id) FILTER (WHERE note = 'source'),
                max(id) FILTER (WHERE note = 'source'), min(id) FILTER (WHERE by_two IS NOT NULL)
         FROM t FINAL",
    );
    let turn = |at: usize| -> i64 { turns[0][at].as_deref().expect("a number").parse().expect("a number") };
    assert!(turn(0) < turn(1) && turn(2) < turn(3), "{turns:?}");
}

/// What made a mirror fail is edited as it stands.
#[test]
fn a_mirror_that_its_script_made_fail_is_edited_and_goes_on_without_a_loss() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    let source = |good: bool| {
        let trouble = if good { "" } else { "if r.row.n == 13 then error('unlucky') end" };
        format!("function onRecord(r) {trouble} r.row.note = 'marked' return r.row end")
    };
    let id = scene.script("mark", &source(true));
    let failing = json!({"id": id, "lang": "lua", "name": "mark", "source": source(false)});
    scene.post("scripts", &json!({"script": failing}));
    scene.mirror("m", &[("public.t", "t")], &json!({"script": "mark"}));
    scene.wait_for_state("m", "STATUS_RUNNING");
    let equal = || {
        scene.wait_until_equal(
            "SELECT id::text, n::text FROM t ORDER BY t.id",
            "SELECT toString(id), toString(n) FROM t FINAL WHERE _tarn_is_deleted = 0 ORDER BY id",
        );
    };
    for (update, told, note) in [
        (json!({"script": "mark@1"}), "with script mark@1 instead of mark from here on", "marked"),
        (json!({"script": "mark"}), "with script mark instead of mark@1 from here on", ""),
        (json!({"removeScript": true}), "without script mark from here on", "source"),
    ] {
        if note.is_empty() {
            // Back to the version that fails.
            edit(&scene, "m", &update);
            continue;
        }
        scene.postgres.query(
            "UPDATE t SET n = n + 20, note = 'source'; UPDATE t SET n = 13 WHERE id % 10 = 0; DELETE FROM t WHERE id = 1;
             INSERT INTO t VALUES (1, 1, 'source')",
        );
        scene.wait_for_state("m", "STATUS_FAILED");
        scene.postgres.query("UPDATE t SET n = n + 20 WHERE id % 2 = 1; UPDATE t SET n = 13 WHERE id = 3");
        let edit = json!({"flowJobName": "m", "requestedFlowState": "STATUS_RUNNING",
            "flowConfigUpdate": {"cdcFlowConfigUpdate": update}});
        assert_eq!(scene.post("mirrors/state_change", &edit), json!({}));
        equal();
        scene.wait_for_state("m", "STATUS_RUNNING");
        wait_for_log(&scene, "m", told);
        scene.wait_for_target("SELECT any(note) FROM t FINAL WHERE n = 13", note);
        scene.wait_for_target("SELECT toString(uniqExact(note)) FROM t FINAL WHERE n = 13", "1");
    }
}

#[test]
fn contradicting_edits_of_a_script_are_refused_and_change_nothing() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.script("one", &marking("one"));
    scene.mirror("m", &[("public.t", "t")], &json!({"script": "one"}));
    scene.wait_for_state("m", "STATUS_RUNNING");
    scene.request_state("m", "STATUS_PAUSED");
    scene.wait_for_state("m", "STATUS_PAUSED");
    for (update, wrong) in [
        (json!({"removeScript": true, "script": "one"}), "remove_script"),
        (json!({"script": "none"}), "there is no script none"),
        (json!({"scriptWorkers": 17}), "script_workers"),
    ] {
        let edit = json!({"flowJobName": "m", "requestedFlowState": "STATUS_RUNNING",
            "flowConfigUpdate": {"cdcFlowConfigUpdate": update}});
        let answer = scene.post("mirrors/state_change", &edit);
        assert_eq!(answer["ok"], false, "{answer}");
        assert!(answer["errorMessage"].to_string().contains(wrong), "{answer}");
    }
    assert_eq!(scene.state("m"), "STATUS_PAUSED");
}

/// Says which change of its key a row was in this instance, and how many rows the instance saw.
const COUNTING: &str = "local seen, all = {}, 0
tarn.column('public.t', 'change', 'bigint')
tarn.column('public.t', 'place', 'bigint')
function onRecord(r)
  local id = (r.new or r.old).id
  seen[id] = (seen[id] or 0) + 1
  all = all + 1
  if r.kind == 'delete' then return r end
  if r.row.n == 13 then error('unlucky') end
  r.row.change, r.row.place = seen[id], all
  return r
end";

#[test]
fn changes_shared_out_to_several_instances_keep_the_order_of_each_key() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    let id = scene.script("counting", COUNTING);
    let further = json!({"script": "counting", "script_workers": 4, "record_error_policy": "DEAD_LETTER"});
    scene.mirror("m", &[("public.t", "t")], &further);
    scene.wait_for_state("m", "STATUS_RUNNING");
    wait_for_log(&scene, "m", "streaming, with script counting version 1, in 4 instances");
    // Twenty changes of each row, in one transaction and in many.
    scene.postgres.query("DO $$ BEGIN FOR i IN 101..110 LOOP UPDATE t SET n = i; END LOOP; END $$");
    for n in 111..=120 {
        scene.postgres.query(&format!("UPDATE t SET n = {n}"));
    }
    scene.wait_until_equal(
        "SELECT id::text, n::text FROM t ORDER BY t.id",
        "SELECT toString(id), toString(n) FROM t FINAL ORDER BY id",
    );
    scene.wait_for_target("SELECT toString(groupUniqArray(change)) FROM t FINAL", "[20]");
    // No instance saw all of them, and together they saw each once.
    scene.wait_for_target("SELECT max(place) < 2000 AND max(place) >= 500 FROM t FINAL", "1");
    // A row whose key changes goes to the instance of its new key, which counts on there.
    scene.postgres.query(
        "DELETE FROM t WHERE id = 1; UPDATE t SET id = 1 WHERE id = 2; UPDATE t SET n = 500 WHERE id = 1;
         INSERT INTO t VALUES (2, 501, 'again')",
    );
    scene.wait_for_target(
        "SELECT arrayStringConcat(groupArray(concat(toString(id), ':', toString(n), ':', toString(change))), ' ')
         FROM (SELECT * FROM t FINAL WHERE id <= 2 ORDER BY id)",
        "1:500:23 2:501:21",
    );
    // A record that is rejected in one of them is kept; the others go on, and so does it once it is replayed.
    scene.postgres.query("UPDATE t SET n = 13 WHERE id = 50; UPDATE t SET n = 600 WHERE id > 50");
    scene.wait_for_target("SELECT toString(count()) FROM t FINAL WHERE n = 600", "50");
    let waiting = scene.post("mirrors/dead_letters", &json!({"flow_job_name": "m"}));
    let letter = &waiting["deadLetters"][0];
    assert_eq!((&letter["key"], &letter["message"]), (&json!("id=50"), &json!("unlucky")), "{waiting}");
    // Another version takes over at a batch boundary, in as many instances as an edit says.
    let taking = COUNTING.replace("if r.row.n == 13 then error('unlucky') end", "");
    scene
        .post("scripts", &json!({"script": {"id": id, "lang": "lua", "name": "counting", "source": taking}}));
    wait_for_log(&scene, "m", "streaming, with script counting version 2, in 4 instances");
    edit(&scene, "m", &json!({"scriptWorkers": 2}));
    wait_for_log(&scene, "m", "streaming, with script counting version 2, in 2 instances");
    scene.post("mirrors/dead_letters/replay", &json!({"flow_job_name": "m"}));
    scene.postgres.query("UPDATE t SET n = n + 1");
    scene.wait_until_equal(
        "SELECT id::text, n::text FROM t ORDER BY t.id",
        "SELECT toString(id), toString(n) FROM t FINAL WHERE _tarn_is_deleted = 0 ORDER BY id",
    );
}

#[test]
fn changes_in_several_instances_survive_kills_while_scripts_are_swapped() {
    let mut scene = Scene::start();
    scene.postgres.query(TABLE);
    let source = |n: u32| format!("function onRecord(r) r.row.note = 'v{n} ' .. r.row.n return r.row end");
    let id = scene.script("mark", &source(1));
    scene.mirror("m", &[("public.t", "t")], &json!({"script": "mark", "script_workers": 3}));
    scene.wait_for_state("m", "STATUS_RUNNING");
    for version in 2..=5 {
        scene.postgres.query(&format!(
            "UPDATE t SET n = {version} WHERE id % 2 = 0;
             INSERT INTO t SELECT {version} * 10000 + i, {version}, 'source' FROM generate_series(1, 3000) i"
        ));
        let script = json!({"id": id, "lang": "lua", "name": "mark", "source": source(version)});
        scene.post("scripts", &json!({"script": script}));
        scene.tarn.kill();
        scene.tarn.start_again();
        scene.postgres.query(&format!("UPDATE t SET n = {version} + 100 WHERE id % 3 = 0"));
    }
    wait_for_log(&scene, "m", "mark version 5");
    scene.postgres.query("UPDATE t SET n = n + 1000");
    scene.wait_until_equal(
        "SELECT id::text, n::text, 'v5 ' || n FROM t ORDER BY t.id",
        "SELECT toString(id), toString(n), note FROM t FINAL ORDER BY id",
    );
}

#[test]
fn a_core_module_goes_through_a_whole_mirror() {
    let scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE users (id bigint PRIMARY KEY, region text, email text);
         INSERT INTO users SELECT i, CASE i % 2 WHEN 0 THEN 'eu' ELSE 'us' END, 'u' || i || '@example.org'
         FROM generate_series(1, 100) i",
    );
    scene.script_in("wasm", "regions", &STANDARD.encode(tarn_test_modules::REGIONS));
    scene.mirror("m", &[("public.users", "users")], &json!({"script": "regions", "script_workers": 2}));
    scene.wait_for_state("m", "STATUS_RUNNING");
    scene.wait_for_target(
        "SELECT concat(toString(count()), any(email), any(domain)) FROM users FINAL",
        "50***example.org",
    );
    scene.postgres.query(
        "INSERT INTO users VALUES (101, 'eu', 'a@b.example'), (102, 'us', 'x'), (103, 'eu', NULL);
         UPDATE users SET email = 'nobody' WHERE id = 2; DELETE FROM users WHERE id = 4",
    );
    scene.wait_for_target(
        "SELECT arrayStringConcat(groupArray(concat(toString(id), ifNull(email, '~'), ifNull(domain, '~'))), ' ')
         FROM (SELECT * FROM users FINAL WHERE _tarn_is_deleted = 0 AND (id > 100 OR id <= 6) ORDER BY id)",
        "2***~ 6***example.org 101***b.example 103~~",
    );
}

#[test]
fn a_module_that_lies_about_its_batches_stops_its_mirror_and_no_other() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.script_in("wasm", "lying", &STANDARD.encode(tarn_test_modules::LYING));
    scene.mirror("good", &[("public.t", "good")], &json!({}));
    for (lie, workers, told) in [
        ("short", 1, "invalid batch from apply"),
        ("garbage", 2, "invalid batch from apply"),
        ("count", 1, "rows and holds"),
        ("places", 2, "changed the versions or the order of rows"),
        ("backwards", 3, "changed the versions or the order of rows"),
        ("tables", 2, "invalid batch from apply"),
        ("rejections", 2, "could not transform the record"),
        ("strangers", 1, "names rows that the batch has not"),
        ("strangers", 2, "names rows that the batch has not"),
    ] {
        let name = format!("{lie}{workers}");
        // The module does what the name of its target says.
        let further = json!({"script": "lying", "script_workers": workers, "do_initial_snapshot": false});
        let tables = [("public.t", &*format!("lie_{lie}_{workers}"))];
        scene.mirror(&name, &tables, &further);
        scene.wait_for_state(&name, "STATUS_RUNNING");
        scene.postgres.query("UPDATE t SET n = n + 1");
        scene.wait_for_state(&name, "STATUS_FAILED");
        let body = json!({"flow_job_name": name, "include_flow_info": true});
        let failure = scene.post("mirrors/status", &body)["cdcStatus"]["failure"].to_string();
        assert!(failure.contains(told), "{name}: {failure}");
        scene.request_state(&name, "STATUS_TERMINATED");
    }
    scene.wait_until_equal(
        "SELECT id::text, n::text FROM t ORDER BY t.id",
        "SELECT toString(id), toString(n) FROM good FINAL ORDER BY id",
    );
}

#[test]
fn a_row_that_only_the_server_refuses_follows_the_policy_in_load_and_stream() {
    let scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE t (id bigint PRIMARY KEY, n int NOT NULL);
         INSERT INTO t SELECT i, i % 100 FROM generate_series(1, 3000) i;
         UPDATE t SET n = 4242 WHERE id IN (7, 1500, 2999)",
    );
    // Tables that mirrors made, and to which somebody gave a constraint.
    for (name, policy) in [("kept", "DEAD_LETTER"), ("skipped", "SKIP"), ("stopped", "STOP")] {
        scene.mirror("first", &[("public.t", name)], &json!({"do_initial_snapshot": false}));
        scene.wait_for_state("first", "STATUS_RUNNING");
        scene.request_state("first", "STATUS_TERMINATED");
        scene.wait_for_state("first", "STATUS_TERMINATED");
        scene.clickhouse.query(&format!("ALTER TABLE {name} ADD CONSTRAINT low CHECK n < 1000"));
        let further = json!({"record_error_policy": policy, "snapshot_num_rows_per_partition": 1000,
            "max_batch_size": 200});
        scene.mirror(name, &[("public.t", name)], &further);
    }
    let status = |name: &str| {
        let body = json!({"flow_job_name": name, "include_flow_info": true});
        scene.post("mirrors/status", &body)["cdcStatus"].clone()
    };
    scene.wait_for_state("stopped", "STATUS_FAILED");
    let failure = status("stopped")["failure"].to_string();
    assert!(failure.contains("VIOLATED_CONSTRAINT") && failure.contains("low"), "{failure}");
    assert!(!failure.contains("4242"), "no value is told: {failure}");
    for name in ["kept", "skipped"] {
        scene.wait_for_state(name, "STATUS_RUNNING");
        scene.wait_for_target(&format!("SELECT toString(count()) FROM {name} FINAL"), "2997");
    }
    // One among many changes of one transaction, and one by itself; a row that was refused is taken when it fits.
    scene.postgres.query("UPDATE t SET n = n + 3000 WHERE id IN (7, 8); UPDATE t SET n = 5 WHERE id = 1500");
    scene.postgres.query("UPDATE t SET n = n + 1 WHERE id BETWEEN 10 AND 1000");
    scene.postgres.query("UPDATE t SET n = 2000 WHERE id = 9");
    for name in ["kept", "skipped"] {
        scene.wait_for_target(&format!("SELECT toString(n) FROM {name} FINAL WHERE id = 1500"), "5");
        scene.wait_for_target(&format!("SELECT toString(n) FROM {name} FINAL WHERE id = 1000"), "1");
        scene.wait_for_target(&format!("SELECT toString(count()) FROM {name} FINAL"), "2998");
    }
    until_within(PATIENCE, "what was refused is counted", || {
        (status("kept")["recordErrors"]["waiting"] == "6"
            && status("skipped")["recordErrors"]["skipped"] == "6")
            .then_some(())
    });
    let letters = scene.post("mirrors/dead_letters", &json!({"flow_job_name": "kept"}));
    let text = letters.to_string();
    assert!(text.contains("VIOLATED_CONSTRAINT") && !text.contains("4242"), "{text}");
    // Once the table takes them, letters are replayed; one that a later row has overtaken changes nothing.
    scene.clickhouse.query("ALTER TABLE kept DROP CONSTRAINT low");
    scene.post("mirrors/dead_letters/replay", &json!({"flow_job_name": "kept"}));
    scene.wait_until_equal(
        "SELECT id::text, n::text FROM t ORDER BY t.id",
        "SELECT toString(id), toString(n) FROM kept FINAL ORDER BY id",
    );
}
