//! The scripts of `examples/scripts` do what their comments say.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use tarn_batch::text::write_text;
use tarn_batch::value::write_numeric;
use tarn_batch::{Batch, BatchWriter, Before, Cell, Column, Op, RowHeader, Table, Type, Version};
use tarn_plugin_script_lua::{Host, Output, Runtime};

struct Silent;

impl Host for Silent {
    fn log(&mut self, _line: &str) {}

    fn now_us(&mut self) -> i64 {
        0
    }
}

const MONEY: Type = Type::Numeric { precision: 12, scale: 2 };

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/scripts")
}

/// A table with the key `id` and nullable columns.
fn table(name: &str, columns: &[(&str, Type)]) -> Table {
    let id = Column {
        name: "id".to_owned(),
        data_type: Type::Int8,
        type_name: "bigint".to_owned(),
        nullable: false,
        key: 1,
        attribute: 1,
    };
    let others = columns.iter().map(|(name, data_type)| Column {
        name: (*name).to_owned(),
        data_type: data_type.clone(),
        type_name: format!("{data_type:?}").to_lowercase(),
        nullable: true,
        key: 0,
        attribute: 2,
    });
    Table {
        id: 1,
        schema: "public".to_owned(),
        name: name.to_owned(),
        version: 1,
        columns: std::iter::once(id).chain(others).collect(),
    }
}

fn write(writer: &mut BatchWriter, data_type: &Type, text: Option<&str>) {
    let Some(text) = text else { return writer.null() };
    match data_type {
        Type::Int8 => writer.value(&text.parse::<i64>().expect("an integer").to_le_bytes()),
        Type::Numeric { .. } => writer.value_with(|out| write_numeric(out, text)).expect("a decimal"),
        _ => writer.value(text.as_bytes()),
    }
}

/// What a script makes of one row whose key is 7: its cells but the key as text, or none when it is
/// dropped.
fn run(script: &str, op: Op, table: &Table, values: &[Option<&str>]) -> Option<Vec<Option<String>>> {
    let source = fs::read(folder().join(script)).expect("the script is there");
    let mut runtime = Runtime::new(Box::new(Silent)).expect("there is memory");
    runtime.load(&source).unwrap_or_else(|fault| panic!("{script}: {fault:?}"));
    runtime.start(Vec::new(), Output::Rows);

    let mut writer = BatchWriter::with_capacity(0);
    let index = writer.add_table(table);
    let version = Version { commit: 1, ordinal: 0 };
    writer.begin_row(index, &RowHeader { op, version, commit_time_us: 0, transaction: 9 });
    if op == Op::Delete {
        writer.begin_before(Before::Key);
    }
    writer.value(&7_i64.to_le_bytes());
    for (column, value) in table.columns[1..].iter().zip(values) {
        if op == Op::Delete { writer.unchanged() } else { write(&mut writer, &column.data_type, *value) }
    }
    writer.end_row();

    let applied = runtime.apply(&writer.finish()).expect("the batch is sound");
    assert_eq!(applied.rejected, [], "{script}");
    let batch = Batch::parse(&applied.batch).expect("the batch is sound");
    let row = batch.rows().next()?.expect("the row is sound");
    let cells = (1..table.columns.len()).map(|column| {
        let Cell::Value(value) = row.cell(column).expect("the cell is sound") else { return None };
        let mut text = String::new();
        write_text(&table.columns[column].data_type, value, &mut text).expect("the value is sound");
        Some(text)
    });
    Some(cells.collect())
}

/// The one column's value after an insert, in a script that keeps the row.
fn becomes(script: &str, table: &Table, value: &str) -> Option<String> {
    run(script, Op::Insert, table, &[Some(value)]).expect("the row is kept").remove(0)
}

#[test]
fn mask_hides_the_person_and_keeps_the_domain() {
    let users = table("users", &[("email", Type::Text)]);
    for (email, masked) in [
        ("jane.doe@example.com", "j***@example.com"),
        ("ümit@example.org", "ü***@example.org"),
        ("@example.org", "***"),
        ("nobody", "***"),
        ("", "***"),
    ] {
        assert_eq!(becomes("mask.lua", &users, email).as_deref(), Some(masked));
    }
    assert_eq!(run("mask.lua", Op::Insert, &users, &[None]), Some(vec![None]));
    assert_eq!(run("mask.lua", Op::Delete, &users, &[None]), Some(vec![None]));
    let orders = table("orders", &[("note", Type::Text)]);
    assert_eq!(becomes("mask.lua", &orders, "to jane@example.com").as_deref(), Some("to jane@example.com"));
}

#[test]
fn filter_keeps_what_it_names() {
    let users = table("users", &[("country", Type::Text), ("email", Type::Text)]);
    let kept = |op, country, email| run("filter.lua", op, &users, &[country, email]).is_some();
    assert!(kept(Op::Insert, Some("CH"), Some("a@example.com")));
    assert!(kept(Op::Update, Some("AT"), None));
    assert!(!kept(Op::Insert, Some("CH"), Some("a@test.example.com")));
    assert!(!kept(Op::Insert, Some("US"), None));
    assert!(!kept(Op::Insert, None, None));
    assert!(kept(Op::Delete, None, None));
}

#[test]
fn compute_is_exact_to_the_cent() {
    let lines =
        table("lines", &[("price", MONEY), ("quantity", Type::Int8), ("discount", MONEY), ("total", MONEY)]);
    let total = |price, quantity, discount| {
        run("compute.lua", Op::Insert, &lines, &[price, quantity, discount, None]).expect("kept").remove(3)
    };
    assert_eq!(total(Some("0.10"), Some("3"), None).as_deref(), Some("0.30"));
    assert_eq!(total(Some("1999999.99"), Some("3"), Some("0.98")).as_deref(), Some("5999998.99"));
    assert_eq!(total(None, Some("3"), None), None);
}

#[test]
fn trim_cleans_text_and_nothing_else() {
    let notes = table("notes", &[("text", Type::Text), ("data", Type::Bytes), ("count", Type::Int8)]);
    let cleaned = run("trim.lua", Op::Insert, &notes, &[Some("  a b\t\n"), Some(" x "), Some("5")]);
    assert_eq!(
        cleaned.expect("kept"),
        [Some("a b"), Some("\\x207820"), Some("5")].map(|text| text.map(str::to_owned))
    );
    assert_eq!(run("trim.lua", Op::Insert, &notes, &[Some(" "), None, None]), Some(vec![None, None, None]));
    assert_eq!(run("trim.lua", Op::Delete, &notes, &[None, None, None]), Some(vec![None, None, None]));
}

#[test]
fn redact_json_reaches_every_depth_and_keeps_every_digit() {
    let users = table("users", &[("profile", Type::Json)]);
    for (document, redacted) in [
        (
            r#"{"id": 9007199254740993, "user": {"password": "x", "tags": [{"token": 1}, null]}}"#,
            r#"{"id":9007199254740993,"user":{"password":"[redacted]","tags":[{"token":"[redacted]"},null]}}"#,
        ),
        (r#"{"a":  1.50}"#, r#"{"a":  1.50}"#),
        ("[]", "[]"),
        ("\"password\"", "\"password\""),
    ] {
        assert_eq!(becomes("redact_json.lua", &users, document).as_deref(), Some(redacted));
    }
}

#[test]
fn by_table_changes_each_table_in_its_way() {
    let users = table("users", &[("name", Type::Text)]);
    assert_eq!(becomes("by_table.lua", &users, "Ada").as_deref(), Some("ADA"));
    let logins = table("logins", &[("address", Type::Text)]);
    assert_eq!(becomes("by_table.lua", &logins, "10.1.2.33").as_deref(), Some("10.1.2.0"));
    let others = table("others", &[("x", Type::Text)]);
    assert_eq!(run("by_table.lua", Op::Insert, &others, &[None]), None);
}

#[test]
fn every_example_is_tested_here() {
    let names: BTreeSet<_> = fs::read_dir(folder())
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be read").file_name().into_string().expect("names are UTF-8"))
        .filter(|name| name.ends_with(".lua"))
        .collect();
    let here = fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/example_scripts.rs"))
        .expect("this file can be read");
    assert!(names.len() >= 5);
    for name in names {
        assert!(here.contains(&format!("\"{name}\"")), "{name} has no test");
    }
}
