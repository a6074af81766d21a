//! How many rows the targets have.

use tarn_batch::{Table, Type};
use tarn_sdk::inspection::{About, Answer, Question, RowCount};

use super::rows::{Rows, int, text};
use super::scene::{Scene, table};
use crate::inspection::inspect;

fn items() -> Table {
    table("t", &[("id", Type::Int8, false), ("name", Type::Text, true)])
}

fn counts(scene: &mut Scene, tables: &[&str], deleted_column: &str) -> Vec<RowCount> {
    let tables = tables.iter().map(|&table| table.to_owned()).collect();
    let about = About::RowCounts { tables, deleted_column: deleted_column.to_owned() };
    match inspect(&mut scene.connector.client, &Question { within_ms: 20_000, about }).expect("an answer") {
        Answer::RowCounts(counts) => counts,
        other => panic!("{other:?}"),
    }
}

fn exact(table: &str, rows: Option<u64>) -> RowCount {
    RowCount { table: table.to_owned(), rows, approximate: false }
}

#[test]
fn rows_count_once_and_deleted_ones_do_not() {
    let mut scene = Scene::new();
    scene.prepare(&items());
    scene.write(&Rows::new(&items(), 1).insert(&[int(1), text("a")]).insert(&[int(2), text("b")]).batch());
    scene.write(&Rows::new(&items(), 2).insert(&[int(1), text("changed")]).delete(int(2)).batch());
    assert_eq!(counts(&mut scene, &["t", "absent"], ""), [exact("t", Some(1)), exact("absent", None)]);
}

#[test]
fn the_column_that_marks_deleted_rows_may_have_another_name() {
    let mut scene = Scene::with(|config| config.soft_delete_column = "gone".to_owned());
    scene.prepare(&items());
    scene.write(&Rows::new(&items(), 1).insert(&[int(1), text("a")]).delete(int(1)).batch());
    assert_eq!(counts(&mut scene, &["t"], "gone"), [exact("t", Some(0))]);
    assert_eq!(
        counts(&mut scene, &["t"], ""),
        [exact("t", None)],
        "a table of another form is not guessed at"
    );
}

#[test]
fn a_table_of_any_engine_and_name_is_counted() {
    let mut scene = Scene::new();
    scene.query("CREATE TABLE `odd ``'name` (id Int32) ENGINE = MergeTree ORDER BY id");
    scene.query("INSERT INTO `odd ``'name` VALUES (1), (1), (2)");
    scene.query("CREATE TABLE nothing (id Int32) ENGINE = Null");
    assert_eq!(
        counts(&mut scene, &["odd `'name", "nothing"], ""),
        [exact("odd `'name", Some(3)), exact("nothing", Some(0))]
    );
}
