//! Columns that change while the stream is behind, where nothing tells to which of two values belong.

use serde_json::json;
use tarn_e2e::Scene;
use tarn_harness::until;

/// What becomes of a table of the columns `id`, `a` and a generated `g` while `tarn` is down, each statement in its own
/// transaction, and the columns that are compared then.
struct Case {
    name: &'static str,
    /// What else there is of the table.
    parts: &'static str,
    statements: &'static [&'static str],
    columns: &'static str,
}

const CASES: &[Case] = &[
    Case {
        name: "added_again",
        parts: "",
        statements: &[
            "UPDATE $t SET a = a + 1 WHERE id < 5",
            "ALTER TABLE $t DROP a",
            "ALTER TABLE $t ADD a int DEFAULT 4",
            "UPDATE $t SET a = 11 WHERE id < 9",
        ],
        columns: "a",
    },
    Case {
        name: "taken_name",
        parts: "",
        statements: &[
            "ALTER TABLE $t ADD x int DEFAULT 1",
            "UPDATE $t SET x = id WHERE id < 50",
            "ALTER TABLE $t DROP a",
            "ALTER TABLE $t RENAME x TO a",
            "UPDATE $t SET a = a + 1 WHERE id < 20",
            "ALTER TABLE $t ADD x text DEFAULT 'x'",
            "DELETE FROM $t WHERE id = 3",
        ],
        columns: "a, x",
    },
    Case {
        name: "generated_gone",
        parts: "",
        statements: &[
            "ALTER TABLE $t ADD z int DEFAULT 4",
            "UPDATE $t SET a = a + 1, z = 11 WHERE id < 5",
            "ALTER TABLE $t DROP g",
            "ALTER TABLE $t RENAME z TO g",
            "INSERT INTO $t (id, a, g) VALUES (101, 1, 2)",
        ],
        columns: "a, g",
    },
    // The first message has the columns that are left of the second one's.
    Case {
        name: "known_before",
        parts: "",
        statements: &[
            "UPDATE $t SET a = a + 1 WHERE id < 5",
            "ALTER TABLE $t ADD z int DEFAULT 4",
            "UPDATE $t SET a = a + 1, z = 11 WHERE id < 5",
            "ALTER TABLE $t DROP g",
            "ALTER TABLE $t RENAME z TO g",
            "INSERT INTO $t (id, a, g) VALUES (101, 1, 2)",
        ],
        columns: "a, g",
    },
    // No row comes with the columns of the end.
    Case {
        name: "quiet_since",
        parts: "",
        statements: &[
            "ALTER TABLE $t ADD z int DEFAULT 4",
            "UPDATE $t SET a = a + 1, z = 11 WHERE id < 5",
            "ALTER TABLE $t DROP g",
            "ALTER TABLE $t RENAME z TO y",
        ],
        columns: "a, y",
    },
    Case {
        name: "in_parts",
        parts: IN_PARTS,
        statements: &[
            "UPDATE $t SET a = a + 1 WHERE id < 5",
            "ALTER TABLE $t DROP a",
            "ALTER TABLE $t ADD a int DEFAULT 4",
            "UPDATE $t SET a = 11 WHERE id < 9 OR id > 50; DELETE FROM $t WHERE id = 40",
        ],
        columns: "a",
    },
];

/// Partitions, of which one has its columns in another order.
const IN_PARTS: &str = "PARTITION BY RANGE (id);
    CREATE TABLE $t_1 (a int, was int, g int GENERATED ALWAYS AS (id * 2) STORED, id int NOT NULL);
    ALTER TABLE $t_1 DROP was;
    ALTER TABLE $t ATTACH PARTITION $t_1 FOR VALUES FROM (0) TO (30);
    CREATE TABLE $t_2 PARTITION OF $t DEFAULT";

#[test]
fn values_that_may_be_of_either_of_two_columns_are_left_out_and_the_rows_read_again() {
    // B091.
    let mut scene = Scene::start();
    for Case { name, parts, .. } in CASES {
        scene.postgres.query(&format!(
            "CREATE TABLE {name} (id int PRIMARY KEY, a int, g int GENERATED ALWAYS AS (id * 2) STORED) {parts};
             INSERT INTO {name} SELECT n, n FROM generate_series(1, 60) n",
            parts = parts.replace("$t", name)
        ));
    }
    let tables: Vec<(String, &str)> =
        CASES.iter().map(|case| (format!("public.{}", case.name), case.name)).collect();
    let tables: Vec<(&str, &str)> =
        tables.iter().map(|(source, target)| (source.as_str(), *target)).collect();
    scene.mirror("items", &tables, &json!({}));
    for Case { name, .. } in CASES {
        scene.wait_for_target(&format!("SELECT count() FROM {name} FINAL"), "60");
    }
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.tarn.kill();
    for case in CASES {
        for statement in case.statements {
            scene.postgres.query(&statement.replace("$t", case.name));
        }
    }
    scene.tarn.start_again();
    for Case { name, columns, .. } in CASES {
        let select = |columns: &str| format!("SELECT {columns} FROM {name}");
        let (source, target): (Vec<_>, Vec<_>) = columns
            .split(", ")
            .map(|column| (format!("{name}.{column}::text"), format!("toString({column})")))
            .unzip();
        scene.wait_until_equal(
            &format!("{} ORDER BY {name}.id", select(&format!("id::text, {}", source.join(", ")))),
            &format!("{} FINAL ORDER BY id", select(&format!("toString(id), {}", target.join(", ")))),
        );
    }
    let told = scene.log("items");
    for Case { name, .. } in CASES {
        let told =
            told.lines().filter(|line| line.contains(&format!("a column of public.{name} was dropped")));
        assert_eq!(told.count(), 1, "{name}");
    }
    assert_eq!(scene.verify("items")["verdict"], "VERDICT_EQUAL");
    // It goes on, and reads nothing again.
    scene.postgres.query("UPDATE added_again SET a = 12; UPDATE generated_gone SET g = 12");
    scene.wait_for_target("SELECT count() FROM added_again FINAL WHERE a = 12", "60");
    scene.wait_for_target("SELECT count() FROM generated_gone FINAL WHERE g = 12", "61");
}

#[test]
fn values_of_later_transactions_are_told_by_these_where_one_left_them_in_doubt() {
    let mut scene = Scene::start();
    for name in ["awake", "asleep"] {
        scene.postgres.query(&format!(
            "CREATE TABLE {name} (id int PRIMARY KEY, v int, a int); INSERT INTO {name} SELECT n, n, n FROM generate_series(1, 60) n"
        ));
    }
    scene.mirror("items", &[("public.awake", "awake"), ("public.asleep", "asleep")], &json!({}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    let is_equal = |scene: &Scene, name: &str| {
        scene.wait_until_equal(
            &format!("SELECT id::text, v::text, a::text FROM {name} ORDER BY {name}.id"),
            &format!("SELECT toString(id), toString(v), toString(a) FROM {name} FINAL ORDER BY id"),
        );
    };
    // A transaction that has its number before the change comes to the table after it. Nothing else describes the table.
    let doubt = |scene: &Scene, name: &str| {
        let mut early = scene.postgres.session();
        early.query("BEGIN; SELECT pg_current_xact_id()");
        scene.postgres.query(&format!("ALTER TABLE {name} DROP a; ALTER TABLE {name} ADD a int"));
        early.query(&format!(
            "INSERT INTO {name} VALUES (101, 101, 101); UPDATE {name} SET a = 7 WHERE id = 3; COMMIT"
        ));
    };
    let change = |scene: &Scene, name: &str, number: u32| {
        scene.postgres.query(&format!(
            "INSERT INTO {name} VALUES ({number}, 1, {number}); UPDATE {name} SET a = 8 WHERE id = {number} - 90"
        ));
    };
    doubt(&scene, "awake");
    is_equal(&scene, "awake");
    change(&scene, "awake", 102);
    is_equal(&scene, "awake");
    scene.tarn.kill();
    doubt(&scene, "asleep");
    change(&scene, "asleep", 102);
    scene.tarn.start_again();
    change(&scene, "asleep", 103);
    for name in ["awake", "asleep"] {
        is_equal(&scene, name);
        change(&scene, name, 104);
        is_equal(&scene, name);
    }
    assert!(scene.log("items").contains("a column of public.awake was dropped"));
    assert_eq!(scene.verify("items")["verdict"], "VERDICT_EQUAL");
}

#[test]
fn partitions_that_are_written_anew_while_tarn_looks_at_them_are_read_again() {
    let mut scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE items (id int PRIMARY KEY, v int) PARTITION BY RANGE (id);
         CREATE TABLE items_low PARTITION OF items FOR VALUES FROM (0) TO (50);
         CREATE TABLE items_high PARTITION OF items FOR VALUES FROM (50) TO (1000);
         INSERT INTO items SELECT n, n FROM generate_series(1, 99) n",
    );
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    scene.wait_for_target("SELECT sum(v) FROM items FINAL", "4950");
    scene.tarn.kill();
    let mut altering = scene.postgres.session();
    altering.query("BEGIN; ALTER TABLE items ALTER v TYPE int USING v + 1");
    scene.tarn.start_again();
    // It looks at what is there, and waits for nobody.
    let streams = "SELECT count(*) FROM pg_replication_slots WHERE slot_name = 'tarn_slot_items' AND active";
    until("the stream is open", || (scene.postgres.scalar(streams).as_deref() == Some("1")).then_some(()));
    altering.query("COMMIT");
    scene.postgres.query("INSERT INTO items VALUES (100, 1)");
    scene.wait_for_target("SELECT sum(v) FROM items FINAL", "5050");
}
