//! Keys of other bytes that ClickHouse holds for one: a row never loses to the tombstone of its own key.

use tarn_batch::{Table, Type};
use tarn_sdk::DestinationColumn;

use super::rows::{Rows, V, int, text};
use super::scene::{Scene, table};

/// Two values of a key that PostgreSQL tells apart by their bytes, and the type they go to.
struct Pair {
    source: Type,
    target: &'static str,
    one: V,
    other: V,
}

fn pairs() -> Vec<Pair> {
    const NUMERIC: Type = Type::Numeric { precision: 0, scale: 0 };
    let double = |value: f64| V::Bytes(value.to_le_bytes().to_vec());
    let single = |value: f32| V::Bytes(value.to_le_bytes().to_vec());
    let pair = |source, target, one, other| Pair { source, target, one, other };
    vec![
        pair(Type::Float8, "", double(-0.0), double(0.0)),
        pair(Type::Float4, "", single(-0.0), single(0.0)),
        pair(Type::Float4, "Float64", single(-0.0), single(0.0)),
        pair(Type::Float8, "", double(f64::NAN), double(-f64::NAN)),
        pair(Type::Float4, "Float64", single(f32::NAN), single(-f32::NAN)),
        pair(NUMERIC, "Decimal(20, 4)", text("1.0"), text("1.00")),
        pair(NUMERIC, "Int64", text("1"), text("1.000")),
    ]
}

fn keyed(pair: &Pair) -> (Table, Scene) {
    let columns = [("k", pair.source.clone(), false), ("n", Type::Int8, false), ("big", Type::Text, true)];
    let table = table("t", &columns);
    let mut scene = Scene::with(|config| {
        config.tables[0].columns.push(DestinationColumn {
            source_name: "k".to_owned(),
            destination_type: pair.target.to_owned(),
            ..DestinationColumn::default()
        });
    });
    scene.prepare(&table);
    (table, scene)
}

const SEEN: &str = "SELECT n, big FROM t FINAL";

#[test]
fn a_key_changed_to_an_equal_one_keeps_its_row() {
    for pair in pairs() {
        for (from, to) in [(&pair.one, &pair.other), (&pair.other, &pair.one)] {
            let (table, mut scene) = keyed(&pair);
            let what = format!("{:?} as {:?}: {from:?} to {to:?}", pair.source, pair.target);
            scene.write(&Rows::new(&table, 1).insert(&[from.clone(), int(1), text("big")]).batch());
            let update = [to.clone(), int(2), text("big")];
            scene.write(&Rows::new(&table, 2).update_key(from.clone(), &update).batch());
            assert_eq!(scene.rows(SEEN), ["2|big"], "{what}");
            scene.query("OPTIMIZE TABLE t FINAL");
            assert_eq!(scene.rows(SEEN), ["2|big"], "{what}, merged");
            scene.write(&Rows::new(&table, 3).delete(to.clone()).batch());
            assert_eq!(scene.rows(SEEN), [""; 0], "{what}, deleted");
        }
    }
}

#[test]
fn a_value_left_out_is_found_under_an_equal_key_in_the_table_and_in_the_same_write() {
    for pair in pairs() {
        for (from, to) in [(&pair.one, &pair.other), (&pair.other, &pair.one)] {
            let (table, mut scene) = keyed(&pair);
            let what = format!("{:?} as {:?}: {from:?} to {to:?}", pair.source, pair.target);
            let insert = [from.clone(), int(1), text("big")];
            let change = |commit: u64, n: i64| {
                let mut rows = Rows::new(&table, commit);
                rows.update_key(from.clone(), &[to.clone(), int(n), V::Unchanged]);
                rows.update_key(to.clone(), &[from.clone(), int(n + 1), V::Unchanged]);
                rows.batch()
            };
            scene.write(&Rows::new(&table, 1).insert(&insert).batch());
            scene.restart();
            scene.write(&change(10, 2));
            assert_eq!(scene.rows(SEEN), ["3|big"], "{what}");
            // A row of each form of the key in one write.
            let mut rows = Rows::new(&table, 20);
            rows.delete(from.clone()).insert(&[to.clone(), int(4), text("new")]);
            rows.update_key(to.clone(), &[from.clone(), int(5), V::Unchanged]);
            scene.write(&rows.batch());
            assert_eq!(scene.rows(SEEN), ["5|new"], "{what}");
        }
    }
}

#[test]
fn readers_without_final_see_one_key() {
    // They group by the key, and groups are told apart by bytes.
    let latest = "SELECT count() FROM (SELECT k, argMax(_tarn_is_deleted, _tarn_version) AS d FROM t GROUP BY k) \
                  WHERE d = 0";
    for pair in pairs() {
        let (table, mut scene) = keyed(&pair);
        scene.write(&Rows::new(&table, 1).insert(&[pair.one.clone(), int(1), text("a")]).batch());
        let update = [pair.other.clone(), int(2), text("b")];
        scene.write(&Rows::new(&table, 2).update_key(pair.one.clone(), &update).batch());
        assert_eq!(scene.rows(latest), ["1"], "{:?} as {:?}", pair.source, pair.target);
    }
}
