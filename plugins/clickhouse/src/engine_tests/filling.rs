//! Rows from before a column show what the source holds in it.

use tarn_batch::value::ArrayWriter;
use tarn_batch::{Column, Table, Type};
use tarn_sdk::{Description, DestinationColumn, Fill};

use super::rows::{Rows, V, int, int4, text};
use super::scene::{Scene, table};

fn base() -> Table {
    table("t", &[("id", Type::Int8, false), ("n", Type::Int4, false)])
}

/// The table with an added column `c`.
fn added(data_type: &Type, nullable: bool) -> Table {
    let mut table = base();
    table.version = 2;
    table.columns.push(Column {
        name: "c".to_owned(),
        data_type: data_type.clone(),
        type_name: "type".to_owned(),
        nullable,
        key: 0,
        attribute: 3,
    });
    table
}

fn filled(table: &Table, value: V) -> Description {
    let V::Bytes(value) = value else { panic!("a fill is a value") };
    Description { fills: vec![Fill { column: 2, value }], ..table.clone().into() }
}

/// A scene with the row `(1, 10)` and a column `c` added to it.
fn grown(table: &Table, fill: V) -> Scene {
    let mut scene = Scene::new();
    scene.prepare(&base());
    scene.write(&Rows::new(&base(), 1).insert(&[int(1), int4(10)]).batch());
    scene.connector.evolve(&[filled(table, fill)]).expect("the column is added");
    scene
}

const SEEN: &str = "SELECT id, n, c FROM t FINAL ORDER BY id";

#[test]
fn rows_from_before_show_the_default_and_later_ones_what_they_bring() {
    // B092: a default that is the same for all rows is in none of them, and in no change.
    let table = added(&Type::Text, true);
    let mut scene = grown(&table, text("it's \\ new"));
    let mut rows = Rows::new(&table, 10);
    rows.insert(&[int(2), int4(20), V::Null]).insert(&[int(3), int4(30), text("own")]);
    scene.write(&rows.batch());
    assert_eq!(scene.rows(SEEN), ["1|10|it's \\ new", "2|20|NULL", "3|30|own"]);
    scene.query("OPTIMIZE TABLE t FINAL");
    assert_eq!(scene.rows(SEEN), ["1|10|it's \\ new", "2|20|NULL", "3|30|own"]);
}

#[test]
fn rows_from_before_that_come_later_or_again_show_it_too() {
    let table = added(&Type::Int4, false);
    let mut scene = grown(&table, int4(7));
    scene.restart();
    let again = Rows::new(&base(), 1).insert(&[int(1), int4(10)]).batch();
    let late = Rows::new(&base(), 5).insert(&[int(4), int4(40)]).batch();
    scene.prepare(&base());
    scene.write(&again);
    scene.write(&late);
    assert_eq!(scene.rows(SEEN), ["1|10|7", "4|40|7"]);
    // Told again, as after a restart.
    scene.connector.evolve(&[filled(&table, int4(7))]).expect("nothing is left to do");
    scene.write(&Rows::new(&table, 10).update(&[int(1), int4(11), int4(8)]).batch());
    assert_eq!(scene.rows(SEEN), ["1|11|8", "4|40|7"]);
}

#[test]
fn a_value_left_out_of_a_change_is_kept_though_it_is_only_the_default() {
    let table = added(&Type::Text, true);
    let mut scene = grown(&table, text("large"));
    scene.write(&Rows::new(&table, 10).update(&[int(1), int4(11), V::Unchanged]).batch());
    assert_eq!(scene.rows(SEEN), ["1|11|large"]);
}

#[test]
fn the_default_outlives_a_rename_and_a_wider_type() {
    let mut table = added(&Type::Int4, true);
    let mut scene = grown(&table, int4(7));
    table.version = 3;
    table.columns[2].data_type = Type::Int8;
    table.columns[2].name = "d".to_owned();
    scene.connector.evolve(&[filled(&table, int(7))]).expect("the column is changed");
    scene.write(&Rows::new(&table, 10).insert(&[int(2), int4(20), int(1 << 40)]).batch());
    assert_eq!(scene.rows("SELECT id, d FROM t FINAL ORDER BY id"), ["1|7", "2|1099511627776"]);
}

/// What an old row shows for a fill, and what the same value shows when a row brings it.
fn shown(data_type: &Type, target: &str, nullable: bool, value: &V) -> (String, String) {
    let table = added(data_type, nullable);
    let mut scene = Scene::with(|config| {
        config.tables[0].columns.push(DestinationColumn {
            source_name: "c".to_owned(),
            destination_type: target.to_owned(),
            ..DestinationColumn::default()
        });
    });
    // The setting names a column that comes later, so the table is made by hand.
    scene.query(
        "CREATE TABLE t (id Int64 COMMENT 'tarn: 16384.1', n Int32, _tarn_version UInt128, \
         _tarn_is_deleted UInt8, _tarn_synced_at DateTime64(6, 'UTC')) \
         ENGINE = ReplacingMergeTree(_tarn_version, _tarn_is_deleted) ORDER BY id",
    );
    scene.query("INSERT INTO t (id, n, _tarn_version) VALUES (1, 10, 1)");
    scene.connector.evolve(&[filled(&table, value.clone())]).expect("the column is added");
    scene.write(&Rows::new(&table, 10).insert(&[int(2), int4(20), value.clone()]).batch());
    let mut rows = scene.rows("SELECT toString(c) FROM t ORDER BY id");
    assert_eq!(rows.len(), 2, "{data_type:?}");
    let brought = rows.remove(1);
    (rows.remove(0), brought)
}

#[test]
fn a_default_of_every_type_is_the_value_that_a_row_would_bring() {
    let numeric = |precision, scale| Type::Numeric { precision, scale };
    let array = |dimensions: &[u32], elements: &[V]| {
        let mut value = Vec::new();
        let mut writer = ArrayWriter::new(&mut value, dimensions.len()).expect("few dimensions");
        for element in elements {
            match element {
                V::Bytes(bytes) => writer.value(bytes),
                _ => writer.null(),
            }
        }
        writer.finish(dimensions).expect("as many elements as the dimensions say");
        V::Bytes(value)
    };
    let list = |element: Type| Type::Array(Box::new(element));
    let double = |value: f64| V::Bytes(value.to_le_bytes().to_vec());
    for (data_type, target, value) in [
        (Type::Bool, "", V::Bytes(vec![1])),
        (Type::Bool, "UInt8", V::Bytes(vec![1])),
        (Type::Int2, "", V::Bytes(i16::MIN.to_le_bytes().to_vec())),
        (Type::Int8, "Decimal(20, 2)", int(-5)),
        (Type::Int8, "String", int(i64::MIN)),
        (Type::Float4, "", V::Bytes(0.1f32.to_le_bytes().to_vec())),
        (Type::Float8, "", double(-0.0)),
        (Type::Float8, "", double(f64::NEG_INFINITY)),
        (Type::Float8, "", double(5e-324)),
        (numeric(38, 10), "", text("-1.0000000001")),
        (numeric(76, 0), "", text(&"9".repeat(76))),
        (numeric(0, 0), "", text("1.50")),
        (numeric(0, 0), "Int64", text("12.000")),
        (Type::Text, "", text("")),
        (Type::Text, "", text("'\\\n\0ä{}")),
        (Type::Text, "FixedString(2)", text("ab")),
        (Type::Text, "Enum8('a' = 1, 'b\\'c' = -2)", text("b'c")),
        (Type::Text, "LowCardinality(String)", text("x")),
        (Type::Bytes, "", V::Bytes(vec![0, 39, 92, 255])),
        (Type::Date, "", int4(-300_000)),
        (Type::Time, "", int(86_400_000_000)),
        (Type::Timestamp, "", int(-62_135_596_799_999_999)),
        (Type::TimestampTz, "", int(1_700_000_000_000_001)),
        (Type::TimestampTz, "DateTime", int(1_700_000_000_000_000)),
        (Type::Timestamp, "DateTime64(3, 'Europe/Berlin')", int(1_700_000_000_001_000)),
        (Type::Uuid, "", V::Bytes((1..=16).collect())),
        (Type::Json, "", text(r#"{"a": [1, 2.50, "\\"]}"#)),
        (Type::Enum, "", text("mood")),
        (list(Type::Int4), "", array(&[3], &[int4(1), V::Null, int4(3)])),
        (list(Type::Int4), "", array(&[], &[])),
        (list(Type::Text), "Array(Array(Nullable(String)))", array(&[2, 1], &[text("it's"), V::Null])),
        (list(Type::TimestampTz), "", array(&[1], &[int(1_700_000_000_000_001)])),
    ] {
        for nullable in [false, true] {
            let (filled, brought) = shown(&data_type, target, nullable, &value);
            assert_eq!(filled, brought, "{data_type:?} as {target:?}, nullable {nullable}");
        }
    }
}

#[test]
fn a_default_that_cannot_be_one_leaves_null_and_never_another_value() {
    // An infinity is no date here, and a text can be longer than a definition may be.
    for (data_type, value) in [(Type::Date, int4(i32::MAX)), (Type::Text, text(&"x".repeat(100_000)))] {
        let scene = grown(&added(&data_type, true), value);
        assert_eq!(scene.rows(SEEN), ["1|10|NULL"], "{data_type:?}");
    }
}
