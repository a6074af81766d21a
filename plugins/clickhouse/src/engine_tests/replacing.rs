//! A load beside is not seen before it takes its table's place, and takes it once, whenever it is cut off.

use tarn_batch::{Table, Type};
use tarn_sdk::FailureClass;

use super::rows::{Rows, V, int, text};
use super::scene::{Death, Scene, table};

const SEEN: &str = "SELECT id, name FROM t FINAL ORDER BY id";
const TABLES: &str =
    "SELECT name FROM system.tables WHERE database = currentDatabase() AND name LIKE 't%' ORDER BY name";

fn items() -> Table {
    table("t", &[("id", Type::Int8, false), ("name", Type::Text, true)])
}

/// A target with one row, and a load of another one beside it.
fn loaded_beside() -> Scene {
    let table = items();
    let mut scene = Scene::new();
    scene.prepare(&table);
    scene.write(&Rows::new(&table, 100).insert(&[int(1), text("old")]).batch());
    scene.load_beside("7");
    scene.prepare(&table);
    scene.write(&Rows::new(&table, 50).insert(&[int(2), text("new")]).batch());
    scene
}

fn replace(scene: &mut Scene) -> Result<(), tarn_sdk::Failure> {
    scene.connector.replace(&["t".to_owned()])
}

#[test]
fn rows_beside_are_seen_once_the_table_is_replaced_and_later_ones_join_them() {
    let mut scene = loaded_beside();
    assert_eq!(scene.rows(SEEN), ["1|old"]);
    replace(&mut scene).expect("replaced");
    assert_eq!(scene.rows(SEEN), ["2|new"]);
    assert_eq!(scene.rows(TABLES), ["t"]);
    replace(&mut scene).expect("a second time is nothing");
    scene.load_beside("");
    scene.prepare(&items());
    scene.write(&Rows::new(&items(), 200).insert(&[int(3), V::Null]).batch());
    assert_eq!(scene.rows(SEEN), ["2|new", "3|NULL"]);
}

#[test]
fn a_table_that_is_in_its_place_is_not_replaced_by_one_that_was_prepared_since() {
    let mut scene = loaded_beside();
    replace(&mut scene).expect("replaced");
    scene.prepare(&items());
    replace(&mut scene).expect("a second time is nothing");
    assert_eq!(scene.rows(SEEN), ["2|new"]);
    assert_eq!(scene.rows(TABLES), ["t"]);
}

#[test]
fn a_table_that_was_replaced_left_and_came_back_is_replaced_by_what_was_loaded_again() {
    for statements in 0..12 {
        let mut scene = loaded_beside();
        replace(&mut scene).expect("replaced");
        scene.query("TRUNCATE TABLE t SYNC");
        scene.prepare(&items());
        scene.write(&Rows::new(&items(), 60).insert(&[int(3), text("again")]).batch());
        scene.trouble.dies_after.set(Some(Death { statements, carried_out: true }));
        let _cut_off = replace(&mut scene);
        scene.trouble.dies_after.set(None);
        scene.restart();
        replace(&mut scene).expect("replaced");
        assert_eq!(scene.rows(SEEN), ["3|again"], "{statements}");
        assert_eq!(scene.rows(TABLES), ["t"], "{statements}");
    }
}

#[test]
fn a_replacement_that_is_cut_off_at_any_statement_ends_the_same_when_it_is_repeated() {
    let mut cut = 0;
    for carried_out in [false, true] {
        for statements in 0.. {
            let mut scene = loaded_beside();
            scene.trouble.dies_after.set(Some(Death { statements, carried_out }));
            let ended = replace(&mut scene);
            scene.trouble.dies_after.set(None);
            let seen = scene.rows(SEEN);
            assert!(seen == ["1|old"] || seen == ["2|new"], "{statements} {carried_out}: {seen:?}");
            if ended.is_ok() {
                break;
            }
            cut += 1;
            scene.restart();
            replace(&mut scene).expect("repeated");
            assert_eq!(scene.rows(SEEN), ["2|new"], "{statements} {carried_out}");
            assert_eq!(scene.rows(TABLES), ["t"], "{statements} {carried_out}");
        }
    }
    assert!(cut > 8, "only {cut} places to be cut off at");
}

#[test]
fn a_later_load_replaces_what_an_earlier_one_brought_or_left_halfway() {
    // B196: twice in a row.
    let table = items();
    for statements in [0, 5, 100] {
        let mut scene = loaded_beside();
        scene.trouble.dies_after.set(Some(Death { statements, carried_out: true }));
        let _cut_off = replace(&mut scene);
        scene.trouble.dies_after.set(None);
        scene.load_beside("8");
        scene.connector.drop_tables(&["t".to_owned()]).expect("what the other load left is removed");
        scene.prepare(&table);
        scene.write(&Rows::new(&table, 60).insert(&[int(3), text("newer")]).batch());
        replace(&mut scene).expect("replaced");
        assert_eq!(scene.rows(SEEN), ["3|newer"], "{statements}");
        assert_eq!(scene.rows(TABLES), ["t"], "{statements}");
    }
}

#[test]
fn views_and_dictionaries_on_the_table_go_on_with_the_new_rows() {
    let mut scene = loaded_beside();
    for sql in [
        "CREATE VIEW v AS SELECT id, name FROM t FINAL",
        "CREATE TABLE sums (id Int64) ENGINE = MergeTree ORDER BY id",
        "CREATE MATERIALIZED VIEW mv TO sums AS SELECT id FROM t",
        "CREATE DICTIONARY names (id Int64, name Nullable(String)) PRIMARY KEY id \
         SOURCE(CLICKHOUSE(TABLE 't' DB currentDatabase())) LAYOUT(HASHED()) LIFETIME(0)",
    ] {
        let database = &scene.rows("SELECT currentDatabase()")[0];
        scene.query(&sql.replace("currentDatabase()", &format!("'{database}'")));
    }
    replace(&mut scene).expect("replaced");
    assert_eq!(scene.rows("SELECT id, name FROM v"), ["2|new"]);
    scene.query("SYSTEM RELOAD DICTIONARY names");
    assert_eq!(scene.rows("SELECT dictGet('names', 'name', toInt64(2))"), ["new"]);
    scene.load_beside("");
    scene.write(&Rows::new(&items(), 200).insert(&[int(3), text("later")]).batch());
    assert_eq!(scene.rows("SELECT id FROM sums ORDER BY id"), ["3"]);
}

#[test]
fn a_first_load_beside_becomes_the_table() {
    let table = items();
    let mut scene = Scene::new();
    scene.load_beside("1");
    scene.prepare(&table);
    scene.write(&Rows::new(&table, 50).insert(&[int(2), text("new")]).batch());
    assert_eq!(scene.rows(TABLES), ["t_tarn_beside"]);
    replace(&mut scene).expect("replaced");
    assert_eq!(scene.rows(SEEN), ["2|new"]);
}

#[test]
fn a_loaded_table_that_somebody_removed_is_told_of_and_the_old_one_stays() {
    let mut scene = loaded_beside();
    scene.query("DROP TABLE t_tarn_beside SYNC");
    let failure = replace(&mut scene).expect_err("there is nothing to replace it by");
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Permanent, "target_missing"));
    assert!(failure.hint.contains("resync"), "{failure:?}");
    assert_eq!(scene.rows(SEEN), ["1|old"]);
}

#[test]
fn somebody_elses_table_of_the_name_is_neither_dropped_nor_loaded_into() {
    let table = items();
    let mut scene = Scene::new();
    scene.prepare(&table);
    scene.query("CREATE TABLE t_tarn_beside (x Int8) ENGINE = MergeTree ORDER BY x");
    scene.load_beside("7");
    scene.connector.drop_tables(&["t".to_owned()]).expect("it stays");
    let failure = scene.connector.prepare(&[table.into()]).expect_err("it is in the way");
    assert_eq!(failure.code, "target_in_the_way");
    assert_eq!(scene.rows(TABLES), ["t", "t_tarn_beside"]);
}

#[test]
fn a_database_that_cannot_exchange_renames() {
    let mut scene = loaded_beside();
    scene.trouble.refuses_exchange.set(true);
    replace(&mut scene).expect("replaced");
    assert_eq!(scene.rows(SEEN), ["2|new"]);
    assert_eq!(scene.rows(TABLES), ["t"]);
}
