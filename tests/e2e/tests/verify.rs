//! Both sides of a mirror are compared while it runs: nothing that is equal is called different, and what a
//! person did at the destination is named by its key.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tarn_e2e::{PATIENCE, Scene};
use tarn_harness::until_within;

const TABLE: &str =
    "CREATE TABLE items (id bigint PRIMARY KEY, name text, price numeric(12,2), at timestamptz NOT NULL,
        big text, tags text[]);
    ALTER TABLE items ALTER COLUMN big SET STORAGE EXTERNAL;
    INSERT INTO items SELECT n, 'item ' || n, n / 100.0, timestamptz '2025-01-01Z' + n * interval '1 second',
        CASE WHEN n % 50 = 0 THEN repeat(md5(n::text), 100) END, ARRAY['a', n::text]
    FROM generate_series(1, 40000) n";

/// Changes of every kind, one transaction each time.
fn change(scene: &Scene, round: u64) {
    let first = 1_000_000 + round * 20;
    let (one, two, three) = (round % 997, round % 499, round % 1_499);
    scene.postgres.query(&format!(
        "BEGIN;
         INSERT INTO items SELECT n, 'new', 1, now(), NULL, NULL FROM generate_series({first}, {first} + 19) n;
         UPDATE items SET name = name || '!' WHERE id % 997 = {one};
         UPDATE items SET id = -id WHERE id % 1499 = {three};
         DELETE FROM items WHERE id % 499 = {two};
         COMMIT"
    ));
}

/// Runs `act` while rows keep changing.
fn while_rows_change<T>(scene: &Scene, act: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in (0..).take_while(|_| !stop.load(Ordering::Relaxed)) {
                change(scene, round);
            }
        });
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                // The row that changes all the time.
                scene.postgres.query("UPDATE items SET price = price + 1 WHERE id = 40001");
            }
        });
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        stop.store(true, Ordering::Relaxed);
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The differences of a verification's only table: kind, key and columns.
fn differences(verification: &Value) -> Vec<String> {
    let differences = verification["tables"][0]["firstDifferences"].as_array().expect("a list");
    let mut told: Vec<_> = differences
        .iter()
        .map(|difference| {
            let key = difference["key"][0].clone();
            let columns = difference["columns"].as_array().expect("a list");
            let columns: Vec<_> = columns.iter().filter_map(Value::as_str).collect();
            let kind = difference["kind"].as_str().expect("a kind").trim_start_matches("DIFFERENCE_");
            let text = |value: &Value| value.as_str().expect("a text").to_owned();
            format!("{kind} {} {} {}", text(&key["column"]), text(&key["value"]), columns.join(","))
                .trim_end()
                .to_owned()
        })
        .collect();
    told.sort();
    told
}

#[test]
fn both_sides_are_equal_while_rows_of_every_kind_change() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.postgres.query("INSERT INTO items VALUES (40001, 'hot', 0, now(), NULL, NULL)");
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    let verification = while_rows_change(&scene, || scene.verify("items"));
    assert_eq!(verification["state"], "VERIFICATION_DONE", "{verification:#}");
    let table = &verification["tables"][0];
    assert_eq!(table["rowsDiffering"], "0", "{verification:#}");
    assert_eq!(table["rowsNotComparable"], "0", "{verification:#}");
    let compared: u64 = table["rowsCompared"].as_str().expect("a count").parse().expect("a number");
    assert!(compared > 35_000, "{verification:#}");
    let verification = scene.verify("items");
    assert_eq!(verification["verdict"], "VERDICT_EQUAL", "{verification:#}");
}

#[test]
fn what_a_person_did_at_the_destination_is_found_while_the_mirror_runs() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.postgres.query("INSERT INTO items VALUES (40001, 'hot', 0, now(), NULL, NULL)");
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    let settings = "SETTINGS mutations_sync = 2";
    // Rows that nothing else touches: 997, 499 and 1499 divide none of these numbers with a small rest.
    for statement in [
        format!("ALTER TABLE items UPDATE name = 'by hand', price = price + 1 WHERE id = 39999 {settings}"),
        format!("ALTER TABLE items DELETE WHERE id = 39998 {settings}"),
        "INSERT INTO items (id, name, at, _tarn_version) SELECT 77777777, 'added', now(), 1".to_owned(),
        "INSERT INTO items (id, name, at, _tarn_version) SELECT 88888888, 'later than all', now(), toUInt128('340282366920938463463374607431768211455')".to_owned(),
        "INSERT INTO items (id, name, at, _tarn_version) SELECT 39996, 'later than all', at, toUInt128('340282366920938463463374607431768211455') FROM items WHERE id = 39996".to_owned(),
        // A merge forgets the row below the later one; until then the mirror's own counts as of its place.
        "OPTIMIZE TABLE items FINAL".to_owned(),
    ] {
        scene.clickhouse.query(&statement);
    }
    let expected = [
        "COLUMNS id 39996 name,price,tags",
        "COLUMNS id 39999 name,price",
        "EXTRA id 77777777",
        "EXTRA id 88888888",
        "MISSING id 39998",
    ];
    let stop = AtomicBool::new(false);
    let verification = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                scene.postgres.query(
                    "UPDATE items SET name = name || '!' WHERE id < 1000; DELETE FROM items WHERE id = 1;
                     INSERT INTO items VALUES (1, 'again', 1, now(), NULL, NULL)",
                );
            }
        });
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| scene.verify("items")));
        stop.store(true, Ordering::Relaxed);
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    assert_eq!(differences(&verification), expected, "{verification:#}");
    assert_eq!(verification["verdict"], "VERDICT_DIFFERENT");
    // A person at a terminal sees the same, and a program the exit code.
    let output = scene
        .tarn
        .command(&["mirror", "verify", "items", "--table", "public.items"])
        .output()
        .expect("the command runs");
    let out = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{out}");
    for part in ["DIFFERENT", "id = 39999", "differs in name, price", "missing at the destination"] {
        assert!(out.contains(part), "{part} in {out}");
    }
    let log = scene.log("items");
    assert!(log.contains("5 differ"), "{log}");
    assert!(!log.contains("by hand"), "no value is in the log: {log}");
}

#[test]
fn a_mirror_with_a_script_is_compared_with_what_the_script_makes() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.script(
        "even",
        "tarn.column('public.items', 'loud', 'text')
         function onRecord(r)
           if r.row.id % 2 == 1 then return nil end
           r.row.name = '***'
           r.row.loud = 'X' .. r.row.id
           return r
         end",
    );
    scene.mirror("items", &[("public.items", "items")], &json!({"script": "even"}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    let verification = scene.verify("items");
    assert_eq!(verification["verdict"], "VERDICT_EQUAL", "{verification:#}");
    assert_eq!(verification["tables"][0]["rowsCompared"], "20000");
    scene.clickhouse.query("ALTER TABLE items UPDATE loud = 'x' WHERE id = 4000 SETTINGS mutations_sync = 2");
    // Rows that the script drops are extra where somebody added them.
    scene.clickhouse.query("INSERT INTO items (id, at, _tarn_version) SELECT 4001, now(), 1");
    let verification = scene.verify("items");
    assert_eq!(differences(&verification), ["COLUMNS id 4000 loud", "EXTRA id 4001"], "{verification:#}");
}

#[test]
fn a_script_that_changes_keys_is_told_and_its_rows_are_compared() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.script("shift", "function onRecord(r)\n  r.row.id = r.row.id + 1000000\n  return r.row\nend");
    scene.mirror("items", &[("public.items", "items")], &json!({"script": "shift"}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.clickhouse.query("ALTER TABLE items DELETE WHERE id = 1000007 SETTINGS mutations_sync = 2");
    let verification = scene.verify("items");
    assert_eq!(differences(&verification), ["MISSING id 7"], "{verification:#}");
    let notes = verification["tables"][0]["notes"].to_string();
    assert!(notes.contains("changes keys"), "{notes}");
}

#[test]
fn a_verification_goes_on_after_tarn_was_killed() {
    let mut scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.postgres.query(
        "INSERT INTO items SELECT n, repeat('x', 200), 1, now(), NULL, NULL FROM generate_series(100000, 400000) n",
    );
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.clickhouse.query("ALTER TABLE items DELETE WHERE id IN (5, 399999) SETTINGS mutations_sync = 2");
    let id = scene.begin_verification("items");
    let done =
        |verification: &Value| verification["tables"][0]["numPartitionsCompleted"].as_u64().expect("a count");
    let before = until_within(PATIENCE, "two partitions are compared", || {
        let verification = scene.verification(&id);
        (done(&verification) >= 2).then_some(verification)
    });
    assert_ne!(before["state"], "VERIFICATION_DONE", "it was too quick to be killed: {before:#}");
    scene.tarn.kill();
    scene.tarn.start_again();
    assert!(done(&scene.verification(&id)) >= done(&before));
    let verification = scene.verified(&id);
    assert_eq!(differences(&verification), ["MISSING id 399999", "MISSING id 5"], "{verification:#}");
    assert_eq!(verification["tables"][0]["rowsCompared"], "340001", "{verification:#}");
    assert!(scene.log("items").contains(&format!("verification {id} goes on where it was")));
}

#[test]
fn a_paused_mirror_is_compared_without_saying_more_than_is_known() {
    let scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.request_state("items", "STATUS_PAUSED");
    scene.wait_for_state("items", "STATUS_PAUSED");
    let verification = scene.verify("items");
    assert_eq!(verification["verdict"], "VERDICT_EQUAL", "{verification:#}");
    scene
        .postgres
        .query("UPDATE items SET name = 'while paused' WHERE id = 7; DELETE FROM items WHERE id = 8");
    let verification = scene.verify("items");
    assert_eq!(verification["verdict"], "VERDICT_INCOMPLETE", "{verification:#}");
    let table = &verification["tables"][0];
    assert_eq!((&table["rowsDiffering"], &table["rowsNotComparable"]), (&json!("0"), &json!("2")));
    assert!(table["notes"].to_string().contains("the mirror is paused"), "{table}");
    scene.request_state("items", "STATUS_RUNNING");
    let verification = scene.verify("items");
    assert_eq!(verification["verdict"], "VERDICT_EQUAL", "{verification:#}");
}

#[test]
fn a_mirror_has_one_verification_at_a_time_which_ends_with_it() {
    let mut scene = Scene::start();
    scene.postgres.query(TABLE);
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    // While the destination is away it cannot end.
    scene.clickhouse.kill();
    let id = scene.begin_verification("items");
    let second = scene.try_post("mirrors/verify", &json!({"flowJobName": "items"}));
    assert_eq!(second.status, 409, "{}", second.text());
    scene.request_state("items", "STATUS_TERMINATED");
    let verification = scene.verified(&id);
    assert_eq!(verification["state"], "VERIFICATION_CANCELLED", "{verification:#}");
    assert_eq!(verification["verdict"], "VERDICT_INCOMPLETE");
}
