//! What a publication of somebody else publishes.

use tarn_harness::{Postgres, until};
use tarn_sdk::SourceConfig;

use crate::fixture::{config, limits, published_by, rows, source, stream};

/// Releases whose publications list columns and schemas.
const RELEASES: [u32; 4] = [15, 16, 17, 18];

/// A database of each of them that is here, and of the one that all tests run with, by their major versions.
fn servers() -> impl Iterator<Item = (u32, Postgres)> {
    let usual = crate::major();
    let is_among = usual >= RELEASES[0];
    let others = RELEASES.into_iter().filter(move |major| *major != usual && Postgres::is_here(*major));
    let of_usual = std::iter::once(usual).filter(move |_| is_among).map(|major| (major, Postgres::start()));
    of_usual.chain(others.map(|major| (major, Postgres::start_major(major, &[]))))
}

fn of(publication: &str, tables: &[&str]) -> SourceConfig {
    published_by(publication, config("published", tables))
}

#[test]
fn what_is_published_is_known_in_every_form_on_every_release() {
    for (major, server) in servers() {
        server.query(
            "CREATE SCHEMA s; CREATE TABLE s.inside (id int PRIMARY KEY, a int);
             CREATE TABLE plain (id int PRIMARY KEY, a int, b int, g int GENERATED ALWAYS AS (a) STORED);
             CREATE TABLE root (id int PRIMARY KEY) PARTITION BY RANGE (id);
             CREATE TABLE middle PARTITION OF root FOR VALUES FROM (0) TO (9) PARTITION BY RANGE (id);
             CREATE TABLE leaf PARTITION OF middle DEFAULT;
             CREATE TABLE mixed (id int) PARTITION BY RANGE (id);
             CREATE TABLE near PARTITION OF mixed FOR VALUES FROM (0) TO (9);
             CREATE FOREIGN DATA WRAPPER nobody; CREATE SERVER nowhere FOREIGN DATA WRAPPER nobody;
             CREATE FOREIGN TABLE far PARTITION OF mixed DEFAULT SERVER nowhere;
             CREATE PUBLICATION listed FOR TABLE plain (id, b), s.inside WHERE (a > 0);
             CREATE PUBLICATION schema_and_table FOR TABLES IN SCHEMA s, TABLE root
               WITH (publish_via_partition_root);
             CREATE PUBLICATION everything FOR ALL TABLES;
             CREATE PUBLICATION everything_by_roots FOR ALL TABLES WITH (publish_via_partition_root);
             CREATE PUBLICATION of_a_leaf FOR TABLE leaf WITH (publish_via_partition_root);
             CREATE PUBLICATION of_a_root FOR TABLE root, mixed;
             CREATE PUBLICATION of_both FOR TABLE root, leaf WITH (publish_via_partition_root)",
        );
        let all = [
            "public.plain",
            "public.root",
            "public.middle",
            "public.leaf",
            "public.mixed",
            "public.near",
            "public.far",
            "s.inside",
        ];
        let all_but_foreign: Vec<&str> = all.into_iter().filter(|table| *table != "public.far").collect();
        // What is published by its partitions is there as well.
        for (publication, held) in [
            ("listed", &["public.plain", "s.inside"][..]),
            ("schema_and_table", &["public.root", "s.inside"]),
            ("everything", &all_but_foreign),
            ("everything_by_roots", &["public.plain", "public.root", "public.mixed", "s.inside"]),
            ("of_a_leaf", &["public.root", "public.middle", "public.leaf"]),
            ("of_a_root", &["public.root", "public.middle", "public.leaf", "public.mixed", "public.near"]),
            ("of_both", &["public.root"]),
        ] {
            let problems = source(&server, of(publication, &all)).validate().expect("an answer");
            let is_told = |table: &str| {
                let index = all.iter().position(|named| *named == table).expect("one of them");
                let path = format!("table_mappings[{index}].source_table_identifier");
                problems.iter().any(|problem| problem.path == path && problem.message.contains("publication"))
            };
            let found: Vec<&str> = all.into_iter().filter(|table| !is_told(table)).collect();
            assert_eq!(found, held, "{publication} on PostgreSQL {major}: {problems:?}");
        }
        for (publication, expected) in [("listed", &["id", "b"][..]), ("everything", &["id", "a", "b"])] {
            let described = source(&server, of(publication, &["public.plain"])).schema().expect("the schema");
            let names = described[0].table.columns.iter().map(|column| column.name.as_str());
            assert!(names.eq(expected.iter().copied()), "{publication} on PostgreSQL {major}: {described:?}");
        }
    }
}

#[test]
fn changes_of_when_the_publication_was_gone_are_not_passed_over_on_any_release() {
    for (major, server) in servers() {
        // PostgreSQL 18 only warns of it, and where it is told to keep warnings to itself, does not even do so.
        server.query(
            "CREATE TABLE away (id int PRIMARY KEY); CREATE PUBLICATION given FOR TABLE away;
             DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET client_min_messages = error', current_database()); END $$",
        );
        let mut source = source(&server, of("given", &["public.away"]));
        let start = source.setup().expect("a slot");
        server.query("ALTER PUBLICATION given RENAME TO other");
        let failure = source.open(&start).expect_err("it is gone");
        assert_eq!(failure.code, "publication_missing", "PostgreSQL {major}: {failure}");
        // Nothing was changed meanwhile, so that this remedy does.
        assert!(failure.hint.contains("rename it back"), "{failure}");
        server.query("ALTER PUBLICATION other RENAME TO given");
        server.query("INSERT INTO away VALUES (1)");
        source.open(&start).expect("the stream");
        let (_, positions) = stream(&mut source, 1, 10).expect("a row");

        server.query("ALTER PUBLICATION given RENAME TO other");
        server.query("INSERT INTO away VALUES (2)");
        server.query("ALTER PUBLICATION other RENAME TO given");
        server.query("INSERT INTO away VALUES (3)");
        for _ in 0..2 {
            source.open(&positions[0]).expect("all is there now");
            let failure = until("the stream ends", || match source.read(limits(10)) {
                Ok(changes) => {
                    assert_eq!(rows(&changes.batch), [], "PostgreSQL {major}");
                    None
                }
                Err(failure) => Some(failure),
            });
            assert_eq!(failure.code, "publication_narrowed", "PostgreSQL {major}: {failure}");
            assert!(failure.message.contains("it was renamed or dropped"), "{failure}");
            assert!(failure.hint.starts_with("resync the mirror"), "{failure}");
        }
        source.teardown().expect("no failure");
    }
}

#[test]
fn a_lock_on_one_table_keeps_no_row_of_another_on_any_release() {
    for (major, server) in servers() {
        server.query(
            "CREATE TABLE locked (id int PRIMARY KEY); CREATE TABLE free (id int PRIMARY KEY);
             CREATE TABLE parted (id int PRIMARY KEY) PARTITION BY RANGE (id);
             CREATE TABLE parted_1 PARTITION OF parted DEFAULT;
             CREATE PUBLICATION given FOR TABLE locked WHERE (id > 0), free, parted",
        );
        let tables = ["public.locked", "public.free", "public.parted"];
        let given = SourceConfig { mirror: "given".to_owned(), ..of("given", &tables) };
        for config in [config("managed", &tables), given] {
            let mut source = source(&server, config);
            source.schema().expect("the schema");
            let start = source.setup().expect("a slot");
            let mut locking = server.session();
            locking.query("BEGIN; LOCK TABLE locked, parted, parted_1 IN ACCESS EXCLUSIVE MODE");
            source.open(&start).expect("the stream");
            server.query("INSERT INTO free SELECT coalesce(max(id), 0) + 1 FROM free");
            let (seen, _) = stream(&mut source, 1, 10).expect("a row");
            assert_eq!(seen[0].table, "public.free", "PostgreSQL {major}");
            locking.query("COMMIT");
            source.teardown().expect("no failure");
        }
    }
}
