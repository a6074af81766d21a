//! What would keep a mirror from running, told before it runs.

use tarn_harness::{Postgres, until};
use tarn_plugin_postgres::PostgresSource;
use tarn_sdk::{Problem, SourceConfig, SourceTable};

use crate::fixture::{DriverPeer, config, source};
use crate::server;

fn told<'a>(problems: &'a [Problem], path: &str, message: &str) -> &'a Problem {
    let found = problems.iter().find(|problem| problem.path == path && problem.message.contains(message));
    found.unwrap_or_else(|| panic!("{path}: {message:?} is not in {problems:#?}"))
}

#[test]
fn everything_is_told_at_once_with_its_place_and_a_remedy() {
    let server = server();
    server.query(
        "CREATE TABLE fine (id int PRIMARY KEY, t text); CREATE TABLE no_key (id int);
         CREATE TABLE no_identity (id int PRIMARY KEY); ALTER TABLE no_identity REPLICA IDENTITY NOTHING;
         CREATE UNLOGGED TABLE not_logged (id int PRIMARY KEY); CREATE VIEW a_view AS SELECT * FROM fine;
         CREATE TABLE full_no_key (id int); ALTER TABLE full_no_key REPLICA IDENTITY FULL;
         CREATE TABLE deferred (id int PRIMARY KEY DEFERRABLE)",
    );
    let tables =
        ["fine", "no_key", "no_identity", "not_logged", "a_view", "full_no_key", "deferred", "absent"];
    let names: Vec<String> = tables.iter().map(|table| format!("public.{table}")).collect();
    let mut config = config("bad", &names.iter().map(String::as_str).collect::<Vec<_>>());
    config.tables[0].exclude = vec!["id".to_owned(), "nothing".to_owned()];
    config.tables.push(SourceTable { source: "no_schema".to_owned(), ..SourceTable::default() });
    (config.publication, config.publication_managed) = ("nowhere".to_owned(), false);
    let problems = source(server, config).validate().expect("an answer");
    let table = |index: usize| format!("table_mappings[{index}].source_table_identifier");
    told(&problems, "table_mappings[0].exclude", "identifies its rows");
    told(&problems, "table_mappings[0].exclude", "no column \"nothing\"");
    assert!(told(&problems, &table(1), "no primary key").hint.contains("ADD PRIMARY KEY"));
    assert!(told(&problems, &table(2), "replica identity nothing").hint.contains("REPLICA IDENTITY DEFAULT"));
    told(&problems, &table(3), "unlogged");
    told(&problems, &table(4), "a view");
    told(&problems, &table(5), "no primary key");
    told(&problems, &table(6), "no primary key");
    told(&problems, &table(7), "does not exist");
    told(&problems, &table(8), "\"no_schema\"");
    told(&problems, "publication_name", "\"nowhere\" does not exist");
    told(&problems, &table(0), "does not hold table public.fine");
    assert!(problems.iter().all(|problem| !problem.message.is_empty()));
}

#[test]
fn a_role_without_rights_is_told_each_of_them() {
    // B173.
    let server = server();
    server.query(
        "CREATE ROLE poor LOGIN PASSWORD 'poor'; CREATE SCHEMA locked; CREATE TABLE locked.t (id int PRIMARY KEY);
         CREATE TABLE poor_columns (id int PRIMARY KEY, a int, b int); GRANT SELECT (id, a) ON poor_columns TO poor;
         CREATE TABLE policed (id int PRIMARY KEY); GRANT SELECT ON policed TO poor;
         ALTER TABLE policed ENABLE ROW LEVEL SECURITY;
         CREATE TABLE poor_root (id int PRIMARY KEY) PARTITION BY RANGE (id); GRANT SELECT ON poor_root TO poor;
         CREATE TABLE poor_leaf PARTITION OF poor_root FOR VALUES FROM (0) TO (10)",
    );
    let mut config =
        config("poor", &["locked.t", "public.poor_columns", "public.policed", "public.poor_root"]);
    config.tables[1].exclude = vec!["b".to_owned()];
    let peer = DriverPeer::of_role(server, "poor", "poor");
    let problems = PostgresSource::new(peer, config).validate().expect("an answer");
    let table = |index: usize| format!("table_mappings[{index}].source_table_identifier");
    assert!(
        told(&problems, "source_name", "replication connection")
            .hint
            .contains("ALTER ROLE \"poor\" REPLICATION")
    );
    told(&problems, "publication_name", "may not make a publication");
    told(&problems, &table(0), "may not use schema");
    told(&problems, &table(0), "may not read id");
    told(&problems, &table(1), "does not own");
    assert!(
        !problems.iter().any(|problem| problem.path == table(1) && problem.message.contains("may not read"))
    );
    told(&problems, &table(2), "row-level security");
    told(&problems, &table(3), "partitions public.poor_leaf");
}

#[test]
fn a_role_that_may_have_few_connections_is_told_how_many_the_mirror_needs() {
    let server = server();
    server.query(
        "CREATE TABLE limited (id int PRIMARY KEY); CREATE ROLE limited LOGIN REPLICATION PASSWORD 'limited' CONNECTION LIMIT 10;
         ALTER TABLE limited OWNER TO limited; DO $$ BEGIN
         EXECUTE format('GRANT CREATE ON DATABASE %I TO limited', current_database()); END $$",
    );
    let problems = |load_workers| {
        let config = SourceConfig { load_workers, ..config("limited", &["public.limited"]) };
        let peer = DriverPeer::of_role(server, "limited", "limited");
        PostgresSource::new(peer, config).validate().expect("an answer")
    };
    let four = problems(4);
    let problem = told(
        &four,
        "source_name",
        "may have 10 connections at a time, and the mirror needs 11 with 4 workers",
    );
    assert!(problem.hint.contains("ALTER ROLE \"limited\" CONNECTION LIMIT 11"), "{}", problem.hint);
    assert_eq!((problems(3), problems(0)), (vec![], vec![]));
    // One is all that it takes to look, and no right is missing for that.
    until("its sessions have ended", || {
        let sessions = server.scalar("SELECT count(*) FROM pg_stat_activity WHERE usename = 'limited'");
        (sessions.as_deref() == Some("0")).then_some(())
    });
    server.query("ALTER ROLE limited CONNECTION LIMIT 1");
    let one = problems(0);
    assert!(told(&one, "source_name", "needs 4").hint.contains("CONNECTION LIMIT 4"));
    assert_eq!(one.len(), 1, "{one:?}");
    server.query("ALTER ROLE limited CONNECTION LIMIT -1");
    assert_eq!(problems(100), []);
}

#[test]
fn a_slot_that_exists_is_told_unless_it_is_a_leftover_of_the_mirrors_own() {
    let server = server();
    server.query("CREATE TABLE slotted (id int PRIMARY KEY)");
    server.query("SELECT pg_create_logical_replication_slot('somebodys', 'pgoutput')");
    let named = |slot: &str| SourceConfig { slot: slot.to_owned(), ..config("slotted", &["public.slotted"]) };
    let problems = source(server, named("somebodys")).validate().expect("an answer");
    told(&problems, "replication_slot_name", "exists already");
    server.query("SELECT pg_create_logical_replication_slot('tarn_slot_slotted', 'pgoutput')");
    assert_eq!(source(server, named("tarn_slot_slotted")).validate().expect("an answer"), []);
    server
        .query("SELECT pg_drop_replication_slot('somebodys'), pg_drop_replication_slot('tarn_slot_slotted')");
}

#[test]
fn a_server_that_is_not_set_up_is_told_what_to_set() {
    let server = Postgres::start_with(&[
        ("wal_level", "replica"),
        ("max_replication_slots", "1"),
        ("max_wal_senders", "1"),
    ]);
    server.query("CREATE TABLE t (id int PRIMARY KEY); SELECT pg_create_physical_replication_slot('only')");
    server.query("CREATE PUBLICATION inserts FOR TABLE t WITH (publish = 'insert')");
    let mut config = config("unprepared", &["public.t"]);
    (config.publication, config.publication_managed) = ("inserts".to_owned(), false);
    let problems = source(&server, config).validate().expect("an answer");
    assert!(
        told(&problems, "source_name", "wal_level is replica").hint.contains("ALTER SYSTEM SET wal_level")
    );
    told(&problems, "replication_slot_name", "all replication slots");
    told(&problems, "publication_name", "does not publish update, delete, truncate");
}

#[test]
fn a_partition_that_is_identified_by_other_columns_than_its_tables_key_is_told() {
    let server = server();
    // What is chosen for a partitioned table does not reach its partitions.
    server.query(
        "CREATE TABLE parted (id int, part int, code int NOT NULL, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
         CREATE UNIQUE INDEX parted_code ON parted (code, part);
         ALTER TABLE parted REPLICA IDENTITY USING INDEX parted_code;
         CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1) PARTITION BY LIST (part);
         CREATE TABLE parted_1_1 PARTITION OF parted_1 FOR VALUES IN (1);
         CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
         ALTER TABLE parted_2 REPLICA IDENTITY FULL;
         CREATE TABLE parted_3 PARTITION OF parted FOR VALUES IN (3);
         ALTER TABLE parted_3 REPLICA IDENTITY USING INDEX parted_3_code_part_idx",
    );
    let problems = || source(server, config("parted", &["public.parted"])).validate().expect("an answer");
    let found = problems();
    let problem = told(&found, "table_mappings[0].source_table_identifier", "public.parted_1_1 lacks");
    assert!(problem.message.ends_with(": code"), "{}", problem.message);
    assert!(problem.hint.contains("\"parted_1_1\" REPLICA IDENTITY"), "{}", problem.hint);
    assert_eq!(found.len(), 1, "{found:#?}");
    server.query("ALTER TABLE parted_1_1 REPLICA IDENTITY USING INDEX parted_1_1_code_part_idx");
    assert_eq!(problems(), []);
}
