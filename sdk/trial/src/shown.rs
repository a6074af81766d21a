//! What a script was given and what it made of it, as JSON for people.

use serde::Serialize;
use tarn_batch::{Batch, DecodeError, Outgoing, Row};

use crate::Json;
use crate::image::{images, json};

/// A record as people read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    /// What happened.
    pub kind: &'static str,
    /// The table; empty of a message.
    pub source: String,
    /// The row after the change, in the columns' order, without what was not sent.
    pub new: Option<Json>,
    /// The row before it.
    pub old: Option<Json>,
    /// What a message was called with; `None` of other records.
    pub prefix: Option<String>,
    /// What a message says; bytes that are no text as digits.
    pub content: Option<String>,
}

impl Shown {
    fn read(row: &Row<'_>, batch: &Batch<'_>) -> Result<Self, DecodeError> {
        let table = batch.table(row);
        let (new, old) = images(row, table, json)?;
        let message = row.log_message()?;
        Ok(Self {
            kind: row.op().name(),
            source: if table.name.is_empty() { String::new() } else { table.qualified_name() },
            new,
            old,
            prefix: message.map(|message| message.prefix.to_owned()),
            content: message.map(|message| text_or_digits(message.content)),
        })
    }
}

/// A message to a queue as people read it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownMessage {
    /// The topic; `None` for that of the record's table.
    pub topic: Option<String>,
    /// Its key; bytes that are no text as digits after `\x`.
    pub key: Option<String>,
    /// What it says; `None` deletes, or is in `hex`.
    pub value: Option<String>,
    /// What it says where that is no text, as digits.
    pub hex: Option<String>,
    /// Names and values beside the value, in their order.
    pub headers: Json,
    /// The partition, where the script chose one.
    pub partition: Option<i32>,
}

impl Default for Json {
    fn default() -> Self {
        Self::Object(Vec::new())
    }
}

impl ShownMessage {
    pub(crate) fn read(message: &Outgoing<'_>) -> Result<Self, DecodeError> {
        let mut headers = Vec::new();
        for header in message.headers {
            let (name, value) = header?;
            headers
                .push((name.to_owned(), value.map_or(Json::Null, |value| Json::Text(text_or_digits(value)))));
        }
        let text = message.value.map(std::str::from_utf8);
        Ok(Self {
            topic: message.topic.map(str::to_owned),
            key: message.key.map(text_or_digits),
            value: text.and_then(Result::ok).map(str::to_owned),
            hex: message.value.filter(|_| matches!(text, Some(Err(_)))).map(digits),
            headers: Json::Object(headers),
            partition: message.partition,
        })
    }
}

/// What a script made of one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing.
    Dropped,
    /// Rows that go on; of one record it is one.
    Rows(Vec<Shown>),
    /// Messages to a queue.
    Messages(Vec<ShownMessage>),
}

/// The one record of a batch.
///
/// # Errors
/// The batch is damaged, or empty.
pub fn given(batch: &[u8]) -> Result<Shown, DecodeError> {
    let batch = Batch::parse(batch)?;
    let row = batch.rows().next().ok_or(DecodeError::Truncated("batch"))??;
    Shown::read(&row, &batch)
}

/// What is in a batch that a script returned; no bytes are nothing.
///
/// # Errors
/// The batch is damaged.
pub fn outcome(batch: &[u8]) -> Result<Outcome, DecodeError> {
    if batch.is_empty() {
        return Ok(Outcome::Dropped);
    }
    let batch = Batch::parse(batch)?;
    let (mut rows, mut messages) = (Vec::new(), Vec::new());
    for row in batch.rows() {
        let row = row?;
        match row.outgoing()? {
            Some(message) => messages.push(ShownMessage::read(&message)?),
            None => rows.push(Shown::read(&row, &batch)?),
        }
    }
    Ok(match (rows.is_empty(), messages.is_empty()) {
        (true, true) => Outcome::Dropped,
        (_, true) => Outcome::Rows(rows),
        _ => Outcome::Messages(messages),
    })
}

fn text_or_digits(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| format!("\\x{}", digits(bytes)), str::to_owned)
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::record::{Record, batches};

    fn read(text: &str) -> Vec<Record> {
        serde_json::from_str(text).expect("records")
    }

    /// What records are shown as, given these types.
    fn through(records: &str, tables: &[(&str, &[&str])]) -> Result<Vec<String>, crate::Mistake> {
        let tables: BTreeMap<String, Vec<String>> = tables
            .iter()
            .map(|(name, columns)| {
                ((*name).to_owned(), columns.iter().map(|&said| said.to_owned()).collect())
            })
            .collect();
        let shown = |batch: Vec<u8>| {
            let shown = given(&batch).expect("the batch is sound");
            let [new, old] =
                [shown.new, shown.old].map(|row| row.map_or("-".to_owned(), |row| row.to_string()));
            format!("{} {} {new} {old}", shown.kind, shown.source)
        };
        Ok(batches(&read(records), &tables)?.into_iter().map(shown).collect())
    }

    #[test]
    fn rows_come_out_exactly_and_in_the_order_of_the_columns() {
        let columns: &[&str] = &["id bigint key", "price numeric(12,2)", "name text", "tags text[]"];
        let records = r#"[{"source": "public.items", "new":
                {"tags": ["a", null], "name": "Zoë", "price": 1.5, "id": "342161316540874753"}},
            {"kind": "update", "source": "public.items", "new": {"id": 2, "name": null}, "old": {"id": 1}},
            {"kind": "delete", "source": "public.items", "old": {"id": 9007199254740993}}]"#;
        let expected = [
            r#"insert public.items {"id":342161316540874753,"price":1.50,"name":"Zoë","tags":["a",null]} -"#,
            r#"update public.items {"id":2,"name":null} {"id":1}"#,
            r#"delete public.items - {"id":9007199254740993}"#,
        ];
        assert_eq!(through(records, &[("public.items", columns)]).expect("sound"), expected);
    }

    #[test]
    fn types_that_nobody_gives_are_those_of_the_values() {
        let records = r#"[{"source": "public.t", "new": {"z": 1, "n": 1, "f": true, "t": "x", "j": {"b": 1.50}, "nothing": null}},
            {"source": "public.t", "new": {"z": null, "n": 1.10, "late": [1]}}]"#;
        let expected = [
            r#"insert public.t {"z":1,"n":1,"f":true,"t":"x","j":"{\"b\":1.50}","nothing":null,"late":null} -"#,
            r#"insert public.t {"z":null,"n":1.10,"f":null,"t":null,"j":null,"nothing":null,"late":"[1]"} -"#,
        ];
        assert_eq!(through(records, &[]).expect("sound"), expected);
    }

    #[test]
    fn a_record_may_have_columns_of_its_own() {
        let records = r#"[{"source": "public.t", "columns": ["id integer key", "at date"], "new": {"id": 1, "at": "2024-02-29"}},
            {"source": "public.t", "new": {"id": "text"}}, {"kind": "message", "prefix": "p", "content": "c"}]"#;
        let expected = [
            r#"insert public.t {"id":1,"at":"2024-02-29"} -"#,
            r#"insert public.t {"id":"text"} -"#,
            "message  - -",
        ];
        assert_eq!(through(records, &[]).expect("sound"), expected);
    }

    #[test]
    fn every_mistake_names_its_place() {
        let typed: &[(&str, &[&str])] = &[("public.t", &["id bigint key", "name text"])];
        let cases = [
            (r#"[{"source": "public.t", "new": {"id": 1, "other": 1}}]"#, "records[0].new.other"),
            (r#"[{"new": {"id": 1}}, {"source": "public.t", "new": {"id": "x"}}]"#, "records[1].new.id"),
            (r#"[{"source": "public.t", "new": [1]}]"#, "records[0].new"),
            (r#"[{"source": "public.t"}]"#, "records[0].new"),
            (r#"[{"source": "public.t", "kind": "delete"}]"#, "records[0].old"),
            (r#"[{"source": "public.t", "kind": "delete", "new": {"id": 1}}]"#, "records[0].new"),
            (r#"[{"source": "t", "new": {"id": 1}}]"#, "records[0].source"),
            (r#"[{"source": "public.t", "commitTime": "now", "new": {"id": 1}}]"#, "records[0].commitTime"),
            (
                r#"[{"source": "public.u", "new": {"a": 1}}, {"source": "public.u", "new": {"a": "x"}}]"#,
                "records[1].new.a",
            ),
            (r#"[{"source": "public.t", "columns": ["id"], "new": {"id": 1}}]"#, "records[0].columns[0]"),
            (
                r#"[{"source": "public.t", "columns": ["a text", "a text"], "new": {}}]"#,
                "records[0].columns[1]",
            ),
        ];
        for (records, path) in cases {
            assert_eq!(through(records, typed).expect_err(records).path, path, "{records}");
        }
        let wrong = through("[]", &[("public.t", &["id bigint", "name"])]).expect_err("no type");
        assert_eq!(wrong.path, "tables.public.t[1]");
        let several = through(r#"[{"new": {"id": 1}}]"#, &[]).expect_err("no table");
        assert_eq!(several.path, "records[0].source");
    }
}
