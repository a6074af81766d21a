//! Partitioned tables, and publications of somebody else.

use tarn_batch::Op;
use tarn_harness::until;
use tarn_sdk::SourceConfig;

use crate::fixture::{Source, config, limits, published_by, snapshot, source, stream};
use crate::server;

fn make(name: &str) {
    server().query(&format!(
        "CREATE TABLE {name} (id int, v int, PRIMARY KEY (id)) PARTITION BY RANGE (id);
         CREATE TABLE {name}_1 PARTITION OF {name} FOR VALUES FROM (0) TO (500);
         CREATE TABLE {name}_2 (v int, dropped int, id int NOT NULL);
         ALTER TABLE {name}_2 DROP dropped;
         ALTER TABLE {name} ATTACH PARTITION {name}_2 FOR VALUES FROM (500) TO (1000);
         INSERT INTO {name} SELECT i, i * 10 FROM generate_series(1, 900, 100) i"
    ));
}

fn given(mirror: &str, table: &str, publication: &str) -> SourceConfig {
    published_by(publication, config(mirror, &[table]))
}

#[test]
fn a_partitioned_table_is_loaded_by_its_leaves_and_streamed_under_its_own_name() {
    // B119, B121, B124: with the mirror's own publication and with both settings of another's.
    for (mirror, via_root) in
        [("parts_own", None), ("parts_root", Some("true")), ("parts_leaf", Some("false"))]
    {
        make(mirror);
        let table = format!("public.{mirror}");
        let config = match via_root {
            None => config(mirror, &[&table]),
            Some(via_root) => {
                let with = format!("WITH (publish_via_partition_root = {via_root})");
                server().query(&format!("CREATE PUBLICATION {mirror} FOR TABLE {mirror} {with}"));
                given(mirror, &table, mirror)
            }
        };
        let mut source = source(server(), config);
        assert_eq!(source.validate().expect("an answer"), [], "{mirror}");
        let start = source.setup().expect("a slot");
        let mut loaded = snapshot(&mut source, &table, &start, 1000);
        loaded.sort_by_key(|row| row.after[0].parse::<i32>().expect("a number"));
        let found: Vec<_> = loaded.iter().map(|row| (row.table.as_str(), row.after.join(","))).collect();
        let expected: Vec<_> =
            (1..900).step_by(100).map(|i| (table.as_str(), format!("{i},{}", i * 10))).collect();
        assert_eq!(found, expected, "{mirror}");

        source.open(&start).expect("the stream");
        server().query(&format!(
            "CREATE TABLE {mirror}_3 PARTITION OF {mirror} FOR VALUES FROM (1000) TO (2000)"
        ));
        server().query(&format!("INSERT INTO {mirror} VALUES (2, 20), (502, 5020), (1002, 10020)"));
        server().query(&format!("UPDATE {mirror} SET id = 503 WHERE id = 2"));
        let (seen, _) = stream(&mut source, 5, 1000).expect("rows");
        assert!(seen.iter().all(|row| row.table == table), "{mirror}");
        let ops: Vec<Op> = seen.iter().map(|row| row.op).collect();
        assert_eq!(ops, [Op::Insert, Op::Insert, Op::Insert, Op::Delete, Op::Insert], "{mirror}");
        // The second leaf has its columns in another order: by name they are the same.
        let second = seen[1].after.clone();
        let expected = if via_root == Some("false") { ["5020", "502"] } else { ["502", "5020"] };
        assert_eq!(second, expected, "{mirror}");
        source.teardown().expect("no failure");
        let left =
            server().scalar(&format!("SELECT count(*) FROM pg_publication WHERE pubname = '{mirror}'"));
        assert_eq!(
            left.as_deref(),
            Some(if via_root.is_none() { "0" } else { "1" }),
            "only its own is dropped"
        );
    }
}

#[test]
fn a_partitioned_table_that_is_published_by_its_leaves_is_one_table() {
    // B122, B124: whatever is said of roots, and with the root beside its leaves.
    for (mirror, via_root, also) in [
        ("leaves_root", "true", ""),
        ("leaves_leaf", "false", ""),
        ("both_root", "true", "both_root, "),
        ("both_leaf", "false", "both_leaf, "),
    ] {
        make(mirror);
        let table = format!("public.{mirror}");
        server().query(&format!(
            "CREATE PUBLICATION {mirror} FOR TABLE {also}{mirror}_1, {mirror}_2
             WITH (publish_via_partition_root = {via_root})"
        ));
        let mut source = source(server(), given(mirror, &table, mirror));
        assert_eq!(source.validate().expect("an answer"), [], "{mirror}");
        let start = source.setup().expect("a slot");
        assert_eq!(snapshot(&mut source, &table, &start, 1000).len(), 9, "{mirror}");
        source.open(&start).expect("the stream");
        server().query(&format!("INSERT INTO {mirror} VALUES (2, 20), (502, 5020)"));
        let (seen, _) = stream(&mut source, 2, 1000).expect("rows");
        assert!(seen.iter().all(|row| row.table == table && row.op == Op::Insert), "{mirror}: {seen:?}");
        let mut rows: Vec<_> = seen.into_iter().map(|row| row.after).collect();
        rows.iter_mut().for_each(|row| row.sort());
        assert_eq!(rows, [["2", "20"], ["502", "5020"]], "{mirror}");
        source.teardown().expect("no failure");
    }
}

#[test]
fn a_truncate_of_a_table_comes_and_one_of_a_partition_is_never_taken_for_it() {
    make("parts_emptied");
    server().query("CREATE PUBLICATION parts_emptied FOR TABLE parts_emptied");
    let mut source = source(server(), given("parts_emptied", "public.parts_emptied", "parts_emptied"));
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    server().query("TRUNCATE parts_emptied_1");
    let failure = stream(&mut source, 1, 10).expect_err("only a part was emptied");
    assert_eq!(failure.code, "partition_truncated");
    source.teardown().expect("no failure");
}

#[test]
fn row_filters_and_column_lists_hold_for_both_ways() {
    // B170. Neither exists before 15.
    if crate::major() < 15 {
        return;
    }
    let server = server();
    server.query("CREATE TABLE filtered (id int PRIMARY KEY, t text, hidden text)");
    server.query("INSERT INTO filtered SELECT i, 't' || i, 'h' FROM generate_series(1, 20) i");
    server.query("CREATE PUBLICATION filtered FOR TABLE filtered (id, t) WHERE (id > 15)");
    let mut source = source(server, given("filtered", "public.filtered", "filtered"));
    assert_eq!(source.validate().expect("an answer"), []);
    let names: Vec<String> = source.schema().expect("the schema")[0]
        .table
        .columns
        .iter()
        .map(|column| column.name.clone())
        .collect();
    assert_eq!(names, ["id", "t"]);
    let start = source.setup().expect("a slot");
    let loaded: Vec<_> = snapshot(&mut source, "public.filtered", &start, 100);
    assert_eq!(loaded.len(), 5);
    assert_eq!(loaded[0].after, ["16", "t16"]);
    source.open(&start).expect("the stream");
    server.query("INSERT INTO filtered VALUES (0, 'no', 'h'), (21, 'yes', 'h')");
    let (seen, _) = stream(&mut source, 1, 10).expect("a row");
    assert_eq!(seen[0].after, ["21", "yes"]);
    source.teardown().expect("no failure");
}

#[test]
fn a_publication_that_is_gone_or_lacks_a_table_is_named_and_not_passed_over() {
    let server = server();
    server.query(
        "CREATE TABLE unpublished (id int PRIMARY KEY); CREATE PUBLICATION unpublished FOR TABLE unpublished",
    );
    let mut source = source(server, given("unpublished", "public.unpublished", "unpublished"));
    let start = source.setup().expect("a slot");
    server.query("ALTER PUBLICATION unpublished DROP TABLE unpublished");
    let failure = source.open(&start).expect_err("not in it");
    assert_eq!(
        (failure.code.as_str(), failure.table.as_str()),
        ("publication_lacks_table", "public.unpublished")
    );
    server.query("DROP PUBLICATION unpublished");
    assert_eq!(source.open(&start).expect_err("gone").code, "publication_missing");
    source.teardown().expect("no failure");
}

#[test]
fn a_table_that_became_a_partition_of_a_published_one_is_told_so() {
    let server = server();
    server.query(
        "CREATE TABLE joined_root (id int PRIMARY KEY) PARTITION BY RANGE (id);
         CREATE TABLE joined_middle PARTITION OF joined_root FOR VALUES FROM (0) TO (100) PARTITION BY RANGE (id);
         CREATE TABLE joined (id int PRIMARY KEY);
         CREATE PUBLICATION joined FOR TABLE joined_root, joined WITH (publish_via_partition_root = true)",
    );
    let mut source = source(server, given("joined", "public.joined", "joined"));
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    server.query("ALTER TABLE joined_middle ATTACH PARTITION joined FOR VALUES FROM (0) TO (10)");
    let failure = source.open(&start).expect_err("its changes come as the other's");
    assert_eq!((failure.code.as_str(), failure.table.as_str()), ("publication_lacks_table", "public.joined"));
    assert!(
        failure.message.contains("as those of public.joined_root, which it is a partition of"),
        "{failure}"
    );
    let remedy = r#"ALTER TABLE "public"."joined_middle" DETACH PARTITION "public"."joined""#;
    assert!(failure.hint.contains(remedy) && failure.hint.contains("resync"), "{failure}");
    assert!(!failure.hint.contains("ADD TABLE"), "{failure}");
    let problems = source.validate().expect("an answer");
    assert!(problems.iter().any(|problem| problem.hint.contains(remedy)), "{problems:?}");
    server.query("ALTER TABLE joined_middle DETACH PARTITION joined");
    source.open(&start).expect("it is published again");
    source.teardown().expect("no failure");
}

#[test]
fn an_unlogged_partition_is_refused_and_stops_the_stream() {
    make("unlogged_parts");
    let mut source = source(server(), config("unlogged_parts", &["public.unlogged_parts"]));
    let start = source.setup().expect("a slot");
    // What the load would read at is held until then, and the tables with it.
    source.open(&start).expect("the stream");
    let assert_stops = |source: &mut Source, partition: &str| {
        let failure = source.open(&start).expect_err("an unlogged partition");
        assert_eq!(failure.code, "table_unlogged", "{failure}");
        assert!(failure.message.contains(&format!("partition public.{partition} of")), "{failure}");
        let remedy = format!("ALTER TABLE \"public\".\"{partition}\" SET LOGGED");
        assert!(failure.hint.contains(&remedy) && failure.hint.contains("resync"), "{failure}");
        let mut problems = source.validate().expect("an answer");
        // The session that had the slot may still be ending.
        problems.retain(|problem| problem.path.starts_with("table_mappings"));
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].hint.contains(&remedy), "{problems:?}");
    };
    server().query("ALTER TABLE unlogged_parts_1 SET UNLOGGED");
    assert_stops(&mut source, "unlogged_parts_1");
    // From 18 on a table with partitions cannot be.
    let between = if crate::major() < 18 { "UNLOGGED" } else { "" };
    server().query(&format!(
        "ALTER TABLE unlogged_parts_1 SET LOGGED;
         CREATE {between} TABLE unlogged_parts_3 PARTITION OF unlogged_parts FOR VALUES FROM (1000) TO (2000)
         PARTITION BY RANGE (id);
         CREATE UNLOGGED TABLE unlogged_parts_4 PARTITION OF unlogged_parts_3 FOR VALUES FROM (1000) TO (1500)"
    ));
    assert_stops(&mut source, "unlogged_parts_4");
    // While the stream runs.
    server().query("ALTER TABLE unlogged_parts_4 SET LOGGED");
    source.open(&start).expect("the stream");
    server().query("ALTER TABLE unlogged_parts_2 SET UNLOGGED");
    let failure = until("it is noticed", || source.read(limits(10)).err());
    assert_eq!(failure.code, "table_unlogged", "{failure}");
    source.teardown().expect("no failure");
}

#[test]
fn a_partition_whose_identity_has_more_than_the_key_comes_with_its_tables_key() {
    let server = server();
    server.query(
        "CREATE TABLE wide_identity (id int, part int, x int NOT NULL, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
         CREATE TABLE wide_identity_1 PARTITION OF wide_identity FOR VALUES IN (1);
         CREATE UNIQUE INDEX wide_identity_x ON wide_identity_1 (id, part, x);
         ALTER TABLE wide_identity_1 REPLICA IDENTITY USING INDEX wide_identity_x",
    );
    let mut source = source(server, config("wide_identity", &["public.wide_identity"]));
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    server.query("INSERT INTO wide_identity VALUES (1, 1, 5)");
    let mut keys: Vec<Vec<u16>> = Vec::new();
    until("a row", || {
        let changes = source.read(limits(10)).expect("changes");
        let described = changes.schema.iter();
        keys.extend(described.map(|told| told.table.columns.iter().map(|column| column.key).collect()));
        (changes.rows > 0).then_some(())
    });
    assert!(!keys.is_empty() && keys.iter().all(|key| *key == [1, 2, 0]), "{keys:?}");
    source.teardown().expect("no failure");
}
