//! A publication that leaves columns out is told from columns that were dropped.

use tarn_sdk::log::{Level, lines_of};
use tarn_sdk::{Failure, FailureClass, SourceConfig};

use crate::fixture::{Source, config, limits, published_by, source, stream};
use crate::{major, server};

/// A mirror of a new table of three columns, set up, and a position after its first row.
fn after_a_row(name: &str, config: SourceConfig) -> (Source, Vec<u8>) {
    server().query(&format!("INSERT INTO {name} VALUES (1, 'a', 'b')"));
    let mut source = source(server(), config);
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    server().query(&format!("UPDATE {name} SET a = 'first'"));
    let (_, mut positions) = stream(&mut source, 1, 10).expect("a row");
    (source, positions.pop().expect("a position"))
}

fn table(name: &str) -> SourceConfig {
    server().query(&format!("CREATE TABLE {name} (id int PRIMARY KEY, a text, b text)"));
    config(name, &[&format!("public.{name}")])
}

/// The settings of a mirror that reads from a publication of somebody else, made by this statement's end.
fn given(name: &str, tables: &str) -> SourceConfig {
    let config = table(name);
    server().query(&format!("CREATE PUBLICATION {name}_pub {tables}"));
    published_by(&format!("{name}_pub"), config)
}

#[track_caller]
fn assert_narrowed(failure: &Failure, name: &str, column: &str) {
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Permanent, "publication_narrowed"));
    assert_eq!(failure.table, format!("public.{name}"));
    assert!(failure.message.contains(column), "{failure}");
    assert!(failure.hint.contains("ALTER PUBLICATION") && failure.hint.contains("resync"), "{failure}");
}

#[test]
fn a_column_list_put_on_the_publication_stops_the_stream_before_a_row_loses_values() {
    if major() < 15 {
        return;
    }
    let (mut source, _) = after_a_row("narrowed", table("narrowed"));
    server().query("INSERT INTO narrowed VALUES (2, 'whole', 'whole')");
    server().query("ALTER PUBLICATION tarn_pub_narrowed SET TABLE ONLY narrowed (id, a)");
    server().query("UPDATE narrowed SET a = 'second'");
    // What was published whole comes first.
    let (seen, _) = stream(&mut source, 1, 10).expect("a row");
    assert_eq!(seen[0].after, ["2", "whole", "whole"]);
    assert_narrowed(&source.read(limits(10)).expect_err("narrowed"), "narrowed", "b");
    source.teardown().expect("no failure");
}

#[test]
fn a_column_list_that_is_gone_again_still_stops_the_stream_where_a_row_was_changed_under_it() {
    if major() < 15 {
        return;
    }
    let (mut source, position) = after_a_row("restored", table("restored"));
    server().query("ALTER PUBLICATION tarn_pub_restored SET TABLE ONLY restored (id, a)");
    server().query("ALTER PUBLICATION tarn_pub_restored SET TABLE ONLY restored");
    server().query("UPDATE restored SET a = 'after'");
    let (seen, _) = stream(&mut source, 1, 10).expect("no row was changed in between");
    assert_eq!(seen[0].after, ["1", "after", "b"]);
    server().query("ALTER PUBLICATION tarn_pub_restored SET TABLE ONLY restored (id, a)");
    server().query("UPDATE restored SET a = 'under the list'");
    server().query("ALTER PUBLICATION tarn_pub_restored SET TABLE ONLY restored");
    assert_narrowed(&source.read(limits(10)).expect_err("narrowed"), "restored", "b");
    // The same in an instance that saw no row yet.
    source.open(&position).expect("the publication is whole now");
    stream(&mut source, 1, 10).expect("the row before");
    assert_narrowed(&source.read(limits(10)).expect_err("narrowed"), "restored", "b");
    source.teardown().expect("no failure");
}

#[test]
fn a_column_list_put_on_while_nobody_looked_is_noticed_at_the_start() {
    if major() < 15 {
        return;
    }
    let (mut source, position) = after_a_row("narrowed_away", table("narrowed_away"));
    // Also where it names every column: one that is added would not be published.
    for list in ["(id, a)", "(id, a, b)"] {
        server()
            .query(&format!("ALTER PUBLICATION tarn_pub_narrowed_away SET TABLE ONLY narrowed_away {list}"));
        let failure = source.open(&position).expect_err("narrowed");
        assert_narrowed(&failure, "narrowed_away", if list == "(id, a)" { "b" } else { "column list" });
    }
    server().query("ALTER PUBLICATION tarn_pub_narrowed_away SET TABLE ONLY narrowed_away");
    source.open(&position).expect("the stream");
    source.teardown().expect("no failure");
}

#[test]
fn a_given_publication_may_have_a_list_and_may_not_shorten_it() {
    if major() < 15 {
        return;
    }
    let (mut source, position) = after_a_row("listed", given("listed", "FOR TABLE listed (id, a)"));
    server().query("ALTER PUBLICATION listed_pub SET TABLE listed (id)");
    assert_narrowed(&source.open(&position).expect_err("narrowed"), "listed", "a");
    server().query("ALTER PUBLICATION listed_pub SET TABLE listed (id, a)");
    source.open(&position).expect("as it was");
    server()
        .query("ALTER PUBLICATION listed_pub SET TABLE listed (id); INSERT INTO listed VALUES (2, 'x', 'y')");
    assert_narrowed(&source.read(limits(10)).expect_err("narrowed"), "listed", "a");
    source.teardown().expect("no failure");
}

#[test]
fn another_row_filter_is_told_of_a_table_that_loads_beside_the_stream_too() {
    if major() < 15 {
        return;
    }
    server().query("CREATE TABLE beside_too (id int PRIMARY KEY)");
    let one = given("beside", "FOR TABLE beside, beside_too WHERE (id > 1)");
    let (mut source, position) = after_a_row("beside", one.clone());
    let both = SourceConfig { tables: config("", &["public.beside", "public.beside_too"]).tables, ..one };
    let loading = || vec!["public.beside_too".to_owned()];
    let load_start = source.alter(SourceConfig { loading: loading(), ..both.clone() }).expect("a position");
    drop(source);
    let open = |loading: Vec<String>| {
        let config = SourceConfig { loading, load_start: load_start.clone(), ..both.clone() };
        let mut source = self::source(server(), config);
        source.open(&position).map(|()| source)
    };
    open(loading()).expect("as it was");
    open(Vec::new()).expect("as it was");
    // While nobody looks: the load goes on, or has ended.
    server().query("ALTER PUBLICATION beside_pub SET TABLE beside, beside_too WHERE (id > 2)");
    for loading in [loading(), Vec::new()] {
        let failure = open(loading).map(|_| ()).expect_err("another row filter");
        assert_eq!(
            (failure.code.as_str(), failure.table.as_str()),
            ("publication_narrowed", "public.beside_too")
        );
        assert!(failure.message.contains("another row filter"), "{failure}");
    }
    self::source(server(), both.clone()).teardown().expect("no failure");
}

#[test]
fn a_published_schema_that_lifts_a_row_filter_is_told() {
    if major() < 15 {
        return;
    }
    let server = server();
    server.query("CREATE SCHEMA lifted_schema; CREATE TABLE lifted_schema.lifted (id int PRIMARY KEY)");
    server.query("CREATE PUBLICATION lifted_pub FOR TABLE lifted_schema.lifted WHERE (id > 1)");
    let config = published_by("lifted_pub", config("lifted", &["lifted_schema.lifted"]));
    let mut source = source(server, config);
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    server.query("INSERT INTO lifted_schema.lifted VALUES (1), (2)");
    let (seen, positions) = stream(&mut source, 1, 10).expect("a row");
    assert_eq!(seen[0].after, ["2"]);
    server.query("ALTER PUBLICATION lifted_pub ADD TABLES IN SCHEMA lifted_schema");
    let failure = source.open(&positions[0]).expect_err("no row filter");
    assert_eq!(
        (failure.code.as_str(), failure.table.as_str()),
        ("publication_narrowed", "lifted_schema.lifted")
    );
    assert!(failure.message.contains("no row filter"), "{failure}");
    server.query("ALTER PUBLICATION lifted_pub DROP TABLES IN SCHEMA lifted_schema");
    source.open(&positions[0]).expect("as it was");
    source.teardown().expect("no failure");
}

#[test]
fn a_dropped_column_is_none_of_it() {
    let (mut source, position) = after_a_row("truly_dropped", table("truly_dropped"));
    server().query("ALTER TABLE truly_dropped DROP b; INSERT INTO truly_dropped VALUES (2, 'x')");
    let (seen, _) = stream(&mut source, 1, 10).expect("a row");
    assert_eq!(seen[0].after, ["2", "x"]);
    // Nor for an instance that begins before it, or with the names of columns changed in between.
    server().query("ALTER TABLE truly_dropped RENAME a TO c; INSERT INTO truly_dropped VALUES (3, 'y')");
    server().query("ALTER TABLE truly_dropped RENAME c TO d; INSERT INTO truly_dropped VALUES (4, 'z')");
    for _ in 0..2 {
        source.open(&position).expect("the stream");
        let (seen, _) = stream(&mut source, 3, 10).expect("rows");
        assert_eq!(seen.iter().map(|row| row.after[1].as_str()).collect::<Vec<_>>(), ["x", "y", "z"]);
    }
    source.teardown().expect("no failure");
}

#[test]
fn a_table_that_left_a_published_schema_and_is_back_is_told_of() {
    if major() < 15 {
        return;
    }
    let server = server();
    server.query(
        "CREATE SCHEMA published_schema; CREATE TABLE published_schema.moved (id int PRIMARY KEY);
         CREATE PUBLICATION moved_pub FOR TABLES IN SCHEMA published_schema",
    );
    let config = published_by("moved_pub", config("moved", &["published_schema.moved"]));
    let mut source = source(server, config);
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    server.query("INSERT INTO published_schema.moved VALUES (1)");
    let (_, positions) = stream(&mut source, 1, 10).expect("a row");
    server.query("ALTER TABLE published_schema.moved SET SCHEMA public; INSERT INTO moved VALUES (2)");
    server.query(
        "ALTER TABLE moved SET SCHEMA published_schema; INSERT INTO published_schema.moved VALUES (3)",
    );
    let (opened, lines) = lines_of(|| source.open(&positions[0]));
    opened.expect("the stream");
    let is_told =
        |(level, line): &(Level, String)| *level == Level::Warn && line.contains("\"moved_pub\" was changed");
    assert!(lines.iter().any(is_told), "{lines:?}");
    let (seen, _) = stream(&mut source, 1, 10).expect("a row");
    assert_eq!(seen[0].after, ["3"]);
    source.teardown().expect("no failure");
}
