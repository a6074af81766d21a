//! Everything that would not work is told before anything is done.

use tarn_batch::{Table, Type};
use tarn_sdk::{DestinationColumn, ExistingRows};

use super::rows::{Rows, V, int, text};
use super::scene::{Scene, table};

fn items() -> Table {
    table("t", &[("id", Type::Int8, false), ("name", Type::Text, true)])
}

fn problems(scene: &mut Scene, tables: &[Table]) -> Vec<String> {
    let problems = scene.connector.validate(tables).expect("the server answers");
    assert!(problems.iter().all(|problem| !problem.hint.is_empty()), "{problems:?}");
    problems.into_iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect()
}

const TARGET: &str = "table_mappings[0].destination_table_identifier";

#[test]
fn known_errors_have_the_names_that_the_server_gives_them() {
    let scene = Scene::new();
    for known in crate::known_errors::KNOWN {
        let name = scene.rows(&format!("SELECT errorCodeToName({})", known.code));
        assert_eq!(name, [known.name], "{}", known.code);
    }
}

#[test]
fn a_fresh_mirror_has_no_problem_and_leaves_no_trace() {
    let mut scene = Scene::new();
    assert_eq!(problems(&mut scene, &[items()]), [""; 0]);
    assert_eq!(scene.rows("SELECT count() FROM system.tables WHERE database = currentDatabase()"), ["0"]);
}

#[test]
fn a_target_of_a_mirrors_form_is_accepted_while_it_is_empty() {
    // B235.
    let mut scene = Scene::new();
    scene.prepare(&items());
    assert_eq!(problems(&mut scene, &[items()]), [""; 0]);
    scene.write(&Rows::new(&items(), 1).insert(&[int(1), V::Null]).batch());
    assert_eq!(problems(&mut scene, &[items()]), [format!("{TARGET}: table t has rows already")]);
}

#[test]
fn rows_that_are_to_stay_or_to_be_replaced_are_no_problem() {
    for existing in [ExistingRows::Kept, ExistingRows::Replaced] {
        let mut scene = Scene::with(|config| config.existing_rows = existing);
        scene.prepare(&items());
        scene.write(&Rows::new(&items(), 1).insert(&[int(1), V::Null]).batch());
        assert_eq!(problems(&mut scene, &[items()]), [""; 0], "{existing:?}");
    }
}

#[test]
fn a_table_of_another_form_is_refused_naming_each_difference() {
    let mut scene = Scene::new();
    scene.query(
        "CREATE TABLE t (id Int32, name String, _tarn_version UInt64) ENGINE = MergeTree ORDER BY name",
    );
    assert_eq!(
        problems(&mut scene, &[items()]),
        [
            "its engine is MergeTree, not ReplacingMergeTree",
            "column _tarn_version is UInt64, not UInt128",
            "column _tarn_is_deleted is missing",
            "column _tarn_synced_at is missing",
            "key column id is Int32, which is narrower than the source's",
            "column name is String, and the source's may be NULL",
        ]
        .map(|difference| format!("{TARGET}: table t is there, and {difference}"))
    );
}

#[test]
fn a_table_made_by_hand_is_accepted_when_it_holds_every_value() {
    let mut scene = Scene::new();
    scene.query(
        "CREATE TABLE t (extra Int32, name Nullable(String), id Int128, _tarn_synced_at DateTime64(6), \
         _tarn_is_deleted UInt8, _tarn_version UInt128) \
         ENGINE = ReplacingMergeTree(_tarn_version, _tarn_is_deleted) ORDER BY id",
    );
    assert_eq!(problems(&mut scene, &[items()]), [""; 0]);
    scene.prepare(&items());
    scene.write(&Rows::new(&items(), 1).insert(&[int(-1), text("x")]).batch());
    assert_eq!(scene.rows("SELECT id, name, extra FROM t FINAL"), ["-1|x|0"]);
}

#[test]
fn a_wrong_sorting_key_is_refused() {
    let mut scene = Scene::new();
    scene.query(
        "CREATE TABLE t (name Nullable(String), id Int64, _tarn_synced_at DateTime64(6), \
         _tarn_is_deleted UInt8, _tarn_version UInt128) \
         ENGINE = ReplacingMergeTree(_tarn_version, _tarn_is_deleted) ORDER BY (id % 10)",
    );
    let found = problems(&mut scene, &[items()]);
    assert!(found[0].contains("not by the source's key (id)"), "{found:?}");
}

#[test]
fn a_key_of_a_narrower_type_is_refused() {
    let mut scene = Scene::new();
    scene.query(
        "CREATE TABLE t (id Int32, name Nullable(String), _tarn_synced_at DateTime64(6), \
         _tarn_is_deleted UInt8, _tarn_version UInt128) \
         ENGINE = ReplacingMergeTree(_tarn_version, _tarn_is_deleted) ORDER BY id",
    );
    let found = problems(&mut scene, &[items()]);
    assert!(found[0].contains("key column id is Int32, which is narrower"), "{found:?}");
}

#[test]
fn two_sources_of_one_target_are_refused() {
    let mut scene = Scene::with(|config| config.tables[1].destination = "t".to_owned());
    assert_eq!(
        problems(&mut scene, &[]),
        ["table_mappings[1].destination_table_identifier: public.t and public.u both go to t"]
    );
}

#[test]
fn settings_of_columns_are_all_checked() {
    // B190, B191, B103.
    let setting = |source: &str, change: fn(&mut DestinationColumn)| {
        let mut column = DestinationColumn { source_name: source.to_owned(), ..DestinationColumn::default() };
        change(&mut column);
        column
    };
    let mut scene = Scene::with(|config| {
        config.tables[0].engine = "Log".to_owned();
        config.tables[0].partition_key = "id); DROP TABLE x".to_owned();
        config.tables[0].columns = vec![
            setting("id", |column| column.nullable_enabled = true),
            setting("nmae", |column| column.ordering = 1),
            setting("name", |column| column.destination_type = "Int8".to_owned()),
            setting("name", |column| column.ordering = 2),
        ];
    });
    let path = "table_mappings[0]";
    assert_eq!(
        problems(&mut scene, &[items()]),
        [
            format!("{path}.columns[1]: public.t has no column nmae"),
            format!("{path}.engine: engine Log is not known"),
            format!("{path}.partition_key: is not one expression"),
            format!("{path}.columns[0]: key column id may be NULL"),
            format!("{path}.columns[2]: name is text, which Int8 does not hold exactly"),
            format!("{path}.columns[3].ordering: name is not part of the key of public.t"),
        ]
    );
}

#[test]
fn a_partition_key_that_the_server_refuses_is_told_and_leaves_no_trace() {
    for (key, told) in [
        ("nope", "nope"),
        ("no_such_function(id)", "no_such_function"),
        ("name", "nullable"),
        ("rand()", "deterministic"),
        ("id,", "Syntax error"),
        ("id ORDER BY name", "Syntax error"),
    ] {
        let mut scene = Scene::with(|config| config.tables[0].partition_key = key.to_owned());
        let found = problems(&mut scene, &[items()]);
        assert_eq!(found.len(), 1, "{key}: {found:?}");
        assert!(
            found[0].starts_with("table_mappings[0].partition_key: is refused by the server"),
            "{found:?}"
        );
        assert!(found[0].contains(told), "{key}: {found:?}");
        assert_eq!(scene.rows("SELECT count() FROM system.tables WHERE database = currentDatabase()"), ["0"]);
    }
    for key in ["id % 10", "(id % 2, id % 3)", "tuple()", " intDiv(id, 100) "] {
        let mut scene = Scene::with(|config| config.tables[0].partition_key = key.to_owned());
        assert_eq!(problems(&mut scene, &[items()]), [""; 0], "{key}");
        assert_eq!(scene.rows("SELECT count() FROM system.tables WHERE database = currentDatabase()"), ["0"]);
    }
}

#[test]
fn a_table_without_a_key_is_refused() {
    let mut keyless = items();
    keyless.columns[0].key = 0;
    let found = problems(&mut Scene::new(), &[keyless]);
    assert_eq!(found, ["table_mappings[0].source_table_identifier: public.t has no key"]);
}

#[test]
fn a_missing_database_is_named() {
    let mut scene = Scene::new();
    let database = scene.rows("SELECT currentDatabase()").remove(0);
    scene.query(&format!("DROP DATABASE {database} SYNC"));
    let found = problems(&mut scene, &[items()]);
    assert!(found.len() == 1 && found[0].starts_with("destination_name:") && found[0].contains(&database));
}
