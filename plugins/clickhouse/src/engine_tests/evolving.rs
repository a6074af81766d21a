//! Columns change, and no stored value does.

use tarn_batch::{Column, Table, Type};
use tarn_sdk::{DestinationColumn, FailureClass, StepKind};

use super::rows::{Rows, V, int, int4, text};
use super::scene::{Scene, table};

fn base() -> Table {
    table("t", &[("id", Type::Int8, false), ("n", Type::Int4, false), ("s", Type::Text, true)])
}

/// A scene with the row `(1, 10, 'a')`.
fn prepared() -> Scene {
    let mut scene = Scene::new();
    scene.prepare(&base());
    scene.write(&Rows::new(&base(), 1).insert(&[int(1), int4(10), text("a")]).batch());
    scene
}

fn column(name: &str, data_type: Type, nullable: bool, attribute: i32) -> Column {
    Column { name: name.to_owned(), data_type, type_name: "type".to_owned(), nullable, key: 0, attribute }
}

fn types(scene: &Scene) -> Vec<String> {
    scene.rows(
        "SELECT concat(name, ' ', type) FROM system.columns WHERE database = currentDatabase() \
         AND table = 't' AND name NOT LIKE '\\\\_tarn%' ORDER BY position",
    )
}

#[test]
fn a_value_that_the_target_holds_since_another_one_widened_it_is_written_with_a_plan_made_anew() {
    let mut scene = prepared();
    let mut wide = base();
    wide.columns[1].data_type = Type::Int8;
    wide.version = 2;
    // A load that meets the source's new type before the stream has come to it.
    scene.write(&Rows::new(&wide, 2).insert(&[int(2), int(20), text("b")]).batch());
    let large = Rows::new(&wide, 3).insert(&[int(3), int(1 << 40), text("c")]).batch();
    assert_eq!(scene.try_write(&large).expect_err("it does not fit").code, "value_not_representable");
    scene.rows("ALTER TABLE t MODIFY COLUMN n Int64 SETTINGS mutations_sync = 1");
    let failure = scene.try_write(&large).expect_err("the plan is of before");
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Retry, "target_changed_meanwhile"));
    scene.write(&large);
    assert_eq!(scene.rows("SELECT n FROM t ORDER BY id"), ["10", "20", "1099511627776"]);
}

#[test]
fn a_new_column_is_null_in_old_rows_and_filled_in_new_ones() {
    // B092.
    let mut scene = prepared();
    let mut new = base();
    new.version = 2;
    new.columns.push(column("c", Type::Int8, true, 4));
    new.columns.push(column("d", Type::Text, false, 5));
    scene.prepare(&new);
    scene.prepare(&new);
    scene.write(&Rows::new(&new, 9).insert(&[int(2), int4(20), V::Null, int(7), text("x")]).batch());
    assert_eq!(scene.rows("SELECT id, c, d FROM t FINAL ORDER BY id"), ["1|NULL|NULL", "2|7|x"]);
}

#[test]
fn columns_that_a_script_added_come_with_the_first_row_of_them() {
    let mut scene = prepared();
    let mut extended = base();
    extended.version = 77;
    extended.columns.push(column("loud", Type::Text, true, -5));
    extended.columns.push(column("sum", Type::Numeric { precision: 12, scale: 2 }, true, -6));
    let row = [int(2), int4(20), text("b"), text("B"), V::Null];
    scene.write(&Rows::new(&extended, 9).insert(&row).batch());
    let update = [int(2), int4(21), text("c"), V::Unchanged, V::Null];
    scene.write(&Rows::new(&extended, 10).update(&update).batch());
    // Rows of before, and of a script that has the column no more, are written as ever.
    scene.write(&Rows::new(&base(), 11).insert(&[int(3), int4(30), text("d")]).batch());
    assert_eq!(
        scene.rows("SELECT id, n, s, loud, sum FROM t FINAL ORDER BY id"),
        ["1|10|a|NULL|NULL", "2|21|c|B|NULL", "3|30|d|NULL|NULL"]
    );
    // What the source adds later does not disturb them.
    let mut new = base();
    new.version = 2;
    new.columns.push(column("c", Type::Int8, true, 4));
    scene.prepare(&new);
    assert_eq!(scene.rows("SELECT loud, c FROM t FINAL WHERE id = 2"), ["B|NULL"]);
}

#[test]
fn rows_of_both_versions_in_one_write_go_to_their_columns() {
    let mut scene = prepared();
    let mut new = base();
    new.version = 2;
    new.columns.push(column("c", Type::Int8, true, 4));
    scene.prepare(&new);
    let mut rows = Rows::new(&base(), 9);
    rows.insert(&[int(2), int4(1), text("old")]).of(&new).update(&[int(2), int4(1), V::Unchanged, int(5)]);
    scene.write(&rows.batch());
    assert_eq!(scene.rows("SELECT s, c FROM t FINAL WHERE id = 2"), ["old|5"]);
}

#[test]
fn a_dropped_column_stays_and_new_rows_leave_it_empty() {
    let mut scene = prepared();
    let mut new = base();
    new.version = 2;
    new.columns.remove(2);
    scene.prepare(&new);
    scene.write(&Rows::new(&new, 9).insert(&[int(2), int4(20)]).batch());
    assert_eq!(scene.rows("SELECT id, n, s FROM t FINAL ORDER BY id"), ["1|10|a", "2|20|NULL"]);
}

#[test]
fn a_renamed_column_keeps_its_values_also_when_nobody_looked() {
    let mut scene = prepared();
    let mut new = base();
    new.version = 2;
    new.columns[2].name = "renamed".to_owned();
    for table in [&new, &new, &base(), &new] {
        scene.restart();
        scene.prepare(table);
        assert_eq!(scene.rows(&format!("SELECT {} FROM t FINAL", table.columns[2].name)), ["a"]);
    }
    assert_eq!(types(&scene), ["id Int64", "n Int32", "renamed Nullable(String)"]);
}

#[test]
fn columns_that_swap_their_names_keep_their_values() {
    let table = table("t", &[("id", Type::Int8, false), ("a", Type::Text, true), ("b", Type::Text, true)]);
    let mut scene = Scene::new();
    scene.prepare(&table);
    scene.write(&Rows::new(&table, 1).insert(&[int(1), text("was a"), text("was b")]).batch());
    let mut new = table.clone();
    new.version = 2;
    new.columns[1].name = "b".to_owned();
    new.columns[2].name = "a".to_owned();
    scene.prepare(&new);
    assert_eq!(scene.rows("SELECT a, b FROM t FINAL"), ["was b|was a"]);
}

#[test]
fn a_column_dropped_and_made_again_shows_no_stale_values() {
    // B091.
    let mut scene = prepared();
    let mut new = base();
    new.version = 2;
    new.columns[2] = column("s", Type::Text, true, 9);
    for _ in 0..2 {
        scene.restart();
        scene.prepare(&new);
        assert_eq!(scene.rows("SELECT s, s_dropped_3 FROM t FINAL"), ["NULL|a"]);
    }
    // Delivered again from before the change.
    scene.prepare(&base());
    assert_eq!(scene.rows("SELECT s, s_dropped_9 FROM t FINAL"), ["a|NULL"]);
    scene.prepare(&new);
    assert_eq!(scene.rows("SELECT s, s_dropped_3 FROM t FINAL"), ["NULL|a"]);
}

#[test]
fn a_table_made_anew_at_the_source_finds_its_columns_by_name() {
    let mut scene = prepared();
    let mut new = base();
    new.id += 1;
    new.columns.swap(1, 2);
    (new.columns[1].attribute, new.columns[2].attribute) = (2, 3);
    scene.prepare(&new);
    assert_eq!(types(&scene), ["id Int64", "n Int32", "s Nullable(String)"]);
}

#[test]
fn a_type_is_widened_where_every_value_stays() {
    let mut scene = prepared();
    let mut new = base();
    new.version = 2;
    new.columns[1] = column("n", Type::Int8, true, 2);
    scene.prepare(&new);
    assert_eq!(types(&scene)[1], "n Nullable(Int64)");
    let mut wider = new.clone();
    wider.version = 3;
    wider.columns[1].data_type = Type::Text;
    scene.prepare(&wider);
    assert_eq!(types(&scene)[1], "n Nullable(String)");
    assert_eq!(scene.rows("SELECT n FROM t FINAL"), ["10"]);
}

#[test]
fn a_change_that_would_lose_values_is_refused_with_a_remedy() {
    let mut scene = prepared();
    let mut new = base();
    new.version = 2;
    new.columns[2].data_type = Type::Uuid;
    let failure = scene.connector.evolve(&[new.into()]);
    // Text holds every uuid's text.
    assert_eq!(failure, Ok(()));
    let mut new = base();
    new.columns[0].data_type = Type::Uuid;
    let failure = scene.connector.evolve(&[new.into()]).expect_err("rows are sorted by numbers");
    assert_eq!(
        (failure.class, failure.code.as_str()),
        (FailureClass::Permanent, "column_change_unsupported")
    );
    assert!(failure.hint.contains("resync"));
    let mut new = base();
    new.columns[0].name = "key".to_owned();
    let failure = scene.connector.evolve(&[new.into()]).expect_err("a key cannot be renamed");
    assert!(failure.message.contains("sorting key"), "{}", failure.message);
}

/// What would be done for a table: its steps' kinds and columns, and the statements.
fn planned(scene: &mut Scene, table: &Table) -> (Vec<String>, Vec<String>) {
    let plan = scene.connector.preview(&[table.clone().into()]).expect("told").remove(0);
    assert_eq!(plan.refused, "");
    let steps = plan.steps.iter().map(|step| format!("{:?} {}", step.kind, step.column)).collect();
    (steps, plan.steps.into_iter().flat_map(|step| step.statements).collect())
}

#[test]
fn values_of_a_type_that_the_column_cannot_hold_go_to_one_beside_it() {
    let mut scene = prepared();
    let mut uuids = base();
    uuids.version = 2;
    uuids.columns[1].data_type = Type::Uuid;
    assert_eq!(planned(&mut scene, &uuids).0, ["Beside n_uuid"]);
    scene.prepare(&uuids);
    assert_eq!(planned(&mut scene, &uuids).1, [""; 0], "nothing is left to do");
    assert_eq!(
        types(&scene),
        ["id Int64", "n Nullable(Int32)", "s Nullable(String)", "n_uuid Nullable(UUID)"]
    );
    let uuid = || V::Bytes(vec![7; 16]);
    scene.write(&Rows::new(&uuids, 9).insert(&[int(2), uuid(), text("b")]).batch());
    // Rows from before the change come again, and later ones of the earlier type.
    scene.connector.evolve(&[base().into()]).expect("nothing is to be done");
    scene.write(&Rows::new(&base(), 10).insert(&[int(3), int4(30), text("c")]).batch());
    scene.connector.evolve(&[uuids.clone().into()]).expect("nothing is to be done");
    let mut update = Rows::new(&uuids, 11);
    scene.write(&update.update(&[int(3), uuid(), V::Unchanged]).batch());
    let shown = "07070707-0707-0707-0707-070707070707";
    assert_eq!(
        scene.rows("SELECT id, n, s, n_uuid FROM t FINAL ORDER BY id"),
        ["1|10|a|NULL".to_owned(), format!("2|NULL|b|{shown}"), format!("3|NULL|c|{shown}")]
    );
}

#[test]
fn numbers_that_lost_their_bounds_go_to_a_text_beside_the_decimals() {
    let numeric = |precision, scale| Type::Numeric { precision, scale };
    let bounded = table("t", &[("id", Type::Int8, false), ("n", numeric(10, 2), true)]);
    let mut scene = Scene::new();
    scene.prepare(&bounded);
    scene.write(&Rows::new(&bounded, 1).insert(&[int(1), text("1.50")]).batch());
    let mut unbounded = bounded.clone();
    unbounded.version = 2;
    unbounded.columns[1].data_type = numeric(0, 0);
    scene.prepare(&unbounded);
    scene.write(&Rows::new(&unbounded, 9).insert(&[int(2), text("3.555")]).batch());
    assert_eq!(planned(&mut scene, &unbounded).1, [""; 0], "nothing is left to do");
    assert_eq!(types(&scene), ["id Int64", "n Nullable(Decimal(10, 2))", "n_string Nullable(String)"]);
    assert_eq!(scene.rows("SELECT id, n, n_string FROM t FINAL ORDER BY id"), ["1|1.5|NULL", "2|NULL|3.555"]);
}

#[test]
fn a_value_left_out_that_only_the_column_of_before_holds_is_a_failure_and_no_null() {
    let mut scene = prepared();
    let mut uuids = base();
    uuids.version = 2;
    uuids.columns[1].data_type = Type::Uuid;
    scene.prepare(&uuids);
    let update = Rows::new(&uuids, 9).update(&[int(1), V::Unchanged, text("x")]).batch();
    scene.try_write(&update).expect_err("the value is one of the earlier type");
    assert_eq!(scene.rows("SELECT n, s, n_uuid FROM t FINAL"), ["10|a|NULL"]);
}

#[test]
fn a_name_beside_that_is_taken_gets_a_number() {
    let mut scene = prepared();
    scene.query("ALTER TABLE t ADD COLUMN n_uuid String");
    let mut uuids = base();
    uuids.version = 2;
    uuids.columns[1].data_type = Type::Uuid;
    assert_eq!(planned(&mut scene, &uuids).0, ["Beside n_uuid_2"]);
    scene.prepare(&uuids);
    assert_eq!(types(&scene)[4], "n_uuid_2 Nullable(UUID)");
}

#[test]
fn what_is_told_beforehand_is_what_is_run() {
    let mut scene = prepared();
    let mut new = base();
    new.version = 2;
    new.columns[1].data_type = Type::Int8;
    new.columns[2].name = "renamed".to_owned();
    new.columns.push(column("c", Type::Text, true, 4));
    let (steps, statements) = planned(&mut scene, &new);
    assert_eq!(steps, ["Widen n", "Rename s", "Add c"]);
    assert_eq!(types(&scene)[1], "n Int32", "nothing is changed");
    scene.prepare(&new);
    let after = types(&scene);
    let other = prepared();
    for sql in &statements {
        other.query(sql);
    }
    assert_eq!(types(&other), after);
    let mut less = new.clone();
    less.version = 3;
    less.columns.remove(3);
    assert_eq!(planned(&mut scene, &less), (vec!["Keep c".to_owned()], Vec::new()));
    let mut key = base();
    key.columns[0].name = "key".to_owned();
    let plan = scene.connector.preview(&[key.into()]).expect("told").remove(0);
    assert!(plan.refused.contains("sorting key") && plan.steps.is_empty(), "{plan:?}");
}

#[test]
fn a_table_that_is_to_be_made_and_a_name_that_goes_to_another_column_are_told() {
    let mut scene = Scene::new();
    assert_eq!(planned(&mut scene, &base()).0, ["Create "]);
    assert_eq!(types(&scene), [""; 0]);
    scene.prepare(&base());
    assert_eq!(planned(&mut scene, &base()).0, [""; 0]);
    let mut new = base();
    new.version = 2;
    new.columns[2] = column("s", Type::Text, true, 9);
    assert_eq!(planned(&mut scene, &new).0, ["SetAside s", "Add s", "Keep s_dropped_3"]);
}

#[test]
fn a_target_that_is_gone_is_not_made_anew_by_changed_columns() {
    let mut scene = prepared();
    scene.query("DROP TABLE t SYNC");
    let mut new = base();
    new.version = 2;
    new.columns.push(column("c", Type::Text, true, 4));
    let failure = scene.connector.evolve(&[new.into()]).expect_err("it would have a part of its rows");
    assert_eq!((failure.code.as_str(), failure.table.as_str()), ("target_missing", "public.t"));
    assert_eq!(types(&scene), [""; 0]);
}

#[test]
fn a_column_that_is_not_null_any_more_keeps_its_nulls() {
    let mut scene = prepared();
    let mut new = base();
    new.version = 2;
    new.columns[2].nullable = false;
    scene.prepare(&new);
    assert_eq!(types(&scene)[2], "s Nullable(String)");
}

#[test]
fn excluded_columns_stay_out_of_every_version() {
    // B098.
    let mut scene = Scene::with(|config| config.tables[0].exclude = vec!["s".to_owned()]);
    scene.prepare(&base());
    let mut new = base();
    new.version = 2;
    new.columns.push(column("d", Type::Text, true, 4));
    scene.prepare(&new);
    assert_eq!(types(&scene), ["id Int64", "n Int32", "d Nullable(String)"]);
    scene.write(&Rows::new(&new, 1).insert(&[int(1), int4(1), text("secret"), text("x")]).batch());
    assert_eq!(scene.rows("SELECT d FROM t"), ["x"]);
}

#[test]
fn a_table_of_someone_elses_is_not_touched() {
    let mut scene = Scene::new();
    scene.query("CREATE TABLE t (id Int64) ENGINE = MergeTree ORDER BY id");
    let failure = scene.connector.evolve(&[base().into()]).expect_err("it is no target");
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Permanent, "target_incompatible"));
    assert_eq!(types(&scene), ["id Int64"]);
}

#[test]
fn dropping_removes_targets_and_nothing_else() {
    let mut scene = prepared();
    scene.query("CREATE TABLE u (id Int64) ENGINE = MergeTree ORDER BY id");
    for _ in 0..2 {
        let tables = ["public.t".to_owned(), "u".to_owned(), "missing".to_owned()];
        scene.connector.drop_tables(&tables).expect("dropped");
    }
    assert_eq!(scene.rows("SELECT name FROM system.tables WHERE database = currentDatabase()"), ["u"]);
}

#[test]
fn rows_of_a_writer_that_does_not_know_of_a_changed_type_are_never_read_as_others() {
    // A worker of the load beside the stream that changes the column. So many rows of the old size are as long
    // as rows of the new one.
    let base = table("t", &[("id", Type::Int8, false), ("n", Type::Int4, false)]);
    let mut scene = Scene::new();
    scene.prepare(&base);
    scene.write(&Rows::new(&base, 1).insert(&[int(0), int4(0)]).batch());
    let mut wide = base.clone();
    wide.version = 2;
    wide.columns[1].data_type = Type::Int8;
    scene.beside(|stream| stream.prepare(&wide));
    let mut rows = Rows::new(&base, 10);
    for id in 1..=41 {
        rows.insert(&[int(id), int4(7)]);
    }
    let batch = rows.batch();
    let failure = scene.try_write(&batch).expect_err("the column has another type by now");
    assert_eq!(
        (failure.class, failure.code.as_str()),
        (FailureClass::Retry, "target_changed_meanwhile"),
        "{failure}"
    );
    scene.restart();
    scene.write(&batch);
    assert_eq!(scene.rows("SELECT count(), sum(id), sum(n) FROM t FINAL"), ["42|861|287"]);
}

#[test]
fn values_are_never_read_back_as_those_of_another_type() {
    let base = table("t", &[("id", Type::Int8, false), ("n", Type::Int4, false), ("s", Type::Int4, false)]);
    let mut scene = Scene::new();
    scene.prepare(&base);
    scene.write(&Rows::new(&base, 1).insert(&[int(1), int4(10), int4(20)]).batch());
    scene.query("ALTER TABLE t MODIFY COLUMN n Int64 SETTINGS mutations_sync = 1");
    let batch = Rows::new(&base, 10).update(&[int(1), V::Unchanged, V::Unchanged]).batch();
    let failure = scene.try_write(&batch).expect_err("the column has another type by now");
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Retry, "target_changed_meanwhile"));
    scene.restart();
    scene.write(&batch);
    assert_eq!(scene.rows("SELECT n, s FROM t FINAL"), ["10|20"]);
}

#[test]
fn a_plan_tells_where_rows_are_read_again_and_what_a_dropped_column_loses_by_it() {
    let mut scene = prepared();
    let mut dropped = base();
    dropped.version = 2;
    dropped.columns.remove(2);
    let steps = |scene: &mut Scene, table: &Table| {
        let plan = scene.connector.preview(&[table.clone().into()]).expect("told").remove(0);
        plan.steps.into_iter().map(|step| (step.kind, step.detail, step.warning)).collect::<Vec<_>>()
    };
    let [(StepKind::Keep, _, warning)] = &steps(&mut scene, &dropped)[..] else { panic!("one step") };
    assert_eq!(warning, "", "nothing is read again for that");
    for (data_type, kind) in [(Type::Int8, StepKind::Widen), (Type::Uuid, StepKind::Beside)] {
        dropped.columns[1].data_type = data_type;
        let [(first, detail, _), (StepKind::Keep, _, warning)] = &steps(&mut scene, &dropped)[..] else {
            panic!("two steps")
        };
        assert_eq!(*first, kind);
        assert!(detail.contains("read again"), "{detail}");
        assert!(warning.contains("column s any more") && warning.contains("type of n"), "{warning}");
    }
}

#[test]
fn a_renamed_column_of_the_key_keeps_its_name_there_where_the_mapping_says_so() {
    let mut scene = Scene::with(|config| {
        config.tables[0].columns.push(DestinationColumn {
            source_name: "key".to_owned(),
            destination_name: "id".to_owned(),
            ..DestinationColumn::default()
        });
    });
    scene.prepare(&base());
    scene.write(&Rows::new(&base(), 1).insert(&[int(1), int4(10), text("a")]).batch());
    let mut renamed = base();
    renamed.version = 2;
    renamed.columns[0].name = "key".to_owned();
    scene.prepare(&renamed);
    scene.write(&Rows::new(&renamed, 9).update(&[int(1), int4(11), V::Unchanged]).batch());
    assert_eq!(scene.rows("SELECT id, n, s FROM t FINAL"), ["1|11|a"]);
}
