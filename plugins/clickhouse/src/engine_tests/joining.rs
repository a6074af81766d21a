//! Rows of several writes join one insert, and are in the table when somebody needs them there.

use tarn_batch::{Table, Type};
use tarn_sdk::FailureClass;

use super::rows::{Rows, V, int, text};
use super::scene::{Scene, table};

fn items() -> Table {
    table("t", &[("id", Type::Int8, false), ("name", Type::Text, true)])
}

fn row(id: i64, name: &str) -> Vec<u8> {
    Rows::new(&items(), id.cast_unsigned()).insert(&[int(id), text(name)]).batch()
}

fn scene() -> Scene {
    let mut scene = Scene::new();
    scene.prepare(&items());
    scene
}

/// Writes without a flush; whether the rows are durable.
#[track_caller]
fn write(scene: &mut Scene, batch: &[u8]) -> bool {
    scene.connector.write(&[batch.to_vec()]).expect("the rows are written").durable
}

#[test]
fn writes_are_one_insert_that_a_flush_makes_durable() {
    let mut scene = scene();
    for id in 1..=3 {
        assert!(!write(&mut scene, &row(id, "a")));
    }
    assert_eq!(scene.rows("SELECT count() FROM t"), ["0"]);
    scene.connector.flush().expect("the rows are flushed");
    assert_eq!(scene.rows("SELECT count() FROM t"), ["3"]);
    assert_eq!(scene.trouble.inserts.get(), 1);
    scene.connector.flush().expect("there is nothing to flush");
    assert_eq!(scene.trouble.inserts.get(), 1);
}

#[test]
fn a_write_after_which_nothing_is_open_is_durable() {
    let mut scene = scene();
    assert!(write(&mut scene, &Rows::new(&items(), 1).batch()));
    write(&mut scene, &row(1, "a"));
    assert!(write(&mut scene, &Rows::new(&items(), 2).truncate().batch()));
}

#[test]
fn a_value_left_out_is_found_in_rows_that_no_flush_has_followed() {
    let mut scene = scene();
    write(&mut scene, &row(1, "large"));
    scene.write(&Rows::new(&items(), 200).update(&[int(1), V::Unchanged]).batch());
    assert_eq!(scene.rows("SELECT id, name, _tarn_version > 1 FROM t FINAL"), ["1|large|1"]);
}

#[test]
fn a_truncate_takes_away_rows_that_no_flush_has_followed() {
    let mut scene = scene();
    write(&mut scene, &row(1, "a"));
    write(&mut scene, &Rows::new(&items(), 200).truncate().insert(&[int(2), text("b")]).batch());
    scene.connector.flush().expect("the rows are flushed");
    assert_eq!(scene.rows("SELECT id FROM t"), ["2"]);
}

#[test]
fn columns_change_after_the_rows_that_came_before() {
    let mut scene = scene();
    write(&mut scene, &row(1, "a"));
    let columns = [("id", Type::Int8, false), ("name", Type::Text, true), ("more", Type::Text, true)];
    let mut wider = table("t", &columns);
    wider.version = 2;
    scene.prepare(&wider);
    assert_eq!(scene.rows("SELECT id, more FROM t"), ["1|NULL"]);
    write(&mut scene, &Rows::new(&wider, 200).insert(&[int(2), text("b"), text("c")]).batch());
    // Rows in the form of before may come once more, and end the insert of those in the new one.
    write(&mut scene, &row(3, "d"));
    scene.connector.flush().expect("the rows are flushed");
    assert_eq!(scene.rows("SELECT id, more FROM t ORDER BY id"), ["1|NULL", "2|c", "3|NULL"]);
}

/// More rows than one insert takes, after those that `first` has; how many inserts were ended while others
/// went on.
#[track_caller]
fn write_two_inserts(scene: &mut Scene, first: &[u8]) -> u32 {
    write(scene, first);
    let long = "x".repeat(1000);
    for half in [0, 40_000] {
        let mut rows = Rows::new(&items(), 1000);
        for id in half..half + 40_000 {
            rows.insert(&[int(id), text(&long)]);
        }
        write(scene, &rows.batch());
    }
    let ended = scene.trouble.ends.get();
    scene.connector.flush().expect("the rows are flushed");
    assert_eq!(scene.trouble.inserts.get(), 2);
    assert_eq!(scene.rows("SELECT count(), sum(length(name)) FROM t FINAL"), ["80000|80000000"]);
    ended
}

#[test]
fn an_insert_of_new_rows_is_worked_on_while_the_next_one_fills() {
    let mut scene = scene();
    assert_eq!(write_two_inserts(&mut scene, &row(1, "a")), 1);
}

#[test]
fn an_insert_with_changes_is_in_the_table_before_the_next_one_begins() {
    let mut scene = scene();
    let changed = Rows::new(&items(), 1).insert(&[int(1), text("a")]).update(&[int(1), text("b")]).batch();
    assert_eq!(write_two_inserts(&mut scene, &changed), 0);
}

/// Many targets, each with a change, and the tables of their sources.
fn many(count: usize) -> (Scene, Vec<Table>) {
    let mut scene = Scene::with(|config| {
        config.tables = (0..count)
            .map(|at| tarn_sdk::DestinationTable {
                source: format!("public.t{at}"),
                destination: format!("t{at}"),
                ..tarn_sdk::DestinationTable::default()
            })
            .collect();
    });
    let tables: Vec<_> = (0..count)
        .map(|at| {
            let columns = [("id", Type::Int8, false), ("name", Type::Text, true)];
            Table { id: 20_000 + u32::try_from(at).expect("few"), ..table(&format!("t{at}"), &columns) }
        })
        .collect();
    tables.iter().for_each(|table| scene.prepare(table));
    (scene, tables)
}

#[test]
fn inserts_of_several_tables_are_worked_on_at_once_and_those_of_one_follow_each_other() {
    let (mut scene, tables) = many(12);
    let mut rows = Rows::new(&tables[0], 100);
    for round in 0..3 {
        for table in &tables {
            rows.of(table).insert(&[int(round), text("a")]).update(&[int(0), text(&format!("{round}"))]);
        }
    }
    // All rows of a table in one write join one insert; no more than eight wait at a time.
    write(&mut scene, &rows.batch());
    assert_eq!(scene.trouble.inserts.get(), 12);
    assert_eq!((scene.trouble.ends.get(), scene.trouble.finished.get()), (8, 4), "four are open, four ended");
    scene.connector.flush().expect("the rows are flushed");
    assert_eq!((scene.trouble.ends.get(), scene.trouble.finished.get()), (12, 12));
    for at in 0..12 {
        assert_eq!(
            scene.rows(&format!("SELECT id, name FROM t{at} FINAL ORDER BY id")),
            ["0|2", "1|a", "2|a"]
        );
    }
    // Changes of one table in the next write follow what was ended of it.
    let mut first = Rows::new(&tables[0], 1000);
    let mut second = Rows::new(&tables[0], 2000);
    for table in &tables {
        first.of(table).update_key(int(1), &[int(7), text("b")]);
        second.of(table).update_key(int(7), &[int(8), text("c")]);
    }
    write(&mut scene, &first.batch());
    write(&mut scene, &second.batch());
    write(&mut scene, &first.batch());
    write(&mut scene, &second.batch());
    scene.connector.flush().expect("the rows are flushed");
    for at in 0..12 {
        assert_eq!(
            scene.rows(&format!("SELECT id, name FROM t{at} FINAL ORDER BY id")),
            ["0|2", "2|a", "8|c"]
        );
    }
}

#[test]
fn a_failure_leaves_no_insert_open() {
    let mut scene = scene();
    write(&mut scene, &row(1, "a"));
    let update = Rows::new(&items(), 200).update(&[int(9), V::Unchanged]).batch();
    let failure = scene.connector.write(&[update]).expect_err("there is no row to keep the value of");
    assert_eq!(failure.class, FailureClass::Record);
    scene.connector.flush().expect("there is nothing to flush");
    // Whatever became of the first write, it is written again.
    scene.write(&row(1, "a"));
    assert_eq!(scene.rows("SELECT id FROM t FINAL"), ["1"]);
}
