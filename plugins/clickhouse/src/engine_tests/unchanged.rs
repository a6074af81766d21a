//! Values that the source did not send stay what they were.

use tarn_batch::{Table, Type};
use tarn_sdk::{DestinationColumn, FailureClass};

use super::rows::{Rows, V, int, text};
use super::scene::{Scene, table};

fn documents() -> Table {
    table(
        "t",
        &[
            ("id", Type::Int8, false),
            ("label", Type::Text, true),
            ("big", Type::Json, true),
            ("more", Type::Bytes, false),
        ],
    )
}

const SEEN: &str = "SELECT id, label, big, hex(more) FROM t FINAL ORDER BY id";

fn bytes(byte: u8) -> V {
    V::Bytes(vec![byte])
}

fn prepared() -> Scene {
    let mut scene = Scene::new();
    scene.prepare(&documents());
    let mut rows = Rows::new(&documents(), 100);
    rows.insert(&[int(1), text("a"), text("{1}"), bytes(1)]).insert(&[int(2), text("b"), V::Null, bytes(2)]);
    scene.write(&rows.batch());
    scene
}

#[test]
fn a_value_of_an_earlier_write_is_kept() {
    // B007, B073, B077, B080.
    let mut scene = prepared();
    scene.restart();
    let mut rows = Rows::new(&documents(), 200);
    rows.update(&[int(1), text("x"), V::Unchanged, V::Unchanged]);
    rows.update(&[int(2), text("y"), V::Unchanged, V::Unchanged]);
    scene.write(&rows.batch());
    assert_eq!(scene.rows(SEEN), ["1|x|{1}|01", "2|y|NULL|02"]);
}

#[test]
fn unchanged_null_and_changed_are_told_apart() {
    // B076.
    let mut scene = prepared();
    let mut rows = Rows::new(&documents(), 200);
    rows.update(&[int(1), text("label"), V::Unchanged, V::Unchanged]);
    scene.write(&rows.batch());
    assert_eq!(scene.rows(SEEN)[0], "1|label|{1}|01");
    scene
        .write(&Rows::new(&documents(), 300).update(&[int(1), text("label"), V::Null, V::Unchanged]).batch());
    assert_eq!(scene.rows(SEEN)[0], "1|label|NULL|01");
    scene
        .write(&Rows::new(&documents(), 400).update(&[int(1), text("l"), text("{2}"), V::Unchanged]).batch());
    assert_eq!(scene.rows(SEEN)[0], "1|l|{2}|01");
}

#[test]
fn a_value_of_the_same_write_is_kept_through_a_chain_of_updates_and_keys() {
    let mut scene = prepared();
    let mut rows = Rows::new(&documents(), 200);
    rows.insert(&[int(5), text("n"), text("{5}"), bytes(5)]);
    rows.update(&[int(5), text("o"), V::Unchanged, V::Unchanged]);
    rows.update_key(int(5), &[int(6), text("p"), V::Unchanged, bytes(6)]);
    rows.update_key(int(1), &[int(5), text("q"), V::Unchanged, V::Unchanged]);
    rows.update(&[int(6), text("r"), V::Unchanged, V::Unchanged]);
    rows.update(&[int(5), text("s"), V::Unchanged, bytes(9)]);
    rows.delete(int(2)).insert(&[int(2), text("new"), text("{n}"), bytes(7)]);
    rows.update(&[int(2), text("newer"), V::Unchanged, V::Unchanged]);
    let queries = scene.trouble.queries.get();
    scene.write(&rows.batch());
    assert_eq!(scene.rows(SEEN), ["2|newer|{n}|07", "5|s|{1}|09", "6|r|{5}|06"]);
    // Only key 1 had to be looked up.
    assert_eq!(scene.trouble.queries.get(), queries + 1);
}

#[test]
fn a_value_that_the_full_image_has_is_taken_from_there() {
    // B074, B079.
    let mut scene = prepared();
    let before = [int(7), text("a"), text("{7}"), bytes(7)];
    let mut rows = Rows::new(&documents(), 200);
    rows.update_full(&before, &[int(7), text("x"), V::Unchanged, V::Unchanged]);
    let queries = scene.trouble.queries.get();
    scene.write(&rows.batch());
    assert_eq!(scene.rows(SEEN)[2], "7|x|{7}|07");
    assert_eq!(scene.trouble.queries.get(), queries);
}

#[test]
fn a_row_without_an_earlier_one_is_a_failure_and_never_a_default() {
    let mut scene = prepared();
    let batch = Rows::new(&documents(), 200).update(&[int(3), text("x"), V::Unchanged, V::Unchanged]).batch();
    let failure = scene.try_write(&batch).expect_err("there is nothing to keep");
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Record, "unchanged_value_missing"));
    assert!(failure.message.contains("id = 3"), "{}", failure.message);
    let mut rows = Rows::new(&documents(), 300);
    rows.delete(int(1)).update(&[int(1), text("x"), V::Unchanged, V::Unchanged]);
    assert_eq!(scene.try_write(&rows.batch()).expect_err("it is deleted").class, FailureClass::Record);
}

#[test]
fn a_repeated_write_whose_rows_have_gone_on_changes_nothing() {
    let mut scene = prepared();
    let mut rows = Rows::new(&documents(), 200);
    rows.update(&[int(1), text("x"), V::Unchanged, V::Unchanged]);
    rows.update_key(int(2), &[int(3), text("y"), V::Unchanged, V::Unchanged]);
    let first = rows.batch();
    let mut rows = Rows::new(&documents(), 300);
    rows.update(&[int(1), text("z"), text("{9}"), bytes(9)]).delete(int(3));
    rows.insert(&[int(2), text("reused"), V::Null, bytes(8)]);
    let second = rows.batch();
    for batch in [&first, &second] {
        scene.write(batch);
    }
    // The versions before are merged away: nothing is left to read back.
    scene.query("OPTIMIZE TABLE t FINAL");
    for batch in [&first, &second, &first] {
        scene.restart();
        scene.write(batch);
        scene.query("OPTIMIZE TABLE t FINAL");
    }
    assert_eq!(scene.rows(SEEN), ["1|z|{9}|09", "2|reused|NULL|08"]);
}

#[test]
fn a_truncate_ends_what_can_be_kept() {
    let mut scene = prepared();
    let mut rows = Rows::new(&documents(), 200);
    rows.update(&[int(1), text("x"), V::Unchanged, V::Unchanged]).truncate();
    rows.insert(&[int(1), text("n"), text("{n}"), bytes(1)]);
    rows.update(&[int(1), text("o"), V::Unchanged, V::Unchanged]);
    scene.write(&rows.batch());
    assert_eq!(scene.rows(SEEN), ["1|o|{n}|01"]);
}

#[test]
fn many_rows_and_large_values_are_read_back_in_bounded_pieces() {
    // B131: no statement grows with the number of rows.
    let table = documents();
    let mut scene = Scene::new();
    scene.prepare(&table);
    let mut rows = Rows::new(&table, 100);
    for id in 0..12_000 {
        rows.insert(&[int(id), text("a"), text(&format!("{{{id}}}")), bytes(1)]);
    }
    scene.write(&rows.batch());
    scene.trouble.answer_bytes_max.set(10_000);
    let mut rows = Rows::new(&table, 50_000);
    for id in 0..12_000 {
        rows.update(&[int(id), text("b"), V::Unchanged, V::Unchanged]);
    }
    scene.write(&rows.batch());
    let kept = "SELECT count() FROM t FINAL WHERE label = 'b' AND big = concat('{', toString(id), '}')";
    assert_eq!(scene.rows(kept), ["12000"]);
    // One row alone.
    scene.trouble.answer_bytes_max.set(10);
    let one = Rows::new(&table, 100_000).update(&[int(1), text("c"), V::Unchanged, V::Unchanged]).batch();
    let failure = scene.try_write(&one).expect_err("it cannot be held");
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Permanent, "values_too_large"));
    assert!(failure.hint.contains("REPLICA IDENTITY FULL"), "{}", failure.hint);
}

#[test]
fn keys_of_every_type_are_found_again() {
    // B020, B086.
    let keys = [
        (Type::Bool, V::Bytes(vec![1])),
        (Type::Int2, V::Bytes((-5i16).to_le_bytes().to_vec())),
        (Type::Int8, int(i64::MIN)),
        (Type::Float8, V::Bytes(1.25f64.to_le_bytes().to_vec())),
        (Type::Numeric { precision: 60, scale: 20 }, text("-123456789012345678901234567890.5")),
        (Type::Numeric { precision: 0, scale: 0 }, text("1.50")),
        (Type::Text, text("it's \\ `x`\n\u{0}ä")),
        (Type::Bytes, V::Bytes(vec![0, 39, 92, 255])),
        (Type::Date, V::Bytes((-300_000i32).to_le_bytes().to_vec())),
        (Type::Timestamp, int(-62_135_596_799_999_999)),
        (Type::TimestampTz, int(1_700_000_000_000_001)),
        (Type::Time, int(86_400_000_000)),
        (Type::Uuid, V::Bytes((1..=16).collect())),
        (Type::Enum, text("mood")),
    ];
    let mut scene = Scene::new();
    for (at, (data_type, key)) in keys.into_iter().enumerate() {
        let mut table = table(
            "t",
            &[("k", data_type.clone(), false), ("n", Type::Int8, false), ("big", Type::Text, true)],
        );
        table.id += u32::try_from(at).expect("few");
        scene.query("DROP TABLE IF EXISTS t SYNC");
        scene.restart();
        scene.prepare(&table);
        scene.write(&Rows::new(&table, 1).insert(&[key.clone(), int(1), text("kept")]).batch());
        let updated = scene.try_write(&Rows::new(&table, 2).update(&[key, int(2), V::Unchanged]).batch());
        assert_eq!(updated, Ok(()), "{data_type:?}");
        assert_eq!(scene.rows("SELECT n, big FROM t FINAL"), ["2|kept"], "{data_type:?}");
    }
}

#[test]
fn keys_of_chosen_types_are_found_again() {
    let keys = [
        (Type::Bool, "UInt8", V::Bytes(vec![1])),
        (Type::Bool, "String", V::Bytes(vec![1])),
        (Type::Int4, "Float64", V::Bytes(7i32.to_le_bytes().to_vec())),
        (Type::Int8, "Decimal(20, 2)", int(-7)),
        (Type::Int8, "String", int(-7)),
        (Type::Float8, "String", V::Bytes((-0.0f64).to_le_bytes().to_vec())),
        (Type::Numeric { precision: 0, scale: 0 }, "Int32", text("-12.000")),
        (Type::Numeric { precision: 0, scale: 0 }, "Decimal(9, 2)", text("1.5000")),
        (Type::Date, "String", V::Bytes(0i32.to_le_bytes().to_vec())),
        (Type::Timestamp, "DateTime", int(1_700_000_000_000_000)),
        (Type::Timestamp, "DateTime64(3)", int(1_700_000_000_001_000)),
        (Type::Timestamp, "String", int(1_700_000_000_000_001)),
        (Type::TimestampTz, "String", int(1_700_000_000_000_001)),
        (Type::Text, "FixedString(2)", text("ab")),
        (Type::Text, "Enum8('a' = 1, 'b' = 2)", text("b")),
    ];
    for (data_type, target, key) in keys {
        let mut scene = Scene::with(|config| {
            config.tables[0].columns.push(DestinationColumn {
                source_name: "k".to_owned(),
                destination_type: target.to_owned(),
                ..DestinationColumn::default()
            });
        });
        let columns = [("k", data_type.clone(), false), ("n", Type::Int8, false), ("big", Type::Text, true)];
        let table = table("t", &columns);
        scene.prepare(&table);
        scene.write(&Rows::new(&table, 1).insert(&[key.clone(), int(1), text("kept")]).batch());
        let updated = scene.try_write(&Rows::new(&table, 2).update(&[key, int(2), V::Unchanged]).batch());
        assert_eq!(updated, Ok(()), "{data_type:?} as {target}");
        assert_eq!(scene.rows("SELECT n, big FROM t FINAL"), ["2|kept"], "{data_type:?} as {target}");
    }
}

#[test]
fn a_composite_key_is_found_again_whatever_its_parts_hold() {
    // B205: parts that would be one text when joined.
    let mut table =
        table("t", &[("a", Type::Text, false), ("b", Type::Text, false), ("big", Type::Text, true)]);
    table.columns[1].key = 2;
    let mut scene = Scene::new();
    scene.prepare(&table);
    let keys = [("a,b", "c"), ("a", "b,c"), ("", "a,b,c"), ("(", "')")];
    let mut rows = Rows::new(&table, 1);
    for (a, b) in keys {
        rows.insert(&[text(a), text(b), text(&format!("{a}+{b}"))]);
    }
    scene.write(&rows.batch());
    let mut rows = Rows::new(&table, 100);
    for (a, b) in keys {
        rows.update(&[text(a), text(b), V::Unchanged]);
    }
    scene.write(&rows.batch());
    assert_eq!(scene.rows("SELECT count() FROM t FINAL WHERE big = concat(a, '+', b)"), ["4"]);
}
