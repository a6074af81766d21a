//! Columns with a dot in their names.

use tarn_batch::value::ArrayWriter;
use tarn_batch::{Column, Table, Type};
use tarn_sdk::{DestinationColumn, StepKind};

use super::rows::{Rows, V, int, int4, text};
use super::scene::{Scene, table};
use crate::nested::{Named, can_be_renamed};

fn base() -> Table {
    table("t", &[("id", Type::Int8, false), ("a", Type::Int4, true), ("x.y", Type::Text, true)])
}

/// A scene with the row `(1, 10, 'k')`.
fn prepared() -> Scene {
    let mut scene = Scene::new();
    scene.prepare(&base());
    scene.write(&Rows::new(&base(), 1).insert(&[int(1), int4(10), text("k")]).batch());
    scene
}

/// The table with other names for its second and third column.
fn named(second: &str, third: &str) -> Table {
    let mut table = base();
    table.version = 2;
    second.clone_into(&mut table.columns[1].name);
    third.clone_into(&mut table.columns[2].name);
    table
}

fn arrays(names: &[&str]) -> Table {
    let array = || Type::Array(Box::new(Type::Int8));
    let columns: Vec<_> = names.iter().map(|&name| (name, array(), false)).collect();
    table("t", &[&[("id", Type::Int8, false)][..], &columns].concat())
}

fn array(values: &[i64]) -> V {
    let mut bytes = Vec::new();
    let dimensions: Vec<u32> =
        (!values.is_empty()).then(|| u32::try_from(values.len()).expect("few")).into_iter().collect();
    let mut writer = ArrayWriter::new(&mut bytes, dimensions.len()).expect("few dimensions");
    for value in values {
        writer.value(&value.to_le_bytes());
    }
    writer.finish(&dimensions).expect("as many elements as the dimensions say");
    V::Bytes(bytes)
}

fn columns(scene: &Scene) -> Vec<String> {
    scene.rows(
        "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = 't' \
         AND name NOT LIKE '\\\\_tarn%' ORDER BY position",
    )
}

/// The warnings of what would be done, and the statements.
fn planned(scene: &mut Scene, table: &Table) -> (Vec<String>, Vec<String>) {
    let plan = scene.connector.preview(&[table.clone().into()]).expect("told").remove(0);
    assert_eq!(plan.refused, "");
    let warnings = plan.steps.iter().map(|step| step.warning.clone()).filter(|warning| !warning.is_empty());
    (warnings.collect(), plan.steps.iter().flat_map(|step| step.statements.clone()).collect())
}

#[test]
fn a_column_that_is_renamed_to_or_from_a_part_keeps_its_name_and_gets_its_values() {
    let mut scene = prepared();
    let renamed = named("n.m", "z");
    for attempt in 0..3 {
        let (warnings, statements) = planned(&mut scene, &renamed);
        assert_eq!(statements, [""; 0]);
        let [one, other] = &warnings[..] else { panic!("two warnings: {warnings:?}") };
        assert!(one.contains("column n.m holds at the source goes to column a here"), "{one}");
        assert!(other.contains("column z holds at the source goes to column x.y here"), "{other}");
        scene.restart();
        scene.prepare(&renamed);
        let row = [int(2), int4(attempt), text("l")];
        let mut rows = Rows::new(&renamed, 10 + 2 * u64::from(attempt.unsigned_abs()));
        scene.write(&rows.insert(&row).update(&[int(1), V::Unchanged, text("new")]).batch());
        assert_eq!(
            scene.rows("SELECT a, `x.y` FROM t FINAL ORDER BY id"),
            ["10|new".to_owned(), format!("{attempt}|l")]
        );
    }
    // What comes again from before goes to the same columns, and so does what is called otherwise once more.
    for again in [base(), named("a", "y"), named("x.y", "a")] {
        scene.prepare(&again);
        assert_eq!(columns(&scene), ["id", "a", "x.y"]);
    }
    // Within a Nested a column is renamed.
    scene.prepare(&named("n.m", "x.z"));
    assert_eq!(columns(&scene), ["id", "a", "x.z"]);
    scene.connector.drop_tables(&["t".to_owned()]).expect("dropped");
    scene.prepare(&renamed);
    assert_eq!(columns(&scene), ["id", "n.m", "z"], "a table that is made anew has the names");
}

#[test]
fn a_name_that_a_column_could_not_leave_goes_to_a_new_one() {
    let mut scene = prepared();
    let mut renamed = named("n.m", "x.y");
    let data_type = Type::Text;
    let again =
        Column { name: "a".to_owned(), data_type, nullable: true, attribute: 4, ..base().columns[1].clone() };
    renamed.columns.push(again);
    for _ in 0..2 {
        scene.restart();
        scene.prepare(&renamed);
        assert_eq!(columns(&scene), ["id", "a_dropped_2", "x.y", "a"]);
    }
    scene.write(&Rows::new(&renamed, 9).insert(&[int(2), int4(20), V::Null, text("new")]).batch());
    assert_eq!(scene.rows("SELECT a_dropped_2, a FROM t FINAL ORDER BY id"), ["10|NULL", "20|new"]);
}

#[test]
fn what_is_said_of_names_is_what_the_server_does() {
    let forms =
        [("a", "Int64"), ("b", "Array(Int64)"), ("n.x", "Int64"), ("n.y", "Array(Int64)"), ("m.x", "Int64")];
    let names = ["k", "n", "m", "n.k", "m.k", "l.k", ".k", "k.", ".k.l", "k..l", "k.l.", "n.k.l"];
    let scene = Scene::new();
    let is_array = |form: &str| form.starts_with("Array");
    for (from, form) in forms {
        for to in names {
            let definitions: Vec<_> = forms.iter().map(|(name, form)| format!("`{name}` {form}")).collect();
            scene.query("DROP TABLE IF EXISTS f SYNC");
            scene.query(&format!(
                "CREATE TABLE f ({}) ENGINE = MergeTree ORDER BY ()",
                definitions.join(", ")
            ));
            scene.query("INSERT INTO f VALUES (1, [2, 3], 4, [5], 6)");
            let others = forms.iter().filter(|(name, _)| *name != from);
            let others = others.map(|(name, form)| Named { name, is_array: is_array(form) });
            let to_form = Named { name: to, is_array: is_array(form) };
            let renamed =
                format!("ALTER TABLE f RENAME COLUMN `{from}` TO `{to}` SETTINGS mutations_sync = 1");
            let done = scene.try_query(&renamed).and_then(|_| scene.try_query("SELECT * FROM f"));
            assert_eq!(can_be_renamed(from, to_form, others), done.is_ok(), "{from} to {to}: {done:?}");
        }
    }
}

#[test]
fn arrays_that_would_be_parts_of_one_nested_are_refused_with_a_remedy() {
    let refused = |scene: &mut Scene, table: &Table| {
        let problems = scene.connector.validate(std::slice::from_ref(table)).expect("the server answers");
        let [problem] = &problems[..] else { panic!("one problem: {problems:?}") };
        assert_eq!(problem.path, "table_mappings[0].columns");
        let failure = scene.connector.prepare(&[table.clone().into()]).expect_err("it is not made");
        assert_eq!((failure.code.as_str(), &failure.message), ("mapping_invalid", &problem.message));
        assert_eq!(columns(scene), [""; 0]);
        (problem.message.clone(), problem.hint.clone())
    };
    let (message, hint) = refused(&mut Scene::new(), &arrays(&["a.x", "b.x", "a.y"]));
    assert!(message.contains("the arrays a.x and a.y for parts of a Nested a"), "{message}");
    assert!(hint.contains("--column-name public.t:a.x=a_x"), "{hint}");
    let mut whole = arrays(&["a.x", "a"]);
    whole.columns[2].data_type = Type::Text;
    let (message, _) = refused(&mut Scene::new(), &whole);
    assert!(message.contains("a.x for a part of a Nested a, which is another column's name"), "{message}");
    // As the remedy says.
    let mut scene = Scene::with(|config| {
        config.tables[0].columns.push(DestinationColumn {
            source_name: "a.x".to_owned(),
            destination_name: "a_x".to_owned(),
            ..DestinationColumn::default()
        });
    });
    let table = arrays(&["a.x", "b.x", "a.y"]);
    assert_eq!(scene.connector.validate(std::slice::from_ref(&table)), Ok(Vec::new()));
    scene.prepare(&table);
    scene.write(&Rows::new(&table, 1).insert(&[int(1), array(&[1]), array(&[]), array(&[2, 3])]).batch());
    assert_eq!(scene.rows("SELECT a_x, `b.x`, `a.y` FROM t"), ["[1]|[]|[2,3]"]);
}

#[test]
fn a_table_that_knows_no_parts_takes_every_name() {
    let mut scene = Scene::new();
    scene.query(
        "CREATE TABLE t (id Int64, `a.x` Array(Nullable(Int64)), _tarn_version UInt128, _tarn_is_deleted UInt8, \
         _tarn_synced_at DateTime64(6)) ENGINE = ReplacingMergeTree(_tarn_version, _tarn_is_deleted) ORDER BY id \
         SETTINGS share_nested_offsets = 0",
    );
    let table = arrays(&["a.x", "a.y"]);
    assert_eq!(scene.connector.validate(std::slice::from_ref(&table)), Ok(Vec::new()));
    scene.prepare(&table);
    scene.write(&Rows::new(&table, 1).insert(&[int(1), array(&[1]), array(&[2, 3])]).batch());
    let mut renamed = table.clone();
    renamed.version = 2;
    renamed.columns[2].name = "b".to_owned();
    scene.prepare(&renamed);
    assert_eq!(scene.rows("SELECT `a.x`, b FROM t"), ["[1]|[2,3]"]);
}

#[test]
fn a_new_column_that_the_server_would_not_have_is_refused_with_a_remedy() {
    let mut scene = Scene::new();
    scene.prepare(&arrays(&["a.x"]));
    let mut second = arrays(&["a.x", "a.y"]);
    second.version = 2;
    let mut whole = arrays(&["a.x", "a"]);
    whole.columns[2].data_type = Type::Text;
    for new in [second, whole] {
        let failure = scene.connector.evolve(&[new.clone().into()]).expect_err("rows could not be written");
        assert_eq!(failure.code, "column_change_unsupported");
        let name = &new.columns[2].name;
        assert!(failure.message.contains("a Nested a"), "{failure}");
        assert!(failure.hint.contains(&format!("--column-name public.t:{name}=")), "{failure:?}");
        assert_eq!(columns(&scene), ["id", "a.x"]);
    }
    let mut scalar = arrays(&["a.x", "a.y"]);
    scalar.columns[2].data_type = Type::Text;
    let plan = scene.connector.preview(&[scalar.into()]).expect("told").remove(0);
    assert_eq!(plan.steps.iter().map(|step| step.kind).collect::<Vec<_>>(), [StepKind::Add]);
}
