//! Values that are written otherwise than they were, because their types have changed.

use tarn_harness::until;
use tarn_sdk::Limits;

use crate::fixture::{Seen, Source, config, limits, rows, source, stream};
use crate::{major, server};

/// The rows of a table that is read again, in the order of their keys, and the position after them.
fn read_again(source: &mut Source, count: usize) -> (Vec<Vec<String>>, Vec<u8>) {
    let mut found: Vec<Vec<String>> = Vec::new();
    let position = until("the rows are read again", || {
        let changes = source.read(Limits { wait_ms: 50, ..limits(100) }).expect("the stream goes on");
        let is_read = |row: &Seen| row.version.ordinal > u64::from(u32::MAX);
        found.extend(rows(&changes.batch).into_iter().filter(is_read).map(|row| row.after));
        let is_ended = found.len() == count && changes.rows == 0;
        is_ended.then_some(changes.position)
    });
    found.sort();
    (found, position)
}

#[test]
fn rows_are_read_again_where_their_types_write_them_otherwise() {
    let server = server();
    server.query(
        "CREATE TYPE retyped_mood AS ENUM ('low', 'high'); CREATE DOMAIN retyped_moods AS retyped_mood[];
         CREATE TYPE retyped_pair AS (x int, m retyped_mood);
         CREATE TABLE retyped (id int PRIMARY KEY, m retyped_mood, ms retyped_moods, p retyped_pair);
         INSERT INTO retyped VALUES (1, 'low', '{high,low}', (1, 'low'))",
    );
    let mut source = source(server, config("retyped", &["public.retyped"]));
    source.schema().expect("the schema");
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    server.query("INSERT INTO retyped VALUES (2, 'high', '{low}', (2, 'high'))");
    let (_, positions) = stream(&mut source, 1, 10).expect("a row");
    // While nobody looks.
    server.query("ALTER TYPE retyped_mood RENAME VALUE 'low' TO 'deep'");
    source.open(&positions[0]).expect("the stream");
    let (read, position) = read_again(&mut source, 2);
    assert_eq!(read, [["1", "deep", "{high,deep}", "(1,deep)"], ["2", "high", "{deep}", "(2,high)"]]);
    // A label that is added changes nothing that is there.
    server.query("ALTER TYPE retyped_mood ADD VALUE 'middle' BEFORE 'high'");
    source.open(&position).expect("the stream");
    server.query("INSERT INTO retyped VALUES (3, 'middle', '{}', NULL)");
    let (seen, _) = stream(&mut source, 1, 10).expect("a row");
    assert_eq!(seen[0].after, ["3", "middle", "{}", "NULL"]);
    // While the stream runs.
    server.query("ALTER TYPE retyped_pair ADD ATTRIBUTE y int");
    let (read, _) = read_again(&mut source, 3);
    assert_eq!(read[0], ["1", "deep", "{high,deep}", "(1,deep,)"]);
    source.teardown().expect("no failure");
}

#[test]
fn a_range_writes_its_bounds_as_the_type_that_it_is_over_does() {
    let server = server();
    server.query(
        "CREATE TYPE retyped_bound AS ENUM ('low', 'high'); CREATE TYPE retyped_range AS RANGE (subtype = retyped_bound);
         CREATE TABLE retyped_ranges (id int PRIMARY KEY, r retyped_range);
         INSERT INTO retyped_ranges VALUES (1, '[low,high]')",
    );
    let mut source = source(server, config("retyped_ranges", &["public.retyped_ranges"]));
    source.schema().expect("the schema");
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    server.query("INSERT INTO retyped_ranges VALUES (2, '[low,]')");
    let (_, positions) = stream(&mut source, 1, 10).expect("a row");
    server.query("ALTER TYPE retyped_bound RENAME VALUE 'low' TO 'deep'");
    source.open(&positions[0]).expect("the stream");
    let (read, _) = read_again(&mut source, 2);
    assert_eq!(read, [["1", "[deep,high]"], ["2", "[deep,)"]]);
    source.teardown().expect("no failure");
}

#[test]
fn a_multirange_writes_its_bounds_as_the_type_that_it_is_over_does() {
    if major() < 14 {
        return;
    }
    let server = server();
    server.query(
        "CREATE TYPE retyped_limit AS ENUM ('low', 'middle', 'high');
         CREATE TYPE retyped_span AS RANGE (subtype = retyped_limit, multirange_type_name = retyped_spans);
         CREATE TABLE retyped_multiranges (id int PRIMARY KEY, r retyped_spans);
         INSERT INTO retyped_multiranges VALUES (1, '{[low,low],[high,high]}')",
    );
    let mut source = source(server, config("retyped_multiranges", &["public.retyped_multiranges"]));
    source.schema().expect("the schema");
    let start = source.setup().expect("a slot");
    server.query("ALTER TYPE retyped_limit RENAME VALUE 'low' TO 'deep'");
    source.open(&start).expect("the stream");
    let (read, _) = read_again(&mut source, 1);
    assert_eq!(read, [["1", "{[deep,deep],[high,high]}"]]);
    source.teardown().expect("no failure");
}

#[test]
fn rows_are_read_again_where_a_column_has_a_type_of_the_same_bytes_that_writes_them_otherwise() {
    let server = server();
    server.query(
        "CREATE TABLE retyped_bytes (id int PRIMARY KEY, n int, c cidr, r oid, t varchar(9));
         INSERT INTO retyped_bytes VALUES (1, -1, '10.0.0.1/32', 1259, 'x')",
    );
    let mut source = source(server, config("retyped_bytes", &["public.retyped_bytes"]));
    source.schema().expect("the schema");
    let start = source.setup().expect("a slot");
    // While nobody looks, and before anything was delivered.
    server.query("ALTER TABLE retyped_bytes ALTER n TYPE oid");
    source.open(&start).expect("the stream");
    let (read, position) = read_again(&mut source, 1);
    assert_eq!(read, [["1", "4294967295", "10.0.0.1/32", "1259", "x"]]);
    source.open(&position).expect("the stream");
    // While the stream runs.
    server.query("ALTER TABLE retyped_bytes ALTER c TYPE inet, ALTER r TYPE regclass");
    let (read, position) = read_again(&mut source, 1);
    assert_eq!(read, [["1", "4294967295", "10.0.0.1", "pg_class", "x"]]);
    source.open(&position).expect("the stream");
    // Nothing is written otherwise, or was there.
    server.query("ALTER TABLE retyped_bytes ALTER t TYPE text, ADD o oid");
    server.query("INSERT INTO retyped_bytes VALUES (2, 1, '::1', 'pg_type', 'y', 7)");
    let (seen, positions) = stream(&mut source, 1, 10).expect("a row");
    assert_eq!(seen.last().expect("a row").after, ["2", "1", "::1", "pg_type", "y", "7"]);
    source.open(&positions[0]).expect("the stream");
    server.query("DELETE FROM retyped_bytes WHERE id = 2");
    let (seen, _) = stream(&mut source, 1, 10).expect("a row");
    assert_eq!(seen.iter().map(|row| row.before[0].as_str()).collect::<Vec<_>>(), ["2"]);
    source.teardown().expect("no failure");
}
