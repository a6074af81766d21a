//! What is written is what the source has, in whatever order and however often it is written.

use tarn_batch::{Table, Type};
use tarn_sdk::FailureClass;

use super::rows::{Rows, V, int, text};
use super::scene::{Scene, table};

fn items() -> Table {
    table("t", &[("id", Type::Int8, false), ("name", Type::Text, true)])
}

const SEEN: &str = "SELECT id, name FROM t FINAL ORDER BY id";

#[test]
fn inserts_updates_and_deletes_show_the_latest_row() {
    let table = items();
    let mut scene = Scene::new();
    scene.prepare(&table);
    let mut rows = Rows::new(&table, 100);
    rows.insert(&[int(1), text("a")]).insert(&[int(2), V::Null]).insert(&[int(3), text("")]);
    rows.update(&[int(1), text("b")]).delete(int(3)).insert(&[int(4), text("d")]).delete(int(4));
    rows.insert(&[int(4), text("again")]);
    scene.write(&rows.batch());
    assert_eq!(scene.rows(SEEN), ["1|b", "2|NULL", "4|again"]);
    // Without FINAL, by the flag of the latest version.
    let latest = "SELECT id FROM (SELECT id, argMax(_tarn_is_deleted, _tarn_version) AS d FROM t GROUP BY id) \
                  WHERE d = 0 ORDER BY id";
    assert_eq!(scene.rows(latest), ["1", "2", "4"]);
}

#[test]
fn a_write_that_is_repeated_changes_nothing_even_after_later_ones() {
    let table = items();
    let mut scene = Scene::new();
    scene.prepare(&table);
    let first = Rows::new(&table, 100).insert(&[int(1), text("a")]).insert(&[int(2), text("b")]).batch();
    let second = Rows::new(&table, 200).update(&[int(1), text("c")]).delete(int(2)).batch();
    for batch in [&first, &second, &first, &first, &second, &first] {
        scene.write(batch);
        scene.restart();
    }
    assert_eq!(scene.rows(SEEN), ["1|c"]);
    scene.query("OPTIMIZE TABLE t FINAL");
    assert_eq!(scene.rows(SEEN), ["1|c"]);
}

#[test]
fn a_changed_key_leaves_no_ghost() {
    // B193.
    let table = items();
    let mut scene = Scene::new();
    scene.prepare(&table);
    let mut rows = Rows::new(&table, 100);
    rows.insert(&[int(1), text("a")]).insert(&[int(2), text("b")]);
    scene.write(&rows.batch());
    let mut rows = Rows::new(&table, 200);
    // Swapped by way of a third key, and back onto a key that was deleted.
    rows.update_key(int(1), &[int(3), text("a")]).update_key(int(2), &[int(1), text("b")]);
    rows.update_key(int(3), &[int(2), text("a")]).insert(&[int(9), text("x")]).delete(int(9));
    rows.update_key(int(2), &[int(9), text("a")]);
    scene.write(&rows.batch());
    assert_eq!(scene.rows(SEEN), ["1|b", "9|a"]);
}

#[test]
fn a_delete_needs_only_the_key() {
    // B052, B083, B089: other columns are absent from the image, or hold what could not be stored.
    let columns = [
        ("id", Type::Int8, false),
        ("at", Type::Interval, false),
        ("n", Type::Numeric { precision: 4, scale: 1 }, false),
    ];
    let table = table("t", &columns);
    let mut scene = Scene::new();
    scene.prepare(&table);
    let interval = || V::Bytes(vec![0; 16]);
    let mut rows = Rows::new(&table, 100);
    rows.insert(&[int(1), interval(), text("1.5")]).insert(&[int(2), interval(), text("2.5")]);
    rows.delete(int(1)).delete_full(&[int(2), interval(), text("NaN")]);
    scene.write(&rows.batch());
    assert_eq!(scene.rows("SELECT count() FROM t FINAL"), ["0"]);
}

#[test]
fn a_truncate_empties_the_table_between_the_rows_around_it() {
    // B115, B116, B118.
    let table = items();
    let mut scene = Scene::new();
    scene.prepare(&table);
    scene.write(&Rows::new(&table, 50).truncate().batch());
    scene.write(&Rows::new(&table, 100).insert(&[int(1), text("a")]).batch());
    let mut rows = Rows::new(&table, 200);
    rows.insert(&[int(2), text("b")]).truncate().insert(&[int(3), text("c")]);
    scene.write(&rows.batch());
    assert_eq!(scene.rows("SELECT id FROM t"), ["3"]);
}

#[test]
fn rows_of_several_tables_go_to_each_in_one_insert() {
    let one = items();
    let mut other = table("u", &[("id", Type::Int8, false)]);
    other.id += 1;
    let mut scene = Scene::new();
    scene.prepare(&one);
    scene.prepare(&other);
    let mut rows = Rows::new(&one, 100);
    rows.insert(&[int(1), text("a")]).of(&other).insert(&[int(7)]);
    rows.of(&one).insert(&[int(2), text("b")]).of(&other).insert(&[int(8)]);
    scene.write(&rows.batch());
    assert_eq!(scene.trouble.inserts.get(), 2);
    assert_eq!(scene.rows("SELECT id FROM t ORDER BY id"), ["1", "2"]);
    assert_eq!(scene.rows("SELECT id FROM u ORDER BY id"), ["7", "8"]);
}

#[test]
fn an_insert_of_unknown_outcome_is_retried_without_doubling() {
    let table = items();
    let mut scene = Scene::new();
    scene.prepare(&table);
    scene.trouble.lost_answers.set(1);
    let batch = Rows::new(&table, 100).insert(&[int(1), text("a")]).batch();
    let failure = scene.try_write(&batch).expect_err("the answer was lost");
    assert_eq!(failure.class, FailureClass::Retry);
    scene.write(&batch);
    assert_eq!(scene.rows(SEEN), ["1|a"]);
}

#[test]
fn a_value_that_does_not_fit_is_named_by_table_key_and_column_and_nothing_is_written() {
    // B035, B055, B059.
    let table =
        table("t", &[("id", Type::Int8, false), ("n", Type::Numeric { precision: 12, scale: 2 }, true)]);
    let mut scene = Scene::new();
    scene.prepare(&table);
    let batch = Rows::new(&table, 100).insert(&[int(1), text("1.00")]).insert(&[int(5), text("NaN")]).batch();
    let failure = scene.try_write(&batch).expect_err("NaN is no decimal");
    assert_eq!((failure.class, failure.table.as_str()), (FailureClass::Record, "public.t"));
    assert_eq!(
        failure.message,
        "row (id = 5): column n is NaN or infinity, which Nullable(Decimal(12, 2)) cannot hold"
    );
    assert_eq!(scene.rows("SELECT count() FROM t"), ["0"]);
}

#[test]
fn a_table_of_many_columns_is_written_by_name() {
    // B197.
    let names: Vec<String> = (0..60).map(|at| format!("c{at}")).collect();
    let mut columns = vec![("id", Type::Int8, false)];
    columns.extend(names.iter().map(|name| (name.as_str(), Type::Text, true)));
    let table = table("t", &columns);
    let mut scene = Scene::new();
    scene.prepare(&table);
    scene.query("ALTER TABLE t ADD COLUMN extra String DEFAULT 'own' FIRST");
    let mut cells = vec![int(1)];
    cells.extend(names.iter().map(|name| text(name)));
    scene.write(&Rows::new(&table, 1).insert(&cells).batch());
    assert_eq!(scene.rows("SELECT c0, c59, extra FROM t"), ["c0|c59|own"]);
}

#[test]
fn names_of_any_kind_are_written_to() {
    // B176, B178, B179, B181, B185.
    let table = table(
        "t",
        &[("t", Type::Int8, false), ("na`me\\ 'x'; --", Type::Text, true), ("名前", Type::Text, true)],
    );
    let mut scene = Scene::with(|config| config.tables[0].destination = "my-table.1`; x\\".to_owned());
    scene.prepare(&table);
    scene.write(&Rows::new(&table, 1).insert(&[int(1), text("a"), text("b")]).batch());
    let name = scene.rows("SELECT name FROM system.tables WHERE database = currentDatabase()");
    assert_eq!(name, ["my-table.1`; x\\"]);
    assert_eq!(scene.rows("SELECT `na\\`me\\\\ 'x'; --`, `名前` FROM `my-table.1\\`; x\\\\`"), ["a|b"]);
}

#[test]
fn a_table_of_a_schema_with_a_point_in_its_name_is_the_one_that_is_mapped() {
    // B187.
    let mut table = items();
    table.schema = "a.b".to_owned();
    let mut scene = Scene::with(|config| config.tables[0].source = r#""a.b"."t""#.to_owned());
    scene.prepare(&table);
    scene.write(&Rows::new(&table, 1).insert(&[int(1), text("a")]).batch());
    assert_eq!(scene.rows(SEEN), ["1|a"]);
}

#[test]
fn workers_that_make_and_change_one_target_at_once_all_find_it_as_it_should_be() {
    // B199.
    let first = items();
    let mut columns = vec![("id", Type::Int8, false), ("name", Type::Text, true)];
    columns.extend([("size", Type::Int4, true), ("at", Type::Date, true)]);
    let later = table("t", &columns);
    let mut scene = Scene::new();
    for table in [&first, &later] {
        scene.at_once(4, |connector| {
            while let Err(failure) = connector.prepare(&[table.clone().into()]) {
                assert_eq!(failure.class, FailureClass::Retry, "{failure:?}");
            }
        });
    }
    scene.write(&Rows::new(&later, 100).insert(&[int(1), text("a"), V::Null, V::Null]).batch());
    assert_eq!(scene.rows("SELECT id, name, size, at FROM t FINAL"), ["1|a|NULL|NULL"]);
}

#[test]
fn rows_of_partitions_with_another_order_of_columns_each_share_an_insert() {
    let of_root = table("t", &[("id", Type::Int8, false), ("a", Type::Int8, true), ("b", Type::Int8, true)]);
    let mut other = of_root.clone();
    other.columns.rotate_left(1);
    let mut scene = Scene::new();
    scene.prepare(&of_root);
    let mut rows = Rows::new(&of_root, 100);
    let tables = [rows.table, rows.of(&other).table];
    for id in 0..10 {
        rows.table = tables[0];
        rows.insert(&[int(id), int(id + 100), int(id + 200)]);
        rows.table = tables[1];
        rows.insert(&[int(id + 1_100), int(id + 1_200), int(id + 1_000)]);
    }
    scene.write(&rows.batch());
    assert_eq!(scene.trouble.inserts.get(), 1);
    let at = |id: i64| format!("{id}|{}|{}", id + 100, id + 200);
    let seen = "SELECT id, a, b FROM t FINAL ORDER BY id";
    assert_eq!(scene.rows(seen), (0..10).chain(1_000..1_010).map(at).collect::<Vec<_>>());

    // Values that are read back are of rows of both, in the same write and before it.
    let mut rows = Rows::new(&of_root, 200);
    let tables = [rows.table, rows.of(&other).table];
    rows.update_full(&[int(100), int(200), int(0)], &[int(-1), V::Unchanged, int(0)]);
    rows.update(&[V::Unchanged, int(-2), int(1_000)]);
    rows.table = tables[0];
    rows.update(&[int(0), V::Unchanged, int(-3)]).update_key(int(1), &[int(11), V::Unchanged, int(-4)]);
    rows.table = tables[1];
    rows.update(&[int(-5), V::Unchanged, int(11)]).delete_full(&[int(1_101), int(1_201), int(1_001)]);
    scene.write(&rows.batch());
    let changed = "SELECT id, a, b FROM t FINAL WHERE id IN (0, 1, 11, 1000, 1001) ORDER BY id";
    assert_eq!(scene.rows(changed), ["0|-1|-3", "11|-5|-4", "1000|1100|-2"]);
}
