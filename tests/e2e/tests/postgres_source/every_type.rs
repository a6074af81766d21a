//! A value is the same by snapshot and by stream, and is what the server says it is.

use std::sync::Once;

use tarn_batch::{Table, Type};
use tarn_e2e::type_matrix::{MATRIX, TEXT_ONLY};
use tarn_sdk::{Failure, FailureClass};

use crate::fixture::{config, limits, rows, snapshot, source, stream, watched_source};
use crate::server;

/// What a batch says of the matrix' boxes.
const BOXES: &str = r#"{"(3,4),(1,2)","(5,6),(3,4)"}"#;

/// The types that the server has: some are built without XML, and multiranges and infinite numerics are
/// there since 14.
fn matrix() -> Vec<(&'static str, Vec<&'static str>)> {
    let has_xml = server().try_query("SELECT '<a/>'::xml").is_ok();
    let is_old = crate::major() < 14;
    let known = |name: &str| (name != "xml" || has_xml) && !(is_old && name.contains("multirange"));
    let fits =
        |name: &str, literal: &str| !(is_old && name.starts_with("numeric") && literal.contains("Infinity"));
    let types = MATRIX.iter().filter(|(name, _)| known(name));
    types
        .map(|(name, literals)| {
            (*name, literals.iter().copied().filter(|literal| fits(name, literal)).collect())
        })
        .collect()
}

/// Makes the types that a server does not bring, once.
pub fn make_types() {
    static MADE: Once = Once::new();
    MADE.call_once(|| {
        server().query(tarn_e2e::type_matrix::MAKE);
    });
}

/// Columns of the types in two tables with the same rows, of which one is loaded and one streamed; what the
/// source says of them, and how it read the one that is loaded.
fn compare(mirror: &str, matrix: &[(&str, Vec<&str>)]) -> (Vec<Table>, Vec<String>) {
    let server = server();
    let columns: Vec<String> =
        matrix.iter().enumerate().map(|(index, (name, _))| format!("c{index} {name}")).collect();
    let [loaded_table, streamed_table] = ["loaded", "streamed"].map(|way| format!("{mirror}_{way}"));
    for table in [&loaded_table, &streamed_table] {
        server.query(&format!("CREATE TABLE {table} (id int PRIMARY KEY, {})", columns.join(", ")));
    }
    let longest = matrix.iter().map(|(_, literals)| literals.len()).max().expect("types");
    let insert = |table: &str| {
        for index in 0..longest {
            let values: Vec<String> = matrix
                .iter()
                .map(|(_, literals)| literals.get(index).map_or("NULL".to_owned(), |l| (*l).to_owned()))
                .collect();
            server.query(&format!("INSERT INTO {table} VALUES ({index}, {})", values.join(", ")));
        }
        server.query(&format!("INSERT INTO {table} (id) VALUES ({longest})"));
    };
    insert(&loaded_table);
    let [loaded_name, streamed_name] = [&loaded_table, &streamed_table].map(|name| format!("public.{name}"));
    let (mut source, copies) = watched_source(server, config(mirror, &[&loaded_name, &streamed_name]));
    let schema = source.schema().expect("the schema");
    let start = source.setup().expect("a slot");
    let mut loaded = snapshot(&mut source, &loaded_name, &start, 1000);
    loaded.sort_by_key(|row| row.after[0].parse::<i32>().expect("a number"));
    insert(&streamed_table);
    source.open(&start).expect("the stream");
    let (streamed, _) = stream(&mut source, longest + 1, 1000).expect("rows");

    let expected = server_text(&streamed_table, matrix.len(), longest + 1);
    for index in 0..=longest {
        for (place, (name, literals)) in matrix.iter().enumerate() {
            let literal = literals.get(index).unwrap_or(&"NULL");
            let [loaded, streamed, said] = [
                &loaded[index].after[place + 1],
                &streamed[index].after[place + 1],
                &expected[index][place + 1],
            ];
            assert_eq!(loaded, streamed, "{name} {literal}");
            // Elements are told apart by commas whatever the server writes between them.
            let said = if *name == "box[]" && *literal != "NULL" { BOXES } else { said };
            assert_eq!(streamed, said, "{name} {literal}");
        }
    }
    source.teardown().expect("no failure");
    let copies = copies.lock().expect("no panic").clone();
    (schema.into_iter().map(|described| described.table).collect(), copies)
}

#[test]
fn types_with_a_binary_form_are_the_same_by_snapshot_and_by_stream_and_as_the_server_says() {
    make_types();
    let matrix: Vec<_> = matrix().into_iter().filter(|(name, _)| !TEXT_ONLY.contains(name)).collect();
    let (_, copies) = compare("binary_types", &matrix);
    assert!(!copies.is_empty() && copies.iter().all(|sql| sql.ends_with("(FORMAT binary)")), "{copies:?}");
}

#[test]
fn every_type_is_the_same_by_snapshot_and_by_stream_and_as_the_server_says() {
    // B001 to B068 as far as the source decides.
    make_types();
    let matrix = matrix();
    let (schema, copies) = compare("types", &matrix);
    assert!(!copies.is_empty() && copies.iter().all(|sql| !sql.contains("binary")), "{copies:?}");
    let type_of = |name: &str| {
        let place = matrix.iter().position(|(type_name, _)| *type_name == name).expect("a type");
        let column = &schema[0].columns[place + 1];
        (column.data_type.clone(), column.type_name.clone())
    };
    // B016, B040: domains are what they stand for.
    assert_eq!(type_of("n2"), (Type::Numeric { precision: 8, scale: 2 }, "numeric(8,2)".to_owned()));
    assert_eq!(type_of("email"), (Type::Text, "text".to_owned()));
    assert_eq!(type_of("moods").0, Type::Enum.array());
    assert_eq!(type_of("numeric(10,2)[]").1, "numeric(10,2)[]");
    assert_eq!(type_of("varchar(20)"), (Type::Text, "character varying(20)".to_owned()));
    assert_eq!(type_of("mood"), (Type::Enum, "public.mood".to_owned()));
    assert_eq!(type_of("pair").0, Type::Other);
    assert_eq!(type_of("citext[]").0, Type::Text.array());
}

/// The rows as the server writes them under the same session settings.
fn server_text(table: &str, columns: usize, rows: usize) -> Vec<Vec<String>> {
    let columns: Vec<String> = (0..columns).map(|index| format!("c{index}")).collect();
    let sql = format!(
        "SET datestyle = ISO; SET timezone = UTC; SET intervalstyle = postgres; SET bytea_output = hex;
         SET extra_float_digits = 3; SET lc_monetary = 'C';
         SELECT id, {} FROM {table} ORDER BY id",
        columns.join(", ")
    );
    let found = server().query(&sql);
    let said: Vec<Vec<String>> = found
        .into_iter()
        .map(|row| row.into_iter().map(|text| text.unwrap_or_else(|| "NULL".to_owned())).collect())
        .collect();
    assert_eq!(said.len(), rows);
    said
}

#[test]
fn array_bounds_are_left_out_and_elements_stay() {
    // B001.
    let server = server();
    server.query("CREATE TABLE bounds (id int PRIMARY KEY, a int8[])");
    server.query(
        "INSERT INTO bounds VALUES (1, '[0:1]={7,8}'), (2, '[0:0]={NULL}'), (3, '[-1:0][2:2]={{1},{2}}')",
    );
    let mut source = source(server, config("bounds", &["public.bounds"]));
    let start = source.setup().expect("a slot");
    let texts: Vec<String> = snapshot(&mut source, "public.bounds", &start, 1000)
        .into_iter()
        .map(|row| row.after[1].clone())
        .collect();
    assert_eq!(texts, ["{7,8}", "{NULL}", "{{1},{2}}"]);
    source.teardown().expect("no failure");
}

#[test]
fn a_value_without_a_place_stops_the_row_by_name_and_is_no_other_value() {
    // B010, B056: nothing is saturated or wrapped in silence.
    let server = server();
    server.query("CREATE TABLE too_late (id int PRIMARY KEY, at timestamp)");
    let mut source = source(server, config("too_late", &["public.too_late"]));
    let start = source.setup().expect("a slot");
    server.query("INSERT INTO too_late VALUES (1, 'now'), (7, '294276-12-31 00:00:00'), (8, 'now')");
    source.open(&start).expect("the stream");
    // The rows before it go out first, and the position is right before it.
    let changes = source.read(limits(1000)).expect("the row before it");
    assert_eq!(changes.rows, 1);
    let again = source.read(limits(1000)).expect_err("beyond the range");
    source.open(&changes.position).expect("the stream");
    let failure = source.read(limits(1000)).expect_err("beyond the range");
    assert_eq!(failure, again);
    assert_eq!(failure.class, tarn_sdk::FailureClass::Record);
    assert_eq!((failure.code.as_str(), failure.table.as_str()), ("value_unreadable", "public.too_late"));
    assert!(failure.message.contains("\"at\"") && failure.message.contains("id = 7"), "{}", failure.message);
    source.teardown().expect("no failure");
}

#[test]
fn text_of_any_bytes_is_told_with_its_table_column_and_key_by_both_ways() {
    // B044.
    let server = server().with_database("any_bytes", "ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0");
    server.query(
        "CREATE TABLE any_bytes (id int PRIMARY KEY, t text, hidden text);
         INSERT INTO any_bytes VALUES (1, 'grün', E'\\xe9'), (2, E'\\xe9', NULL)",
    );
    let mut config = config("any_bytes", &["public.any_bytes"]);
    config.tables[0].exclude = vec!["hidden".to_owned()];
    let mut source = source(&server, config);
    let start = source.setup().expect("a slot");
    let assert_told = |failure: &Failure, id: &str| {
        assert_eq!(
            (failure.class, failure.code.as_str()),
            (FailureClass::Record, "value_unreadable"),
            "{failure}"
        );
        assert_eq!(failure.table, "public.any_bytes");
        assert!(
            failure.message.contains("column \"t\"") && failure.message.contains(&format!("id = {id}")),
            "{failure}"
        );
    };
    let held = source.hold_snapshot().expect("a point");
    let partitions = source.plan_snapshot("public.any_bytes", 100, 1).expect("partitions");
    source.open_snapshot(&held.token, &partitions[0], &start, 0).expect("the partition opens");
    let first = rows(&source.read_snapshot(limits(1)).expect("the row before it"));
    assert_eq!(first[0].after, ["1", "grün"]);
    assert_told(&source.read_snapshot(limits(1)).expect_err("no UTF-8"), "2");
    source.open(&start).expect("the stream");
    server.query(
        "UPDATE any_bytes SET t = 'groß' WHERE id = 1; INSERT INTO any_bytes VALUES (3, E'\\xe9', NULL)",
    );
    let (seen, _) = stream(&mut source, 1, 10).expect("the row before it");
    assert_eq!(seen[0].after, ["1", "groß"]);
    assert_told(&source.read(limits(10)).expect_err("no UTF-8"), "3");
    source.teardown().expect("no failure");
}
