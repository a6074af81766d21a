//! Cases: a record, and what a script makes of it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tarn_batch::{Batch, BatchWriter, Before, LogMessage, Op, Row, RowHeader, Table, TableIndex, Version};
use tarn_script::transform::{Applied, Output};

use crate::cell;

/// When the records of all cases were committed.
const COMMITTED: &str = "2024-02-29 12:34:56.789+00";

/// What stands beside a script.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    #[serde(default)]
    output: Takes,
    /// By name, each a list of columns.
    tables: BTreeMap<String, Vec<String>>,
    /// The cases.
    pub cases: Vec<Case>,
}

/// What the destination takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Takes {
    #[default]
    Rows,
    Messages,
}

/// One record.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What it shows.
    pub case: String,
    #[serde(default)]
    kind: Kind,
    /// May be left out where there is one table.
    table: Option<String>,
    new: Option<Map<String, Value>>,
    old: Option<Map<String, Value>>,
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    content: String,
    expect: Value,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    #[default]
    Insert,
    Update,
    Delete,
    Message,
    Relation,
}

impl Suite {
    /// What the destination takes.
    pub fn output(&self) -> Output {
        match self.output {
            Takes::Rows => Output::Rows,
            Takes::Messages => Output::Messages,
        }
    }

    fn tables(&self) -> Vec<Table> {
        let tables = self.tables.iter().zip(1..).map(|((name, columns), id)| {
            let (schema, name) = name.split_once('.').expect("a table has a schema");
            Table {
                id,
                schema: schema.to_owned(),
                name: name.to_owned(),
                version: 1,
                columns: columns.iter().map(|said| cell::column(said)).collect(),
            }
        });
        tables.collect()
    }

    fn place(&self, case: &Case) -> usize {
        match &case.table {
            Some(table) => self.tables.keys().position(|name| name == table).expect("the table is there"),
            None => 0,
        }
    }

    /// The case's record as a batch.
    pub fn batch(&self, case: &Case) -> Vec<u8> {
        let tables = self.tables();
        let mut writer = BatchWriter::with_capacity(0);
        for table in &tables {
            writer.add_table(table);
        }
        let place = self.place(case);
        let (table, index) = (&tables[place], TableIndex(place as u16));
        let header = |op| RowHeader {
            op,
            version: Version { commit: 0x1234, ordinal: 0 },
            commit_time_us: cell::micros(COMMITTED).expect("a time"),
            transaction: 77,
        };
        match case.kind {
            Kind::Insert => case.write(&mut writer, index, &header(Op::Insert), table),
            Kind::Update => case.write(&mut writer, index, &header(Op::Update), table),
            Kind::Delete => case.write(&mut writer, index, &header(Op::Delete), table),
            Kind::Message => {
                let nowhere =
                    Table { columns: vec![], schema: String::new(), name: String::new(), ..table.clone() };
                let index = writer.add_table(&nowhere);
                let message = LogMessage { prefix: &case.prefix, content: case.content.as_bytes() };
                writer.log_message(index, &header(Op::Message), &message);
            }
            Kind::Relation => {
                writer.begin_row(index, &header(Op::Relation));
                writer.end_row();
            }
        }
        writer.finish()
    }

    /// What the script made of the record, in the form of the expectations.
    pub fn say(&self, applied: &Applied, given: &[u8]) -> Value {
        if let Some(rejection) = applied.rejected.first() {
            return json!({ "error": rejection.message });
        }
        let batch = Batch::parse(&applied.batch).expect("the batch is sound");
        let rows: Vec<Row<'_>> = batch.rows().map(|row| row.expect("the row is sound")).collect();
        match &rows[..] {
            [] => json!("dropped"),
            [row, ..] if row.op() == Op::Outgoing => {
                json!({ "messages": rows.iter().map(say_message).collect::<Vec<_>>() })
            }
            [row] if row.raw() == first(&Batch::parse(given).expect("sound")).raw() => json!("kept"),
            [row] => images(row, batch.table(row)),
            _ => panic!("one record became several rows"),
        }
    }

    /// What a case expects, in the same form.
    pub fn expected(&self, case: &Case, given: &[u8]) -> Value {
        let batch = Batch::parse(given).expect("sound");
        let row = first(&batch);
        match case.expect.as_object() {
            Some(expected) if expected.contains_key("new") || expected.contains_key("old") => {
                let mut whole = images(&row, batch.table(&row));
                for (image, changes) in expected {
                    for (column, value) in changes.as_object().expect("columns are a map") {
                        let text = cell::text(value).unwrap_or_else(|| "NULL".to_owned());
                        whole[image][column] = Value::String(text);
                    }
                }
                whole
            }
            Some(expected) if expected.contains_key("messages") => {
                let messages = expected["messages"].as_array().expect("messages are a list");
                json!({ "messages": messages.iter().map(whole_message).collect::<Vec<_>>() })
            }
            _ => case.expect.clone(),
        }
    }
}

fn first<'a>(batch: &Batch<'a>) -> Row<'a> {
    batch.rows().next().expect("there is one row").expect("the row is sound")
}

impl Case {
    fn write(&self, writer: &mut BatchWriter, index: TableIndex, header: &RowHeader, table: &Table) {
        writer.begin_row(index, header);
        if let Some(new) = &self.new {
            for column in &table.columns {
                match new.get(&column.name) {
                    Some(value) => cell::write(writer, &column.data_type, value),
                    None if self.kind == Kind::Update => writer.unchanged(),
                    None => writer.null(),
                }
            }
        }
        if let Some(old) = &self.old {
            let is_whole = table.columns.iter().all(|column| old.contains_key(&column.name));
            writer.begin_before(if is_whole { Before::Full } else { Before::Key });
            for column in &table.columns {
                match old.get(&column.name) {
                    Some(value) => cell::write(writer, &column.data_type, value),
                    None => writer.unchanged(),
                }
            }
        }
        writer.end_row();
    }
}

/// The rows of a record as text, by column.
fn images(row: &Row<'_>, table: &Table) -> Value {
    let say = |cells: tarn_batch::Cells<'_>| {
        let cells = cells.zip(&table.columns).map(|(cell, column)| {
            let said = cell::say(cell.expect("the cell is sound"), &column.data_type);
            (column.name.clone(), Value::String(said))
        });
        Value::Object(cells.collect())
    };
    let mut images = Map::new();
    if row.op().has_after() {
        images.insert("new".to_owned(), say(row.after()));
    }
    if let Some((_, before)) = row.before() {
        images.insert("old".to_owned(), say(before));
    }
    Value::Object(images)
}

/// A message as cases have it: text where it is text, else digits.
fn say_message(row: &Row<'_>) -> Value {
    let message = row.outgoing().expect("the message is sound").expect("it is one");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers = message.headers.map(|header| {
        let (name, value) = header.expect("the header is sound");
        (name.to_owned(), json!(value.map(text)))
    });
    let mut said = json!({
        "topic": message.topic,
        "key": message.key.map(text),
        "partition": message.partition,
        "headers": headers.collect::<Map<_, _>>(),
    });
    match message.value.map(std::str::from_utf8) {
        Some(Err(_)) => {
            let digits = message.value.unwrap_or_default().iter().map(|byte| format!("{byte:02x}"));
            said["hex"] = Value::String(digits.collect());
        }
        value => said["value"] = json!(value.and_then(Result::ok)),
    }
    said
}

/// An expected message with what was left out.
fn whole_message(message: &Value) -> Value {
    let mut whole = json!({ "topic": null, "key": null, "partition": null, "headers": {} });
    if message.get("hex").is_none() {
        whole["value"] = Value::Null;
    }
    for (field, value) in message.as_object().expect("a message is a map") {
        whole[field] = value.clone();
    }
    whole
}
