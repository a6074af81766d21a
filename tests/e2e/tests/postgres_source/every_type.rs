//! A value is the same by snapshot and by stream, and is what the server says it is.

use std::sync::Once;

use tarn_batch::{Table, Type};

use crate::fixture::{config, limits, snapshot, source, stream, watched_source};
use crate::server;

/// Column types with literals. The text that comes must be the one the server gives for the literal,
/// unless another is said.
const MATRIX: &[(&str, &[&str])] = &[
    ("bool", &["true", "false"]),
    ("int2", &["-32768", "32767"]),
    ("int4", &["-2147483648", "2147483647"]),
    ("int8", &["-9223372036854775808", "9007199254740993"]),
    ("oid", &["4294967295"]),
    ("float4", &["0.1", "'NaN'", "'-Infinity'", "1e-40", "123456.7"]),
    ("float8", &["0.1", "'NaN'", "'Infinity'", "5e-324", "1e22", "-1.5"]),
    ("numeric", &["0.0012000", "10000000000000000000000000", "'NaN'", "'Infinity'", "'-Infinity'", "-0.000"]),
    ("numeric(12,2)", &["'NaN'", "1.5", "-9999999999.99"]),
    ("numeric(60,0)", &["999999999999999999999999999999999999999999999999999999999999"]),
    ("text", &["''", "'it''s'", "E'tab\\tnew\\nline\\\\N'", "'名前 😀'", "'\\N'", "E'\\u0001'"]),
    ("varchar(20)", &["'x '", "''"]),
    ("char(5)", &["'ab'", "''"]),
    ("name", &["'n'"]),
    ("\"char\"", &["'c'"]),
    ("citext", &["'MiXed'"]),
    ("bytea", &["'\\x00ff5c0a'", "''"]),
    (
        "date",
        &["'2026-03-04'", "'1991-02-10 BC'", "'1991-02-10'", "'infinity'", "'-infinity'", "'5874897-12-31'"],
    ),
    ("time", &["'23:59:59.999999'", "'24:00:00'", "'00:00:00'"]),
    ("timetz", &["'24:00:00+00'", "'12:00:00+05:30'", "'12:00:00-15:59:59'"]),
    (
        "timestamp",
        &["'0002-11-30 00:00:00 BC'", "'infinity'", "'2026-03-04 05:06:07.123456'", "'99999-12-31'"],
    ),
    ("timestamptz", &["'-infinity'", "'2026-03-04 05:06:07.8+05:30'", "'0044-03-15 00:00:00+00 BC'"]),
    (
        "interval",
        &["'1 day 00:00:00.123456'", "'-1 year -2 months +3 days -04:05:06'", "'0'", "'100000:00:00'"],
    ),
    ("uuid", &["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"]),
    ("json", &["'{\"id\":  9007199254740993, \"id\": 1}'", "'\"\\\\a\\\\b\\\\ufoobar\"'", "'null'"]),
    ("jsonb", &["'{\"id\": 9007199254740993, \"n\": 1.10}'", "'null'"]),
    ("mood", &["'happy'", "'very \"sad\", it''s'"]),
    ("n2", &["1.5"]),
    ("email", &["'a@b'"]),
    ("money", &["1234.5"]),
    ("inet", &["'10.0.0.1/8'"]),
    ("cidr", &["'10.0.0.0/8'"]),
    ("macaddr", &["'08:00:2b:01:02:03'"]),
    ("bit(3)", &["B'101'"]),
    ("varbit", &["B''", "B'1'"]),
    ("xml", &["'<a>b</a>'"]),
    ("tsvector", &["to_tsvector('it''s a test')", "'''it''''s'' x:3A'"]),
    ("tsquery", &["'a & b'"]),
    ("tstzrange", &["tstzrange('2026-01-01Z', null)", "'empty'"]),
    ("int4multirange", &["'{[1,3),[5,7)}'"]),
    ("box", &["'(1,2),(3,4)'"]),
    ("point", &["'(1,2)'"]),
    ("circle", &["'<(1,2),3>'"]),
    ("path", &["'[(1,2),(3,4)]'"]),
    ("polygon", &["'((1,2),(3,4),(5,6))'"]),
    ("line", &["'{1,2,3}'"]),
    ("lseg", &["'[(1,2),(3,4)]'"]),
    ("hstore", &["'\"a\"=>NULL, \"k\\\"q\"=>\"v\"'", "''"]),
    ("ltree", &["'a.b.c'"]),
    ("pg_lsn", &["'16/B374D848'"]),
    ("pair", &["'(1,\"x,y\")'"]),
    ("int2vector", &["'1 2 3'"]),
    ("regclass", &["'pg_class'"]),
    ("int4[]", &["'{}'", "array[1,null,3]", "'{{1,2},{3,4}}'"]),
    ("int8[]", &["'{9007199254740993}'"]),
    ("text[]", &["'{{NULL},{NULL}}'", "array['a,b','c\"d','e\\f','','NULL',null,'{x}']"]),
    ("numeric(10,2)[]", &["'{1.5,NaN}'"]),
    ("timestamp[]", &["array['2026-03-04 05:06:07'::timestamp, 'infinity', null]"]),
    ("timestamptz[]", &["array['2026-03-04 05:06:07Z'::timestamptz]"]),
    ("timetz[]", &["'{24:00:00+00}'"]),
    ("date[]", &["'{1991-02-10 BC}'"]),
    ("interval[]", &["'{1 day 00:00:01}'"]),
    ("bytea[]", &["array['\\x00ff'::bytea]"]),
    ("jsonb[]", &["array['{\"a\": \"b\\\"c\"}'::jsonb]"]),
    ("uuid[]", &["'{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'"]),
    ("bool[]", &["'{t,f,NULL}'"]),
    ("char(3)[]", &["'{a,bc}'"]),
    ("citext[]", &["'{A,b}'"]),
    ("mood[]", &["'{happy,\"very \\\"sad\\\", it''s\"}'"]),
    ("email[]", &["'{a@b}'"]),
    ("n2[]", &["'{1.5}'"]),
    ("box[]", &["'{(3,4),(1,2);(5,6),(3,4)}'"]),
    ("hstore[]", &["array['a=>1'::hstore]"]),
    ("pair[]", &["array[row(1,'x')::pair]"]),
    ("moods", &["'{happy}'"]),
];

/// Types of the matrix that are read as text by snapshots too: another form is not surely the same value.
const TEXT_ONLY: &[&str] = &[
    "\"char\"",
    "money",
    "inet",
    "cidr",
    "macaddr",
    "bit(3)",
    "varbit",
    "xml",
    "tsvector",
    "tsquery",
    "tstzrange",
    "int4multirange",
    "box",
    "point",
    "circle",
    "path",
    "polygon",
    "line",
    "lseg",
    "hstore",
    "ltree",
    "pg_lsn",
    "pair",
    "int2vector",
    "regclass",
    "box[]",
    "hstore[]",
    "pair[]",
];

/// What a batch says of the boxes above.
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

fn make_types() {
    static MADE: Once = Once::new();
    MADE.call_once(|| {
        server().query(
            "CREATE EXTENSION citext; CREATE EXTENSION hstore; CREATE EXTENSION ltree;
         CREATE TYPE mood AS ENUM ('happy', 'very \"sad\", it''s');
         CREATE DOMAIN n82 AS numeric(8,2); CREATE DOMAIN n2 AS n82;
         CREATE DOMAIN email AS text CHECK (value LIKE '%@%');
         CREATE DOMAIN moods AS mood[];
         CREATE TYPE pair AS (a int, b text)",
        );
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
