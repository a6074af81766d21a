//! Columns of which nothing tells which ones of a table they are.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use tarn_batch::Op;
use tarn_harness::until;
use tarn_sdk::log::{Level, lines_of};
use tarn_sdk::{Failure, Limits, Rereads, SourceConfig};

use crate::fixture::{Aside, Seen, Source, config, counted_source, limits, published_by, rows, source};
use crate::server;

/// A stream that is behind a change of a table's columns.
fn behind(name: &str, rereads: Rereads, statements: &[&str]) -> Source {
    server().query(&format!("CREATE TABLE {name} (id int PRIMARY KEY, v int, a int)"));
    behind_of(SourceConfig { rereads, ..config(name, &[&format!("public.{name}")]) }, statements)
}

/// The same of a table that is there.
fn behind_of(config: SourceConfig, statements: &[&str]) -> Source {
    let (server, name) = (server(), config.mirror.clone());
    let mut source = source(server, config);
    source.schema().expect("the schema");
    let start = source.setup().expect("a slot");
    // What a load would read at is held until then, and partitions with it.
    source.open(&start).expect("the stream");
    for statement in statements {
        server.query(&statement.replace("$t", &name));
    }
    source.open(&start).expect("the stream");
    source
}

/// The columns of a description, and the rows that follow.
type Delivered = (Vec<(String, i32)>, Vec<Seen>);

fn read(source: &mut Source) -> Result<Vec<Delivered>, Failure> {
    let changes = source.read(Limits { wait_ms: 50, ..limits(1000) })?;
    let mut columns = Vec::new();
    for described in changes.schema {
        let names = described.table.columns.into_iter();
        columns = names.map(|column| (column.name, column.attribute)).collect();
    }
    Ok(vec![(columns, rows(&changes.batch))])
}

const REPLACED: [&str; 3] = [
    "INSERT INTO $t (id, v, a) VALUES (1, 1, 1), (3, 3, 3); UPDATE $t SET v = 10 WHERE id = 1; DELETE FROM $t WHERE id = 3",
    "ALTER TABLE $t DROP a; ALTER TABLE $t ADD a int",
    "INSERT INTO $t (id, v, a) VALUES (2, 2, 2)",
];

#[test]
fn a_column_that_may_be_either_of_two_stops_a_stream_that_reads_no_rows_again_with_the_remedy() {
    // B091: never a value of the one in the other.
    for rereads in [Rereads::None, Rereads::LeftOut] {
        let name = format!("either_{rereads:?}").to_lowercase();
        let mut source = behind(&name, rereads, &REPLACED);
        let failure = read(&mut source).expect_err("it cannot be told");
        assert_eq!((failure.code.as_str(), failure.table), ("columns_unclear", format!("public.{name}")));
        assert!(failure.hint.contains("resync"), "{}", failure.hint);
        source.teardown().expect("no failure");
    }
    // Only rows from after it.
    let mut source = behind("later", Rereads::None, &REPLACED[1..]);
    let delivered = until("a row", || {
        read(&mut source).expect("told apart").into_iter().find(|(_, rows)| !rows.is_empty())
    });
    assert_eq!(delivered.0, named(&[("id", 1), ("v", 2), ("a", 4)]));
    source.teardown().expect("no failure");
}

#[test]
fn a_column_that_may_be_either_of_two_is_left_out_until_the_rows_are_read_again() {
    let mut source = behind("either", Rereads::All, &REPLACED);
    let columns = columns_until(&mut source, &[&["1", "10", "NULL"], &["2", "2", "2"]]);
    assert_eq!(columns, [named(&[("id", 1), ("v", 2)]), named(&[("id", 1), ("v", 2), ("a", 4)])]);
    source.teardown().expect("no failure");
}

#[test]
fn a_column_that_was_renamed_before_another_one_took_its_name_is_left_out_until_the_rows_are_read_again() {
    let mut source = behind(
        "renamed_before",
        Rereads::All,
        &[
            "INSERT INTO $t VALUES (1, 1, 1)",
            "ALTER TABLE $t RENAME a TO b",
            "UPDATE $t SET b = 555",
            "ALTER TABLE $t DROP b; ALTER TABLE $t ADD b int",
        ],
    );
    let columns = columns_until(&mut source, &[&["1", "1", "NULL"]]);
    let last = [named(&[("id", 1), ("v", 2)]), named(&[("id", 1), ("v", 2), ("b", 4)])];
    assert!(columns.ends_with(&last), "{columns:?}");
    assert!(!columns.iter().flatten().any(|column| *column == ("b".to_owned(), 3)), "{columns:?}");
    source.teardown().expect("no failure");
}

#[test]
fn a_column_that_a_transaction_uses_and_makes_again_is_left_out_also_where_nothing_was_described_before() {
    let mut source = behind(
        "either_of_one",
        Rereads::All,
        &[
            "BEGIN; INSERT INTO $t VALUES (1, 1, 1); ALTER TABLE $t DROP a; ALTER TABLE $t ADD a int; INSERT INTO $t VALUES (2, 2, 2); COMMIT",
        ],
    );
    let columns = columns_until(&mut source, &[&["1", "1", "NULL"], &["2", "2", "2"]]);
    assert_eq!(columns, [named(&[("id", 1), ("v", 2)]), named(&[("id", 1), ("v", 2), ("a", 4)])]);
    source.teardown().expect("no failure");
}

#[test]
fn a_generated_column_that_was_stored_before_another_one_took_its_name_is_left_out_until_the_rows_are_read_again()
 {
    let mut columns = Vec::new();
    for (name, definition, stored) in [
        ("stored_meanwhile", "v int, g int GENERATED ALWAYS AS (v * 2) STORED", "g"),
        // Its place is before one that the stream has.
        ("stored_between", "v int, g int GENERATED ALWAYS AS (v * 2) STORED, z int", "g"),
        (
            "stored_of_two",
            "v int, f int GENERATED ALWAYS AS (v * 3) STORED, g int GENERATED ALWAYS AS (v * 2) STORED, z int",
            "f",
        ),
    ] {
        server().query(&format!("CREATE TABLE {name} (id int PRIMARY KEY, {definition})"));
        let dropped = format!("ALTER TABLE $t DROP {stored}");
        let mut source = behind_of(
            config(name, &[&format!("public.{name}")]),
            &[
                "INSERT INTO $t (id, v) VALUES (1, 1)",
                &format!("ALTER TABLE $t ALTER {stored} DROP EXPRESSION"),
                &format!("UPDATE $t SET {stored} = 555"),
                &dropped,
                &format!("ALTER TABLE $t ADD {stored} int DEFAULT 1"),
            ],
        );
        let expected: &[&str] =
            if name == "stored_meanwhile" { &["1", "1", "1"] } else { &["1", "1", "NULL", "1"] };
        columns = columns_until(&mut source, &[expected]);
        assert!(columns.iter().flatten().all(|(name, number)| name != stored || *number > 3), "{columns:?}");
        source.teardown().expect("no failure");
    }
    assert_eq!(columns.last(), Some(&named(&[("id", 1), ("v", 2), ("z", 5), ("f", 6)])));
}

/// A stream of a table that goes on where an earlier version ended, which noted no names of columns.
fn of_earlier_version(name: &str) -> (Source, Vec<u8>) {
    let server = server();
    server.query(&format!("CREATE TABLE {name} (id int PRIMARY KEY, v int, a int)"));
    let mut source = source(server, config(name, &[&format!("public.{name}")]));
    source.schema().expect("the schema");
    let start = of_version_8(&source.setup().expect("a slot"));
    let (opened, lines) = lines_of(|| source.open(&start));
    opened.expect("the stream");
    let warned =
        lines.iter().filter(|(level, line)| *level == Level::Warn && line.contains("earlier version"));
    assert_eq!(warned.count(), 1, "{lines:?}");
    (source, start)
}

/// The marks of a position from the part behind names of columns on, and these, where it is of tables that are not partitioned.
fn names_and_rest(position: &[u8]) -> (&[u8], &[u8]) {
    fn part(bytes: &[u8]) -> (&[u8], &[u8]) {
        let (length, rest) = bytes.split_first_chunk().expect("a length");
        rest.split_at(u32::from_le_bytes(*length) as usize)
    }
    assert_eq!(
        (position[0], &position[HEAD_BYTES..][..4]),
        (9, &[0; 4][..]),
        "the last version, and no partitions"
    );
    let (_primary_keys, rest) = part(&position[HEAD_BYTES + 4..]);
    part(rest)
}

/// What a position has before its marks.
const HEAD_BYTES: usize = 1 + 8 * 8 + 4;

/// A position as version 8 had it, of tables whose columns are not left out, nor were generated.
fn of_version_8(position: &[u8]) -> Vec<u8> {
    let (_, written) = names_and_rest(position);
    let (length, rest) = written.split_first_chunk().expect("a length");
    let stored = &rest[u32::from_le_bytes(*length) as usize..];
    assert_eq!(stored[..4], [0; 4], "none is");
    [&[8], &position[1..HEAD_BYTES], &stored[4..]].concat()
}

#[test]
fn a_column_whose_name_an_earlier_version_did_not_note_is_left_out_where_another_one_took_its_place() {
    for (name, statements, expected) in [
        (
            "unnoted",
            "INSERT INTO $t VALUES (1, 1, 1); ALTER TABLE $t DROP a; ALTER TABLE $t ADD a int; INSERT INTO $t VALUES (2, 2, 2)",
            &[&["1", "1", "NULL"][..], &["2", "2", "2"]][..],
        ),
        (
            "unnoted_with_rows_between",
            "INSERT INTO $t VALUES (1, 1, 1); ALTER TABLE $t DROP a; INSERT INTO $t VALUES (2, 2);
             ALTER TABLE $t ADD a int; INSERT INTO $t VALUES (3, 3, 3)",
            &[&["1", "1", "NULL"], &["2", "2", "NULL"], &["3", "3", "3"]],
        ),
    ] {
        let (mut source, start) = of_earlier_version(name);
        server().query(&format!("BEGIN; {}; COMMIT", statements.replace("$t", name)));
        source.open(&start).expect("the stream");
        let columns = columns_until(&mut source, expected);
        assert_eq!(
            columns,
            [named(&[("id", 1), ("v", 2)]), named(&[("id", 1), ("v", 2), ("a", 4)])],
            "{name}"
        );
        source.teardown().expect("no failure");
    }
}

#[test]
fn names_that_an_earlier_version_did_not_note_are_noted_of_a_table_without_changes() {
    let (mut source, _) = of_earlier_version("noted_later");
    let position = until("the names are noted", || {
        let changes = source.read(Limits { wait_ms: 50, ..limits(1000) }).expect("the stream");
        let (names, _) = names_and_rest(&changes.position);
        assert_eq!(names.len(), 3, "a byte for each column");
        names.iter().all(|name| *name != 0).then_some(changes.position)
    });
    server().query(
        "BEGIN; ALTER TABLE noted_later DROP a; ALTER TABLE noted_later ADD b int; INSERT INTO noted_later VALUES (1, 1, 1); COMMIT",
    );
    let (opened, lines) = lines_of(|| source.open(&position));
    opened.expect("the stream");
    assert!(!lines.iter().any(|(_, line)| line.contains("earlier version")), "{lines:?}");
    let columns = columns_until(&mut source, &[&["1", "1", "1"]]);
    assert_eq!(columns, [named(&[("id", 1), ("v", 2), ("b", 4)])]);
    source.teardown().expect("no failure");
}

#[test]
fn a_column_of_a_transaction_that_the_change_waited_for_is_left_out() {
    let server = server();
    for (name, added) in [("waited_for", "a"), ("waited_for_another", "b")] {
        server.query(&format!("CREATE TABLE {name} (id int PRIMARY KEY, v int, a int)"));
        let mut source = source(server, config(name, &[&format!("public.{name}")]));
        source.schema().expect("the schema");
        let start = source.setup().expect("a slot");
        source.open(&start).expect("the stream");
        // It has its number after that of the change, and comes to the table before it.
        let (mut changing, mut writing) = (server.session(), server.session());
        changing.query("BEGIN; SELECT txid_current()");
        writing.query(&format!("INSERT INTO {name} VALUES (1, 1, 1)"));
        changing.query(&format!("ALTER TABLE {name} DROP a; ALTER TABLE {name} ADD {added} int; COMMIT"));
        source.open(&start).expect("the stream");
        let columns = columns_until(&mut source, &[&["1", "1", "NULL"]]);
        assert_eq!(columns, [named(&[("id", 1), ("v", 2)]), named(&[("id", 1), ("v", 2), (added, 4)])]);
        source.teardown().expect("no failure");
    }
}

fn named(columns: &[(&str, i32)]) -> Vec<(String, i32)> {
    columns.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect()
}

/// The columns that a stream describes until a table has these rows.
fn columns_until(source: &mut Source, expected: &[&[&str]]) -> Vec<Vec<(String, i32)>> {
    let mut columns: Vec<Vec<(String, i32)>> = Vec::new();
    let mut table: BTreeMap<String, Seen> = BTreeMap::new();
    until("all values are there", || {
        for (described, rows) in read(source).expect("the stream goes on") {
            if !described.is_empty() {
                columns.push(described);
            }
            for row in rows {
                if row.op != Op::Delete {
                    let told = columns.last().map(Vec::len);
                    assert!(told.is_none_or(|told| told == row.after.len()), "{row:?}");
                }
                let key = row.before.iter().chain(&row.after).next().expect("a key").clone();
                if table.get(&key).is_none_or(|known| known.version < row.version) {
                    table.insert(key, row);
                }
            }
        }
        let there = table.values().filter(|row| row.op != Op::Delete).map(|row| &row.after);
        there.eq(expected.iter()).then_some(())
    });
    columns
}

#[test]
fn a_column_of_a_partitioned_table_that_may_be_either_of_two_is_left_out_until_the_rows_are_read_again() {
    server().query(
        "CREATE TABLE either_parts (id int PRIMARY KEY, v int, a int) PARTITION BY RANGE (id);
         CREATE TABLE either_parts_1 (a int, gone int, id int NOT NULL, v int);
         ALTER TABLE either_parts_1 DROP gone;
         ALTER TABLE either_parts ATTACH PARTITION either_parts_1 FOR VALUES FROM (0) TO (2);
         CREATE TABLE either_parts_2 PARTITION OF either_parts DEFAULT",
    );
    let mut source = behind_of(config("either_parts", &["public.either_parts"]), &REPLACED);
    let columns = columns_until(&mut source, &[&["1", "10", "NULL"], &["2", "2", "2"]]);
    let known = [named(&[("id", 1), ("v", 2)]), named(&[("id", 1), ("v", 2), ("a", 4)])];
    assert!(columns.iter().all(|described| known.contains(described)), "{columns:?}");
    assert_eq!((columns.first(), columns.last()), (Some(&known[0]), Some(&known[1])));
    source.teardown().expect("no failure");
}

#[test]
fn a_column_of_partitions_that_come_by_themselves_is_told_as_their_tables_are() {
    // One has its columns in another order, so that the first row of the two leaves nothing in doubt.
    for (name, order, known) in [
        ("own_order", "(a int, gone int, id int NOT NULL, v int)", named(&[("a", 3), ("id", 1), ("v", 2)])),
        ("same_order", "(gone int, id int NOT NULL, v int, a int)", named(&[("id", 1), ("v", 2)])),
    ] {
        server().query(&format!(
            "CREATE TABLE {name} (id int PRIMARY KEY, v int, a int) PARTITION BY RANGE (id);
             CREATE TABLE {name}_1 {order};
             ALTER TABLE {name}_1 DROP gone;
             ALTER TABLE {name} ATTACH PARTITION {name}_1 DEFAULT;
             CREATE PUBLICATION {name} FOR TABLE {name} WITH (publish_via_partition_root = false)"
        ));
        let config = published_by(name, config(name, &[&format!("public.{name}")]));
        let mut source = behind_of(config, &REPLACED);
        let columns = columns_of_rows(&mut source, 5);
        let all: &[(&str, i32)] = &[("id", 1), ("v", 2), ("a", 4)];
        assert_eq!((columns.first(), columns.last()), (Some(&known), Some(&named(all))), "{name}");
        source.teardown().expect("no failure");
    }
}

/// The columns that a stream describes until it has delivered rows.
fn columns_of_rows(source: &mut Source, count: usize) -> Vec<Vec<(String, i32)>> {
    let (mut columns, mut seen) = (Vec::new(), 0);
    until("the rows are there", || {
        for (described, rows) in read(source).expect("the stream goes on") {
            columns.extend(Some(described).filter(|described| !described.is_empty()));
            seen += rows.len();
        }
        (seen >= count).then_some(())
    });
    columns
}

#[test]
fn a_column_that_is_excluded_has_its_place_before_those_that_are_left_out_until_the_rows_are_read_again() {
    server().query("CREATE TABLE either_and_secret (id int PRIMARY KEY, secret text, v int, a int)");
    let mut config = config("either_and_secret", &["public.either_and_secret"]);
    config.tables[0].exclude = vec!["secret".to_owned()];
    let mut source = behind_of(config, &REPLACED);
    let columns = columns_until(&mut source, &[&["1", "10", "NULL"], &["2", "2", "2"]]);
    assert_eq!(columns, [named(&[("id", 1), ("v", 3)]), named(&[("id", 1), ("v", 3), ("a", 5)])]);
    source.teardown().expect("no failure");
}

#[test]
fn a_table_is_read_once_more_where_a_change_leaves_a_column_out_after_it_was_read() {
    let server = server();
    server.query("CREATE TABLE late_writers (id int PRIMARY KEY, v int, a int)");
    let mut source = source(server, config("late_writers", &["public.late_writers"]));
    source.schema().expect("the schema");
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    // Transactions that have their numbers before the change, and come to the table after it.
    let mut writers = ["2", "3"].map(|id| {
        let mut writer = server.session();
        writer.query("BEGIN; SELECT txid_current()");
        (writer, id)
    });
    server.query("ALTER TABLE late_writers DROP a; ALTER TABLE late_writers ADD a int");
    let mut rows: Vec<[&str; 3]> = Vec::new();
    for (writer, id) in &mut writers {
        writer.query(&format!("INSERT INTO late_writers VALUES ({id}, {id}, {id}); COMMIT"));
        rows.push([*id; 3]);
        let expected: Vec<&[&str]> = rows.iter().map(|row| &row[..]).collect();
        let columns = columns_until(&mut source, &expected);
        assert_eq!(columns, [named(&[("id", 1), ("v", 2)]), named(&[("id", 1), ("v", 2), ("a", 4)])]);
    }
    server.query("INSERT INTO late_writers VALUES (5, 5, 5)");
    columns_until(&mut source, &[&["5", "5", "5"]]);
    source.teardown().expect("no failure");
}

#[test]
fn whether_columns_are_told_by_now_is_not_asked_for_each_of_many_transactions() {
    const TRANSACTIONS: u32 = 200;
    let server = server();
    server.query("CREATE TABLE small_ones (id int PRIMARY KEY, v int, a int)");
    let config = config("small_ones", &["public.small_ones"]);
    let (mut source, asked) = counted_source(server, config, &Aside::of(1 << 20));
    source.schema().expect("the schema");
    let start = source.setup().expect("a slot");
    server.query(&format!(
        "DO $$ BEGIN FOR id IN 1..{TRANSACTIONS} LOOP INSERT INTO small_ones VALUES (id, 1, 1); COMMIT; END LOOP; END $$"
    ));
    server.query("ALTER TABLE small_ones DROP a; ALTER TABLE small_ones ADD a int");
    server.query("INSERT INTO small_ones VALUES (-1, 2, 2)");
    source.open(&start).expect("the stream");
    let before = asked.load(Ordering::Relaxed);
    let mut rows = Vec::new();
    while rows.last().is_none_or(|row: &Seen| row.after.len() == 2) {
        rows.extend(read(&mut source).expect("the stream goes on").into_iter().flat_map(|(_, rows)| rows));
    }
    assert_eq!(rows.last().map(|row| row.after.join(" ")).as_deref(), Some("-1 2 2"));
    let asked = asked.load(Ordering::Relaxed) - before;
    assert!(asked < TRANSACTIONS as usize / 4, "{asked} statements");
    source.teardown().expect("no failure");
}

#[test]
fn a_key_that_is_in_doubt_stops_the_stream() {
    let server = server();
    server.query("CREATE TABLE key_in_doubt (a int, id int PRIMARY KEY)");
    let mut source = source(server, config("key_in_doubt", &["public.key_in_doubt"]));
    source.schema().expect("the schema");
    let start = source.setup().expect("a slot");
    server.query("INSERT INTO key_in_doubt VALUES (1, 1)");
    server.query("ALTER TABLE key_in_doubt DROP a, DROP id");
    server.query("ALTER TABLE key_in_doubt ADD a int, ADD id int");
    server.query("TRUNCATE key_in_doubt; ALTER TABLE key_in_doubt ADD PRIMARY KEY (id)");
    source.open(&start).expect("the stream");
    let failure = until("it is told", || read(&mut source).err());
    assert_eq!(failure.code, "columns_unclear", "{failure}");
    source.teardown().expect("no failure");
}
