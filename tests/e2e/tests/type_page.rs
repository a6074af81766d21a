//! The page that says what becomes of PostgreSQL's types is made by the test that looks.
//!
//! `TARN_UPDATE_TYPES=1 cargo test --workspace --test type_page` writes it.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::json;
use tarn_e2e::Scene;
use tarn_e2e::type_matrix::{MAKE, MATRIX, TEXT_ONLY};

/// The page, and what encloses the table in it.
const PAGE: &str = "../../plugins/postgres/TYPES.md";
const MARKS: (&str, &str) = ("<!-- types -->\n", "<!-- end of types -->\n");

/// Parts of literals whose values the usual types in ClickHouse cannot hold: arrays of arrays, and what is out of
/// range. Each stops its record.
const BEYOND: [&str; 7] = ["{{", "BC", "nfinity", "NaN", "99999", "5874897", "24:00"];

/// A type, and a value of it that every side holds.
fn columns() -> Vec<(&'static str, &'static str)> {
    let value = |literals: &'static [&'static str]| {
        literals.iter().copied().find(|literal| !BEYOND.iter().any(|part| literal.contains(part)))
    };
    MATRIX.iter().filter_map(|(name, literals)| Some((*name, value(literals)?))).collect()
}

/// The texts of the only row of a target, and the types of its columns.
fn row(scene: &Scene, table: &str, count: usize) -> Vec<(String, String)> {
    let types = scene.clickhouse.query(&format!(
        "SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = '{table}'"
    ));
    let texts: Vec<String> = (0..count).map(|at| format!("toString(c{at}), hex(toString(c{at}))")).collect();
    let rows = scene.clickhouse.query(&format!("SELECT {} FROM {table} FINAL", texts.join(", ")));
    assert_eq!(rows.len(), 1, "{table}");
    let said: Vec<String> = rows.into_iter().flatten().map(|text| text.expect("nothing is NULL")).collect();
    let (pairs, _) = said.as_chunks::<2>();
    let shown = pairs.iter().enumerate().map(|(at, [text, hex])| {
        let name = Some(format!("c{at}"));
        let found = types.iter().find(|row| row[0] == name).and_then(|row| row[1].clone());
        // What is no text is shown, and compared, byte by byte.
        let is_text = !text.contains(char::REPLACEMENT_CHARACTER);
        let shown = if is_text { text.clone() } else { format!("bytes {hex}") };
        (found.expect("the target has the column"), shown)
    });
    shown.collect()
}

#[test]
fn every_type_is_the_same_in_clickhouse_by_snapshot_and_by_stream_and_is_on_the_page() {
    // B001 to B068 as far as both ends decide.
    let scene = Scene::start();
    if scene.postgres.scalar("SELECT current_setting('server_version_num')::int < 140000").as_deref()
        == Some("t")
    {
        return;
    }
    scene.postgres.query(MAKE);
    let columns = columns();
    let definitions: Vec<String> =
        columns.iter().enumerate().map(|(at, (name, _))| format!("c{at} {name} NOT NULL")).collect();
    let values: Vec<&str> = columns.iter().map(|(_, literal)| *literal).collect();
    let insert =
        |table: &str| scene.postgres.query(&format!("INSERT INTO {table} VALUES (1, {})", values.join(", ")));
    for table in ["loaded", "streamed"] {
        scene
            .postgres
            .query(&format!("CREATE TABLE {table} (id int PRIMARY KEY, {})", definitions.join(", ")));
    }
    insert("loaded");
    scene.mirror("types", &[("public.loaded", "loaded"), ("public.streamed", "streamed")], &json!({}));
    scene.wait_for_state("types", "STATUS_RUNNING");
    insert("streamed");
    scene.wait_for_target("SELECT count() FROM streamed FINAL", "1");
    let (loaded, streamed) = (row(&scene, "loaded", columns.len()), row(&scene, "streamed", columns.len()));
    let mut table =
        "| in PostgreSQL | form of COPY | in ClickHouse | for example | there |\n|---|---|---|---|---|\n"
            .to_owned();
    for (at, (name, literal)) in columns.iter().enumerate() {
        assert_eq!(loaded[at], streamed[at], "{name} {literal}");
        let form = if TEXT_ONLY.contains(name) { "text" } else { "binary" };
        let (found, text) = &loaded[at];
        let cell = |text: &str| match text {
            "" => "(empty)".to_owned(),
            text => format!(
                "`{}`",
                text.escape_default()
                    .to_string()
                    .replace("\\'", "'")
                    .replace("\\\"", "\"")
                    .replace('|', "\\|")
            ),
        };
        let _fits = writeln!(table, "| `{name}` | {form} | `{found}` | {} | {} |", cell(literal), cell(text));
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page.split_once(MARKS.0).expect("the page has its marks");
    let (_, after) = rest.split_once(MARKS.1).expect("the page has its marks");
    let expected = format!("{before}{}{table}{}{after}", MARKS.0, MARKS.1);
    if std::env::var_os("TARN_UPDATE_TYPES").is_some() {
        std::fs::write(&path, expected).expect("the page can be written");
    } else {
        assert!(page == expected, "{PAGE} is not what is so; TARN_UPDATE_TYPES=1 writes it");
    }
}
