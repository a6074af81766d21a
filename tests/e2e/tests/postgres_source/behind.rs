//! Columns of messages that the catalog is ahead of.

use tarn_sdk::{Failure, Rereads, SourceConfig};

use crate::fixture::{config, limits, source};
use crate::server;

/// The columns that a stream tells, each time that they are others, with their numbers.
type Told = Vec<Vec<(String, i32)>>;

/// Two columns, the last of which makes room for another while nobody reads. What is delivered from there on.
fn behind(name: &str, statements: &[&str]) -> Result<Told, Failure> {
    behind_of(name, "(id int PRIMARY KEY, a int)", statements)
}

/// The same of a table whose published columns are these two at first.
fn behind_of(name: &str, definition: &str, statements: &[&str]) -> Result<Told, Failure> {
    let server = server();
    server.query(&format!("CREATE TABLE {name} {definition}"));
    let config = SourceConfig { rereads: Rereads::None, ..config(name, &[&format!("public.{name}")]) };
    let mut source = source(server, config);
    source.schema().expect("the schema");
    let start = source.setup().expect("a slot");
    for statement in statements {
        server.query(&statement.replace("$t", name));
    }
    let inserts: usize = statements.iter().map(|statement| statement.matches("INSERT").count()).sum();
    source.open(&start).expect("the stream");
    let mut described = vec![vec![("id".to_owned(), 1), ("a".to_owned(), 2)]];
    let mut found = 0;
    let outcome = loop {
        if found == inserts {
            break Ok(described);
        }
        match source.read(limits(1000)) {
            Ok(changes) => {
                found += changes.rows as usize;
                described.extend(changes.schema.iter().map(|described| {
                    let columns = described.table.columns.iter();
                    columns.map(|column| (column.name.clone(), column.attribute)).collect()
                }));
            }
            Err(failure) => break Err(failure),
        }
    };
    source.teardown().expect("no failure");
    outcome
}

fn numbered(columns: &[(&str, i32)]) -> Vec<(String, i32)> {
    columns.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect()
}

#[test]
fn a_column_dropped_at_the_end_while_the_stream_lags_is_not_the_one_that_follows_it() {
    // B091.
    let renamed = behind(
        "followed_renamed",
        &[
            "INSERT INTO $t VALUES (1, 1)",
            "ALTER TABLE $t DROP a; ALTER TABLE $t ADD b int",
            "INSERT INTO $t VALUES (2, 2)",
            "ALTER TABLE $t RENAME b TO c",
            "INSERT INTO $t VALUES (3, 3)",
        ],
    );
    let expected = [[("id", 1), ("a", 2)], [("id", 1), ("b", 3)], [("id", 1), ("c", 3)]];
    assert_eq!(renamed.expect("told apart"), expected.map(|columns| numbered(&columns)));
    let dropped = behind(
        "followed_dropped",
        &[
            "INSERT INTO $t VALUES (1, 1)",
            "ALTER TABLE $t DROP a; ALTER TABLE $t ADD b int",
            "INSERT INTO $t VALUES (2, 2)",
            "ALTER TABLE $t DROP b; ALTER TABLE $t ADD c int",
            "INSERT INTO $t VALUES (3, 3)",
        ],
    );
    let expected = [[("id", 1), ("a", 2)], [("id", 1), ("b", 3)], [("id", 1), ("c", 4)]];
    assert_eq!(dropped.expect("told apart"), expected.map(|columns| numbered(&columns)));
}

#[test]
fn columns_that_come_and_go_within_one_transaction_are_told_by_the_order_of_its_commands() {
    // B091.
    let all = behind(
        "come_and_go",
        &["BEGIN; INSERT INTO $t VALUES (1, 1);
           ALTER TABLE $t ADD x int; INSERT INTO $t VALUES (2, 2, 2); ALTER TABLE $t RENAME a TO w; INSERT INTO $t VALUES (3, 3, 3);
           ALTER TABLE $t ADD b int; INSERT INTO $t VALUES (4, 4, 4, 4); ALTER TABLE $t DROP x; INSERT INTO $t VALUES (5, 5, 5);
           COMMIT"],
    );
    let expected = [
        &[("id", 1), ("a", 2)][..],
        &[("id", 1), ("a", 2), ("x", 3)],
        &[("id", 1), ("w", 2), ("x", 3)],
        &[("id", 1), ("w", 2), ("x", 3), ("b", 4)],
        &[("id", 1), ("w", 2), ("b", 4)],
    ];
    assert_eq!(all.expect("told apart"), expected.map(numbered));
}

#[test]
fn names_exchanged_before_a_column_was_added_are_those_of_the_row_that_comes_first() {
    let exchanged = behind(
        "exchanged",
        &[
            "INSERT INTO $t VALUES (1, 1)",
            "ALTER TABLE $t ADD b int",
            "INSERT INTO $t VALUES (2, 2, 20)",
            "ALTER TABLE $t RENAME a TO between; ALTER TABLE $t RENAME b TO a; ALTER TABLE $t RENAME between TO b",
            "ALTER TABLE $t ADD c int",
            "INSERT INTO $t (id, a, b) VALUES (3, 30, 3)",
        ],
    );
    let expected = [
        numbered(&[("id", 1), ("a", 2)]),
        numbered(&[("id", 1), ("a", 2), ("b", 3)]),
        numbered(&[("id", 1), ("b", 2), ("a", 3), ("c", 4)]),
    ];
    assert_eq!(exchanged.expect("they are told apart"), expected);
}

#[test]
fn a_generated_column_that_is_dropped_while_the_stream_lags_has_no_place_in_its_rows() {
    const DEFINITION: &str = "(id int PRIMARY KEY, a int, g int GENERATED ALWAYS AS (a * 2) STORED)";
    let added = "ALTER TABLE $t ADD z int DEFAULT 4";
    let row = "INSERT INTO $t (id, a, z) VALUES (1, 1, 11)";
    let alone = behind_of("generated_gone", DEFINITION, &[added, row, "ALTER TABLE $t DROP g"]);
    let with_z = [&[("id", 1), ("a", 2)][..], &[("id", 1), ("a", 2), ("z", 4)]];
    assert_eq!(alone.expect("told apart"), with_z.map(numbered));
    // Where the column after it has another name by now, the row may be one of a time when the dropped one was stored.
    let last = "ALTER TABLE $t DROP g; ALTER TABLE $t RENAME z TO g";
    let unclear =
        behind_of("generated_renamed", DEFINITION, &[added, row, last]).expect_err("it cannot be told");
    assert_eq!(unclear.code, "columns_unclear");
    let stored = "ALTER TABLE $t ALTER g DROP EXPRESSION; INSERT INTO $t (id, a, g) VALUES (1, 1, 5)";
    let unclear = behind_of("generated_stored", DEFINITION, &[stored, added, "ALTER TABLE $t DROP g"]);
    assert_eq!(unclear.expect_err("it cannot be told").code, "columns_unclear");
}

#[test]
fn a_generated_column_that_is_stored_by_now_is_not_the_one_that_was_added_after_it() {
    // B091.
    let definition = "(id int PRIMARY KEY, a int, g bigint GENERATED ALWAYS AS (a * 2) STORED)";
    let told = behind_of(
        "stored_since",
        definition,
        &[
            "ALTER TABLE $t ADD z text",
            "INSERT INTO $t (id, a, z) VALUES (1, 1, 'one')",
            "ALTER TABLE $t ADD w int",
            "INSERT INTO $t (id, a, z, w) VALUES (2, 2, 'two', 22)",
            "ALTER TABLE $t ALTER g DROP EXPRESSION",
            "INSERT INTO $t (id, a, g, z, w) VALUES (3, 3, 6, 'three', 33)",
            "ALTER TABLE $t RENAME z TO y",
            "INSERT INTO $t (id, a, g, y, w) VALUES (4, 4, 8, 'four', 44)",
        ],
    );
    let expected = [
        &[("id", 1), ("a", 2)][..],
        &[("id", 1), ("a", 2), ("z", 4)],
        &[("id", 1), ("a", 2), ("z", 4), ("w", 5)],
        &[("id", 1), ("a", 2), ("g", 3), ("z", 4), ("w", 5)],
        &[("id", 1), ("a", 2), ("g", 3), ("y", 4), ("w", 5)],
    ];
    assert_eq!(told.expect("told apart"), expected.map(numbered));
}
