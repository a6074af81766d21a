//! What a change becomes.

use tarn_batch::Op;
use tarn_harness::Postgres;
use tarn_sdk::SourceTable;

use crate::fixture::{Seen, Source, config, limits, published_by, source, stream};
use crate::server;

/// A mirror of one new table, streaming.
fn streaming(name: &str, definition: &str) -> Source {
    server().query(&format!("CREATE TABLE {name} {definition}"));
    let mut source = source(server(), config(name, &[&format!("public.{name}")]));
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    source
}

fn changes(source: &mut Source, count: usize) -> Vec<(Op, Vec<String>, Vec<String>)> {
    let (seen, _) = stream(source, count, 1000).expect("rows");
    seen.into_iter().map(|Seen { op, after, before, .. }| (op, after, before)).collect()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn inserts_updates_and_deletes_come_in_order_with_growing_versions() {
    let mut source = streaming("plain", "(id int PRIMARY KEY, t text)");
    server().query("BEGIN; INSERT INTO plain VALUES (1, 'a'); UPDATE plain SET t = 'b'; COMMIT");
    server().query("UPDATE plain SET id = 2; DELETE FROM plain");
    let (seen, _) = stream(&mut source, 4, 1000).expect("rows");
    assert!(seen.windows(2).all(|pair| pair[0].version < pair[1].version));
    assert_eq!(seen[0].version.commit, seen[1].version.commit);
    assert_eq!((seen[0].version.ordinal, seen[1].version.ordinal), (0, 1));
    let simple: Vec<_> = seen.into_iter().map(|row| (row.op, row.after, row.before)).collect();
    assert_eq!(simple[0], (Op::Insert, texts(&["1", "a"]), texts(&[])));
    assert_eq!(simple[1], (Op::Update, texts(&["1", "b"]), texts(&[])));
    // The key changed: the old one is told, and only that.
    assert_eq!(simple[2], (Op::Update, texts(&["2", "b"]), texts(&["1", "<unchanged>"])));
    // B052, B089: a delete knows the key and claims nothing else.
    assert_eq!(simple[3], (Op::Delete, texts(&[]), texts(&["2", "<unchanged>"])));
    source.teardown().expect("no failure");
}

#[test]
fn an_unchanged_value_a_null_and_a_new_value_are_told_apart_for_every_toastable_type() {
    // B007, B064, B073, B076, B080.
    crate::every_type::make_types();
    let columns = [
        ("text", "repeat('x', 20000)"),
        ("bytea", "decode(repeat('00ff', 20000), 'hex')"),
        ("jsonb", "to_jsonb(repeat('x', 20000))"),
        ("json", "to_json(repeat('x', 20000))"),
        ("text[]", "array_fill('x'::text, array[5000])"),
        ("int[]", "array_fill(1, array[5000])"),
        ("int8[]", "array_fill(1::int8, array[5000])"),
        ("date[]", "array_fill('2026-01-01'::date, array[5000])"),
        ("uuid[]", "array_fill('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid, array[5000])"),
        ("varchar[]", "array_fill('x'::varchar, array[5000])"),
        ("bpchar(20000)[]", "array['x']"),
        ("bytea[]", "array_fill('\\x00ff'::bytea, array[5000])"),
        ("json[]", "array_fill('{\"a\": 1}'::json, array[5000])"),
        ("hstore", "(SELECT hstore(array_agg(i::text), array_agg(i::text)) FROM generate_series(1, 5000) i)"),
        ("numeric", "repeat('123', 10000)::numeric"),
        ("tsvector", "array_to_tsvector(array(select i::text from generate_series(1, 5000) i))"),
    ];
    let definitions: Vec<String> =
        columns.iter().enumerate().map(|(index, (name, _))| format!("c{index} {name}")).collect();
    let storage: Vec<String> =
        (0..columns.len()).map(|index| format!("ALTER c{index} SET STORAGE EXTERNAL")).collect();
    let mut source =
        streaming("toast", &format!("(id int PRIMARY KEY, label text, {})", definitions.join(", ")));
    server().query(&format!("ALTER TABLE toast {}", storage.join(", ")));
    let values: Vec<&str> = columns.iter().map(|(_, value)| *value).collect();
    server().query(&format!("INSERT INTO toast VALUES (1, 'a', {})", values.join(", ")));
    server().query("UPDATE toast SET label = 'b'");
    server().query("UPDATE toast SET c0 = NULL, c1 = ''");
    let seen = changes(&mut source, 3);
    for (index, (name, _)) in columns.iter().enumerate() {
        assert!(seen[0].1[index + 2].len() > 4_000, "{name}");
        assert_eq!(seen[1].1[index + 2], "<unchanged>", "{name}");
    }
    assert_eq!(seen[1].1[1], "b");
    assert_eq!(&seen[2].1[2..5], texts(&["NULL", "\\x", "<unchanged>"]));
    source.teardown().expect("no failure");
}

#[test]
fn full_identity_brings_the_old_row_and_with_it_unchanged_values() {
    // B074, B079.
    let mut source = streaming("full_identity", "(id int PRIMARY KEY, label text, big text)");
    server().query("ALTER TABLE full_identity REPLICA IDENTITY FULL, ALTER big SET STORAGE EXTERNAL");
    server().query("INSERT INTO full_identity VALUES (1, NULL, repeat('x', 9000))");
    server().query("UPDATE full_identity SET label = 'b'; DELETE FROM full_identity");
    let seen = changes(&mut source, 3);
    let big = "x".repeat(9000);
    assert_eq!(seen[1], (Op::Update, texts(&["1", "b", &big]), texts(&["1", "NULL", &big])));
    assert_eq!(seen[2], (Op::Delete, texts(&[]), texts(&["1", "b", &big])));
    source.teardown().expect("no failure");
}

#[test]
fn keys_are_in_the_order_of_their_index_whatever_their_type() {
    // B020, B086, B101: a composite key by an index of its own, enum first.
    server().query("CREATE TYPE kind AS ENUM ('x', 'y')");
    let mut source = streaming("keyed", "(a int NOT NULL, b text NOT NULL, c int, kind kind NOT NULL)");
    server().query("CREATE UNIQUE INDEX keyed_key ON keyed (kind, b, a) INCLUDE (c)");
    server().query("ALTER TABLE keyed REPLICA IDENTITY USING INDEX keyed_key");
    let schema = source.schema().expect("the schema");
    let keys: Vec<u16> = schema[0].table.columns.iter().map(|column| column.key).collect();
    assert_eq!(keys, [3, 2, 0, 1]);
    server()
        .query("INSERT INTO keyed VALUES (1, 'b', 5, 'x'); UPDATE keyed SET kind = 'y'; DELETE FROM keyed");
    let seen = changes(&mut source, 3);
    assert_eq!(seen[1].2, texts(&["1", "b", "<unchanged>", "x"]));
    assert_eq!(seen[2].2, texts(&["1", "b", "<unchanged>", "y"]));
    source.teardown().expect("no failure");
}

#[test]
fn a_truncate_is_one_row_without_images_also_before_any_other() {
    // B115, B116.
    let mut source = streaming("emptied", "(id int PRIMARY KEY)");
    server().query("TRUNCATE emptied; INSERT INTO emptied VALUES (1); TRUNCATE emptied");
    let ops: Vec<Op> = changes(&mut source, 3).into_iter().map(|(op, ..)| op).collect();
    assert_eq!(ops, [Op::Truncate, Op::Insert, Op::Truncate]);
    source.teardown().expect("no failure");
}

#[test]
fn excluded_columns_never_come() {
    // B098.
    server().query("CREATE TABLE excluding (id int PRIMARY KEY, secret text, t text)");
    let mut config = config("excluding", &[]);
    config.tables = vec![SourceTable {
        source: "public.excluding".to_owned(),
        exclude: vec!["secret".to_owned()],
        ..SourceTable::default()
    }];
    let mut source = source(server(), config);
    assert_eq!(source.schema().expect("the schema")[0].table.columns.len(), 2);
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    server().query("INSERT INTO excluding VALUES (1, 's', 'a'); ALTER TABLE excluding ADD d int DEFAULT 7");
    server().query("INSERT INTO excluding VALUES (2, 's', 'b'); UPDATE excluding SET id = 3 WHERE id = 2");
    let seen = changes(&mut source, 3);
    assert_eq!(seen[0].1, texts(&["1", "a"]));
    assert_eq!(seen[1].1, texts(&["2", "b", "7"]));
    assert_eq!(seen[2].2, texts(&["2", "<unchanged>", "<unchanged>"]));
    source.teardown().expect("no failure");
}

#[test]
fn generated_columns_are_left_out_of_both_ways_and_identity_columns_are_not() {
    // B070, B071.
    let definition =
        "(id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a int, c int GENERATED ALWAYS AS (a * 2) STORED)";
    let mut source = streaming("generated", definition);
    let columns = |source: &mut Source| {
        let schema = source.schema().expect("the schema");
        schema[0].table.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(columns(&mut source), ["id", "a"]);
    server().query("INSERT INTO generated (a) VALUES (5)");
    assert_eq!(changes(&mut source, 1), [(Op::Insert, texts(&["1", "5"]), texts(&[]))]);
    source.teardown().expect("no failure");
}

#[test]
fn generated_columns_come_both_ways_where_the_publication_has_them() {
    // B070. It can since 18, whichever version the other tests run on.
    if !Postgres::is_here(18) {
        return;
    }
    let server = &Postgres::start_major(18, &[]);
    server.query(
        "CREATE TABLE computed (id int PRIMARY KEY, a int, c int GENERATED ALWAYS AS (a * 2) STORED);
         INSERT INTO computed VALUES (1, 5);
         CREATE PUBLICATION computed FOR TABLE computed WITH (publish_generated_columns = stored)",
    );
    let mut source = source(server, published_by("computed", config("computed", &["public.computed"])));
    let start = source.setup().expect("a slot");
    let loaded = crate::fixture::snapshot(&mut source, "public.computed", &start, 100);
    assert_eq!(loaded[0].after, ["1", "5", "10"]);
    source.open(&start).expect("the stream");
    server.query("UPDATE computed SET a = 6");
    assert_eq!(changes(&mut source, 1), [(Op::Update, texts(&["1", "6", "12"]), texts(&[]))]);
    source.teardown().expect("no failure");
}

#[test]
fn odd_names_are_names() {
    // B103, B125, B176, B178, B179, B181, B185, B187.
    let server = server();
    server.query(r#"CREATE SCHEMA "テ.スト"; CREATE TABLE "テ.スト"."ca""f'é\x.1" ("Id" int PRIMARY KEY, "id" int, "t;" int)"#);
    server.query(r#"CREATE TABLE t (t int PRIMARY KEY)"#);
    let mut source = source(server, config("odd_names", &[r#""テ.スト"."ca""f'é\x.1""#, "public.t"]));
    assert_eq!(source.validate().expect("an answer"), []);
    let start = source.setup().expect("a slot");
    server.query(r#"INSERT INTO "テ.スト"."ca""f'é\x.1" VALUES (1, 2, 3); INSERT INTO t VALUES (4)"#);
    let loaded = crate::fixture::snapshot(&mut source, "public.t", &start, 10);
    assert!(loaded.is_empty(), "the point was held before");
    source.open(&start).expect("the stream");
    let seen = changes(&mut source, 2);
    assert_eq!(seen[0].1, texts(&["1", "2", "3"]));
    assert_eq!(seen[1].1, texts(&["4"]));
    source.teardown().expect("no failure");
}

#[test]
fn logical_messages_and_other_tables_do_not_disturb() {
    // B145, B146, B169.
    let mut source = streaming("quiet", "(id int PRIMARY KEY)");
    server().query("CREATE TABLE other (id int PRIMARY KEY)");
    server().query(
        "SELECT pg_logical_emit_message(false, 'p', 'x');
         BEGIN; SELECT pg_logical_emit_message(true, 'p', 'x'); INSERT INTO quiet VALUES (1); INSERT INTO other VALUES (1);
         SELECT pg_logical_emit_message(true, 'p', 'y'); COMMIT",
    );
    assert_eq!(changes(&mut source, 1), [(Op::Insert, texts(&["1"]), texts(&[]))]);
    source.teardown().expect("no failure");
}

#[test]
fn a_key_whose_text_changes_brings_the_old_one_also_where_the_server_calls_them_equal() {
    // The server compares bytes. Were the old key missing, its row would stay behind at a destination that
    // tells the two apart.
    let folded =
        "CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false)";
    // Some servers are built without ICU.
    let has_folded = server().try_query(folded).is_ok();
    let keys = [
        ("float8", "'-0'", "'0'"),
        ("float4", "'0'", "'-0'"),
        ("numeric", "1.0", "1.00"),
        ("interval", "'1 mon'", "'30 days'"),
        ("bpchar", "'a'", "'a '"),
        ("text COLLATE folded", "'a'", "'A'"),
        ("jsonb", "'1.0'", "'1.00'"),
        ("numeric[]", "'{1.0}'", "'{1.00}'"),
        ("numrange", "'[1.0,2)'", "'[1.00,2)'"),
    ];
    let known = |(key, ..): &(&str, &str, &str)| has_folded || !key.contains("folded");
    for (at, (key, from, to)) in keys.into_iter().filter(known).enumerate() {
        let name = format!("equal_{at}");
        let mut source = streaming(&name, &format!("(k {key} PRIMARY KEY, n int)"));
        assert_eq!(
            server().scalar(&format!("SELECT {from}::{key} = {to}::{key}")).as_deref(),
            Some("t"),
            "{key}"
        );
        server().query(&format!("INSERT INTO {name} VALUES ({from}, 1); UPDATE {name} SET k = {to}, n = 2"));
        server().query(&format!("DELETE FROM {name}"));
        let seen = changes(&mut source, 3);
        let (old, new) = (&seen[0].1[0], &seen[1].1[0]);
        assert_ne!(old, new, "{key}");
        assert_eq!(seen[1].2, texts(&[old, "<unchanged>"]), "{key}");
        assert_eq!(seen[2].2, texts(&[new, "<unchanged>"]), "{key}");
        source.teardown().expect("no failure");
    }
}

/// A stream of a table with a column `secret`, which is left out, that is behind statements, with a row before each and one
/// after all.
fn behind_secret(name: &str, statements: &[&str]) -> Source {
    let server = server();
    server.query(&format!("CREATE TABLE {name} (id int PRIMARY KEY, secret text, n int)"));
    let mut config = config(name, &[&format!("public.{name}")]);
    config.tables[0].exclude = vec!["secret".to_owned()];
    let mut source = source(server, config);
    source.schema().expect("the schema");
    let start = source.setup().expect("a slot");
    for (id, statement) in statements.iter().enumerate() {
        server.query(&format!("INSERT INTO {name} VALUES ({id}, 'hidden', 7)"));
        server.query(&statement.replace("$t", name));
    }
    server.query(&format!("INSERT INTO {name} (id) VALUES ({})", statements.len()));
    source.open(&start).expect("the stream");
    source
}

#[test]
fn a_column_that_is_left_out_is_told_by_its_number_where_it_is_renamed_while_the_stream_lags() {
    let statements = [
        "ALTER TABLE $t ADD c text DEFAULT 'c'",
        "ALTER TABLE $t RENAME secret TO open",
        "ALTER TABLE $t DROP c",
    ];
    let mut source = behind_secret("secret_renamed", &statements);
    let (seen, _) = stream(&mut source, 2, 10).expect("rows from before");
    let after: Vec<_> = seen.iter().map(|row| row.after.join(" ")).collect();
    assert_eq!(after, ["0 7", "1 7 c"]);
    let failure = source.read(limits(10)).expect_err("it is told");
    assert_eq!(failure.code, "excluded_column_gone", "{failure}");
    assert!(failure.message.contains("secret, which is left out, is called open by now"), "{failure}");
    source.teardown().expect("no failure");
}

#[test]
fn a_column_that_is_left_out_is_told_by_its_number_where_another_one_has_its_name() {
    let exchange = "BEGIN; ALTER TABLE $t RENAME secret TO away; ALTER TABLE $t RENAME n TO secret;
                    ALTER TABLE $t RENAME away TO n; COMMIT";
    for (name, statement, called) in [
        ("secret_exchanged", exchange, "n"),
        ("secret_again", "ALTER TABLE $t RENAME secret TO open; ALTER TABLE $t ADD secret int", "open"),
    ] {
        let mut source = behind_secret(name, &["", statement]);
        let (seen, _) = stream(&mut source, 2, 10).expect("rows from before");
        assert_eq!(seen.iter().map(|row| row.after.join(" ")).collect::<Vec<_>>(), ["0 7", "1 7"]);
        let failure = source.read(limits(10)).expect_err("it is told");
        let told = format!("secret, which is left out, is called {called} by now");
        assert!(failure.message.contains(&told), "{failure}");
        source.teardown().expect("no failure");
    }
}

#[test]
fn a_column_that_is_left_out_and_dropped_is_not_taken_for_one_that_is_added() {
    let mut source =
        behind_secret("secret_dropped", &["ALTER TABLE $t DROP secret, DROP n, ADD b text, ADD m int"]);
    let (seen, _) = stream(&mut source, 2, 10).expect("rows");
    let after: Vec<_> = seen.iter().map(|row| row.after.join(" ")).collect();
    assert_eq!(after, ["0 7", "1 NULL NULL"]);
    source.teardown().expect("no failure");
}
