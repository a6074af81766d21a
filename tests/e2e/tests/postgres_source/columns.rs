//! Columns that change while the stream runs.

use tarn_batch::text::write_text;
use tarn_batch::{Table, Type};
use tarn_sdk::{Description, Limits, SourceConfig};

use crate::fixture::{Seen, Source, config, limits, published_by, rows, source, stream};
use crate::{major, server};

/// What a stream delivers, the schemas with the rows that follow each.
fn delivered(source: &mut Source, count: usize) -> Vec<(Option<Table>, Vec<Seen>)> {
    let mut delivered = Vec::new();
    let mut found = 0;
    while found < count {
        let mut changes = source.read(limits(1000)).expect("changes");
        found += changes.rows as usize;
        delivered.push((changes.schema.pop().map(|described| described.table), rows(&changes.batch)));
        assert!(changes.schema.is_empty(), "one table changes at a time");
    }
    delivered
}

fn streaming(name: &str, definition: &str) -> Source {
    server().query(&format!("CREATE TABLE {name} {definition}"));
    let mut source = source(server(), config(name, &[&format!("public.{name}")]));
    source.schema().expect("the schema");
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    source
}

fn names(table: &Table) -> Vec<(&str, i32)> {
    table.columns.iter().map(|column| (column.name.as_str(), column.attribute)).collect()
}

#[test]
fn a_changed_column_comes_before_the_first_row_that_has_it() {
    // B092, B097, B101, B107.
    let mut source = streaming("altered", "(b int, a int, t text, PRIMARY KEY (b, a))");
    server().query("INSERT INTO altered VALUES (1, 1, 'x')");
    assert!(delivered(&mut source, 1)[0].0.is_none(), "the host knows these columns");

    server().query("INSERT INTO altered VALUES (2, 1, 'x')");
    server()
        .query("ALTER TABLE altered ADD n numeric(10,2) DEFAULT 1.5, ADD u uuid DEFAULT gen_random_uuid()");
    server().query("INSERT INTO altered (b, a, t) VALUES (3, 1, 'x')");
    let found = delivered(&mut source, 2);
    assert_eq!(found.len(), 2, "cut before the change");
    let added = found[1].0.clone().expect("the schema changed");
    assert_eq!(names(&added), [("b", 1), ("a", 2), ("t", 3), ("n", 4), ("u", 5)]);
    assert_eq!(added.key_columns(), [0, 1]);
    assert_eq!(added.columns[3].type_name, "numeric(10,2)");
    assert_eq!(found[1].1[0].after[3], "1.50");

    server().query("ALTER TABLE altered DROP t, DROP u; INSERT INTO altered VALUES (4, 1, 2)");
    let dropped = delivered(&mut source, 1)[0].0.clone().expect("the schema changed");
    assert_eq!(names(&dropped), [("b", 1), ("a", 2), ("n", 4)]);

    server().query(
        "ALTER TABLE altered ALTER n TYPE text, ALTER a TYPE int8; INSERT INTO altered VALUES (5, 1, 'z')",
    );
    let found = delivered(&mut source, 1);
    let retyped = found[0].0.clone().expect("the schema changed");
    assert_eq!((&retyped.columns[1].data_type, &retyped.columns[2].data_type), (&Type::Int8, &Type::Text));
    assert_eq!(found[0].1[0].after, ["5", "1", "z"]);

    server().query("ALTER TABLE altered RENAME n TO m; INSERT INTO altered VALUES (6, 1, 'z')");
    let renamed = delivered(&mut source, 1)[0].0.clone().expect("the schema changed");
    assert_eq!(names(&renamed), [("b", 1), ("a", 2), ("m", 4)]);
    let versions = [added.version, dropped.version, retyped.version, renamed.version];
    assert!(versions.windows(2).all(|pair| pair[0] != pair[1]));
    source.teardown().expect("no failure");
}

#[test]
fn a_change_of_one_table_hides_none_of_another() {
    // B094.
    let tables = ["public.changed_first", "public.changed_last"];
    for table in tables {
        server().query(&format!("CREATE TABLE {table} (id int PRIMARY KEY, t text)"));
    }
    let mut source = source(server(), config("changed_both", &tables));
    source.schema().expect("the schema");
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    server().query("INSERT INTO changed_first VALUES (1, 'a'); INSERT INTO changed_last VALUES (1, 'a')");
    assert_eq!(stream(&mut source, 2, 1000).expect("rows").0.len(), 2);
    server().query("UPDATE changed_last SET t = 'b'");
    server().query("ALTER TABLE changed_first ADD x int; ALTER TABLE changed_last ADD y int, DROP t");
    server().query("INSERT INTO changed_first VALUES (2, 'a', 5); INSERT INTO changed_last VALUES (2, 6)");
    let found = delivered(&mut source, 3);
    let told: Vec<_> = found.iter().filter_map(|(table, _)| table.as_ref()).collect();
    assert_eq!(told.len(), 2, "each is told once");
    assert_eq!(names(told[0]), [("id", 1), ("t", 2), ("x", 3)]);
    assert_eq!(names(told[1]), [("id", 1), ("y", 3)]);
    let rows: Vec<_> = found.into_iter().flat_map(|(_, rows)| rows).map(|row| row.after).collect();
    assert_eq!(rows, [vec!["1", "b"], vec!["2", "a", "5"], vec!["2", "6"]]);
    source.teardown().expect("no failure");
}

#[test]
fn a_column_that_was_dropped_and_added_again_is_another_one() {
    // B091.
    let mut source = streaming("readded", "(id int PRIMARY KEY, f2 varchar(10))");
    server().query("INSERT INTO readded VALUES (1, 'x')");
    delivered(&mut source, 1);
    server().query("ALTER TABLE readded DROP f2; ALTER TABLE readded ADD f2 varchar(10); INSERT INTO readded VALUES (2, 'y')");
    let changed = delivered(&mut source, 1)[0].0.clone().expect("the schema changed");
    assert_eq!(names(&changed), [("id", 1), ("f2", 3)]);
    source.teardown().expect("no failure");
}

#[test]
fn a_fresh_instance_tells_the_columns_again() {
    // What changed between a crash and the restart must not stay unknown.
    let mut first = streaming("retold", "(id int PRIMARY KEY)");
    server().query("INSERT INTO retold VALUES (1)");
    let changes = first.read(limits(10)).expect("changes");
    first.teardown().expect("no failure");
    let mut first = source(server(), config("retold", &["public.retold"]));
    let start = first.setup().expect("a slot");
    drop(first);
    let mut second = source(server(), config("retold", &["public.retold"]));
    second.open(&start).expect("the stream");
    server().query("ALTER TABLE retold ADD x int; INSERT INTO retold VALUES (2, 3)");
    assert_eq!(names(&delivered(&mut second, 1)[0].0.clone().expect("told")), [("id", 1), ("x", 2)]);
    assert_eq!(changes.rows, 1);
    second.teardown().expect("no failure");
}

#[test]
fn types_that_are_made_or_changed_while_the_stream_runs_are_known() {
    // B017, B019, B022, B097.
    let mut source = streaming("typed", "(id int PRIMARY KEY)");
    server()
        .query("CREATE SCHEMA mine; CREATE TYPE mine.mood AS ENUM ('V1'); ALTER TABLE typed ADD m mine.mood");
    server().query("INSERT INTO typed VALUES (1, 'V1')");
    let found = delivered(&mut source, 1);
    let column = &found[0].0.as_ref().expect("the schema changed").columns[1];
    assert_eq!((&column.data_type, column.type_name.as_str()), (&Type::Enum, "mine.mood"));
    server().query("ALTER TYPE mine.mood ADD VALUE 'V2'");
    server().query("INSERT INTO typed VALUES (2, 'V2'); UPDATE typed SET m = 'V1' WHERE id = 2");
    let found: Vec<Seen> = delivered(&mut source, 2).into_iter().flat_map(|(_, rows)| rows).collect();
    assert_eq!((found[0].after[1].as_str(), found[1].after[1].as_str()), ("V2", "V1"));
    server().query(
        "ALTER TABLE typed DROP m; DROP TYPE mine.mood; CREATE TYPE mine.mood AS ENUM ('W');
         ALTER TABLE typed ADD m mine.mood; INSERT INTO typed VALUES (3, 'W')",
    );
    let found = delivered(&mut source, 1);
    assert_eq!(found[0].1[0].after, ["3", "W"]);
    source.teardown().expect("no failure");
}

#[test]
fn a_change_of_columns_inside_a_transaction_is_told_in_its_place() {
    let mut source = streaming("within", "(id int PRIMARY KEY)");
    server().query(
        "BEGIN; INSERT INTO within VALUES (1); ALTER TABLE within ADD x int; INSERT INTO within VALUES (2, 5); COMMIT",
    );
    let found = delivered(&mut source, 2);
    assert_eq!(found[0].1[0].after, ["1"]);
    assert_eq!(found[1].1[0].after, ["2", "5"]);
    assert_eq!(found[1].0.as_ref().expect("the schema changed").columns.len(), 2);
    assert_eq!(found[0].1[0].version.commit, found[1].1[0].version.commit);
    source.teardown().expect("no failure");
}

#[test]
fn a_renamed_table_is_an_error_that_says_so() {
    // B112: never silence.
    let mut source = streaming("old_name", "(id int PRIMARY KEY)");
    server().query("INSERT INTO old_name VALUES (1)");
    delivered(&mut source, 1);
    server().query("ALTER TABLE old_name RENAME TO new_name; INSERT INTO new_name VALUES (2)");
    let failure = source.read(Limits { ..limits(10) }).expect_err("renamed");
    assert_eq!((failure.code.as_str(), failure.table.as_str()), ("table_renamed", "public.old_name"));
    assert!(failure.message.contains("public.new_name"), "{}", failure.message);
    source.teardown().expect("no failure");
}

#[test]
fn a_lost_key_is_an_error_with_a_remedy() {
    let mut source = streaming("keyless", "(id int PRIMARY KEY)");
    server().query("INSERT INTO keyless VALUES (1)");
    delivered(&mut source, 1);
    server().query("ALTER TABLE keyless DROP CONSTRAINT keyless_pkey; INSERT INTO keyless VALUES (2)");
    let failure = source.read(limits(10)).expect_err("no key");
    assert_eq!((failure.code.as_str(), failure.table.as_str()), ("key_missing", "public.keyless"));
    source.teardown().expect("no failure");
}

/// What the next description says that older rows hold, by name of column.
fn filled(source: &mut Source) -> Vec<(String, String)> {
    let mut changes = source.read(limits(1000)).expect("changes");
    fills(&changes.schema.pop().expect("the schema changed"))
}

fn fills(described: &Description) -> Vec<(String, String)> {
    let fills = described.fills.iter().map(|fill| {
        let column = &described.table.columns[fill.column];
        let mut text = String::new();
        write_text(&column.data_type, &fill.value, &mut text).expect("a value of the column");
        (column.name.clone(), text)
    });
    fills.collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn an_added_column_comes_with_what_older_rows_hold_in_it() {
    let mut source = streaming("defaulted", "(id int PRIMARY KEY)");
    server().query("INSERT INTO defaulted VALUES (1)");
    delivered(&mut source, 1);
    server().query(
        "ALTER TABLE defaulted ADD n numeric(10,2) DEFAULT 1.5, ADD t text DEFAULT 'it''s {\"x\"}', ADD e text DEFAULT '',
         ADD z int, ADD b boolean NOT NULL DEFAULT true, ADD a int[] DEFAULT '{1,NULL}', ADD y bytea DEFAULT '\\x00',
         ADD w timestamptz DEFAULT '2020-01-01 01:00:00+01', ADD f float8 DEFAULT '-0'",
    );
    // The default of later rows is another matter.
    server().query("ALTER TABLE defaulted ALTER n SET DEFAULT 7, ALTER t DROP DEFAULT");
    server().query("INSERT INTO defaulted (id) VALUES (2)");
    let expected = pairs(&[
        ("n", "1.50"),
        ("t", "it's {\"x\"}"),
        ("e", ""),
        ("b", "t"),
        ("a", "{1,NULL}"),
        ("y", "\\x00"),
        ("w", "2020-01-01 00:00:00+00"),
        ("f", "-0"),
    ]);
    assert_eq!(filled(&mut source), expected);
    // Who prepares the destination meanwhile must know it as well.
    assert_eq!(fills(&source.schema().expect("the schema")[0]), expected);
    source.teardown().expect("no failure");
}

#[test]
fn a_column_that_is_added_while_the_mirror_is_set_up_comes_by_the_stream() {
    // A target that had it from the beginning would show nothing in rows from before it.
    server().query("CREATE TABLE set_up_late (id int PRIMARY KEY)");
    let mut source = source(server(), config("set_up_late", &["public.set_up_late"]));
    let start = source.setup().expect("a slot");
    server().query(
        "INSERT INTO set_up_late VALUES (1); ALTER TABLE set_up_late ADD c int DEFAULT 5; INSERT INTO set_up_late VALUES (2, 6)",
    );
    let schema = source.schema().expect("the schema");
    assert_eq!(names(&schema[0].table), [("id", 1)]);
    source.open(&start).expect("the stream");
    delivered(&mut source, 1);
    assert_eq!(filled(&mut source), pairs(&[("c", "5")]));
    source.teardown().expect("no failure");
}

#[test]
fn a_default_of_each_rows_own_and_one_that_came_later_fill_nothing() {
    let mut source = streaming("unfilled", "(id int PRIMARY KEY)");
    server().query("INSERT INTO unfilled VALUES (1)");
    delivered(&mut source, 1);
    server().query("ALTER TABLE unfilled ADD u uuid DEFAULT gen_random_uuid(), ADD n int DEFAULT 5");
    server().query("ALTER TABLE unfilled ADD later int; ALTER TABLE unfilled ALTER later SET DEFAULT 5");
    server().query("INSERT INTO unfilled (id) VALUES (2)");
    assert_eq!(filled(&mut source), []);
    source.teardown().expect("no failure");
}

#[test]
fn a_column_added_to_a_partitioned_table_comes_with_it_too() {
    server().query("CREATE TABLE parted_default (id int PRIMARY KEY) PARTITION BY RANGE (id)");
    server().query("CREATE TABLE parted_default_1 PARTITION OF parted_default FOR VALUES FROM (0) TO (10)");
    let mut source = source(server(), config("parted_default", &["public.parted_default"]));
    source.schema().expect("the schema");
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    server().query("INSERT INTO parted_default VALUES (1)");
    delivered(&mut source, 1);
    server().query("ALTER TABLE parted_default ADD c int DEFAULT 5");
    server().query("CREATE TABLE parted_default_2 PARTITION OF parted_default FOR VALUES FROM (10) TO (20)");
    server().query("INSERT INTO parted_default VALUES (11, 6)");
    assert_eq!(filled(&mut source), pairs(&[("c", "5")]));
    source.teardown().expect("no failure");
}

#[test]
fn a_column_that_joins_the_publication_late_is_not_filled() {
    if major() < 15 {
        return;
    }
    // Rows hold other values in it than the default by then.
    server().query("CREATE TABLE joining (id int PRIMARY KEY, a int)");
    server().query("CREATE PUBLICATION joining_pub FOR TABLE joining (id)");
    let mut source = source(server(), published_by("joining_pub", config("joining", &["public.joining"])));
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    server().query("INSERT INTO joining VALUES (1, 1); ALTER TABLE joining ADD c int DEFAULT 5");
    server().query("UPDATE joining SET c = 6");
    delivered(&mut source, 2);
    server().query(
        "ALTER PUBLICATION joining_pub SET TABLE joining (id, a, c); INSERT INTO joining VALUES (2, 2, 7)",
    );
    assert_eq!(filled(&mut source), []);
    source.teardown().expect("no failure");
}

#[test]
fn a_transaction_that_adds_a_column_resumes_anywhere_within() {
    // What is sent again is described as it was then, which is not a publication that lacks the column.
    let server = server();
    server.query("CREATE TABLE added_within (id int PRIMARY KEY)");
    let mut source = source(server, config("added_within", &["public.added_within"]));
    let start = source.setup().expect("a slot");
    server.query(
        "BEGIN; INSERT INTO added_within VALUES (1), (2); ALTER TABLE added_within ADD a int; INSERT INTO added_within VALUES (3, 3), (4, 4);
         ALTER TABLE added_within ADD b text DEFAULT 'x'; INSERT INTO added_within VALUES (5, 5, 'y'); COMMIT",
    );
    source.open(&start).expect("the stream");
    let (whole, positions) = stream(&mut source, 5, 1).expect("rows");
    assert_eq!(whole.iter().map(|row| row.after.len()).collect::<Vec<_>>(), [1, 1, 2, 2, 3]);
    for (at, position) in positions.iter().enumerate().take(4) {
        source.open(position).expect("the stream");
        let (rest, _) = stream(&mut source, 4 - at, 1).expect("rows");
        assert_eq!(rest, whole[at + 1..], "after row {at}");
    }
    source.teardown().expect("no failure");
}

#[test]
fn tables_that_a_transaction_has_first_rows_of_are_told_together() {
    let names: Vec<String> = (0..20).map(|n| format!("public.together_{n}")).collect();
    let create: String =
        names.iter().map(|name| format!("CREATE TABLE {name} (id int PRIMARY KEY);")).collect();
    server().query(&create);
    let tables: Vec<&str> = names.iter().map(String::as_str).collect();
    let open = |start: Option<&[u8]>| {
        let mut source = source(server(), config("together", &tables));
        let start = start.map_or_else(|| source.setup().expect("a slot"), <[u8]>::to_vec);
        source.open(&start).expect("the stream");
        (source, start)
    };
    let (mut first, start) = open(None);
    let insert: String = names.iter().map(|name| format!("INSERT INTO {name} VALUES (1);")).collect();
    server().query(&format!("BEGIN; {insert} COMMIT"));
    // As far as the transaction was read by then: how many answers that takes is the network's.
    let together = |source: &mut Source, rows_max: u32| {
        let (mut told, mut telling, mut came) = (Vec::new(), 0, 0);
        while came < names.len() {
            let changes = source.read(limits(rows_max)).expect("changes");
            telling += usize::from(!changes.schema.is_empty());
            told.extend(changes.schema.into_iter().map(|described| described.table.qualified_name()));
            came += changes.rows as usize;
        }
        assert_eq!((&told, came), (&names, names.len()), "each once, and before its rows");
        assert!(telling < names.len(), "{telling}");
    };
    together(&mut first, 1000);
    drop(first);
    let (mut second, _) = open(Some(&start));
    together(&mut second, 5);
    // One whose columns change in the transaction after its first row is told again in its place.
    drop(second);
    let (mut third, _) = open(Some(&start));
    together(&mut third, 1000);
    server().query(
        "BEGIN; INSERT INTO together_0 VALUES (2); INSERT INTO together_1 VALUES (2);
         ALTER TABLE together_1 ADD x int; INSERT INTO together_1 VALUES (3, 4); COMMIT",
    );
    let found = delivered(&mut third, 3);
    let last = found.last().expect("rows");
    assert_eq!(last.0.as_ref().map(names_of), Some(vec!["id".to_owned(), "x".to_owned()]));
    assert_eq!(last.1.iter().map(|row| row.after.clone()).collect::<Vec<_>>(), [["3", "4"]]);
    third.teardown().expect("no failure");
}

fn names_of(table: &Table) -> Vec<String> {
    table.columns.iter().map(|column| column.name.clone()).collect()
}

#[test]
fn a_name_that_a_later_column_got_is_not_taken_for_it_in_anybodys_publication() {
    let mut publications = vec![("named_later", "TABLE named_later.t")];
    if major() >= 15 {
        publications.push(("named_in_schema", "TABLES IN SCHEMA named_in_schema"));
    }
    for (mirror, published) in publications {
        server().query(&format!(
            "CREATE SCHEMA {mirror}; CREATE TABLE {mirror}.t (id int PRIMARY KEY, a int);
             CREATE PUBLICATION {mirror} FOR {published}"
        ));
        let config = published_by(mirror, config(mirror, &[&format!("{mirror}.t")]));
        let mut source = source(server(), config);
        source.schema().expect("the schema");
        let start = source.setup().expect("a slot");
        // The stream comes to the first row when the name is another column's.
        server().query(&format!(
            "ALTER TABLE {mirror}.t ADD c int; INSERT INTO {mirror}.t VALUES (1, 2, 3);
             ALTER TABLE {mirror}.t RENAME c TO d; ALTER TABLE {mirror}.t ADD c int;
             INSERT INTO {mirror}.t VALUES (2, 3, 4, 5)"
        ));
        source.open(&start).expect("the stream");
        let found = delivered(&mut source, 2);
        let told: Vec<_> = found.iter().filter_map(|(table, _)| table.as_ref()).map(names).collect();
        let [first, second] =
            [vec![("id", 1), ("a", 2), ("c", 3)], vec![("id", 1), ("a", 2), ("d", 3), ("c", 4)]];
        assert_eq!(told, [first, second], "{mirror}");
        source.teardown().expect("no failure");
    }
}

#[test]
fn rows_that_were_written_anew_are_read_after_the_changes_from_before() {
    server().query("CREATE TABLE converted_behind (id int PRIMARY KEY, v int); INSERT INTO converted_behind VALUES (1, 10)");
    let mut source = source(server(), config("converted_behind", &["public.converted_behind"]));
    source.schema().expect("the schema");
    let start = source.setup().expect("a slot");
    // The stream comes to the change when the table has other values.
    server().query(
        "UPDATE converted_behind SET v = 20; ALTER TABLE converted_behind ALTER v TYPE int USING v + 1",
    );
    source.open(&start).expect("the stream");
    let mut seen: Vec<Seen> = Vec::new();
    let is_read = |row: &Seen| row.version.ordinal > u64::from(u32::MAX);
    while !seen.iter().any(is_read) || seen.iter().all(is_read) {
        let changes = source.read(Limits { wait_ms: 200, ..limits(1000) }).expect("changes");
        seen.extend(rows(&changes.batch));
    }
    let last = seen.iter().max_by_key(|row| row.version).expect("a row");
    assert_eq!(last.after, ["1", "21"], "{seen:?}");
    source.teardown().expect("no failure");
}

#[test]
fn a_value_that_a_change_leaves_out_is_found_at_the_loads_point_under_its_columns_later_name() {
    server().query(
        "CREATE TABLE renamed_behind (id int PRIMARY KEY, big text, other text);
         ALTER TABLE renamed_behind ALTER big SET STORAGE EXTERNAL, ALTER other SET STORAGE EXTERNAL;
         INSERT INTO renamed_behind VALUES (1, repeat('x', 9000), repeat('y', 9000)), (2, repeat('z', 9000), NULL)",
    );
    let table = "public.renamed_behind";
    let loading = || SourceConfig { loading: vec![table.to_owned()], ..config("renamed_behind", &[table]) };
    let mut first = source(server(), loading());
    first.schema().expect("the schema");
    let start = first.setup().expect("a slot");
    drop(first);
    server().query(
        "UPDATE renamed_behind SET id = 11 WHERE id = 1; UPDATE renamed_behind SET id = 12 WHERE id = 2",
    );
    let mut second = source(server(), loading());
    second.hold_snapshot().expect("a later point");
    server().query(
        "ALTER TABLE renamed_behind RENAME big TO large; ALTER TABLE renamed_behind RENAME id TO number",
    );
    server().query("ALTER TABLE renamed_behind DROP other");
    second.open(&start).expect("the stream");
    let (seen, _) = stream(&mut second, 2, 100).expect("rows");
    assert_eq!(
        seen[0].after,
        ["11", &"x".repeat(9000), "<unchanged>"],
        "a column that is gone has no values"
    );
    assert_eq!(seen[1].after, ["12", &"z".repeat(9000), "NULL"]);
    second.teardown().expect("no failure");
}
