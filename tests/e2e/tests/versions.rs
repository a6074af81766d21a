//! Every PostgreSQL that is served is mirrored alike: one mirror a major version, from its load over every kind of
//! change to restarts of both sides.
//!
//! Debian's version is on every machine of a developer; `tests/harness/setup` brings the others where it can, and
//! `tests/versions` insists on them all.

use serde_json::json;
use tarn_e2e::Scene;
use tarn_harness::Postgres;

/// Tables, types, and rows to load. `part` is what a column that is TOASTed is made of.
const TABLES: &str = "
    CREATE TYPE mood AS ENUM ('fine', 'so so');
    CREATE TABLE every (
        id bigint PRIMARY KEY, yes bool NOT NULL, small smallint, whole int, single real, twice double precision,
        price numeric(20,4), exact numeric, label text, short varchar(20), bytes bytea, day date, at timestamp,
        seen timestamptz, clock time, span interval, token uuid, mood mood, numbers int[], words text[], big text);
    ALTER TABLE every ALTER big SET STORAGE EXTERNAL;
    CREATE TABLE docs (id int PRIMARY KEY, doc jsonb, raw json);
    CREATE TABLE gone (id int PRIMARY KEY);
    CREATE TABLE parted (id int, place text, PRIMARY KEY (id, place)) PARTITION BY LIST (place);
    CREATE TABLE parted_a PARTITION OF parted FOR VALUES IN ('a');
    CREATE TABLE parted_b PARTITION OF parted FOR VALUES IN ('b');
    INSERT INTO docs SELECT n, jsonb_build_object('n', n), '{\"n\": 9007199254740993}' FROM generate_series(1, 100) n;
    INSERT INTO gone SELECT generate_series(1, 100);
    INSERT INTO parted SELECT n, CASE WHEN n % 2 = 0 THEN 'a' ELSE 'b' END FROM generate_series(1, 100) n;";

/// Rows of `every` with these numbers: edges among them, and a NULL in every column that takes one.
fn rows(first: i64, last: i64) -> String {
    format!(
        "INSERT INTO every SELECT n, n % 2 = 0, n % 30000, n * 7, n / 3.0, n / 7.0, n / 11.0, n * 1000000000000.000001,
            'ä ' || n, 'short', decode(md5(n::text), 'hex'), date '1999-12-31' + n::int,
            timestamp '1970-01-01' + n * interval '1 hour 0.000001 s', timestamptz '2026-06-01Z' - n * interval '1 day',
            time '23:59:59.999999', n * interval '1 day 2 s', md5(n::text)::uuid,
            (CASE WHEN n % 2 = 0 THEN 'fine' ELSE 'so so' END)::mood, ARRAY[n::int, NULL, -1], ARRAY['a,b', '', n::text],
            repeat(md5(n::text), 200)
         FROM generate_series({first}, {last}) n;
         INSERT INTO every (id, yes) VALUES (-{first}, true);"
    )
}

/// What both sides say of `every`, each in its own words: verification compares all of its columns besides.
const SOURCE: &str = "SELECT id::text, price::text, exact::text, label, md5(bytes), day::text,
    to_char(seen AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), token::text, mood::text, md5(big), extra
    FROM every ORDER BY every.id";
const TARGET: &str =
    "SELECT toString(id), toDecimalString(price, 4), exact, label, lower(hex(MD5(bytes))), toString(day),
    toString(seen), toString(token), mood, lower(hex(MD5(big))), extra FROM every FINAL ORDER BY every.id";

/// Every kind of change. `round` makes it touch other rows each time.
fn change(postgres: &Postgres, round: i64) {
    let first = 10_000 + round * 100;
    postgres.query(&rows(first, first + 50));
    postgres.query(&format!(
        "BEGIN;
         UPDATE every SET whole = whole + 1 WHERE id % 97 = {round};
         SAVEPOINT s; UPDATE every SET label = 'never' WHERE id % 2 = 0; ROLLBACK TO s;
         UPDATE every SET id = id + 1000000 WHERE id % 199 = {round};
         DELETE FROM every WHERE id % 151 = {round};
         UPDATE docs SET doc = doc || '{{\"changed\": true}}' WHERE id % 10 = {round};
         COMMIT"
    ));
    postgres.query("TRUNCATE gone; INSERT INTO gone VALUES (1), (2)");
    postgres.query(&format!("UPDATE parted SET place = 'a' WHERE id = {}", 2 * round + 1));
}

fn is_mirrored(major: u32) {
    if !Postgres::is_here(major) {
        return;
    }
    let mut scene = Scene::start_on(Postgres::start_major(major, &[]), &[]);
    let said = scene.postgres.scalar("SELECT current_setting('server_version_num')::int / 10000");
    assert_eq!(said, Some(major.to_string()));
    scene.postgres.query(TABLES);
    scene.postgres.query(&rows(1, 3000));
    let tables = ["every", "docs", "gone", "parted"];
    let mapped = tables.map(|table| (format!("public.{table}"), table));
    let mapped: Vec<(&str, &str)> =
        mapped.iter().map(|(source, target)| (source.as_str(), *target)).collect();
    scene.mirror("m", &mapped, &json!({"snapshot_num_rows_per_partition": 500}));
    scene.wait_for_state("m", "STATUS_RUNNING");
    change(&scene.postgres, 1);
    scene.postgres.query("ALTER TABLE every ADD extra text DEFAULT 'usual'");
    change(&scene.postgres, 2);
    scene.wait_until_equal(SOURCE, TARGET);

    scene.tarn.kill();
    change(&scene.postgres, 3);
    scene.postgres.stop();
    scene.postgres.start_again();
    change(&scene.postgres, 4);
    scene.tarn.start_again();
    change(&scene.postgres, 5);
    scene.wait_until_equal(SOURCE, TARGET);
    scene.wait_until_equal(
        "SELECT id::text, doc::text, raw::text FROM docs ORDER BY docs.id",
        "SELECT toString(id), doc, raw FROM docs FINAL ORDER BY docs.id",
    );
    scene.wait_until_equal(
        "SELECT id::text, place FROM parted ORDER BY parted.id",
        "SELECT toString(id), place FROM parted FINAL ORDER BY parted.id",
    );
    scene.wait_until_equal("SELECT '2'", "SELECT toString(count()) FROM gone FINAL");
    let verification = scene.verify("m");
    assert_eq!(verification["verdict"], "VERDICT_EQUAL", "{verification:#}");
    scene.request_state("m", "STATUS_TERMINATED");
    scene.wait_for_state("m", "STATUS_TERMINATED");
    assert_eq!(scene.leftovers(), Vec::<String>::new());
}

#[test]
fn postgresql_13_is_mirrored() {
    is_mirrored(13);
}

#[test]
fn postgresql_14_is_mirrored() {
    is_mirrored(14);
}

#[test]
fn postgresql_15_is_mirrored() {
    is_mirrored(15);
}

#[test]
fn postgresql_16_is_mirrored() {
    is_mirrored(16);
}

#[test]
fn postgresql_17_is_mirrored() {
    is_mirrored(17);
}

#[test]
fn postgresql_18_is_mirrored() {
    is_mirrored(18);
}
