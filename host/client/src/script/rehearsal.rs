//! `tarn script test`: a script file on its tests and on records, shown side by side.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tarn_model::{Enumerated as _, ScriptLanguage};
use tarn_trial::Json;

use super::language;
use crate::error::Error;
use crate::file;
use crate::http::Client;
use crate::output::Report;
use crate::setup::ScriptText;
use crate::table::{Table, one_line};

/// What a script file is run on.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// The code; its extension tells the language. Its tests are beside it: mask_test.json, mask_test.lua.
    file: PathBuf,
    /// JSON file of records: a list, or an object with records, and tables and output as in tests.
    #[arg(long, value_name = "FILE", conflicts_with = "mirror")]
    records: Option<PathBuf>,
    /// Mirror whose last records it runs on; the mirror must keep some (--recent-records).
    #[arg(long, requires = "table")]
    mirror: Option<String>,
    /// The table, by its name at the source.
    #[arg(long, value_name = "SCHEMA.TABLE", requires = "mirror")]
    table: Option<String>,
    /// How many of the last records, 10 by default.
    #[arg(long, value_name = "COUNT", requires = "mirror", default_value_t = 0, hide_default_value = true)]
    limit: u32,
    /// Its language: lua, javascript or wasm.
    #[arg(long, value_parser = language)]
    lang: Option<ScriptLanguage>,
}

/// The request; what a file holds goes into it as it is written.
#[derive(Serialize)]
struct Request<'a> {
    script: Draft<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tables: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tests: Option<&'a str>,
}

#[derive(Serialize)]
struct Draft<'a> {
    lang: &'static str,
    name: &'a str,
    source: &'a str,
}

/// The answer.
#[derive(Deserialize)]
struct Tested {
    results: Vec<Tried>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Tried {
    outcome: String,
    messages: Vec<Json>,
    error: Option<Fault>,
    micros: u64,
    before: Record,
    after: Option<Record>,
    further: Vec<Record>,
    log: Vec<String>,
}

#[derive(Deserialize)]
struct Fault {
    message: String,
    line: u32,
    #[serde(default)]
    function: String,
}

#[derive(Deserialize)]
struct Record {
    kind: String,
    source: String,
    target: String,
    new: Option<Json>,
    old: Option<Json>,
    prefix: Option<String>,
    content: Option<String>,
}

#[derive(Deserialize)]
struct Case {
    case: String,
    outcome: String,
    expected: Option<Json>,
    became: Option<Json>,
    log: Vec<String>,
}

impl TestArgs {
    /// The files that a run reads, there or not.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let beside = ScriptText::tests_beside(&self.file);
        [self.file.clone()].into_iter().chain(beside).chain(self.records.clone()).collect()
    }

    pub(super) async fn test(&self, client: &Client) -> Result<Report, Error> {
        let script = ScriptText::load(&self.file, None, self.lang)?;
        if script.tests.is_none() && self.records.is_none() && self.mirror.is_none() {
            let message = "there is nothing to try it on: give --records, or --mirror and --table, or keep tests beside it \
                           (mask_test.json for mask.lua)";
            return Err(Error::Usage(message.to_owned()));
        }
        let answer = client.post_exactly("scripts/test", self.request(&script)?).await?;
        let tested: Tested = serde_json::from_str(&answer)
            .map_err(|error| Error::Failed(format!("the answer cannot be read: {error}")))?;
        let report = Report::new(shown(&tested), Value::Null).exactly(answer.clone());
        Ok(match failure(&tested) {
            None => report,
            Some(message) => report.failed(message),
        })
    }

    fn request(&self, script: &ScriptText) -> Result<String, Error> {
        let mut request = Request {
            script: Draft { lang: script.language.name(), name: &script.name, source: &script.source },
            records: None,
            tables: None,
            output: None,
            tests: script.tests.as_deref(),
        };
        if let Some(path) = &self.records {
            let (records, tables, output) = read_records(path)?;
            (request.records, request.tables, request.output) = (Some(records), tables, output);
        }
        if let (Some(mirror), Some(table)) = (&self.mirror, &self.table) {
            request.records = Some(Json::Object(vec![
                ("flow_job_name".to_owned(), Json::Text(mirror.clone())),
                ("table".to_owned(), Json::Text(table.clone())),
                ("limit".to_owned(), Json::Number(self.limit.to_string())),
            ]));
        }
        serde_json::to_string(&request).map_err(|error| Error::Usage(error.to_string()))
    }
}

/// Records of a file, with what it says of their tables and of what the destination takes.
fn read_records(path: &Path) -> Result<(Json, Option<Json>, Option<Json>), Error> {
    let unreadable = |reason: String| Error::Usage(format!("{}: {reason}", path.display()));
    let value: Json =
        serde_json::from_str(&file::text(path)?).map_err(|error| unreadable(error.to_string()))?;
    match &value {
        Json::List(_) => Ok((value, None, None)),
        Json::Object(fields) => {
            let known = ["records", "tables", "output"];
            if let Some((name, _)) = fields.iter().find(|(name, _)| !known.contains(&name.as_str())) {
                return Err(unreadable(format!("{name}: there are records, tables and output")));
            }
            let records = value.get("records").cloned();
            let records = records.ok_or_else(|| unreadable("has no records".to_owned()))?;
            Ok((records, value.get("tables").cloned(), value.get("output").cloned()))
        }
        _ => Err(unreadable("expected a list of records".to_owned())),
    }
}

/// What failed, if anything did.
fn failure(tested: &Tested) -> Option<String> {
    let failed = tested.cases.iter().filter(|case| case.outcome != "PASSED").count();
    let errors = tested.results.iter().filter(|tried| tried.outcome == "ERROR").count();
    let mut parts = Vec::new();
    if failed > 0 {
        parts.push(format!("{failed} of {} tests fail", tested.cases.len()));
    }
    if errors > 0 {
        parts.push(format!("{errors} of {} records end in an error", tested.results.len()));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn shown(tested: &Tested) -> String {
    let mut text = String::new();
    for (number, tried) in (1..).zip(&tested.results) {
        tried.show(number, &mut text);
    }
    for case in &tested.cases {
        case.show(&mut text);
    }
    text
}

impl Tried {
    fn show(&self, number: usize, text: &mut String) {
        let Record { kind, source, target, .. } = &self.before;
        let table = match (source.as_str(), target.as_str()) {
            ("", _) => String::new(),
            (source, "") => format!(" {source}"),
            (source, target) => format!(" {source} → {target}"),
        };
        let outcome = self.outcome.to_lowercase();
        text.push_str(&format!("#{number} {kind}{table}: {outcome}, {} µs\n", self.micros));
        if let Some(Fault { message, line, function }) = &self.error {
            let place = match (line, function.as_str()) {
                (0, _) => String::new(),
                (line, "") => format!("line {line}: "),
                (line, function) => format!("line {line}, {function}: "),
            };
            text.push_str(&format!("  {place}{}\n", one_line(message)));
        }
        let table = side_by_side(&self.before, self.after.as_ref());
        text.extend(table.lines().map(|line| format!("  {line}\n")));
        for message in &self.messages {
            text.push_str(&format!("  message {}\n", one_line(&message.to_string())));
        }
        for row in &self.further {
            let image = row.new.as_ref().or(row.old.as_ref());
            text.push_str(&format!(
                "  also {}\n",
                image.map_or_else(String::new, |row| one_line(&row.to_string()))
            ));
        }
        show_log(&self.log, text);
    }
}

impl Case {
    fn show(&self, text: &mut String) {
        let passed = self.outcome == "PASSED";
        text.push_str(&format!("{} {}\n", if passed { "ok  " } else { "FAIL" }, one_line(&self.case)));
        for (what, value) in [("expected", &self.expected), ("got     ", &self.became)] {
            if let Some(value) = value {
                text.push_str(&format!("  {what} {}\n", one_line(&value.to_string())));
            }
        }
        if !passed {
            show_log(&self.log, text);
        }
    }
}

fn show_log(lines: &[String], text: &mut String) {
    text.extend(lines.iter().map(|line| format!("  log: {}\n", one_line(line))));
}

/// The columns of a record before and after, those that differ marked.
fn side_by_side(before: &Record, after: Option<&Record>) -> String {
    if let (Some(prefix), Some(content)) = (&before.prefix, &before.content) {
        return format!("prefix {}, content {}\n", one_line(prefix), one_line(content));
    }
    let mut table = Table::new(&["", "COLUMN", "BEFORE", "AFTER"]);
    let mut is_empty = true;
    for (image, label) in [(Image::New, ""), (Image::Old, " (old)")] {
        let was = image.of(before);
        let is = after.and_then(|after| image.of(after));
        let names = [was, is].into_iter().flatten().flat_map(|row| match row {
            Json::Object(fields) => fields.iter().map(|(name, _)| name.as_str()).collect(),
            _ => Vec::new(),
        });
        let mut seen: Vec<&str> = Vec::new();
        for name in names {
            if seen.contains(&name) {
                continue;
            }
            seen.push(name);
            let said =
                |row: Option<&Json>| row.and_then(|row| row.get(name)).map_or_else(String::new, in_cell);
            let (was, is) = (said(was), said(is));
            let mark = if after.is_some() && was != is { "~" } else { "" };
            table.row([mark.to_owned(), format!("{name}{label}"), was, is]);
            is_empty = false;
        }
    }
    if is_empty { String::new() } else { table.render() }
}

/// Which of a record's rows.
#[derive(Clone, Copy)]
enum Image {
    New,
    Old,
}

impl Image {
    fn of(self, record: &Record) -> Option<&Json> {
        match self {
            Self::New => record.new.as_ref(),
            Self::Old => record.old.as_ref(),
        }
    }
}

/// A value as a table shows it: a text as it is.
fn in_cell(value: &Json) -> String {
    match value {
        Json::Null => "NULL".to_owned(),
        Json::Text(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = r##"{"results": [
        {"outcome": "ROW", "row": {"id": 9007199254740993, "email": "***"}, "messages": [], "error": null, "micros": 12,
         "before": {"kind": "insert", "source": "public.users", "target": "people",
            "new": {"id": 9007199254740993, "price": 1.50, "email": "jane@example.com"}, "old": null, "prefix": null, "content": null},
         "after": {"kind": "insert", "source": "public.users", "target": "people",
            "new": {"id": 9007199254740993, "price": 1.50, "email": "***"}, "old": null, "prefix": null, "content": null},
         "further": [], "log": ["seen"]},
        {"outcome": "ERROR", "row": null, "messages": [], "error": {"message": "no name", "line": 3, "function": "onRecord"}, "micros": 4,
         "before": {"kind": "delete", "source": "public.users", "target": "people", "new": null, "old": {"id": 7},
            "prefix": null, "content": null}, "after": null, "further": [], "log": []},
        {"outcome": "MESSAGE", "row": null, "messages": [{"topic": "t", "key": null, "value": "v"}], "error": null, "micros": 5,
         "before": {"kind": "message", "source": "", "target": "", "new": null, "old": null, "prefix": "p", "content": "c"},
         "after": null, "further": [], "log": []}],
      "cases": [{"case": "kept", "outcome": "PASSED", "expected": null, "became": null, "log": [], "micros": 1},
        {"case": "masked", "outcome": "FAILED", "expected": {"new": {"a": "1"}}, "became": "dropped", "log": [], "micros": 1}]}"##;

    #[test]
    fn records_stand_before_and_after_side_by_side_with_every_digit() {
        let tested: Tested = serde_json::from_str(ANSWER).expect("an answer");
        let expected = "\
#1 insert public.users → people: row, 12 µs
     COLUMN  BEFORE            AFTER
     id      9007199254740993  9007199254740993
     price   1.50              1.50
  ~  email   jane@example.com  ***
  log: seen
#2 delete public.users → people: error, 4 µs
  line 3, onRecord: no name
    COLUMN    BEFORE  AFTER
    id (old)  7
#3 message: message, 5 µs
  prefix p, content c
  message {\"topic\":\"t\",\"key\":null,\"value\":\"v\"}
ok   kept
FAIL masked
  expected {\"new\":{\"a\":\"1\"}}
  got      \"dropped\"
";
        assert_eq!(shown(&tested), expected);
        let failure = failure(&tested).expect("two things failed");
        assert_eq!(failure, "1 of 2 tests fail, 1 of 3 records end in an error");
    }

    #[test]
    fn records_are_a_list_or_come_with_their_tables() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("records.json");
        for (text, is_read) in [
            ("[{\"new\": {\"id\": 1.10}}]", true),
            ("{\"records\": [], \"tables\": {}, \"output\": \"rows\"}", true),
            ("{\"records\": [], \"table\": {}}", false),
            ("{}", false),
            ("7", false),
            ("[", false),
        ] {
            std::fs::write(&path, text).expect("written");
            assert_eq!(read_records(&path).is_ok(), is_read, "{text}");
        }
    }
}
