//! What a script made of records and cases, as an answer.

use serde::Serialize;
use tarn_control::{CaseReport, CaseVerdict, RecordOutcome, RecordReport, RehearsalReport};
use tarn_trial::{Json, Shown, ShownMessage};
use utoipa::ToSchema;

/// What a script made of what it was tried out on.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScriptTested {
    /// Of the records, in their order.
    results: Vec<TestedRecord>,
    /// Of the tests, in their order.
    cases: Vec<TestedCase>,
}

/// What a script made of a record.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TestedRecord {
    /// What became of the record.
    outcome: TestOutcome,
    /// The row that goes on; of a deletion, the row before it.
    #[schema(value_type = Option<Object>)]
    row: Option<Json>,
    /// Messages to a queue.
    messages: Vec<TestedMessage>,
    /// Why the script could not take it.
    error: Option<TestError>,
    /// How long the script took, in microseconds.
    micros: u32,
    /// The record.
    before: ShownRecord,
    /// What the script made of it.
    after: Option<ShownRecord>,
    /// Rows beyond the first, of a component that makes several of one.
    further: Vec<ShownRecord>,
    /// The last lines that the script logged at this record.
    log: Vec<String>,
}

/// What became of a record.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
enum TestOutcome {
    /// A row goes on.
    Row,
    /// Messages go on.
    Message,
    /// Nothing does.
    Dropped,
    /// The script could not take it.
    Error,
}

/// Why a script could not take a record.
#[derive(Serialize, ToSchema)]
struct TestError {
    /// What went wrong.
    message: String,
    /// The line in the script, 0 when unknown.
    line: u32,
    /// The function in the script, empty when unknown.
    function: String,
    /// The last lines that the script logged before it.
    log: Vec<String>,
}

/// A record.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ShownRecord {
    /// What happened: insert, update, delete, message or relation.
    kind: &'static str,
    /// Its table at the source; empty of a message.
    source: String,
    /// Its table at the destination.
    target: String,
    /// The row after the change, in the columns' order, without what was not sent.
    #[schema(value_type = Option<Object>)]
    new: Option<Json>,
    /// The row before it.
    #[schema(value_type = Option<Object>)]
    old: Option<Json>,
    /// What a message was called with; null of other records.
    prefix: Option<String>,
    /// What a message says.
    content: Option<String>,
}

impl ShownRecord {
    fn of(shown: Shown, target: &str) -> Self {
        let Shown { kind, source, new, old, prefix, content } = shown;
        Self { kind, source, target: target.to_owned(), new, old, prefix, content }
    }
}

/// A message to a queue.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TestedMessage {
    /// The topic; null for that of the record's table.
    topic: Option<String>,
    /// Its key; bytes that are no text as digits after \\x.
    key: Option<String>,
    /// What it says; null where it deletes, or where hex has it.
    value: Option<String>,
    /// What it says where that is no text, as hexadecimal digits.
    hex: Option<String>,
    /// Names and values beside the value.
    #[schema(value_type = Object)]
    headers: Json,
    /// The partition, where the script chose one.
    partition: Option<i32>,
}

impl From<ShownMessage> for TestedMessage {
    fn from(message: ShownMessage) -> Self {
        let ShownMessage { topic, key, value, hex, headers, partition } = message;
        Self { topic, key, value, hex, headers, partition }
    }
}

/// How a test went.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TestedCase {
    /// What it shows.
    case: String,
    /// Whether it passed.
    outcome: CaseOutcome,
    /// What should have become of its record, of a test that failed: a text or an object, in the form of the
    /// tests.
    #[schema(value_type = Option<Value>)]
    expected: Option<Json>,
    /// What became of it.
    #[schema(value_type = Option<Value>)]
    became: Option<Json>,
    /// The last lines that the script logged.
    log: Vec<String>,
    /// How long the script took, in microseconds.
    micros: u32,
}

/// Whether a test passed.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
enum CaseOutcome {
    /// It did.
    Passed,
    /// It did not.
    Failed,
}

impl From<RehearsalReport> for ScriptTested {
    fn from(report: RehearsalReport) -> Self {
        Self {
            results: report.records.into_iter().map(TestedRecord::from).collect(),
            cases: report.cases.into_iter().map(TestedCase::from).collect(),
        }
    }
}

impl From<RecordReport> for TestedRecord {
    fn from(report: RecordReport) -> Self {
        let RecordReport { before, target, outcome, log, micros } = report;
        let mut tested = Self {
            outcome: TestOutcome::Dropped,
            row: None,
            messages: Vec::new(),
            error: None,
            micros,
            before: ShownRecord::of(before, &target),
            after: None,
            further: Vec::new(),
            log,
        };
        match outcome {
            RecordOutcome::Dropped => {}
            RecordOutcome::Rows(rows) => {
                let mut rows = rows.into_iter().map(|row| ShownRecord::of(row, &target));
                tested.outcome = TestOutcome::Row;
                tested.after = rows.next();
                tested.further = rows.collect();
                tested.row = tested.after.as_ref().and_then(|after| after.new.clone().or(after.old.clone()));
            }
            RecordOutcome::Messages(messages) => {
                tested.outcome = TestOutcome::Message;
                tested.messages = messages.into_iter().map(TestedMessage::from).collect();
            }
            RecordOutcome::Failed { message, line, function } => {
                tested.outcome = TestOutcome::Error;
                tested.error = Some(TestError { message, line, function, log: tested.log.clone() });
            }
        }
        tested
    }
}

impl From<CaseReport> for TestedCase {
    fn from(report: CaseReport) -> Self {
        let CaseReport { case, verdict, log, micros } = report;
        let (outcome, expected, became) = match verdict {
            CaseVerdict::Passed => (CaseOutcome::Passed, None, None),
            CaseVerdict::Failed { expected, became } => (CaseOutcome::Failed, Some(expected), Some(became)),
        };
        Self { case, outcome, expected, became, log, micros }
    }
}
