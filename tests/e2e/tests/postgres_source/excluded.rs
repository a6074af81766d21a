//! Columns that are left out, and get other names while rows are loaded, or while nothing runs.

use tarn_sdk::{Failure, SourceConfig};

use crate::fixture::{Source, config, limits, read, source, stream, watched_source};
use crate::server;

const RENAME: &str = "ALTER TABLE $t RENAME secret TO open";
const AGAIN: &str = "ALTER TABLE $t RENAME secret TO open; ALTER TABLE $t ADD secret text DEFAULT 'other'";
const EXCHANGE: &str = "BEGIN; ALTER TABLE $t RENAME secret TO away; ALTER TABLE $t RENAME n TO secret;
                        ALTER TABLE $t RENAME away TO n; COMMIT";

/// What the hidden column is called after each.
const STATEMENTS: [(&str, &str, &str); 3] =
    [("renamed", RENAME, "open"), ("again", AGAIN, "open"), ("exchanged", EXCHANGE, "n")];

/// The settings of a mirror of a table that leaves these columns out.
fn without(name: &str, exclude: &[&str]) -> SourceConfig {
    let mut config = config(name, &[&format!("public.{name}")]);
    config.tables[0].exclude = exclude.iter().map(|&column| column.to_owned()).collect();
    config
}

/// A table with a column `secret`.
fn create(name: &str) {
    server().query(&format!(
        "CREATE TABLE {name} (id int PRIMARY KEY, secret text, n text);
         INSERT INTO {name} SELECT i, 'hidden', repeat('n', 100) FROM generate_series(1, 2000) i"
    ));
}

fn change(name: &str, statement: &str) {
    server().query(&statement.replace("$t", name));
}

fn require_told(failure: &Failure, called: &str) {
    assert_eq!(failure.code, "excluded_column_gone", "{failure}");
    let told = format!("secret, which is left out, is called {called} by now");
    assert!(failure.message.contains(&told), "{failure}");
}

/// That all partitions are refused by instances of a load from there, and no copy is begun.
fn require_refused(config: &SourceConfig, start: &[u8], partitions: &[String], called: &str) {
    let (mut source, copies) = watched_source(server(), config.clone());
    let held = source.hold_snapshot().expect("a point");
    for partition in partitions {
        let failure =
            source.open_snapshot(&held.token, partition, start, 1).expect_err("it has a hidden column");
        require_told(&failure, called);
    }
    assert_eq!(*copies.lock().expect("no panic"), [""; 0]);
}

#[test]
fn a_load_reads_no_column_that_is_left_out_under_another_name() {
    for (kind, statement, called) in STATEMENTS {
        let name = format!("load_{kind}");
        let table = format!("public.{name}");
        create(&name);
        let mut config = without(&name, &["secret"]);
        let mut first = source(server(), config.clone());
        let start = first.setup().expect("a slot");
        let held = first.hold_snapshot().expect("a point");
        let partitions = first.plan_snapshot(&table, 500, 1).expect("partitions");
        assert!(partitions.len() > 2);
        assert!(!read(&mut first, &held.token, &partitions[0], &start, 0).is_empty());
        change(&name, statement);
        // The instance that has read, at its point from before.
        let failure = first.open_snapshot(&held.token, &partitions[1], &start, 0).expect_err("it is told");
        require_told(&failure, called);
        // Those of a load that goes on, of what was cut before and of what is cut now, and what it caught up with.
        config.load_start = start.clone();
        let mut later = source(server(), config.clone());
        let cut = later.plan_snapshot(&table, 500, 1).expect("partitions");
        let caught_up = later.plan_catch_up(&partitions[0], &held.horizon).expect("a partition");
        let all: Vec<String> = [partitions.clone(), cut, vec![caught_up]].concat();
        require_refused(&config, &start, &all, called);
        // Nor is the destination told of it.
        config.loading = vec![table.clone()];
        require_told(&source(server(), config.clone()).schema().expect_err("it is told"), called);
        // The remedy: the load goes on without either.
        config.tables[0].exclude.push(called.to_owned());
        let mut mended = source(server(), config);
        let described = mended.schema().expect("the schema");
        assert!(!described[0].table.columns.iter().any(|column| column.name == called));
        let held = mended.hold_snapshot().expect("a point");
        for partition in &partitions {
            let rows = read(&mut mended, &held.token, partition, &start, 1);
            assert!(!rows.iter().any(|row| row.after.contains(&"hidden".to_owned())), "{kind}");
        }
        first.teardown().expect("no failure");
    }
}

#[test]
fn a_load_of_an_added_table_reads_no_column_that_is_left_out_under_another_name() {
    for (kind, statement, called) in STATEMENTS {
        let name = format!("beside_{kind}");
        let table = format!("public.{name}");
        create(&name);
        server().query(&format!("CREATE TABLE {name}_first (id int PRIMARY KEY)"));
        let first = format!("public.{name}_first");
        source(server(), config(&name, &[&first])).setup().expect("a slot");
        let mut source = source(server(), config(&name, &[&first]));
        let mut wanted = without(&name, &["secret"]);
        wanted.loading = vec![table.clone()];
        let start = source.alter(wanted.clone()).expect("a position");
        let partitions = source.plan_snapshot(&table, 500, 1).expect("partitions");
        change(&name, statement);
        require_told(&source.schema().expect_err("it is told"), called);
        wanted.load_start = start.clone();
        require_refused(&wanted, &start, &partitions, called);
        source.teardown().expect("no failure");
    }
}

#[test]
fn a_load_reads_no_column_that_was_left_out_when_it_was_cut() {
    // It came after the load began, and nothing but the plan has seen it under its first name.
    let name = "load_planned";
    create(name);
    let mut config = without(name, &["secret"]);
    let mut source = source(server(), config.clone());
    let start = source.setup().expect("a slot");
    change(name, "ALTER TABLE $t DROP secret; ALTER TABLE $t ADD secret text DEFAULT 'hidden'");
    let partitions = source.plan_snapshot(&format!("public.{name}"), 500, 1).expect("partitions");
    change(name, AGAIN);
    config.load_start = start.clone();
    require_refused(&config, &start, &partitions, "open");
    source.teardown().expect("no failure");
}

#[test]
fn a_table_is_not_taken_in_before_it_is_known_which_column_is_left_out() {
    // By the setup, and by an edit.
    let name = "unknown_secret";
    create(name);
    change(name, RENAME);
    let mut source = source(server(), without(name, &["secret"]));
    let failure = source.setup().expect_err("it has another name");
    assert_eq!(failure.code, "excluded_column_gone", "{failure}");
    assert!(failure.message.contains("secret, which is left out, is not there"), "{failure}");
    let wanted = SourceConfig { loading: vec![format!("public.{name}")], ..without(name, &["secret"]) };
    assert_eq!(source.alter(wanted).expect_err("it has another name").code, "excluded_column_gone");
    source.teardown().expect("no failure");
}

#[test]
fn a_load_of_partitions_reads_no_column_that_is_left_out_under_another_name() {
    let name = "load_parts";
    server().query(&format!(
        "CREATE TABLE {name} (id int PRIMARY KEY, secret text, n text) PARTITION BY LIST (id);
         CREATE TABLE {name}_1 (n text, gone int, secret text, id int NOT NULL);
         ALTER TABLE {name}_1 DROP gone;
         ALTER TABLE {name} ATTACH PARTITION {name}_1 FOR VALUES IN (1);
         INSERT INTO {name} VALUES (1, 'hidden', 'n')"
    ));
    let mut config = without(name, &["secret"]);
    let mut source = source(server(), config.clone());
    let start = source.setup().expect("a slot");
    let partitions = source.plan_snapshot(&format!("public.{name}"), 500, 1).expect("partitions");
    change(name, EXCHANGE);
    config.load_start = start.clone();
    require_refused(&config, &start, &partitions, "n");
    source.teardown().expect("no failure");
}

#[test]
fn a_load_goes_on_where_a_column_that_is_left_out_was_dropped() {
    let name = "load_dropped";
    create(name);
    let mut config = without(name, &["secret"]);
    let mut first = source(server(), config.clone());
    let start = first.setup().expect("a slot");
    change(name, "ALTER TABLE $t DROP secret, ADD c text DEFAULT 'c'");
    change(name, "ALTER TABLE $t ADD secret text DEFAULT 'hidden'");
    (config.load_start, config.loading) = (start.clone(), vec![format!("public.{name}")]);
    let mut later = source(server(), config);
    later.schema().expect("the schema");
    let held = later.hold_snapshot().expect("a point");
    let partitions = later.plan_snapshot(&format!("public.{name}"), 100_000, 1).expect("partitions");
    let rows = read(&mut later, &held.token, &partitions[0], &start, 1);
    assert_eq!((rows.len(), rows[0].after.len(), rows[0].after[2].as_str()), (2000, 3, "c"));
    first.teardown().expect("no failure");
}

/// A position of one table as version 8 of its form has it: without what later ones put before the marks of then.
fn of_version_8(position: &[u8]) -> Vec<u8> {
    const HEAD_BYTES: usize = 1 + 8 * 8 + 4;
    let (head, mut rest) = position.split_at(HEAD_BYTES);
    assert_eq!(head[0], 9);
    let mut take = |bytes: usize| {
        let (taken, after) = rest.split_at(bytes);
        rest = after;
        taken
    };
    let count = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes")) as usize;
    assert_eq!(count(take(4)), 0, "no table has partitions");
    for _ in 0..3 {
        let length = count(take(4));
        take(length);
    }
    for _ in 0..count(take(4)) {
        take(8);
        let mut numbers = 0;
        for _ in 0..2 {
            let length = u16::from_le_bytes(take(2).try_into().expect("two bytes"));
            numbers = take(length.into()).iter().map(|byte| byte.count_ones()).sum();
        }
        take(numbers as usize);
    }
    let mut bytes = [head, rest].concat();
    bytes[0] = 8;
    bytes
}

/// A mirror of a table that leaves `secret` out, behind some statements, and its position as an earlier version had it.
fn of_earlier_version(name: &str, statements: &str) -> (Source, Vec<u8>) {
    create(name);
    let mut source = source(server(), without(name, &["secret"]));
    let start = source.setup().expect("a slot");
    change(name, statements);
    (source, of_version_8(&start))
}

#[test]
fn a_column_that_may_be_one_that_is_left_out_is_refused_where_an_earlier_version_noted_no_number() {
    for (kind, statement, called) in STATEMENTS {
        let name = format!("earlier_{kind}");
        let (mut source, start) = of_earlier_version(&name, statement);
        change(&name, "UPDATE $t SET id = id WHERE id = 1");
        let opened = source.open(&start);
        let read = opened.and_then(|()| source.read(limits(10)).map(|changes| changes.rows));
        let failure = read.expect_err("it may be the one");
        assert_eq!(failure.code, "excluded_column_gone", "{failure}");
        assert!(failure.message.contains(called), "{failure}");
        source.teardown().expect("no failure");
        // Nor does a load that goes on read it.
        let config = SourceConfig { load_start: start.clone(), ..without(&name, &["secret"]) };
        let (mut load, copies) = watched_source(server(), config);
        let held = load.hold_snapshot().expect("a point");
        let partitions = load.plan_snapshot(&format!("public.{name}"), 100_000, 1).expect("partitions");
        let failure =
            load.open_snapshot(&held.token, &partitions[0], &start, 1).expect_err("it may be the one");
        assert_eq!(failure.code, "excluded_column_gone", "{failure}");
        assert_eq!(*copies.lock().expect("no panic"), [""; 0]);
    }
}

#[test]
fn a_stream_goes_on_from_an_earlier_version_where_only_one_sort_of_columns_was_changed() {
    for (name, statements) in [
        ("earlier_secret", "ALTER TABLE $t ALTER secret SET NOT NULL"),
        ("earlier_other", "ALTER TABLE $t RENAME n TO m; ALTER TABLE $t ADD c text"),
    ] {
        let (mut source, start) = of_earlier_version(name, statements);
        change(name, "UPDATE $t SET id = -id WHERE id = 1");
        source.open(&start).expect("the stream");
        let (rows, _) = stream(&mut source, 1, 10).expect("a row");
        assert_eq!(rows[0].after[0], "-1");
        source.teardown().expect("no failure");
    }
}
