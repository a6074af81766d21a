//! Values of every type come back as PostgreSQL shows them.

use tarn_batch::value::ArrayWriter;
use tarn_batch::{Table, Type};
use tarn_sdk::{DestinationColumn, DestinationConfig, FailureClass};

use super::rows::{Rows, V, int, int4, text};
use super::scene::{Scene, table};

/// Writes one value of a type and reads the column back.
fn written(scene: &mut Scene, data_type: &Type, nullable: bool, value: V) -> Result<String, String> {
    let table = table("t", &[("id", Type::Int8, false), ("c", data_type.clone(), nullable)]);
    scene.query("DROP TABLE IF EXISTS t SYNC");
    scene.restart();
    scene.prepare(&table);
    scene.try_write(&Rows::new(&table, 1).insert(&[int(1), value]).batch()).map_err(|failure| {
        assert_eq!(failure.class, FailureClass::Record);
        failure.message
    })?;
    Ok(scene.rows("SELECT c FROM t").remove(0))
}

fn array(element: &Type, dimensions: &[u32], elements: &[V]) -> (Type, V) {
    let mut value = Vec::new();
    let mut writer = ArrayWriter::new(&mut value, dimensions.len()).expect("few dimensions");
    for element in elements {
        match element {
            V::Bytes(bytes) => writer.value(bytes),
            _ => writer.null(),
        }
    }
    writer.finish(dimensions).expect("as many elements as the dimensions say");
    (Type::Array(Box::new(element.clone())), V::Bytes(value))
}

#[test]
fn scalars_come_back_exactly() {
    // B014, B026, B029, B031, B041, B043, B046, B047, B062.
    let numeric = |precision, scale| Type::Numeric { precision, scale };
    let mut scene = Scene::new();
    for (data_type, value, shown) in [
        (Type::Bool, V::Bytes(vec![1]), "true"),
        (Type::Int2, V::Bytes(i16::MIN.to_le_bytes().to_vec()), "-32768"),
        (Type::Int4, int4(i32::MAX), "2147483647"),
        (Type::Int8, int(9_007_199_254_740_993), "9007199254740993"),
        (Type::Float4, V::Bytes(0.1f32.to_le_bytes().to_vec()), "0.1"),
        (Type::Float8, V::Bytes(f64::NAN.to_le_bytes().to_vec()), "nan"),
        (numeric(38, 0), text("10000000000000000000000000"), "10000000000000000000000000"),
        (numeric(76, 38), text("-1.5"), "-1.5"),
        (numeric(5, -2), text("1234500"), "1234500"),
        (numeric(3, 5), text("0.00123"), "0.00123"),
        (numeric(0, 0), text("67806780999999999997777.00"), "67806780999999999997777.00"),
        (numeric(0, 0), text("NaN"), "NaN"),
        (Type::Text, text(""), ""),
        (Type::Bytes, V::Bytes(vec![0]), "\0"),
        (Type::Date, int4(-719_162), "0001-01-01"),
        (Type::Timestamp, int(-1), "1969-12-31 23:59:59.999999"),
        (Type::TimestampTz, int(253_402_300_799_999_999), "9999-12-31 23:59:59.999999"),
        (Type::Time, int(86_400_000_000), "24:00:00"),
        (Type::Time, int(86_399_999_999), "23:59:59.999999"),
        (Type::Uuid, V::Bytes((0..16).collect()), "00010203-0405-0607-0809-0a0b0c0d0e0f"),
        (
            Type::Json,
            text(r#"{"id": 9007199254740993, "s": "\\a\\b\\ufoobar"}"#),
            r#"{"id": 9007199254740993, "s": "\\a\\b\\ufoobar"}"#,
        ),
        (Type::Enum, text("a'b"), "a'b"),
        (Type::Other, text("(1,2),(3,4)"), "(1,2),(3,4)"),
    ] {
        for nullable in [false, true] {
            let found = written(&mut scene, &data_type, nullable, value.clone());
            assert_eq!(found.as_deref(), Ok(shown), "{data_type:?}");
        }
        assert_eq!(written(&mut scene, &data_type, true, V::Null).as_deref(), Ok("NULL"), "{data_type:?}");
    }
}

#[test]
fn arrays_come_back_with_their_nulls_and_dimensions() {
    // B001, B002, B008, B032, B037, B061.
    let mut scene = Scene::new();
    let (ints, some) = array(&Type::Int4, &[3], &[int4(1), V::Null, int4(3)]);
    let (_, none) = array(&Type::Int4, &[], &[]);
    let (texts, nested) = array(&Type::Text, &[2, 1], &[V::Null, text("NULL")]);
    assert_eq!(written(&mut scene, &ints, false, some.clone()).as_deref(), Ok("[1,NULL,3]"));
    assert_eq!(written(&mut scene, &ints, false, none.clone()).as_deref(), Ok("[]"));
    assert_eq!(
        written(&mut scene, &texts, false, nested.clone()),
        Err("row (id = 1): column c is an array of 2 dimensions, and Array(Nullable(String)) has 1"
            .to_owned())
    );
    // An array that may be NULL is text: ClickHouse has no NULL of arrays.
    for (data_type, value, shown) in [
        (&ints, some, "{1,NULL,3}"),
        (&ints, none, "{}"),
        (&texts, nested, "{{NULL},{\"NULL\"}}"),
        (&ints, V::Null, "NULL"),
    ] {
        assert_eq!(written(&mut scene, data_type, true, value).as_deref(), Ok(shown));
    }
}

#[test]
fn what_no_date_can_be_is_a_failure_and_never_another_date() {
    // B010, B011, B028, B034, B056.
    let mut scene = Scene::new();
    for (data_type, value, why) in [
        (Type::Date, int4(i32::MAX), "infinity"),
        (Type::Date, int4(-719_529), "range"),
        (Type::Timestamp, int(i64::MIN), "infinity"),
        (Type::TimestampTz, int(253_402_300_800_000_000), "range"),
    ] {
        let failure = written(&mut scene, &data_type, true, value).expect_err("no such date");
        assert!(failure.contains(why), "{failure}");
    }
}

fn chosen(columns: &[(&str, &str, &str)]) -> impl FnOnce(&mut DestinationConfig) {
    let columns = columns.iter().map(|&(source, name, data_type)| DestinationColumn {
        source_name: source.to_owned(),
        destination_name: name.to_owned(),
        destination_type: data_type.to_owned(),
        ..DestinationColumn::default()
    });
    let columns = columns.collect();
    move |config| config.tables[0].columns = columns
}

fn chosen_table() -> Table {
    table(
        "t",
        &[
            ("id", Type::Int8, false),
            ("n", Type::Numeric { precision: 0, scale: 0 }, true),
            ("at", Type::Timestamp, false),
            ("tags", Type::Array(Box::new(Type::Int4)), true),
            ("mood", Type::Enum, true),
            ("j", Type::Json, false),
        ],
    )
}

#[test]
fn chosen_names_and_types_hold_exact_values_and_keep_null() {
    // B191.
    let choice = [
        ("id", "key", "UInt32"),
        ("n", "", "Decimal(20, 4)"),
        ("at", "seen_at", "DateTime('UTC')"),
        ("tags", "", "Array(Array(Int32))"),
        ("mood", "", "Enum8('sad' = -1, 'ok' = 7)"),
        ("j", "", "JSON"),
    ];
    let mut scene = Scene::with(chosen(&choice));
    let table = chosen_table();
    scene.prepare(&table);
    let (_, grid) = array(&Type::Int4, &[2, 1], &[int4(1), int4(2)]);
    let json = || text(r#"{"a": {"b": 1}}"#);
    let mut rows = Rows::new(&table, 1);
    rows.insert(&[int(4_294_967_295), text("-1.5000000"), int(1_000_000), grid.clone(), text("sad"), json()]);
    rows.insert(&[int(2), V::Null, int(0), grid.clone(), V::Null, json()]);
    scene.write(&rows.batch());
    assert_eq!(
        scene.rows("SELECT key, n, seen_at, tags, mood, j.a.b FROM t ORDER BY key"),
        [
            "2|NULL|1970-01-01 00:00:00|[[1],[2]]|NULL|1",
            "4294967295|-1.5|1970-01-01 00:00:01|[[1],[2]]|sad|1"
        ]
    );
    for (cells, why) in [
        ([int(-1), V::Null, int(0), grid.clone(), V::Null, json()], "range of UInt32"),
        ([int(1), text("0.00001"), int(0), grid.clone(), V::Null, json()], "more digits"),
        (
            [int(1), text("10000000000000000"), int(0), grid.clone(), V::Null, json()],
            "range of Nullable(Decimal(20, 4))",
        ),
        ([int(1), V::Null, int(1), grid.clone(), V::Null, json()], "more digits"),
        ([int(1), V::Null, int(0), V::Null, V::Null, json()], "is NULL"),
        ([int(1), V::Null, int(0), grid.clone(), text("glad"), json()], "label"),
    ] {
        let failure = scene.try_write(&Rows::new(&table, 9).insert(&cells).batch()).expect_err(why);
        assert!(
            failure.class == FailureClass::Record && failure.message.contains(why),
            "{}",
            failure.message
        );
    }
}

#[test]
fn engines_keep_what_they_are_for() {
    // B203.
    let columns = [("id", Type::Int8, false), ("s", Type::Text, true)];
    for (engine, rows) in [("MergeTree", "3"), ("Null", "0"), ("", "2")] {
        let mut scene = Scene::with(|config| {
            config.tables[0].engine = engine.to_owned();
            config.tables[0].partition_key = "id % 2".to_owned();
        });
        let table = table("t", &columns);
        scene.prepare(&table);
        scene.prepare(&table);
        let mut batch = Rows::new(&table, 1);
        batch.truncate().insert(&[int(1), text("a")]).update(&[int(1), text("b")]).insert(&[int(2), V::Null]);
        scene.write(&batch.batch());
        let count = if engine.is_empty() { "SELECT count() FROM t FINAL" } else { "SELECT count() FROM t" };
        assert_eq!(scene.rows(count), [rows], "{engine}");
    }
}
