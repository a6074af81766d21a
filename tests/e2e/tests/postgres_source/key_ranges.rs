//! Tables of PostgreSQL 13, which reads no range of row addresses as a range: they are cut at keys.

use std::sync::OnceLock;

use tarn_harness::Postgres;

use crate::fixture::{Seen, Source, config, read, snapshot, source};

/// The server, where it can be had.
fn server() -> Option<&'static Postgres> {
    static SERVER: OnceLock<Option<Postgres>> = OnceLock::new();
    SERVER.get_or_init(|| Postgres::is_here(13).then(|| Postgres::start_major(13, &[]))).as_ref()
}

/// A table of so many rows, each with its number in `n`, by a key whose columns are expressions of it.
fn make(server: &Postgres, name: &str, key: &[(&str, &str)], rows: u64) -> Source {
    let places: Vec<String> = (0..key.len()).map(|place| format!("k{place}")).collect();
    let columns: Vec<String> =
        places.iter().zip(key).map(|(column, (data_type, _))| format!("{column} {data_type}")).collect();
    let values: Vec<&str> = key.iter().map(|(_, value)| *value).collect();
    server.query(&format!(
        "CREATE TABLE {name} (n int, {}, filler text, PRIMARY KEY ({}));
         INSERT INTO {name} SELECT n, {}, repeat('x', 100) FROM generate_series(1, {rows}) n",
        columns.join(", "),
        places.join(", "),
        values.join(", ")
    ));
    source(server, config(name, &[&format!("public.{name}")]))
}

fn numbers(rows: &[Seen]) -> Vec<i64> {
    let mut numbers: Vec<i64> = rows.iter().map(|row| row.after[0].parse().expect("a number")).collect();
    numbers.sort_unstable();
    numbers
}

fn partitions(source: &mut Source, name: &str, rows: u64) -> Vec<String> {
    source.plan_snapshot(&format!("public.{name}"), rows, 1).expect("partitions")
}

#[test]
fn ranges_of_keys_of_every_kind_cover_a_table_once() {
    let Some(server) = server() else { return };
    server.query("CREATE TYPE half AS ENUM ('second', 'first')");
    let keys: &[(&str, &[(&str, &str)])] = &[
        ("by_int", &[("int", "n - 5000")]),
        // Bounds are farther apart than the type's numbers reach.
        ("by_bigint", &[("bigint", "(n - 10000)::numeric * 922000000000000")]),
        ("by_numeric", &[("numeric", "n / 7.0 - 1")]),
        (
            "by_float",
            &[("float8", "CASE n WHEN 1 THEN '-Infinity' WHEN 20000 THEN 'NaN' ELSE n / 3.0::float8 END")],
        ),
        ("by_time", &[("timestamptz", "timestamptz '1969-12-31 20:00Z' + n * interval '1.000001 s'")]),
        ("by_date", &[("date", "date '0004-01-01 BC' + n")]),
        ("by_text", &[("text", "'it''s \\ ' || lpad(n::text, 6, '0')")]),
        ("by_char", &[("char(12)", "lpad(n::text, 6, '0')")]),
        ("by_uuid", &[("uuid", "lpad(to_hex(n), 32, '0')::uuid")]),
        ("by_bytes", &[("bytea", "decode(lpad(to_hex(n), 8, '0'), 'hex')")]),
        ("by_two", &[("int", "n / 100"), ("text", "'b' || lpad((n % 100)::text, 2, '0')")]),
        ("by_enum", &[("half", "CASE WHEN n < 10000 THEN 'second' ELSE 'first' END::half"), ("int", "n")]),
    ];
    for (name, key) in keys {
        let mut source = make(server, name, key, 20_000);
        let start = source.setup().expect("a slot");
        let count = partitions(&mut source, name, 1500).len();
        assert!((10..=30).contains(&count), "{name}: {count}");
        let loaded = snapshot(&mut source, &format!("public.{name}"), &start, 1500);
        assert_eq!(numbers(&loaded), (1..=20_000).collect::<Vec<_>>(), "{name}");
        source.teardown().expect("no failure");
    }
}

#[test]
fn a_table_whose_rows_lie_otherwise_than_their_keys_is_read_whole() {
    let Some(server) = server() else { return };
    let mut scattered = make(server, "scattered", &[("uuid", "md5(n::text)::uuid")], 20_000);
    assert_eq!(partitions(&mut scattered, "scattered", 1500).len(), 1);
    // One that is small is, whatever its keys.
    let mut small = make(server, "small", &[("int", "n")], 100);
    assert_eq!(partitions(&mut small, "small", 1500).len(), 1);
    server.query("TRUNCATE small");
    assert_eq!(partitions(&mut small, "small", 1500), Vec::<String>::new());
}

#[test]
fn rows_that_come_and_move_after_the_plan_are_in_one_of_the_ranges() {
    // B221, B226.
    let Some(server) = server() else { return };
    let mut first = make(server, "moved", &[("int", "n")], 20_000);
    let start = first.setup().expect("a slot");
    let held = first.hold_snapshot().expect("a point");
    let partitions = partitions(&mut first, "moved", 1500);
    let (done, left) = partitions.split_at(partitions.len() / 2);
    let mut loaded: Vec<Seen> = Vec::new();
    for partition in done {
        loaded.extend(read(&mut first, &held.token, partition, &start, 0));
    }
    // Below every bound, above every bound, from what is left into what is done, and back.
    server.query(
        "INSERT INTO moved VALUES (-1, -5, 'x'), (30000, 30000, 'x');
         UPDATE moved SET k0 = -k0 - 10 WHERE k0 BETWEEN 19000 AND 19009;
         UPDATE moved SET k0 = k0 + 40000 WHERE k0 BETWEEN 1 AND 10;
         VACUUM FULL moved",
    );
    drop(first);
    let mut second = source(server, config("moved", &["public.moved"]));
    let later = second.hold_snapshot().expect("a point");
    let mut last: std::collections::BTreeMap<String, u32> =
        loaded.iter().map(|row| (row.after[1].clone(), 0)).collect();
    for partition in left {
        for row in read(&mut second, &later.token, partition, &start, 1) {
            assert_eq!(last.insert(row.after[1].clone(), 1), None, "{row:?} comes once");
        }
    }
    for partition in done {
        let again = second.plan_catch_up(partition, &held.horizon).expect("a partition");
        for row in read(&mut second, &later.token, &again, &start, 1) {
            last.insert(row.after[1].clone(), 1);
        }
    }
    // Keys that left are in the stream as gone; every key that is there was brought.
    let there = server.query("SELECT k0::text FROM moved");
    for row in there {
        let key = row[0].clone().expect("a key");
        assert!(last.contains_key(&key), "{key} is missing");
    }
    second.teardown().expect("no failure");
}

#[test]
fn a_key_that_is_ordered_otherwise_now_has_no_ranges() {
    // B223: nor has one that may be NULL.
    let Some(server) = server() else { return };
    for (name, change) in [
        ("converted", "ALTER TABLE converted ALTER k0 TYPE text"),
        ("collated", "ALTER TABLE collated ALTER k0 TYPE text COLLATE \"C\""),
        ("renamed", "ALTER TABLE renamed RENAME k0 TO n0; ALTER TABLE renamed RENAME n TO k0"),
        (
            "keyless",
            "ALTER TABLE keyless DROP CONSTRAINT keyless_pkey, ALTER k0 DROP NOT NULL;
             INSERT INTO keyless VALUES (20001, NULL, 'x')",
        ),
    ] {
        let data_type = if name == "collated" { "text" } else { "int" };
        let key = if name == "collated" { "lpad(n::text, 6, '0')" } else { "n" };
        let mut source = make(server, name, &[(data_type, key)], 20_000);
        let start = source.setup().expect("a slot");
        let partitions = partitions(&mut source, name, 1500);
        assert!(partitions.len() > 5, "{name}");
        server.query(change);
        // The point of before would see it as it was, and is refused.
        let mut later = crate::fixture::source(server, config(name, &[&format!("public.{name}")]));
        let held = later.hold_snapshot().expect("a point");
        let rows = read(&mut later, &held.token, &partitions[1], &start, 1).len();
        if name == "renamed" {
            // It goes by its number.
            assert!((500..=3000).contains(&rows), "{rows}");
        } else {
            assert_eq!(rows, if name == "keyless" { 20_001 } else { 20_000 }, "{name}");
        }
        source.teardown().expect("no failure");
    }
}
