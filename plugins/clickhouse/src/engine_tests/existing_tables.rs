//! A table that is there is taken where it holds every value, and refused with each difference, where it is, and what to
//! do.

use tarn_batch::{Table, Type};
use tarn_sdk::{DestinationColumn, DestinationConfig, DestinationTable};

use super::rows::{Rows, V, int, text};
use super::scene::{Scene, table};

/// The columns that every target has.
const OWN: &str = "_tarn_version UInt128, _tarn_is_deleted UInt8, _tarn_synced_at DateTime64(6)";

/// The engine that targets usually have.
const REPLACING: &str = "ENGINE = ReplacingMergeTree(_tarn_version, _tarn_is_deleted) ORDER BY id";

fn items() -> Table {
    table("t", &[("id", Type::Int8, false), ("name", Type::Text, true)])
}

/// Problems of a mirror of `items` into the table that is there, as path, message and hint.
fn told(scene: &mut Scene) -> Vec<(String, String, String)> {
    let problems = scene.connector.validate(&[items()]).expect("the server answers");
    problems.into_iter().map(|problem| (problem.path, problem.message, problem.hint)).collect()
}

/// A scene whose target `t` was made by these statements: `COLUMNS` stands for those that every target has, `USUAL` for the
/// usual engine.
fn with_table(change: impl FnOnce(&mut DestinationTable), statements: &str) -> Scene {
    let scene = Scene::with(|config| change(&mut config.tables[0]));
    for statement in statements.split(';') {
        scene.query(&statement.replace("COLUMNS", OWN).replace("USUAL", REPLACING));
    }
    scene
}

/// Statements; what is told; what to do.
type Difference = (&'static str, &'static str, &'static str);

const DIFFERENCES: &[Difference] = &[
    // Engines.
    (
        "CREATE TABLE t (id Int64, name Nullable(String), COLUMNS) ENGINE = MergeTree ORDER BY id",
        "its engine is MergeTree, not ReplacingMergeTree",
        "make it with ReplacingMergeTree",
    ),
    (
        "CREATE TABLE t (id Int64, name Nullable(String), COLUMNS) ENGINE = CoalescingMergeTree ORDER BY id",
        "its engine is CoalescingMergeTree, not ReplacingMergeTree",
        "make it with ReplacingMergeTree",
    ),
    (
        "CREATE TABLE t (id Int64, name Nullable(String), COLUMNS) ENGINE = Memory",
        "its engine is Memory",
        "make it with ReplacingMergeTree",
    ),
    (
        "CREATE TABLE t (id Int64, name Nullable(String), COLUMNS) ENGINE = ReplacingMergeTree(_tarn_version) ORDER BY id",
        "its engine is ReplacingMergeTree(_tarn_version)",
        "make it with ReplacingMergeTree(_tarn_version, _tarn_is_deleted)",
    ),
    (
        "CREATE TABLE u (id Int64, name Nullable(String), COLUMNS) USUAL; CREATE VIEW t AS SELECT * FROM u",
        "its engine is View",
        "drop the view, or name another destination table",
    ),
    (
        "CREATE TABLE u (id Int64, name Nullable(String), COLUMNS) USUAL;
         CREATE MATERIALIZED VIEW t (id Int64) ENGINE = MergeTree ORDER BY id AS SELECT id FROM u",
        "its engine is MaterializedView",
        "drop the view, or name another destination table",
    ),
    (
        "CREATE DICTIONARY t (id Int64, name String) PRIMARY KEY id SOURCE(CLICKHOUSE(TABLE 'u')) LAYOUT(FLAT()) LIFETIME(1)",
        "its engine is Dictionary",
        "drop the dictionary",
    ),
    // The sorting key.
    (
        "CREATE TABLE t (id Int64, name Nullable(String), more String, COLUMNS)
         ENGINE = ReplacingMergeTree(_tarn_version, _tarn_is_deleted) ORDER BY (id, more)",
        "it is sorted by id, more, not by the source's key (id)",
        "make it with ORDER BY (id)",
    ),
    (
        "CREATE TABLE t (id Int64, name Nullable(String), COLUMNS)
         ENGINE = ReplacingMergeTree(_tarn_version, _tarn_is_deleted) ORDER BY intHash64(id)",
        "it is sorted by intHash64(id), not by the source's key (id)",
        "make it with ORDER BY (id)",
    ),
    (
        "CREATE TABLE t (ID Int64, name Nullable(String), COLUMNS)
         ENGINE = ReplacingMergeTree(_tarn_version, _tarn_is_deleted) ORDER BY ID",
        "it is sorted by ID, not by the source's key (id)",
        "make it with ORDER BY (id)",
    ),
    // Columns of the mirror's own.
    (
        "CREATE TABLE t (id Int64, name Nullable(String), _tarn_version UInt128, _tarn_is_deleted UInt8) USUAL",
        "column _tarn_synced_at is missing",
        "add _tarn_synced_at DateTime64(6, 'UTC') to the table",
    ),
    (
        "CREATE TABLE t (id Int64, name Nullable(String), _tarn_version UInt64, _tarn_is_deleted UInt8,
         _tarn_synced_at DateTime64(6)) USUAL",
        "column _tarn_version is UInt64, not UInt128",
        "make it UInt128",
    ),
    // Columns of the source's.
    (
        "CREATE TABLE t (id Int32, name Nullable(String), COLUMNS) USUAL",
        "key column id is Int32, which is narrower than the source's",
        "make it Int64",
    ),
    (
        "CREATE TABLE t (id Int64, name Nullable(Float64), COLUMNS) USUAL",
        "column name is Nullable(Float64), which does not hold text exactly",
        "make it Nullable(String)",
    ),
    (
        "CREATE TABLE t (id Int64, name Map(String, String), COLUMNS) USUAL",
        "column name is Map(String, String), which does not hold text exactly",
        "make it Nullable(String)",
    ),
    (
        "CREATE TABLE t (id Int64, name String, COLUMNS) USUAL",
        "column name is String, and the source's may be NULL",
        "make it Nullable(String)",
    ),
    (
        "CREATE TABLE t (id Int64, name Nullable(String) MATERIALIZED 'x', COLUMNS) USUAL",
        "column name is MATERIALIZED: what is written there is not kept",
        "make it an ordinary column, Nullable(String)",
    ),
    (
        "CREATE TABLE t (id Int64, name Nullable(String) ALIAS toString(id), COLUMNS) USUAL",
        "column name is ALIAS: what is written there is not kept",
        "make it an ordinary column, Nullable(String)",
    ),
    (
        "CREATE TABLE t (id Int64, name Nullable(String) EPHEMERAL, COLUMNS) USUAL",
        "column name is EPHEMERAL: what is written there is not kept",
        "make it an ordinary column, Nullable(String)",
    ),
];

/// Also a table that only a mirror of another engine could write to.
const HISTORY_DIFFERENCES: &[Difference] = &[
    (
        "CREATE TABLE t (id Int64, name Nullable(String), COLUMNS) USUAL",
        "its engine is ReplacingMergeTree, not MergeTree",
        "make it with MergeTree",
    ),
    (
        "CREATE TABLE t (id Int64, name Nullable(String), COLUMNS) ENGINE = SummingMergeTree ORDER BY id",
        "its engine is SummingMergeTree, not MergeTree",
        "make it with MergeTree",
    ),
];

#[test]
fn each_difference_is_told_with_its_place_and_what_to_do() {
    let usual = DIFFERENCES.iter().map(|difference| ("", difference));
    let history = HISTORY_DIFFERENCES.iter().map(|difference| ("MergeTree", difference));
    for (engine, (statements, message, hint)) in usual.chain(history) {
        let mut scene = with_table(|mapping| engine.clone_into(&mut mapping.engine), statements);
        let found = told(&mut scene);
        let [(path, told, remedy)] = &found[..] else { panic!("{statements}: {found:#?}") };
        assert_eq!(path, "table_mappings[0].destination_table_identifier", "{statements}");
        assert_eq!(
            told.strip_prefix("table t is there, and ").map(|told| told.starts_with(message)),
            Some(true),
            "{told}"
        );
        assert!(remedy.starts_with(hint), "{statements}: {remedy}");
        // Where nobody looked before, the first description of the table is refused, or its first row; or it could be
        // mended, and holds the row.
        let written = scene.connector.evolve(&[items().into()]).and_then(|()| {
            scene.try_write(
                &Rows::new(&items(), 1).insert(&[int(1), V::Null]).insert(&[int(2), text("a")]).batch(),
            )
        });
        let Err(failure) = written else {
            assert_eq!(scene.rows("SELECT id, name FROM t ORDER BY id"), ["1|NULL", "2|a"], "{statements}");
            continue;
        };
        assert!(
            ["target_incompatible", "column_change_unsupported"].contains(&failure.code.as_str()),
            "{failure:?}"
        );
        assert!(!failure.hint.is_empty() && failure.table == "public.t", "{failure:?}");
    }
}

/// Tables that hold every value, though they look otherwise.
const TAKEN: &[&str] = &[
    // Wider types, NULL where the source has none, another order, names of other columns.
    "CREATE TABLE t (COLUMNS, name LowCardinality(Nullable(String)), id Int128) USUAL",
    "CREATE TABLE t (id Decimal(30, 0), name Nullable(String), COLUMNS) USUAL",
    // Columns of somebody else's, with a default of their own and without.
    "CREATE TABLE t (id Int64, name Nullable(String), extra Int32, more String DEFAULT 'own', shown String ALIAS more,
     COLUMNS) USUAL",
    // One of the source's is missing: it is added.
    "CREATE TABLE t (id Int64, COLUMNS) USUAL",
    // Names in another case are other names.
    "CREATE TABLE t (id Int64, NAME String, COLUMNS) USUAL",
    "CREATE TABLE T (id String) ENGINE = MergeTree ORDER BY id",
    // A default does not matter where each row brings a value.
    "CREATE TABLE t (id Int64, name Nullable(String) DEFAULT 'unknown', COLUMNS) USUAL",
    // A part of the key in front of the index, partitions, a time to live, an index, a projection.
    "CREATE TABLE t (id Int64, name Nullable(String), COLUMNS, INDEX i name TYPE bloom_filter)
     ENGINE = ReplacingMergeTree(_tarn_version, _tarn_is_deleted) PARTITION BY id % 10 PRIMARY KEY id ORDER BY (id)
     TTL toDateTime(_tarn_synced_at) + INTERVAL 10 YEAR",
];

#[test]
fn a_table_that_holds_every_value_is_taken_and_written_to() {
    for statements in TAKEN {
        let mut scene = with_table(|_| {}, statements);
        assert_eq!(told(&mut scene), [], "{statements}");
        scene.prepare(&items());
        let mut rows = Rows::new(&items(), 1);
        rows.insert(&[int(1), text("a")]).insert(&[int(2), V::Null]).update(&[int(1), text("b")]);
        scene.write(&rows.batch());
        assert_eq!(scene.rows("SELECT id, name FROM t FINAL ORDER BY id"), ["1|b", "2|NULL"], "{statements}");
    }
}

#[test]
fn a_user_who_may_only_read_is_told_so_once() {
    for partition_key in ["", "id % 10"] {
        let mut scene = Scene::with(|config| config.tables[0].partition_key = partition_key.to_owned());
        scene.trouble.set_profile(&[("readonly", "1")]);
        let found = told(&mut scene);
        let [(path, message, hint)] = &found[..] else { panic!("{found:#?}") };
        assert_eq!(path, "destination_name");
        assert!(message.starts_with("the peer's user cannot create tables in its database"), "{message}");
        assert!(
            message.contains("READONLY") && hint.contains("a profile that may write"),
            "{message} {hint}"
        );
    }
}

fn chosen(source: &str, data_type: &str) -> DestinationColumn {
    DestinationColumn {
        source_name: source.to_owned(),
        destination_type: data_type.to_owned(),
        ..DestinationColumn::default()
    }
}

#[test]
fn a_type_or_codec_that_the_server_refuses_is_told_and_leaves_no_trace() {
    for (data_type, told_of) in [
        ("String CODEC(NoSuchCodec)", "NoSuchCodec"),
        ("String CODEC(DoubleDelta, ZSTD(3))", "DoubleDelta"),
        ("FixedString(3) CODEC(FPC)", "FPC"),
    ] {
        let mut scene = Scene::with(|config| config.tables[0].columns = vec![chosen("name", data_type)]);
        let found = told(&mut scene);
        let [(path, message, hint)] = &found[..] else { panic!("{data_type}: {found:#?}") };
        assert_eq!(path, "table_mappings[0].columns", "{data_type}");
        assert!(message.starts_with("is refused by the server") && message.contains(told_of), "{message}");
        assert!(hint.contains("types and codecs that the server has"), "{hint}");
        assert_eq!(scene.rows("SELECT count() FROM system.tables WHERE database = currentDatabase()"), ["0"]);
    }
}

#[test]
fn a_codec_is_the_columns_also_where_it_is_added() {
    let codec = "LowCardinality(String) CODEC(ZSTD(3))";
    let mut scene = Scene::with(|config| {
        config.tables[0].columns = vec![chosen("name", codec), chosen("late", "String CODEC(LZ4)")];
    });
    let mut late = items();
    late.columns.extend(table("t", &[("late", Type::Text, true)]).columns);
    late.columns[2].key = 0;
    late.columns[2].attribute = 3;
    assert_eq!(scene.connector.validate(&[late.clone()]).expect("an answer"), []);
    scene.prepare(&items());
    scene.prepare(&late);
    assert_eq!(
        scene.rows(
            "SELECT name, type, compression_codec FROM system.columns
             WHERE database = currentDatabase() AND table = 't' AND name IN ('name', 'late') ORDER BY position"
        ),
        ["name|LowCardinality(Nullable(String))|CODEC(ZSTD(3))", "late|Nullable(String)|CODEC(LZ4)"]
    );
    scene.write(&Rows::new(&late, 1).insert(&[int(1), text("a"), V::Null]).batch());
    assert_eq!(scene.rows("SELECT name, late FROM t"), ["a|NULL"]);
}

fn usual(numeric: &str, time: &str, json: &str) -> impl FnOnce(&mut DestinationConfig) {
    let usual = [numeric, time, json].map(str::to_owned);
    move |config| {
        [config.usual_types.numeric, config.usual_types.time, config.usual_types.json] = usual;
    }
}

/// A numeric without bounds, one with, a time and a document.
fn of_choice() -> Table {
    table(
        "t",
        &[
            ("id", Type::Int8, false),
            ("n", Type::Numeric { precision: 0, scale: 0 }, true),
            ("price", Type::Numeric { precision: 10, scale: 2 }, true),
            ("at", Type::Time, true),
            ("j", Type::Json, true),
            ("k", Type::Json, false),
        ],
    )
}

#[test]
fn a_mirrors_own_types_are_those_of_columns_that_would_be_text_and_null_stays_null() {
    // B013, B047, B058, B188.
    let mut scene = Scene::with(usual("Decimal(76, 38)", "Time64(6)", "JSON"));
    assert_eq!(scene.connector.validate(&[of_choice()]).expect("an answer"), []);
    scene.prepare(&of_choice());
    let json = r#"{"a": {"b": 9007199254740993}}"#;
    let mut rows = Rows::new(&of_choice(), 1);
    rows.insert(&[int(1), text("-1.5"), text("2.50"), int(86_400_000_000), text(json), text(json)]);
    rows.insert(&[int(2), V::Null, V::Null, V::Null, V::Null, text("{}")]);
    scene.write(&rows.batch());
    assert_eq!(
        scene.rows("SELECT toTypeName(n), toTypeName(price), toTypeName(at), toTypeName(j), toTypeName(k) FROM t LIMIT 1"),
        ["Nullable(Decimal(76, 38))|Nullable(Decimal(10, 2))|Nullable(Time64(6))|Nullable(JSON)|JSON"]
    );
    assert_eq!(
        scene.rows("SELECT id, n, at, j.a.b, j IS NULL FROM t FINAL ORDER BY id"),
        ["1|-1.5|24:00:00.000000|9007199254740993|0", "2|NULL|NULL|NULL|1"]
    );
    // What the chosen type cannot hold is the row's trouble, which the mirror's policy decides.
    for value in ["1e39", "0.000000000000000000000000000000000000001", "NaN"] {
        let value = if value == "1e39" { format!("1{}", "0".repeat(39)) } else { value.to_owned() };
        let mut rows = Rows::new(&of_choice(), 9);
        rows.insert(&[int(3), text(&value), V::Null, V::Null, V::Null, text("{}")]);
        let failure = scene.try_write(&rows.batch()).expect_err("it does not fit");
        assert_eq!(failure.class, tarn_sdk::FailureClass::Record, "{failure:?}");
        assert!(failure.message.contains("column n"), "{failure:?}");
    }
    // A deleted row and one with an unchanged value, which is read back.
    let mut rows = Rows::new(&of_choice(), 20);
    rows.update(&[int(1), V::Unchanged, text("3.00"), V::Unchanged, V::Unchanged, V::Unchanged])
        .delete(int(2));
    scene.write(&rows.batch());
    assert_eq!(
        scene.rows("SELECT id, n, price, at, j.a.b, k.a.b FROM t FINAL"),
        ["1|-1.5|3|24:00:00.000000|9007199254740993|9007199254740993"]
    );
}

#[test]
fn a_mirrors_own_types_that_hold_no_such_values_are_told_by_their_setting() {
    let mut scene = Scene::with(usual("Float64", "DateTime", "Jason"));
    let problems = scene.connector.validate(&[of_choice()]).expect("an answer");
    let paths: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(
        paths,
        ["env.TARN_CLICKHOUSE_NUMERIC", "env.TARN_CLICKHOUSE_TIME", "env.TARN_CLICKHOUSE_JSON"]
    );
    assert!(problems.iter().all(|problem| !problem.hint.is_empty()), "{problems:?}");
}

#[test]
fn a_column_with_settings_may_leave_the_source() {
    let mut scene =
        Scene::with(|config| config.tables[0].columns = vec![chosen("name", "LowCardinality(String)")]);
    scene.prepare(&items());
    scene.write(&Rows::new(&items(), 1).insert(&[int(1), text("a")]).batch());
    let without = table("t", &[("id", Type::Int8, false)]);
    scene.prepare(&without);
    scene.write(&Rows::new(&without, 2).insert(&[int(2)]).batch());
    assert_eq!(scene.rows("SELECT id, name FROM t ORDER BY id"), ["1|a", "2|NULL"]);
}

#[test]
fn a_load_into_many_partitions_is_taken() {
    let mut scene = Scene::with(|config| config.tables[0].partition_key = "id".to_owned());
    scene.prepare(&items());
    let mut rows = Rows::new(&items(), 1);
    for id in 0..300 {
        rows.insert(&[int(id), V::Null]);
    }
    scene.write(&rows.batch());
    assert_eq!(scene.rows("SELECT count() FROM t"), ["300"]);
}

/// Why no target has this engine: it shows what the source never had.
#[test]
fn coalescing_is_refused_for_it_shows_values_that_were_replaced_by_null() {
    let mut scene = Scene::with(|config| config.tables[0].engine = "CoalescingMergeTree".to_owned());
    let found = told(&mut scene);
    let [(path, message, hint)] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(path, "table_mappings[0].engine");
    assert!(message.contains("keeps the value from before where the source's becomes NULL"), "{message}");
    assert!(hint.contains("use ReplacingMergeTree"), "{hint}");
    scene.query(
        "CREATE TABLE c (id Int64, name Nullable(String), v UInt64) ENGINE = CoalescingMergeTree ORDER BY id",
    );
    for row in ["(1, 'old', 1)", "(1, NULL, 2)", "(2, 'new', 2)", "(2, 'late', 1)"] {
        scene.query(&format!("INSERT INTO c VALUES {row}"));
    }
    assert_eq!(scene.rows("SELECT id, name FROM c FINAL ORDER BY id"), ["1|old", "2|late"]);
}
