//! Reading rows by key at a held point.

use tarn_sdk::Failure;

use crate::fixture::{Seen, Source, config, limits, published_by, rows, source};
use crate::server;

/// The rows of these keys.
fn look_up(
    source: &mut Source,
    token: &str,
    table: &str,
    keys: &[Vec<String>],
    start: &[u8],
) -> Result<Vec<Seen>, Failure> {
    source.open_lookup(token, table, keys, start, 0)?;
    let mut seen = Vec::new();
    loop {
        let batch = source.read_snapshot(limits(1000))?;
        if batch.is_empty() {
            seen.sort_by(|one: &Seen, other: &Seen| one.after.cmp(&other.after));
            return Ok(seen);
        }
        seen.extend(rows(&batch));
    }
}

fn keys(keys: &[&[&str]]) -> Vec<Vec<String>> {
    keys.iter().map(|key| key.iter().map(|&part| part.to_owned()).collect()).collect()
}

fn texts(seen: &[Seen]) -> Vec<Vec<String>> {
    seen.iter().map(|row| row.after.clone()).collect()
}

#[test]
fn rows_are_read_by_their_keys_as_of_the_point() {
    let server = server();
    server.query(
        "CREATE TABLE looked_up (v text, a text, at timestamptz, n numeric(8,2), bits bytea,
             PRIMARY KEY (at, a, n, bits));
         INSERT INTO looked_up SELECT 'v' || i, 'it''s ' || i, timestamptz '2026-01-01Z' + i * interval '1 second',
             i + 0.5, decode('00ff', 'hex') FROM generate_series(1, 5000) i",
    );
    let mut source = source(server, config("looked_up", &["public.looked_up"]));
    let start = source.setup().expect("a slot");
    let held = source.hold_snapshot().expect("a point");
    server.query("UPDATE looked_up SET v = 'later' WHERE n < 3; DELETE FROM looked_up WHERE n = 3.5");
    let wanted = keys(&[
        &["2026-01-01 00:00:01+00", "it's 1", "1.50", r"\x00ff"],
        // As other stores write the same.
        &["2026-01-01 00:00:03.000000", "it's 3", "3.5", r"\x00ff"],
        &["2026-01-01 00:00:02+00", "it's 1", "1.50", r"\x00ff"],
    ]);
    let found = look_up(&mut source, &held.token, "public.looked_up", &wanted, &start).expect("rows");
    assert_eq!(
        texts(&found),
        [
            ["v1", "it's 1", "2026-01-01 00:00:01+00", "1.50", r"\x00ff"],
            ["v3", "it's 3", "2026-01-01 00:00:03+00", "3.50", r"\x00ff"],
        ]
    );
    let none = look_up(&mut source, &held.token, "public.looked_up", &[], &start).expect("no rows");
    assert_eq!(none, []);
    let failure = look_up(&mut source, "00000003-0000001B-1", "public.looked_up", &wanted, &start);
    assert_eq!(failure.expect_err("no such point").code, "snapshot_lost");
    source.teardown().expect("no failure");
}

#[test]
fn rows_of_a_partitioned_table_are_found_and_others_than_the_publications_are_not() {
    let server = server();
    server.query(
        "CREATE TABLE looked_parts (id int PRIMARY KEY, v int) PARTITION BY RANGE (id);
         CREATE TABLE looked_parts_1 PARTITION OF looked_parts FOR VALUES FROM (0) TO (500);
         CREATE TABLE looked_parts_2 PARTITION OF looked_parts FOR VALUES FROM (500) TO (1000);
         INSERT INTO looked_parts SELECT i, i * 10 FROM generate_series(1, 900) i",
    );
    let mut parts = source(server, config("looked_parts", &["public.looked_parts"]));
    let start = parts.setup().expect("a slot");
    let held = parts.hold_snapshot().expect("a point");
    let wanted = keys(&[&["1"], &["600"], &["5000"]]);
    let found = look_up(&mut parts, &held.token, "public.looked_parts", &wanted, &start).expect("rows");
    assert_eq!(texts(&found), [["1", "10"], ["600", "6000"]]);
    parts.teardown().expect("no failure");
    if crate::major() < 15 {
        return;
    }
    server.query(
        "CREATE TABLE looked_filter (id int PRIMARY KEY, v int);
         INSERT INTO looked_filter VALUES (1, 1), (2, 2);
         CREATE PUBLICATION looked_filter FOR TABLE looked_filter WHERE (id > 1)",
    );
    let given = published_by("looked_filter", config("looked_filter", &["public.looked_filter"]));
    let mut filtered = source(server, given);
    let start = filtered.setup().expect("a slot");
    let held = filtered.hold_snapshot().expect("a point");
    let wanted = keys(&[&["1"], &["2"]]);
    let found = look_up(&mut filtered, &held.token, "public.looked_filter", &wanted, &start).expect("rows");
    assert_eq!(texts(&found), [["2", "2"]]);
    filtered.teardown().expect("no failure");
}
