//! Rows are compared with what the target holds, and nothing is said that does not hold.

use tarn_batch::{Column, Table, Type};
use tarn_sdk::{Compared, ComparisonOutcome as Outcome, DestinationColumn, Finding, KeyPage};

use super::rows::{Rows, V, int, int4, text};
use super::scene::{Scene, table};

fn people() -> Table {
    table("t", &[("id", Type::Int8, false), ("name", Type::Text, true), ("age", Type::Int4, true)])
}

fn person(id: i64) -> [V; 3] {
    [int(id), text(&format!("p{id}")), int4(i32::try_from(id).expect("small"))]
}

/// A batch of people as a load reads them.
fn loaded(ids: impl IntoIterator<Item = i64>) -> Vec<u8> {
    let mut rows = Rows::new(&people(), 1);
    for id in ids {
        rows.insert(&person(id));
    }
    rows.batch()
}

/// A scene with people 1 to 5, of the versions 100 to 104.
fn prepared() -> Scene {
    let mut scene = Scene::new();
    scene.prepare(&people());
    let mut rows = Rows::new(&people(), 100);
    for id in 1..=5 {
        rows.insert(&person(id));
    }
    scene.write(&rows.batch());
    scene
}

fn compare(scene: &mut Scene, rows: &[u8], sequence: u64) -> Compared {
    scene.connector.compare(rows, sequence, u64::MAX).expect("compared")
}

fn finding(at: u32, outcome: Outcome, columns: &[&str], commit: u64) -> Finding {
    Finding { at, outcome, columns: columns.iter().map(|&name| name.to_owned()).collect(), commit }
}

fn keys(texts: &[&str]) -> Vec<Vec<String>> {
    texts.iter().map(|&text| vec![text.to_owned()]).collect()
}

/// All pages of so many keys.
fn pages(scene: &mut Scene, table: &Table, count: u32) -> Vec<KeyPage> {
    let mut pages = Vec::new();
    let mut after = Vec::new();
    loop {
        let page = scene.connector.list_keys(table, &after, count).expect("a page");
        after.clone_from(&page.next);
        pages.push(page);
        if after.is_empty() {
            return pages;
        }
    }
}

#[test]
fn what_was_written_is_equal_and_what_a_person_did_is_named() {
    let mut scene = prepared();
    assert_eq!(compare(&mut scene, &loaded(1..=5), 1_000).findings, []);
    scene.query("ALTER TABLE t UPDATE name = 'by hand', age = NULL WHERE id = 2 SETTINGS mutations_sync = 2");
    scene.query("ALTER TABLE t DELETE WHERE id = 3 SETTINGS mutations_sync = 2");
    let findings = compare(&mut scene, &loaded(1..=6), 1_000).findings;
    assert_eq!(
        findings,
        [
            finding(1, Outcome::Differs, &["name", "age"], 101),
            finding(2, Outcome::Missing, &[], 0),
            finding(5, Outcome::Missing, &[], 0),
        ]
    );
}

#[test]
fn a_row_that_is_deleted_here_is_missing() {
    let mut scene = prepared();
    scene.write(&Rows::new(&people(), 200).delete(int(4)).batch());
    assert_eq!(compare(&mut scene, &loaded(3..=5), 1_000).findings, [finding(1, Outcome::Missing, &[], 200)]);
}

#[test]
fn a_row_is_compared_as_of_its_sequence_while_later_ones_are_there() {
    let mut scene = prepared();
    let mut rows = Rows::new(&people(), 300);
    rows.update(&[int(1), text("later"), V::Null]).delete(int(2)).insert(&person(9));
    scene.write(&rows.batch());
    // As of 200 nothing of it has happened.
    assert_eq!(compare(&mut scene, &loaded(1..=5), 200).findings, []);
    // What the source had at 200 and is not equal can be due to what was forgotten since; a later row that is
    // equal is as good as the right one.
    let mut rows = Rows::new(&people(), 1);
    rows.insert(&[int(1), text("other"), V::Null]).insert(&person(9));
    assert_eq!(
        compare(&mut scene, &rows.batch(), 200).findings,
        [finding(0, Outcome::Later, &["name"], 300)]
    );
    scene.query("OPTIMIZE TABLE t FINAL");
    assert_eq!(
        compare(&mut scene, &loaded(1..=1), 200).findings,
        [finding(0, Outcome::Later, &["name", "age"], 300)]
    );
    assert_eq!(
        compare(&mut scene, &loaded(1..=1), 300).findings,
        [finding(0, Outcome::Differs, &["name", "age"], 300)]
    );
}

#[test]
fn a_key_that_should_have_no_row_is_found_where_it_has_one() {
    let mut scene = prepared();
    let mut rows = Rows::new(&people(), 300);
    rows.delete(int(2)).insert(&person(9)).update(&person(3));
    scene.write(&rows.batch());
    let mut find = |sequence| {
        scene.connector.find(&people(), &keys(&["1", "2", "3", "7", "9"]), sequence).expect("looked")
    };
    assert_eq!(
        find(1_000),
        [
            finding(0, Outcome::Present, &[], 100),
            finding(2, Outcome::Present, &[], 302),
            finding(4, Outcome::Present, &[], 301),
        ]
    );
    // As of 200 key 2 was there, and key 9 may have come since.
    assert_eq!(
        find(200),
        [
            finding(0, Outcome::Present, &[], 100),
            finding(1, Outcome::Later, &[], 300),
            finding(2, Outcome::Later, &[], 302),
            finding(4, Outcome::Later, &[], 301),
        ]
    );
}

#[test]
fn keys_are_listed_page_by_page_without_deleted_ones_and_with_the_hashes_of_rows() {
    let mut scene = prepared();
    scene.write(&Rows::new(&people(), 200).delete(int(2)).update(&person(5)).batch());
    let expected = compare(&mut scene, &loaded([1, 3, 4, 5]), 1_000).hashes;
    for count in 1..=6 {
        let pages = pages(&mut scene, &people(), count);
        let keys: Vec<String> = pages.iter().flat_map(|page| page.keys.concat()).collect();
        assert_eq!(keys, ["1", "3", "4", "5"], "{count}");
        assert_eq!(pages.iter().flat_map(|page| page.hashes.clone()).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_sample_has_the_rows_of_small_hashes_only() {
    let mut scene = prepared();
    let hashes = compare(&mut scene, &loaded(1..=20), 1_000).hashes;
    assert_eq!(hashes.len(), 20);
    let half = u64::MAX / 2;
    let expected: Vec<u32> = (5..20).filter(|&at| hashes[at as usize] <= half).collect();
    let sampled = scene.connector.compare(&loaded(1..=20), 1_000, half).expect("compared");
    assert_eq!(sampled.findings.iter().map(|finding| finding.at).collect::<Vec<_>>(), expected);
    assert_eq!(sampled.hashes, hashes);
}

/// A key of every type that keys have, in another order than the sorting key's.
fn keyed() -> Table {
    let types = [
        ("bytes", Type::Bytes),
        ("at", Type::TimestampTz),
        ("plain", Type::Timestamp),
        ("day", Type::Date),
        ("uuid", Type::Uuid),
        ("exact", Type::Numeric { precision: 12, scale: 2 }),
        ("free", Type::Numeric { precision: 0, scale: 0 }),
        ("float", Type::Float8),
        ("flag", Type::Bool),
        ("label", Type::Enum),
        ("small", Type::Int2),
        ("time", Type::Time),
    ];
    let columns: Vec<_> = types.iter().map(|(name, data_type)| (*name, data_type.clone(), false)).collect();
    let mut table = table("t", &columns);
    for (at, column) in (1..).zip(table.columns.iter_mut().rev()) {
        *column = Column { key: at, ..column.clone() };
    }
    table
}

fn keyed_row(byte: u8, float: f64) -> Vec<V> {
    vec![
        V::Bytes(vec![byte, 0, b'\'', b'\\', 0xff]),
        int(1_700_000_000_123_456),
        int(-1),
        int4(19_000),
        V::Bytes((1..=16).collect()),
        text("-1234567.50"),
        text("12345678901234567890.5"),
        V::Bytes(float.to_le_bytes().to_vec()),
        V::Bytes(vec![1]),
        text("it's"),
        V::Bytes((-7i16).to_le_bytes().to_vec()),
        int(3_600_000_001),
    ]
}

#[test]
fn keys_of_every_type_go_to_text_and_back() {
    let columns = ["at", "bytes"].map(|name| DestinationColumn {
        source_name: name.to_owned(),
        ordering: 1 + i32::from(name == "bytes"),
        ..DestinationColumn::default()
    });
    let mut scene = Scene::with(|config| config.tables[0].columns = columns.to_vec());
    scene.prepare(&keyed());
    let mut rows = Rows::new(&keyed(), 100);
    for (byte, float) in [(1, 0.1), (2, -0.0), (3, f64::NAN), (4, f64::INFINITY)] {
        rows.insert(&keyed_row(byte, float));
    }
    let batch = rows.batch();
    scene.write(&batch);
    let compared = compare(&mut scene, &batch, 1_000);
    assert_eq!(compared.findings, []);
    let listed = pages(&mut scene, &keyed(), 1);
    let found: Vec<_> = listed.iter().flat_map(|page| page.keys.clone()).collect();
    assert_eq!(
        found[0],
        [
            "01:00:00.000001",
            "-7",
            "it's",
            "true",
            "0.1",
            "12345678901234567890.5",
            "-1234567.5",
            "01020304-0506-0708-090a-0b0c0d0e0f10",
            "2022-01-08",
            "1969-12-31 23:59:59.999999",
            "2023-11-14 22:13:20.123456",
            "\\x0100275cff",
        ]
    );
    assert_eq!(listed.iter().flat_map(|page| page.hashes.clone()).collect::<Vec<_>>(), compared.hashes);
    let there = scene.connector.find(&keyed(), &found, 1_000).expect("looked");
    assert_eq!(there.iter().map(|finding| finding.at).collect::<Vec<_>>(), [0, 1, 2, 3]);
    // As the source writes them.
    let mut other = found[0].clone();
    (other[3], other[6], other[10]) =
        ("t".to_owned(), "-1234567.50".to_owned(), "2023-11-14 22:13:20.123456+00".to_owned());
    assert_eq!(scene.connector.find(&keyed(), &[other], 1_000).expect("looked").len(), 1);
}

#[test]
fn renamed_and_excluded_columns_and_chosen_types_are_compared_as_they_are_written() {
    let mut scene = Scene::with(|config| {
        config.tables[0].exclude = vec!["age".to_owned()];
        config.tables[0].columns = vec![
            DestinationColumn {
                source_name: "id".to_owned(),
                destination_name: "person".to_owned(),
                destination_type: "Int64".to_owned(),
                ..DestinationColumn::default()
            },
            DestinationColumn {
                source_name: "name".to_owned(),
                destination_name: "called".to_owned(),
                destination_type: "LowCardinality(String)".to_owned(),
                ..DestinationColumn::default()
            },
        ];
        config.soft_delete_column = "gone".to_owned();
    });
    scene.prepare(&people());
    let mut rows = Rows::new(&people(), 100);
    rows.insert(&person(1)).insert(&[int(2), V::Null, V::Null]).insert(&person(3)).delete(int(3));
    scene.write(&rows.batch());
    scene.query("ALTER TABLE t UPDATE called = 'x' WHERE person = 2 SETTINGS mutations_sync = 2");
    let mut rows = Rows::new(&people(), 1);
    rows.insert(&person(1)).insert(&[int(2), V::Null, int4(7)]);
    assert_eq!(
        compare(&mut scene, &rows.batch(), 1_000).findings,
        [finding(1, Outcome::Differs, &["called"], 101)]
    );
    assert_eq!(pages(&mut scene, &people(), 10)[0].keys, keys(&["1", "2"]));
}

#[test]
fn a_value_that_cannot_be_stored_and_one_that_is_held_in_another_form_are_told() {
    let mut scene = Scene::with(|config| {
        config.tables[0].columns = vec![DestinationColumn {
            source_name: "doc".to_owned(),
            destination_type: "JSON".to_owned(),
            ..DestinationColumn::default()
        }];
    });
    let table =
        table("t", &[("id", Type::Int8, false), ("day", Type::Date, true), ("doc", Type::Json, true)]);
    scene.prepare(&table);
    let mut rows = Rows::new(&table, 100);
    rows.insert(&[int(1), int4(1), text("{\"b\": 1, \"a\": [1.50]}")]);
    scene.write(&rows.batch());
    let mut rows = Rows::new(&table, 100);
    rows.insert(&[int(1), int4(1), text("{\"b\": 1, \"a\": [1.50]}")]);
    rows.insert(&[int(2), int4(i32::MAX), V::Null]);
    let compared = compare(&mut scene, &rows.batch(), 1_000);
    assert_eq!(compared.findings, [finding(1, Outcome::Unwritable, &["day"], 0)]);
    assert_eq!(compared.uncompared, ["doc"]);
}

#[test]
fn nothing_is_made_and_a_target_that_keeps_nothing_is_told() {
    let mut scene = Scene::with(|config| config.tables[1].engine = "Null".to_owned());
    let failure = scene.connector.compare(&loaded([1]), 1, u64::MAX).expect_err("there is no target");
    assert_eq!(failure.code, "target_missing");
    scene.prepare(&people());
    let mut added = people();
    added.columns.push(Column {
        attribute: -1,
        name: "added".to_owned(),
        key: 0,
        ..added.columns[1].clone()
    });
    let mut rows = Rows::new(&added, 1);
    rows.insert(&[int(1), V::Null, V::Null, V::Null]);
    let failure = scene.connector.compare(&rows.batch(), 1, u64::MAX).expect_err("a column is missing");
    assert_eq!(failure.code, "target_incompatible");
    let other = Table { name: "u".to_owned(), ..people() };
    scene.prepare(&other);
    let mut rows = Rows::new(&other, 1);
    rows.insert(&person(1));
    let failure = scene.connector.compare(&rows.batch(), 1, u64::MAX).expect_err("it keeps nothing");
    assert_eq!(failure.code, "target_keeps_nothing");
}
