//! Columns that change while the stream runs.

use tarn_batch::{Table, Type};
use tarn_sdk::Limits;

use crate::fixture::{Seen, Source, config, limits, rows, source};
use crate::server;

/// What a stream delivers, the schemas with the rows that follow each.
fn delivered(source: &mut Source, count: usize) -> Vec<(Option<Table>, Vec<Seen>)> {
    let mut delivered = Vec::new();
    let mut found = 0;
    while found < count {
        let mut changes = source.read(limits(1000)).expect("changes");
        found += changes.rows as usize;
        delivered.push((changes.schema.pop(), rows(&changes.batch)));
        assert!(changes.schema.is_empty(), "one table changes at a time");
    }
    delivered
}

fn streaming(name: &str, definition: &str) -> Source {
    server().query(&format!("CREATE TABLE {name} {definition}"));
    let mut source = source(server(), config(name, &[&format!("public.{name}")]));
    source.schema().expect("the schema");
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    source
}

fn names(table: &Table) -> Vec<(&str, i32)> {
    table.columns.iter().map(|column| (column.name.as_str(), column.attribute)).collect()
}

#[test]
fn a_changed_column_comes_before_the_first_row_that_has_it() {
    // B092, B094, B095, B097, B101, B107.
    let mut source = streaming("altered", "(b int, a int, t text, PRIMARY KEY (b, a))");
    server().query("INSERT INTO altered VALUES (1, 1, 'x')");
    assert!(delivered(&mut source, 1)[0].0.is_none(), "the host knows these columns");

    server().query("INSERT INTO altered VALUES (2, 1, 'x')");
    server()
        .query("ALTER TABLE altered ADD n numeric(10,2) DEFAULT 1.5, ADD u uuid DEFAULT gen_random_uuid()");
    server().query("INSERT INTO altered (b, a, t) VALUES (3, 1, 'x')");
    let found = delivered(&mut source, 2);
    assert_eq!(found.len(), 2, "cut before the change");
    let added = found[1].0.clone().expect("the schema changed");
    assert_eq!(names(&added), [("b", 1), ("a", 2), ("t", 3), ("n", 4), ("u", 5)]);
    assert_eq!(added.key_columns(), [0, 1]);
    assert_eq!(added.columns[3].type_name, "numeric(10,2)");
    assert_eq!(found[1].1[0].after[3], "1.50");

    server().query("ALTER TABLE altered DROP t, DROP u; INSERT INTO altered VALUES (4, 1, 2)");
    let dropped = delivered(&mut source, 1)[0].0.clone().expect("the schema changed");
    assert_eq!(names(&dropped), [("b", 1), ("a", 2), ("n", 4)]);

    server().query(
        "ALTER TABLE altered ALTER n TYPE text, ALTER a TYPE int8; INSERT INTO altered VALUES (5, 1, 'z')",
    );
    let found = delivered(&mut source, 1);
    let retyped = found[0].0.clone().expect("the schema changed");
    assert_eq!((&retyped.columns[1].data_type, &retyped.columns[2].data_type), (&Type::Int8, &Type::Text));
    assert_eq!(found[0].1[0].after, ["5", "1", "z"]);

    server().query("ALTER TABLE altered RENAME n TO m; INSERT INTO altered VALUES (6, 1, 'z')");
    let renamed = delivered(&mut source, 1)[0].0.clone().expect("the schema changed");
    assert_eq!(names(&renamed), [("b", 1), ("a", 2), ("m", 4)]);
    let versions = [added.version, dropped.version, retyped.version, renamed.version];
    assert!(versions.windows(2).all(|pair| pair[0] != pair[1]));
    source.teardown().expect("no failure");
}

#[test]
fn a_column_that_was_dropped_and_added_again_is_another_one() {
    // B091.
    let mut source = streaming("readded", "(id int PRIMARY KEY, f2 varchar(10))");
    server().query("INSERT INTO readded VALUES (1, 'x')");
    delivered(&mut source, 1);
    server().query("ALTER TABLE readded DROP f2; ALTER TABLE readded ADD f2 varchar(10); INSERT INTO readded VALUES (2, 'y')");
    let changed = delivered(&mut source, 1)[0].0.clone().expect("the schema changed");
    assert_eq!(names(&changed), [("id", 1), ("f2", 3)]);
    source.teardown().expect("no failure");
}

#[test]
fn a_fresh_instance_tells_the_columns_again() {
    // What changed between a crash and the restart must not stay unknown.
    let mut first = streaming("retold", "(id int PRIMARY KEY)");
    server().query("INSERT INTO retold VALUES (1)");
    let changes = first.read(limits(10)).expect("changes");
    first.teardown().expect("no failure");
    let mut first = source(server(), config("retold", &["public.retold"]));
    let start = first.setup().expect("a slot");
    drop(first);
    let mut second = source(server(), config("retold", &["public.retold"]));
    second.open(&start).expect("the stream");
    server().query("ALTER TABLE retold ADD x int; INSERT INTO retold VALUES (2, 3)");
    assert_eq!(names(&delivered(&mut second, 1)[0].0.clone().expect("told")), [("id", 1), ("x", 2)]);
    assert_eq!(changes.rows, 1);
    second.teardown().expect("no failure");
}

#[test]
fn types_that_are_made_or_changed_while_the_stream_runs_are_known() {
    // B017, B019, B022, B097.
    let mut source = streaming("typed", "(id int PRIMARY KEY)");
    server()
        .query("CREATE SCHEMA mine; CREATE TYPE mine.mood AS ENUM ('V1'); ALTER TABLE typed ADD m mine.mood");
    server().query("INSERT INTO typed VALUES (1, 'V1')");
    let found = delivered(&mut source, 1);
    let column = &found[0].0.as_ref().expect("the schema changed").columns[1];
    assert_eq!((&column.data_type, column.type_name.as_str()), (&Type::Enum, "mine.mood"));
    server().query("ALTER TYPE mine.mood ADD VALUE 'V2'");
    server().query("INSERT INTO typed VALUES (2, 'V2'); UPDATE typed SET m = 'V1' WHERE id = 2");
    let found: Vec<Seen> = delivered(&mut source, 2).into_iter().flat_map(|(_, rows)| rows).collect();
    assert_eq!((found[0].after[1].as_str(), found[1].after[1].as_str()), ("V2", "V1"));
    server().query(
        "ALTER TABLE typed DROP m; DROP TYPE mine.mood; CREATE TYPE mine.mood AS ENUM ('W');
         ALTER TABLE typed ADD m mine.mood; INSERT INTO typed VALUES (3, 'W')",
    );
    let found = delivered(&mut source, 1);
    assert_eq!(found[0].1[0].after, ["3", "W"]);
    source.teardown().expect("no failure");
}

#[test]
fn a_change_of_columns_inside_a_transaction_is_told_in_its_place() {
    let mut source = streaming("within", "(id int PRIMARY KEY)");
    server().query(
        "BEGIN; INSERT INTO within VALUES (1); ALTER TABLE within ADD x int; INSERT INTO within VALUES (2, 5); COMMIT",
    );
    let found = delivered(&mut source, 2);
    assert_eq!(found[0].1[0].after, ["1"]);
    assert_eq!(found[1].1[0].after, ["2", "5"]);
    assert_eq!(found[1].0.as_ref().expect("the schema changed").columns.len(), 2);
    assert_eq!(found[0].1[0].version.commit, found[1].1[0].version.commit);
    source.teardown().expect("no failure");
}

#[test]
fn a_renamed_table_is_an_error_that_says_so() {
    // B112: never silence.
    let mut source = streaming("old_name", "(id int PRIMARY KEY)");
    server().query("INSERT INTO old_name VALUES (1)");
    delivered(&mut source, 1);
    server().query("ALTER TABLE old_name RENAME TO new_name; INSERT INTO new_name VALUES (2)");
    let failure = source.read(Limits { ..limits(10) }).expect_err("renamed");
    assert_eq!((failure.code.as_str(), failure.table.as_str()), ("table_renamed", "public.old_name"));
    assert!(failure.message.contains("public.new_name"), "{}", failure.message);
    source.teardown().expect("no failure");
}

#[test]
fn a_lost_key_is_an_error_with_a_remedy() {
    let mut source = streaming("keyless", "(id int PRIMARY KEY)");
    server().query("INSERT INTO keyless VALUES (1)");
    delivered(&mut source, 1);
    server().query("ALTER TABLE keyless DROP CONSTRAINT keyless_pkey; INSERT INTO keyless VALUES (2)");
    let failure = source.read(limits(10)).expect_err("no key");
    assert_eq!((failure.code.as_str(), failure.table.as_str()), ("key_missing", "public.keyless"));
    source.teardown().expect("no failure");
}
