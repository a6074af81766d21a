//! A primary key that was another one for a while, or the same made anew.

use std::collections::BTreeMap;

use tarn_batch::{Op, Version};
use tarn_harness::until;
use tarn_sdk::log::{Level, lines_of};
use tarn_sdk::{Limits, Rereads, SourceConfig};

use crate::fixture::{Source, config, limits, published_by, rows, source, stream};
use crate::server;

/// A table whose whole rows are logged, and a mirror of it at the beginning of its stream.
fn mirrored(name: &str, rereads: Rereads) -> (Source, Vec<u8>) {
    server().query(&format!(
        "CREATE TABLE {name} (a int, b int NOT NULL, PRIMARY KEY (a)); ALTER TABLE {name} REPLICA IDENTITY FULL"
    ));
    begun(SourceConfig { rereads, ..config(name, &[&format!("public.{name}")]) })
}

fn begun(config: SourceConfig) -> (Source, Vec<u8>) {
    let mut source = source(server(), config);
    source.schema().expect("the schema");
    let start = source.setup().expect("a slot");
    // What a load would read at is held until then.
    source.open(&start).expect("the stream");
    (source, start)
}

/// Makes the primary key anew of a table.
fn key(name: &str, columns: &str) {
    server().query(&format!("ALTER TABLE {name} DROP CONSTRAINT {name}_pkey, ADD PRIMARY KEY ({columns})"));
}

/// Rows that are alike in `a` while `b` is the key: one is deleted, and two exchange what they have in `a`.
fn use_another_key(name: &str, columns: [&str; 2]) {
    server().query(&format!("INSERT INTO {name} VALUES (1, 1), (2, 2), (3, 3)"));
    key(name, columns[0]);
    server().query(&format!("INSERT INTO {name} VALUES (3, 4)"));
    server().query(&format!("DELETE FROM {name} WHERE b = 4"));
    server().query(&format!("UPDATE {name} SET a = 2 WHERE b = 1"));
    server().query(&format!("UPDATE {name} SET a = 1 WHERE b = 2"));
    key(name, columns[1]);
}

/// A column of a target that holds the latest row of each `a`.
type Held = BTreeMap<String, (Version, Option<String>)>;

/// Reads until a target has these rows; what the log says meanwhile of the key.
fn told_until(source: &mut Source, expected: &[&str]) -> Vec<(Level, String)> {
    let mut held = Held::new();
    let ((), lines) = lines_of(|| {
        until("the rows are there", || {
            let changes = source.read(Limits { wait_ms: 50, ..limits(100) }).expect("the stream goes on");
            for row in rows(&changes.batch) {
                let text = Some(row.after.join(" ")).filter(|_| row.op != Op::Delete);
                let keys = [(row.before.first(), None), (row.after.first(), text)];
                for (key, text) in keys.into_iter().filter_map(|(key, text)| Some((key?, text))) {
                    if held.get(key).is_none_or(|(version, _)| *version <= row.version) {
                        held.insert(key.clone(), (row.version, text));
                    }
                }
            }
            held.values().filter_map(|(_, text)| text.as_deref()).eq(expected.iter().copied()).then_some(())
        });
    });
    lines.into_iter().filter(|(_, line)| line.contains("primary key")).collect()
}

fn levels(told: Vec<(Level, String)>) -> Vec<Level> {
    told.into_iter().map(|(level, _)| level).collect()
}

const EXPECTED: [&str; 3] = ["1 2", "2 1", "3 3"];

#[test]
fn rows_that_another_key_told_apart_for_a_while_are_read_again() {
    for identity in ["FULL", "DEFAULT"] {
        let name = format!("rekeyed_{}", identity.to_lowercase());
        let (mut source, start) = mirrored(&name, Rereads::All);
        use_another_key(&name, ["b", "a"]);
        server().query(&format!("ALTER TABLE {name} REPLICA IDENTITY {identity}"));
        source.open(&start).expect("the stream");
        assert_eq!(levels(told_until(&mut source, &EXPECTED)), [Level::Info], "{identity}");
        source.teardown().expect("no failure");
    }
}

#[test]
fn the_same_where_the_stream_runs_and_comes_to_them_later() {
    let (mut source, _) = mirrored("rekeyed_live", Rereads::All);
    server().query("INSERT INTO rekeyed_live VALUES (9, 9)");
    assert_eq!(told_until(&mut source, &["9 9"]), []);
    use_another_key("rekeyed_live", ["b", "a"]);
    let told = told_until(&mut source, &["1 2", "2 1", "3 3", "9 9"]);
    assert_eq!(levels(told), [Level::Info]);
    source.teardown().expect("no failure");
}

#[test]
fn a_mirror_that_reads_no_rows_again_warns_of_it() {
    let (mut source, start) = mirrored("rekeyed_told", Rereads::None);
    use_another_key("rekeyed_told", ["b", "a"]);
    source.open(&start).expect("the stream");
    let (outcome, lines) = lines_of(|| stream(&mut source, 7, 100));
    outcome.expect("the rows");
    let told: Vec<_> = lines.into_iter().filter(|(_, line)| line.contains("primary key")).collect();
    let [(Level::Warn, line)] = &told[..] else { panic!("{told:?}") };
    assert!(["public.rekeyed_told", "verify", "resync"].iter().all(|part| line.contains(part)), "{line}");
    source.teardown().expect("no failure");
}

#[test]
fn an_index_that_is_made_anew_and_a_key_without_changes_before_it_are_no_alarm() {
    let (mut source, start) = mirrored("rekeyed_nothing", Rereads::All);
    server().query("INSERT INTO rekeyed_nothing VALUES (1, 1)");
    server().query("REINDEX TABLE rekeyed_nothing");
    server().query("REINDEX INDEX CONCURRENTLY rekeyed_nothing_pkey");
    server().query("VACUUM FULL rekeyed_nothing");
    source.open(&start).expect("the stream");
    assert_eq!(told_until(&mut source, &["1 1"]), []);
    key("rekeyed_nothing", "a");
    let position = source.read(Limits { wait_ms: 50, ..limits(10) }).expect("no changes").position;
    source.open(&position).expect("the stream");
    // The next change is of after what was looked at then.
    server().query("INSERT INTO rekeyed_nothing VALUES (2, 2)");
    assert_eq!(told_until(&mut source, &["2 2"]), []);
    source.teardown().expect("no failure");
}

/// The same of a table with a partition.
fn partitioned(name: &str, identity: &str, via_root: bool) -> (Source, Vec<u8>) {
    server().query(&format!(
        "CREATE TABLE {name} (a int, b int NOT NULL, part int DEFAULT 1, PRIMARY KEY (a, part)) PARTITION BY LIST (part);
         CREATE TABLE {name}_1 PARTITION OF {name} FOR VALUES IN (1);
         ALTER TABLE {name} REPLICA IDENTITY {identity};
         ALTER TABLE {name}_1 REPLICA IDENTITY {identity};
         CREATE PUBLICATION {name} FOR TABLE {name} WITH (publish_via_partition_root = {via_root})"
    ));
    let (source, start) = begun(published_by(name, config(name, &[&format!("public.{name}")])));
    use_another_key(name, ["b, part", "a, part"]);
    (source, start)
}

#[test]
fn rows_of_partitioned_tables_are_read_again_too() {
    // What is logged of rows of partitions, the table's own identity does not say.
    for (name, via_root, level) in
        [("rekeyed_parts", false, Level::Info), ("rekeyed_root", true, Level::Warn)]
    {
        let (mut source, start) = partitioned(name, "FULL", via_root);
        source.open(&start).expect("the stream");
        assert_eq!(levels(told_until(&mut source, &["1 2 1", "2 1 1", "3 3 1"])), [level], "{name}");
        source.teardown().expect("no failure");
    }
}

#[test]
fn rows_of_partitions_that_come_by_themselves_come_with_the_key_that_told_them_apart() {
    let (mut source, start) = partitioned("rekeyed_own", "DEFAULT", false);
    source.open(&start).expect("the stream");
    // The host compares it with the target's.
    let described = until("another key", || {
        source.read(Limits { wait_ms: 50, ..limits(1) }).expect("changes").schema.pop()
    });
    let keys: Vec<u16> = described.table.columns.iter().map(|column| column.key).collect();
    assert_eq!(keys, [0, 2, 3]);
    source.teardown().expect("no failure");
}
