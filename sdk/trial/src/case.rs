//! Cases: a record, and what a script should make of it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use tarn_batch::{Batch, DecodeError, Op, Row, Table};

use crate::config::CASES_MAX;
use crate::image::{NOT_SENT, NULL, images, texts};
use crate::record::{self, Columns};
use crate::shown::ShownMessage;
use crate::{Json, Kind, Mistake, Record, cell};

/// What stands beside a script: tables, and cases of records in them.
#[derive(Debug, Clone)]
pub struct Suite {
    output: Takes,
    columns: Columns,
    /// The cases.
    pub cases: Vec<Case>,
}

/// A suite as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    output: Takes,
    /// By name, each a list of columns.
    #[serde(default)]
    tables: BTreeMap<String, Vec<String>>,
    cases: Vec<Case>,
}

/// What the destination takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Takes {
    #[default]
    Rows,
    Messages,
}

/// One record, and what becomes of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What it shows.
    pub case: String,
    #[serde(default)]
    kind: Kind,
    /// May be left out where there is one table.
    #[serde(default)]
    table: String,
    new: Option<Json>,
    old: Option<Json>,
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    content: String,
    expect: Json,
}

/// What a script made of a case's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made<'a> {
    /// The batch that it returned; no bytes are nothing.
    Batch(&'a [u8]),
    /// An error, with this message.
    Error(&'a str),
}

/// Whether a script made what it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It did.
    Passed,
    /// It did not.
    Failed {
        /// What it should have made, in the form of the cases, whole.
        expected: Json,
        /// What it made.
        became: Json,
    },
}

impl Suite {
    /// Reads a suite from JSON text.
    ///
    /// # Errors
    /// A [`Mistake`] whose path is empty, or is that of a case: `cases[2].new.id`.
    pub fn read(text: &str) -> Result<Self, Mistake> {
        let Written { output, tables, cases } =
            serde_json::from_str(text).map_err(|error| Mistake::new("", error.to_string()))?;
        let suite = Self { output, columns: Columns::described(&tables)?, cases };
        if suite.cases.len() > CASES_MAX {
            return Err(Mistake::new("cases", format!("has more than {CASES_MAX} entries")));
        }
        for (at, case) in suite.cases.iter().enumerate() {
            let here = |mistake: Mistake| mistake.below(&format!("cases[{at}]"));
            suite.batch(case).map_err(here)?;
            case.check().map_err(here)?;
        }
        Ok(suite)
    }

    /// Whether the destination of the cases takes messages rather than rows.
    pub fn takes_messages(&self) -> bool {
        self.output == Takes::Messages
    }

    /// A case's record as a batch.
    ///
    /// # Errors
    /// A [`Mistake`] within the case.
    pub fn batch(&self, case: &Case) -> Result<Vec<u8>, Mistake> {
        let mut record = case.record();
        if record.source.is_empty()
            && let Some(first) = self.columns.first()
        {
            first.clone_into(&mut record.source);
        }
        let inferred;
        let columns = if self.columns.has(&record.source) {
            &self.columns
        } else {
            inferred = Columns::default().with(std::slice::from_ref(&record))?;
            &inferred
        };
        let rename = |mistake: Mistake| match mistake.path.as_str() {
            "source" => Mistake { path: "table".to_owned(), ..mistake },
            _ => mistake,
        };
        record::batch(&record, &columns.of(&record).map_err(rename)?)
    }

    /// Compares what a script made of a case's batch with what it should.
    ///
    /// # Errors
    /// What the script returned is damaged.
    pub fn judge(&self, case: &Case, given: &[u8], made: Made<'_>) -> Result<Verdict, DecodeError> {
        let became = match made {
            Made::Error(message) => object("error", Json::Text(message.to_owned())),
            Made::Batch([]) => Json::Text("dropped".to_owned()),
            Made::Batch(bytes) => say(bytes, given, case)?,
        };
        let expected = case.expected(given, made)?;
        Ok(if same(&became, &expected) { Verdict::Passed } else { Verdict::Failed { expected, became } })
    }
}

impl Case {
    fn record(&self) -> Record {
        Record {
            kind: self.kind,
            source: self.table.clone(),
            new: self.new.clone(),
            old: self.old.clone(),
            prefix: self.prefix.clone(),
            content: self.content.clone(),
            ..Record::default()
        }
    }

    /// Checks that what is expected can be.
    fn check(&self) -> Result<(), Mistake> {
        let wrong = |message: &str| Err(Mistake::new("expect", message));
        match &self.expect {
            Json::Text(text) if matches!(text.as_str(), "kept" | "dropped") => Ok(()),
            Json::Object(fields) if fields.is_empty() => wrong("is empty"),
            Json::Object(fields) => {
                let sound = fields.iter().all(|(name, value)| {
                    matches!(
                        (name.as_str(), value),
                        ("new" | "old", Json::Object(_))
                            | ("messages", Json::List(_))
                            | ("error", Json::Text(_))
                    )
                });
                let of_rows =
                    fields.iter().filter(|(name, _)| matches!(name.as_str(), "new" | "old")).count();
                if sound && (of_rows == fields.len() || fields.len() == 1) {
                    return Ok(());
                }
                wrong("expected columns in new and old, a list of messages, or an error's text")
            }
            _ => wrong("expected \"kept\", \"dropped\", new and old, messages, or error"),
        }
    }

    /// Whether rows are expected, by column.
    fn expects_rows(&self) -> bool {
        self.expect.get("new").or_else(|| self.expect.get("old")).is_some()
    }

    /// What is expected, whole.
    fn expected(&self, given: &[u8], made: Made<'_>) -> Result<Json, DecodeError> {
        if let Some(Json::List(messages)) = self.expect.get("messages") {
            return Ok(object("messages", Json::List(messages.iter().map(whole_message).collect())));
        }
        if !self.expects_rows() {
            return Ok(self.expect.clone());
        }
        let before = Batch::parse(given)?;
        let row = first(&before)?;
        // The script may have added columns: what it made knows their types.
        let after = match made {
            Made::Batch(bytes) if !bytes.is_empty() => Some(Batch::parse(bytes)?),
            _ => None,
        };
        let table = after.as_ref().and_then(|after| after.tables().first()).unwrap_or(before.table(&row));
        let mut whole = rows_of(&row, before.table(&row))?;
        for image in ["new", "old"] {
            let Some(Json::Object(changes)) = self.expect.get(image) else { continue };
            for (column, value) in changes {
                set(&mut whole, image, column, in_text(value, column, table));
            }
        }
        Ok(whole)
    }
}

/// The text of an expected value, in the form of its column where it has one.
fn in_text(value: &Json, column: &str, table: &Table) -> String {
    let text = match value {
        Json::Null => return NULL.to_owned(),
        Json::Text(text) if text == NOT_SENT => return text.clone(),
        Json::Text(text) | Json::Number(text) => text.clone(),
        Json::Bool(value) => (if *value { "t" } else { "f" }).to_owned(),
        other => other.to_string(),
    };
    let Some(column) = table.columns.iter().find(|known| known.name == column) else { return text };
    let (mut bytes, mut said) = (Vec::new(), String::new());
    let written = cell::write(&mut bytes, &column.data_type, value).is_ok()
        && tarn_batch::text::write_text(&column.data_type, &bytes, &mut said).is_ok();
    if written { said } else { text }
}

fn object(name: &str, value: Json) -> Json {
    Json::Object(vec![(name.to_owned(), value)])
}

/// Sets a column of an image; both are made where they are not there.
fn set(whole: &mut Json, image: &str, column: &str, text: String) {
    let Json::Object(images) = whole else { return };
    let at = images.iter().position(|(name, _)| name == image).unwrap_or_else(|| {
        images.push((image.to_owned(), Json::default()));
        images.len() - 1
    });
    let Json::Object(fields) = &mut images[at].1 else { return };
    match fields.iter_mut().find(|(name, _)| name == column) {
        Some((_, value)) => *value = Json::Text(text),
        None => fields.push((column.to_owned(), Json::Text(text))),
    }
}

fn first<'a>(batch: &Batch<'a>) -> Result<Row<'a>, DecodeError> {
    batch.rows().next().unwrap_or(Err(DecodeError::Truncated("batch")))
}

/// The rows of a record as text, by column.
fn rows_of(row: &Row<'_>, table: &Table) -> Result<Json, DecodeError> {
    let (new, old) = images(row, table, texts)?;
    let fields = |fields: Vec<(String, String)>| {
        Json::Object(fields.into_iter().map(|(name, text)| (name, Json::Text(text))).collect())
    };
    let images = [("new", new), ("old", old)];
    let there = images.into_iter().filter_map(|(name, row)| Some((name.to_owned(), fields(row?))));
    Ok(Json::Object(there.collect()))
}

/// What a script made of the record, in the form of the expectations.
fn say(bytes: &[u8], given: &[u8], case: &Case) -> Result<Json, DecodeError> {
    let batch = Batch::parse(bytes)?;
    let rows: Vec<Row<'_>> = batch.rows().collect::<Result<_, _>>()?;
    Ok(match &rows[..] {
        [] => Json::Text("dropped".to_owned()),
        [row, ..] if row.op() == Op::Outgoing => {
            let messages = rows.iter().map(say_message).collect::<Result<_, _>>()?;
            object("messages", Json::List(messages))
        }
        [row] => {
            let before = Batch::parse(given)?;
            let before_row = first(&before)?;
            let (was, is) =
                (rows_of(&before_row, before.table(&before_row))?, rows_of(row, batch.table(row))?);
            let is_kept = row.op() == before_row.op() && was == is;
            if is_kept && !case.expects_rows() { Json::Text("kept".to_owned()) } else { is }
        }
        several => {
            Json::List(several.iter().map(|row| rows_of(row, batch.table(row))).collect::<Result<_, _>>()?)
        }
    })
}

/// A message as cases have it: text where it is text, else digits.
fn say_message(row: &Row<'_>) -> Result<Json, DecodeError> {
    let Some(message) = row.outgoing()? else { return Ok(Json::Null) };
    let ShownMessage { topic, key, value, hex, headers, partition } = ShownMessage::read(&message)?;
    let text = |text: Option<String>| text.map_or(Json::Null, Json::Text);
    let last = match hex {
        Some(hex) => ("hex".to_owned(), Json::Text(hex)),
        None => ("value".to_owned(), text(value)),
    };
    Ok(Json::Object(vec![
        ("topic".to_owned(), text(topic)),
        ("key".to_owned(), text(key)),
        ("partition".to_owned(), partition.map_or(Json::Null, |number| Json::Number(number.to_string()))),
        ("headers".to_owned(), headers),
        last,
    ]))
}

/// An expected message with what was left out.
fn whole_message(message: &Json) -> Json {
    let field =
        |name: &str, left_out: Json| (name.to_owned(), message.get(name).cloned().unwrap_or(left_out));
    let mut whole = vec![
        field("topic", Json::Null),
        field("key", Json::Null),
        field("partition", Json::Null),
        field("headers", Json::default()),
    ];
    whole.push(if message.get("hex").is_some() {
        field("hex", Json::Null)
    } else {
        field("value", Json::Null)
    });
    if let Json::Object(fields) = message {
        // A field that no message has makes it another one.
        whole.extend(fields.iter().filter(|(name, _)| !KNOWN.contains(&name.as_str())).cloned());
    }
    Json::Object(whole)
}

const KNOWN: [&str; 6] = ["topic", "key", "partition", "headers", "hex", "value"];

/// Whether two say the same, whatever the order of their fields.
fn same(one: &Json, other: &Json) -> bool {
    let value = |json: &Json| serde_json::from_str::<Value>(&json.to_string()).ok();
    value(one) == value(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUITE: &str = r#"{
        "tables": {"public.users": ["id bigint key", "price numeric(8,2)", "name text"]},
        "cases": [
            {"case": "kept", "new": {"id": 1, "price": 1, "name": "Ada"}, "expect": "kept"},
            {"case": "changed", "new": {"id": 1, "price": 1}, "expect": {"new": {"name": "Eva", "price": 2.5}}},
            {"case": "dropped", "kind": "delete", "old": {"id": 1}, "expect": "dropped"},
            {"case": "rejected", "new": {"id": 1}, "expect": {"error": "no name"}}
        ]}"#;

    /// The batch of a case with other values.
    fn batch(suite: &Suite, at: usize, new: &str) -> Vec<u8> {
        let mut case = suite.cases[at].clone();
        case.new = Some(serde_json::from_str(new).expect("JSON"));
        suite.batch(&case).expect("sound")
    }

    #[test]
    fn what_was_expected_passes_and_nothing_else() {
        let suite = Suite::read(SUITE).expect("sound");
        let judge = |at: usize, made: Made<'_>| {
            let case = &suite.cases[at];
            let given = suite.batch(case).expect("sound");
            suite.judge(case, &given, made).expect("sound")
        };
        let same = batch(&suite, 0, r#"{"id": 1, "price": 1, "name": "Ada"}"#);
        let other = batch(&suite, 0, r#"{"id": 1, "price": 1, "name": "Eva"}"#);
        let changed = batch(&suite, 1, r#"{"id": 1, "price": 2.50, "name": "Eva"}"#);
        for (at, made) in [
            (0, Made::Batch(&same)),
            (1, Made::Batch(&changed)),
            (2, Made::Batch(&[])),
            (3, Made::Error("no name")),
        ] {
            assert_eq!(judge(at, made), Verdict::Passed, "case {at}");
        }
        for (at, made) in [
            (0, Made::Batch(&other)),
            (0, Made::Batch(&[])),
            (1, Made::Batch(&other)),
            (2, Made::Error("no")),
            (3, Made::Error("no")),
            (3, Made::Batch(&same)),
        ] {
            assert!(matches!(judge(at, made), Verdict::Failed { .. }), "case {at} {made:?}");
        }
        let Verdict::Failed { expected, became } = judge(1, Made::Batch(&other)) else { panic!("it failed") };
        assert_eq!(expected.to_string(), r#"{"new":{"id":"1","price":"2.50","name":"Eva"}}"#);
        assert_eq!(became.to_string(), r#"{"new":{"id":"1","price":"1.00","name":"Eva"}}"#);
    }

    #[test]
    fn a_mistake_in_a_suite_names_its_case() {
        let cases = [
            (r#"{"case": "a", "new": {"id": "x"}, "expect": "kept"}"#, "cases[0].new.id"),
            (r#"{"case": "a", "new": {"id": 1}, "expect": "changed"}"#, "cases[0].expect"),
            (r#"{"case": "a", "new": {"id": 1}, "expect": {"new": 1}}"#, "cases[0].expect"),
            (r#"{"case": "a", "new": {"id": 1}, "expect": {"new": {}, "error": "x"}}"#, "cases[0].expect"),
            (r#"{"case": "a", "table": "users", "new": {"id": 1}, "expect": "kept"}"#, "cases[0].table"),
        ];
        for (case, path) in cases {
            let text = format!(r#"{{"tables": {{"public.t": ["id bigint key"]}}, "cases": [{case}]}}"#);
            assert_eq!(Suite::read(&text).expect_err(case).path, path, "{case}");
        }
        let unknown = Suite::read(r#"{"cases": [], "case": 1}"#).expect_err("no such field");
        assert!(unknown.message.contains("case"), "{unknown}");
    }
}
