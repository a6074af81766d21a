//! Columns of which nothing tells which ones of a table they are.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use tarn_batch::Op;
use tarn_harness::until;
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
