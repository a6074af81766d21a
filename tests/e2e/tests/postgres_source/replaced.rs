//! A table that is another one than it was.

use tarn_sdk::{FailureClass, SourceConfig};

use crate::fixture::{Source, config, source, stream};
use crate::server;

/// A mirror of a new table, and the position where it was left.
fn left(name: &str, config: SourceConfig) -> (Source, Vec<u8>) {
    let mut source = source(server(), config);
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    server().query(&format!("INSERT INTO {name} VALUES (1)"));
    let (_, mut positions) = stream(&mut source, 1, 10).expect("a row");
    (source, positions.pop().expect("a position"))
}

fn table(name: &str) -> SourceConfig {
    server().query(&format!("CREATE TABLE {name} (id int PRIMARY KEY)"));
    config(name, &[&format!("public.{name}")])
}

#[track_caller]
fn assert_refused(source: &mut Source, position: &[u8], code: &str, name: &str) -> String {
    let failure = source.open(position).expect_err("another table");
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Permanent, code), "{failure}");
    assert_eq!(failure.table, format!("public.{name}"));
    assert!(failure.hint.contains("resync"), "{failure}");
    failure.message
}

#[test]
fn a_table_dropped_and_made_again_while_nobody_looked_is_noticed_at_the_start() {
    let (mut source, position) = left("replaced", table("replaced"));
    server().query("DROP TABLE replaced");
    assert_refused(&mut source, &position, "table_replaced", "replaced");
    server().query("CREATE TABLE replaced (id int PRIMARY KEY)");
    assert_refused(&mut source, &position, "table_replaced", "replaced");
    // Also where it is published again, by whomever.
    server().query("ALTER PUBLICATION tarn_pub_replaced ADD TABLE replaced; INSERT INTO replaced VALUES (2)");
    assert_refused(&mut source, &position, "table_replaced", "replaced");
    source.teardown().expect("no failure");
}

#[test]
fn the_same_from_the_first_position_and_where_everything_is_published() {
    let config = table("replaced_first");
    server().query("CREATE PUBLICATION replaced_first_pub FOR ALL TABLES");
    let config =
        SourceConfig { publication: "replaced_first_pub".to_owned(), publication_managed: false, ..config };
    let mut source = source(server(), config);
    let start = source.setup().expect("a slot");
    server().query("DROP TABLE replaced_first; CREATE TABLE replaced_first (id int PRIMARY KEY)");
    assert_refused(&mut source, &start, "table_replaced", "replaced_first");
    source.teardown().expect("no failure");
    server().query("DROP PUBLICATION replaced_first_pub");
}

#[test]
fn a_table_renamed_while_nobody_looked_is_told_with_its_new_name() {
    // B112.
    let (mut source, position) = left("renamed_away", table("renamed_away"));
    server().query("ALTER TABLE renamed_away RENAME TO renamed_elsewhere");
    let message = assert_refused(&mut source, &position, "table_renamed", "renamed_away");
    assert!(message.contains("public.renamed_elsewhere"), "{message}");
    // Another one in its place changes nothing about that.
    server().query("CREATE TABLE renamed_away (id int PRIMARY KEY)");
    assert_refused(&mut source, &position, "table_renamed", "renamed_away");
    server().query("DROP TABLE renamed_away; ALTER TABLE renamed_elsewhere RENAME TO renamed_away");
    source.open(&position).expect("it is back");
    source.teardown().expect("no failure");
}

#[test]
fn a_table_that_loads_anew_may_be_another_one() {
    // It was taken out of the mirror, replaced, and added again.
    let (mut source, position) = left("loads_anew", table("loads_anew"));
    server().query("DROP TABLE loads_anew; CREATE TABLE loads_anew (id int PRIMARY KEY)");
    let mut config = config("loads_anew", &["public.loads_anew"]);
    source.alter(config.clone()).expect("it is published again");
    config.loading = vec!["public.loads_anew".to_owned()];
    let mut beside = crate::fixture::source(server(), config);
    beside.open(&position).expect("it loads");
    server().query("INSERT INTO loads_anew VALUES (7)");
    let (_, positions) = stream(&mut beside, 1, 10).expect("a row");
    drop(beside);
    source.open(positions.last().expect("a position")).expect("it is known as it is now");
    source.teardown().expect("no failure");
}
