//! Names that are another relation's or column's when they are used.

use tarn_sdk::FailureClass;

use crate::fixture::{BEFORE_READING, Seen, config, interrupted_source, read, source, stream};
use crate::server;

fn exchanged(one: &str, other: &str) -> String {
    format!(
        "BEGIN; ALTER TABLE public.{one} RENAME TO between_names; ALTER TABLE public.{other} RENAME TO {one};
         ALTER TABLE public.between_names RENAME TO {other}; COMMIT"
    )
}

fn second_values(rows: &[Seen]) -> Vec<&str> {
    let mut values: Vec<&str> = rows.iter().map(|row| row.after[1].as_str()).collect();
    values.sort_unstable();
    values
}

#[test]
fn a_load_reads_no_other_table_that_has_the_name_by_now() {
    let server = server();
    for table in ["called_so", "called_otherwise"] {
        server.query(&format!("CREATE TABLE {table} (id int PRIMARY KEY, t text)"));
        server.query(&format!("INSERT INTO {table} VALUES (1, '{table}')"));
    }
    let mut source = source(server, config("called_so", &["public.called_so"]));
    let start = source.setup().expect("a slot");
    let held = source.hold_snapshot().expect("a point");
    let partitions = source.plan_snapshot("public.called_so", 1000, 1).expect("partitions");
    server.query(&exchanged("called_so", "called_otherwise"));
    let failure = source.open_snapshot(&held.token, &partitions[0], &start, 0).expect_err("renamed");
    assert_eq!(failure.code, "table_renamed", "{failure}");
    assert!(failure.message.contains("public.called_otherwise"), "{failure}");
    server.query(&exchanged("called_so", "called_otherwise"));
    assert_eq!(second_values(&read(&mut source, &held.token, &partitions[0], &start, 0)), ["called_so"]);
    source.teardown().expect("no failure");
}

#[test]
fn a_load_reads_each_partition_whatever_it_is_called_by_now() {
    let server = server();
    server.query("CREATE TABLE called_parts (id int, t text, PRIMARY KEY (id)) PARTITION BY RANGE (id)");
    server.query("CREATE TABLE called_low PARTITION OF called_parts FOR VALUES FROM (0) TO (10)");
    server.query("CREATE TABLE called_high PARTITION OF called_parts FOR VALUES FROM (10) TO (20)");
    server.query("INSERT INTO called_parts VALUES (1, 'low'), (11, 'high')");
    let (mut source, meanwhile) =
        interrupted_source(server, config("called_parts", &["public.called_parts"]));
    let start = source.setup().expect("a slot");
    let held = source.hold_snapshot().expect("a point");
    let partitions = source.plan_snapshot("public.called_parts", 1000, 1).expect("partitions");
    let first = read(&mut source, &held.token, &partitions[0], &start, 0);
    *meanwhile.lock().expect("no panic") = Some((BEFORE_READING, exchanged("called_low", "called_high")));
    let second = read(&mut source, &held.token, &partitions[1], &start, 0);
    assert_eq!(second_values(&[first, second].concat()), ["high", "low"]);
    source.teardown().expect("no failure");
}

#[test]
fn a_load_reads_no_column_that_has_the_name_by_now() {
    let server = server();
    server.query("CREATE TABLE called_columns (id int PRIMARY KEY, p text, q text)");
    server.query("INSERT INTO called_columns VALUES (1, 'p', 'q')");
    let (mut source, meanwhile) =
        interrupted_source(server, config("called_columns", &["public.called_columns"]));
    let start = source.setup().expect("a slot");
    let held = source.hold_snapshot().expect("a point");
    let partitions = source.plan_snapshot("public.called_columns", 1000, 1).expect("partitions");
    *meanwhile.lock().expect("no panic") = Some((
        BEFORE_READING,
        "BEGIN; ALTER TABLE public.called_columns RENAME p TO z; ALTER TABLE public.called_columns RENAME q TO p;
         ALTER TABLE public.called_columns RENAME z TO q; COMMIT"
            .to_owned(),
    ));
    let failure = source.open_snapshot(&held.token, &partitions[0], &start, 0).expect_err("exchanged");
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Retry, "table_changed_meanwhile"));
    // By number they are what they were.
    let rows = read(&mut source, &held.token, &partitions[0], &start, 0);
    assert_eq!(rows[0].after, ["1", "p", "q"]);
    source.teardown().expect("no failure");
}

#[test]
fn values_that_a_change_left_out_are_not_those_of_a_column_that_has_the_name_by_now() {
    let server = server();
    server.query("CREATE TABLE called_late (id int PRIMARY KEY, n int, p text, q text, gone text)");
    server.query("ALTER TABLE called_late ALTER p SET STORAGE EXTERNAL, ALTER q SET STORAGE EXTERNAL, ALTER gone SET STORAGE EXTERNAL");
    server.query(
        "INSERT INTO called_late VALUES (1, 0, repeat('p', 9000), repeat('q', 9000), repeat('g', 9000))",
    );
    let mut config = config("called_late", &["public.called_late"]);
    config.loading = vec!["public.called_late".to_owned()];
    let mut source = source(server, config);
    let start = source.setup().expect("a slot");
    server.query("UPDATE called_late SET n = 1");
    server.query(
        "BEGIN; ALTER TABLE called_late RENAME p TO z; ALTER TABLE called_late RENAME q TO p;
         ALTER TABLE called_late RENAME z TO q; ALTER TABLE called_late DROP gone; COMMIT",
    );
    source.open(&start).expect("the stream");
    let (seen, _) = stream(&mut source, 1, 100).expect("a row");
    let values = &seen[0].after;
    assert_eq!((values[2].as_str(), values[3].as_str()), (&*"p".repeat(9000), &*"q".repeat(9000)));
    assert_eq!(values[4], "<unchanged>", "it is nowhere any more");
    source.teardown().expect("no failure");
}

#[test]
fn a_load_reads_nothing_of_a_partition_that_was_none_of_the_tables_when_it_is_read_at() {
    let server = server();
    server.query("CREATE TABLE came_late (id int PRIMARY KEY) PARTITION BY RANGE (id)");
    server.query("CREATE TABLE came_early PARTITION OF came_late FOR VALUES FROM (0) TO (10)");
    server.query("CREATE TABLE came_along (id int PRIMARY KEY); INSERT INTO came_along VALUES (11), (12)");
    server.query("INSERT INTO came_late VALUES (1)");
    let mut source = source(server, config("came_late", &["public.came_late"]));
    let start = source.setup().expect("a slot");
    let held = source.hold_snapshot().expect("a point");
    server.query("DELETE FROM came_along WHERE id = 12");
    server.query("ALTER TABLE came_late ATTACH PARTITION came_along FOR VALUES FROM (10) TO (20)");
    let partitions = source.plan_snapshot("public.came_late", 1000, 1).expect("partitions");
    assert_eq!(partitions.len(), 2);
    let rows = partitions.iter().flat_map(|partition| read(&mut source, &held.token, partition, &start, 0));
    assert_eq!(rows.map(|row| row.after[0].clone()).collect::<Vec<_>>(), ["1"]);
    source.teardown().expect("no failure");
}

#[test]
fn a_load_reads_what_there_was_of_partitions_that_came_left_or_are_gone() {
    let server = server();
    server.query(
        "CREATE TABLE come_and_gone (id int, p text, q text, PRIMARY KEY (id)) PARTITION BY RANGE (id);
         CREATE TABLE stays_there PARTITION OF come_and_gone FOR VALUES FROM (0) TO (10);
         CREATE TABLE gets_detached PARTITION OF come_and_gone FOR VALUES FROM (10) TO (20);
         CREATE TABLE gets_dropped PARTITION OF come_and_gone FOR VALUES FROM (20) TO (30);
         INSERT INTO come_and_gone VALUES (1, 'p', 'q'), (11, 'p', 'q'), (21, 'p', 'q')",
    );
    let mut source = source(server, config("come_and_gone", &["public.come_and_gone"]));
    let start = source.setup().expect("a slot");
    let held = source.hold_snapshot().expect("a point");
    server.query(
        "CREATE TABLE gets_made PARTITION OF come_and_gone FOR VALUES FROM (30) TO (40); INSERT INTO come_and_gone VALUES (31)",
    );
    let partitions = source.plan_snapshot("public.come_and_gone", 1000, 1).expect("partitions");
    assert_eq!(partitions.len(), 4);
    server.query(
        "ALTER TABLE come_and_gone DETACH PARTITION gets_detached; DROP TABLE gets_dropped;
         ALTER TABLE gets_detached RENAME p TO z; ALTER TABLE gets_detached RENAME q TO p; ALTER TABLE gets_detached RENAME z TO q",
    );
    let rows = partitions.iter().flat_map(|partition| read(&mut source, &held.token, partition, &start, 0));
    let mut rows: Vec<String> = rows.map(|row| row.after.join(",")).collect();
    rows.sort_unstable();
    assert_eq!(rows, ["1,p,q", "11,p,q"]);
    source.teardown().expect("no failure");
}

#[test]
fn values_that_a_change_left_out_are_found_where_the_keys_name_is_another_columns_by_now() {
    let server = server();
    server.query("CREATE TABLE called_key (k text PRIMARY KEY, n int, big text)");
    server.query("ALTER TABLE called_key ALTER big SET STORAGE EXTERNAL");
    server.query("INSERT INTO called_key VALUES ('abc', 0, repeat('b', 9000))");
    let mut config = config("called_key", &["public.called_key"]);
    config.loading = vec!["public.called_key".to_owned()];
    let mut source = source(server, config);
    let start = source.setup().expect("a slot");
    server.query("UPDATE called_key SET n = 1");
    server.query(
        "BEGIN; ALTER TABLE called_key RENAME k TO z; ALTER TABLE called_key RENAME n TO k;
         ALTER TABLE called_key RENAME z TO n; COMMIT",
    );
    source.open(&start).expect("the stream");
    let (seen, _) = stream(&mut source, 1, 100).expect("a row");
    assert_eq!(seen[0].after, ["abc".to_owned(), "1".to_owned(), "b".repeat(9000)]);
    source.teardown().expect("no failure");
}
