//! What people ask about a server.

use tarn_harness::Postgres;
use tarn_plugin_postgres::inspect;
use tarn_sdk::Failure;
use tarn_sdk::inspection::{
    About, ActivityInfo, Answer, ColumnInfo, Question, RowCount, SlotInfo, TableInfo,
};

use crate::fixture::{DriverPeer, config, source};
use crate::server;

const WITHIN_MS: u32 = 20_000;

fn ask_as(peer: DriverPeer, about: About) -> Result<Answer, Failure> {
    inspect(peer, &Question { within_ms: WITHIN_MS, about })
}

fn ask(server: &Postgres, about: About) -> Answer {
    ask_as(DriverPeer::new(server), about).expect("an answer")
}

fn tables(server: &Postgres, schema: &str) -> Vec<TableInfo> {
    match ask(server, About::Tables { schema: schema.into() }) {
        Answer::Tables(tables) => tables,
        other => panic!("{other:?}"),
    }
}

fn columns(server: &Postgres, schema: &str, table: &str) -> Vec<ColumnInfo> {
    match ask(server, About::Columns { schema: schema.into(), table: table.into() }) {
        Answer::Columns(columns) => columns,
        other => panic!("{other:?}"),
    }
}

fn counts(server: &Postgres, tables: &[&str], within_ms: u32) -> Vec<RowCount> {
    let tables = tables.iter().map(|&table| table.to_owned()).collect();
    let about = About::RowCounts { tables, deleted_column: String::new() };
    match inspect(DriverPeer::new(server), &Question { within_ms, about }).expect("an answer") {
        Answer::RowCounts(counts) => counts,
        other => panic!("{other:?}"),
    }
}

#[test]
fn schemas_of_users_are_listed_and_the_servers_own_are_not() {
    let server = server();
    server.query(r#"CREATE SCHEMA "Odd schema.1""#);
    let Answer::Schemas(schemas) = ask(server, About::Schemas) else { panic!("schemas") };
    assert!(schemas.contains(&"public".to_owned()) && schemas.contains(&"Odd schema.1".to_owned()));
    assert!(!schemas.iter().any(|schema| schema.starts_with("pg_") || schema == "information_schema"));
}

#[test]
fn tables_can_be_mirrored_where_a_mirror_of_them_has_no_problem() {
    let server = server();
    server.query(
        "CREATE SCHEMA asked; CREATE TABLE asked.plain (id int PRIMARY KEY);
         CREATE TABLE asked.no_key (id int); CREATE UNLOGGED TABLE asked.not_logged (id int PRIMARY KEY);
         CREATE TABLE asked.nothing (id int PRIMARY KEY); ALTER TABLE asked.nothing REPLICA IDENTITY NOTHING;
         CREATE TABLE asked.whole (id int); ALTER TABLE asked.whole REPLICA IDENTITY FULL;
         CREATE TABLE asked.whole_key (id int PRIMARY KEY); ALTER TABLE asked.whole_key REPLICA IDENTITY FULL;
         CREATE TABLE asked.by_index (id int NOT NULL); CREATE UNIQUE INDEX by_index_id ON asked.by_index (id);
         ALTER TABLE asked.by_index REPLICA IDENTITY USING INDEX by_index_id;
         CREATE TABLE asked.deferred (id int PRIMARY KEY DEFERRABLE);
         CREATE TABLE asked.root (id int PRIMARY KEY) PARTITION BY RANGE (id);
         CREATE TABLE asked.leaf PARTITION OF asked.root FOR VALUES FROM (0) TO (10);
         INSERT INTO asked.root SELECT generate_series(0, 9); CREATE VIEW asked.a_view AS SELECT 1 AS one",
    );
    let found = tables(server, "asked");
    for table in &found {
        let name = format!("asked.{}", table.table_name);
        let problems = source(server, config("asked", &[&name])).validate().expect("an answer");
        assert_eq!(table.can_mirror, problems.is_empty(), "{name}: {problems:?}");
    }
    let names: Vec<_> = found.iter().map(|table| table.table_name.as_str()).collect();
    assert_eq!(
        names,
        ["by_index", "deferred", "no_key", "not_logged", "nothing", "plain", "root", "whole", "whole_key"]
    );
    let whole: Vec<_> = found.iter().filter(|table| table.is_replica_identity_full).collect();
    assert_eq!(whole.len(), 2);
    let root = found.iter().find(|table| table.table_name == "root").expect("there");
    assert!(root.table_size != "0 bytes" && !root.table_size.is_empty(), "its partitions count: {root:?}");
    assert_eq!(tables(server, "nowhere"), []);
}

#[test]
fn every_table_is_named_as_a_mirror_may_name_it() {
    let server = server();
    server.query(r#"CREATE SCHEMA "a.b"; CREATE TABLE "a.b"."My.Table" (id int PRIMARY KEY)"#);
    server.query("CREATE VIEW listed_view AS SELECT 1 AS one");
    let Answer::AllTables(names) = ask(server, About::AllTables) else { panic!("names") };
    let odd = names.iter().find(|name| name.contains("My.Table")).expect("listed");
    assert_eq!(source(server, config("odd", &[odd])).validate().expect("an answer"), []);
    assert!(names.contains(&"public.listed_view".to_owned()));
    assert!(names.is_sorted() || names.len() > 1);
}

#[test]
fn columns_have_their_types_keys_and_the_kind_that_clients_know() {
    let server = server();
    server.query(
        "CREATE TYPE asked_mood AS ENUM ('a'); CREATE DOMAIN asked_domain AS numeric(6,2);
         CREATE TABLE asked_columns (b bool, i2 int2, id int8, f4 float4, f8 float8, n numeric(10,2), t text,
             v varchar(3), y bytea, d date, ti time, tz timetz, ts timestamp, tstz timestamptz, iv interval,
             u uuid, j json, jb jsonb, e asked_mood, dm asked_domain, p point, ia int4[], ta text[], ba bytea[],
             i4 int4, PRIMARY KEY (i4, id))",
    );
    let found = columns(server, "public", "asked_columns");
    let kinds: Vec<_> = found.iter().map(|column| (column.name.as_str(), column.qkind.as_str())).collect();
    assert_eq!(
        kinds,
        [
            ("b", "bool"),
            ("i2", "int16"),
            ("id", "int64"),
            ("f4", "float32"),
            ("f8", "float64"),
            ("n", "numeric"),
            ("t", "string"),
            ("v", "string"),
            ("y", "bytes"),
            ("d", "date"),
            ("ti", "time"),
            ("tz", "timetz"),
            ("ts", "timestamp"),
            ("tstz", "timestamptz"),
            ("iv", "interval"),
            ("u", "uuid"),
            ("j", "json"),
            ("jb", "jsonb"),
            ("e", "enum"),
            ("dm", "numeric"),
            ("p", "string"),
            ("ia", "array_int32"),
            ("ta", "array_string"),
            ("ba", "array_string"),
            ("i4", "int32"),
        ]
    );
    let of = |name: &str| found.iter().find(|column| column.name == name).expect("there");
    assert_eq!((of("n").r#type.as_str(), of("v").r#type.as_str()), ("numeric(10,2)", "character varying(3)"));
    let keys: Vec<_> =
        found.iter().filter(|column| column.is_key).map(|column| column.name.as_str()).collect();
    assert_eq!(keys, ["id", "i4"]);
    assert!(of("id").is_replica_identity && !of("t").is_replica_identity);
    server.query("ALTER TABLE asked_columns REPLICA IDENTITY FULL");
    let found = columns(server, "public", "asked_columns");
    assert!(found.iter().all(|column| !column.is_replica_identity));
    let missing = ask_as(
        DriverPeer::new(server),
        About::Columns { schema: "public".into(), table: "Asked_columns".into() },
    );
    assert_eq!(missing.expect_err("case matters").code, "table_missing");
}

#[test]
fn publications_and_slots_of_the_database_are_listed() {
    let server = server();
    server.query("CREATE PUBLICATION asked_publication");
    server.query("SELECT pg_create_logical_replication_slot('asked_slot', 'pgoutput')");
    let Answer::Publications(publications) = ask(server, About::Publications) else { panic!("publications") };
    assert!(publications.contains(&"asked_publication".to_owned()));
    let Answer::Slots(slots) = ask(server, About::Slots) else { panic!("slots") };
    let slot = slots.iter().find(|slot| slot.slot_name == "asked_slot").expect("listed");
    let SlotInfo { active, restart_lsn, confirmed_flush_lsn, current_lsn, wal_status, redo_lsn, .. } = slot;
    assert!(!active && wal_status == "reserved");
    for lsn in [restart_lsn, confirmed_flush_lsn, current_lsn, redo_lsn] {
        assert!(lsn.contains('/'), "{slot:?}");
    }
    assert_eq!((slot.sent_lsn.as_deref(), slot.logical_decoding_work_mem_mb), (None, 64));
    assert!(slot.lag_in_mb >= slot.confirmed_to_current_mb && slot.lag_in_mb < 1024.0, "{slot:?}");
    server.query("SELECT pg_drop_replication_slot('asked_slot'); DROP PUBLICATION asked_publication");
}

#[test]
fn a_role_that_may_see_little_is_answered_with_what_it_may_see() {
    let server = server();
    server.query(
        "CREATE ROLE asked_poor LOGIN PASSWORD 'poor'; CREATE SCHEMA asked_locked;
         CREATE TABLE asked_locked.t (id int PRIMARY KEY); INSERT INTO asked_locked.t VALUES (1)",
    );
    let poor = || DriverPeer::of_role(server, "asked_poor", "poor");
    for about in [About::Schemas, About::AllTables, About::Publications, About::Slots, About::Activity] {
        ask_as(poor(), about.clone()).unwrap_or_else(|failure| panic!("{about:?}: {failure:?}"));
    }
    let about = About::RowCounts { tables: vec!["asked_locked.t".into()], deleted_column: String::new() };
    let Answer::RowCounts(counts) = ask_as(poor(), about).expect("an answer") else { panic!("counts") };
    assert_eq!(counts, [RowCount { table: "asked_locked.t".into(), rows: None, approximate: false }]);
}

#[test]
fn the_services_own_connections_are_listed_with_what_they_do() {
    let server = server();
    server.query("CREATE TABLE asked_stream (id int PRIMARY KEY)");
    let mut streaming = source(server, config("asked_stream", &["public.asked_stream"]));
    let start = streaming.setup().expect("set up");
    streaming.open(&start).expect("streams");
    let Answer::Activity(activity) = ask(server, About::Activity) else { panic!("activity") };
    let stream = activity.iter().find(|session| session.query.contains("tarn_slot_asked_stream"));
    let ActivityInfo { pid, query_start, duration, state, .. } = stream.expect("the stream is listed");
    assert!(*pid > 0 && !query_start.is_empty() && *duration >= 0.0 && state == "active", "{stream:?}");
    streaming.teardown().expect("removed");
}

#[test]
fn rows_are_counted_exactly_and_guessed_only_when_time_is_up() {
    let server = server();
    server.query(
        "CREATE TABLE counted (id int PRIMARY KEY); INSERT INTO counted SELECT generate_series(1, 300000);
         CREATE TABLE counted_child () INHERITS (counted); INSERT INTO counted_child VALUES (-1);
         CREATE TABLE counted_root (id int PRIMARY KEY) PARTITION BY RANGE (id);
         CREATE TABLE counted_leaf PARTITION OF counted_root FOR VALUES FROM (0) TO (10);
         INSERT INTO counted_root SELECT generate_series(0, 6); ANALYZE counted",
    );
    let exact = |table: &str, rows| RowCount { table: table.into(), rows, approximate: false };
    assert_eq!(
        counts(server, &["public.counted", "public.counted_root", "public.absent", "no_schema"], 0),
        [
            exact("public.counted", Some(300_000)),
            exact("public.counted_root", Some(7)),
            exact("public.absent", None),
            exact("no_schema", None),
        ]
    );
    let hurried = counts(server, &["public.counted"], 1);
    assert!(hurried[0].rows.is_some_and(|rows| rows.abs_diff(300_000) < 30_000), "{hurried:?}");
}

#[test]
fn a_question_that_a_lock_holds_up_ends_in_time() {
    let server = server();
    server.query("CREATE SCHEMA asked_lock; CREATE TABLE asked_lock.t (id int PRIMARY KEY)");
    let mut holder = server.session();
    holder.query("BEGIN; LOCK TABLE asked_lock.t IN ACCESS EXCLUSIVE MODE");
    let question = Question { within_ms: 300, about: About::Tables { schema: "asked_lock".into() } };
    let failure = inspect(DriverPeer::new(server), &question).expect_err("the table is locked");
    assert_eq!(failure.code, "inspection_slow");
    holder.query("ROLLBACK");
}

#[test]
fn a_question_of_a_later_host_is_told_apart() {
    let question: Question =
        serde_json::from_str(r#"{"about": "weather", "withinMs": 5, "more": 1}"#).expect("read");
    assert_eq!(question.about, About::Unknown);
    let failure = inspect(DriverPeer::new(server()), &question).expect_err("not known");
    assert_eq!(failure.code, "question_unknown");
}
