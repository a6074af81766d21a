//! The cases that a script comes with: they pass before a version of it is stored.

use bytes::Bytes;
use serde_json::json;
use tarn_model::{Failure, Problem, ScriptLanguage};
use tarn_trial::{Json, Kind, Outcome, Record, Suite, Verdict, batches, outcome};

use super::refused_at;
use crate::config::{FAILED_CASES_NAMED_MAX, SCRIPT_TESTS_BYTES_MAX};
use crate::error::one_line;
use crate::hooks::{Attempt, Made, Rehearsal, ScriptMemory, ScriptSource};
use crate::{Control, ControlError};

/// How one case went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseReport {
    /// What it shows.
    pub case: String,
    /// Whether it passed.
    pub verdict: CaseVerdict,
    /// The last lines that the script logged.
    pub log: Vec<String>,
    /// How long the script took.
    pub micros: u32,
}

/// Whether a case passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseVerdict {
    /// It did.
    Passed,
    /// It did not.
    Failed {
        /// What should have become of the record.
        expected: Json,
        /// What became of it.
        became: Json,
    },
}

impl Control {
    /// Refuses a script that fails one of its cases, naming each with what was expected and what became.
    /// `path` is the field that brought the cases.
    pub(super) async fn must_pass(
        &self,
        name: &str,
        component: &[u8],
        tests: &str,
        path: &str,
    ) -> Result<(), ControlError> {
        let reports = self.run_cases(name, component, tests, path).await?;
        let failed = reports.iter().filter_map(|report| {
            let CaseVerdict::Failed { expected, became } = &report.verdict else { return None };
            let message = format!("case \"{}\" fails: expected {expected}, got {became}", report.case);
            Some(Problem::new(path, message, "correct the script, or the case"))
        });
        let mut problems: Vec<Problem> = failed.collect();
        if problems.is_empty() {
            return Ok(());
        }
        let count = problems.len();
        problems.truncate(FAILED_CASES_NAMED_MAX);
        if count > problems.len() {
            let message = format!("{} more cases fail", count - problems.len());
            problems.push(Problem::new(path, message, ""));
        }
        Err(ControlError::InvalidArgument { message: one_line(&problems), problems })
    }

    /// Refuses a component that cannot be opened: one that was uploaded has run nowhere yet.
    pub(super) async fn must_open(&self, name: &str, component: &[u8]) -> Result<(), ControlError> {
        let settings = settings(&[], Takes::Rows);
        let rehearsal =
            Rehearsal { name, component, settings: &settings, batches: &[], memory: ScriptMemory::Kept };
        self.parts()
            .runner
            .run(rehearsal)
            .await
            .map(drop)
            .map_err(|failure| unusable("script.source", &failure))
    }

    /// Runs every case, each in an instance of its own, so that none depends on the one before. No text is no
    /// cases.
    pub(super) async fn run_cases(
        &self,
        name: &str,
        component: &[u8],
        tests: &str,
        path: &str,
    ) -> Result<Vec<CaseReport>, ControlError> {
        if tests.trim().is_empty() {
            return Ok(Vec::new());
        }
        let suite = self.suite(name, tests, path).await?;
        let batches: Vec<Bytes> = suite
            .cases
            .iter()
            .map(|case| suite.batch(case).map(Bytes::from))
            .collect::<Result<_, _>>()
            .map_err(|mistake| ControlError::invalid(path, mistake.to_string()))?;
        let settings = settings(&[], if suite.takes_messages() { Takes::Messages } else { Takes::Rows });
        let rehearsal = Rehearsal {
            name,
            component,
            settings: &settings,
            batches: &batches,
            memory: ScriptMemory::Fresh,
        };
        let attempts = self
            .parts()
            .runner
            .run(rehearsal)
            .await
            .map_err(|failure| unusable("script.source", &failure))?;
        let judged = suite.cases.iter().zip(&batches).zip(attempts).map(|((case, given), attempt)| {
            let Attempt { made, log, micros } = attempt;
            let stopped;
            let made = match &made {
                Made::Batch(batch) => tarn_trial::Made::Batch(batch),
                Made::Rejected { message, .. } => tarn_trial::Made::Error(message),
                Made::Stopped(failure) => {
                    stopped = failure.to_string();
                    tarn_trial::Made::Error(&stopped)
                }
            };
            let verdict = suite.judge(case, given, made).map_err(|error| {
                ControlError::invalid(
                    "script.source",
                    format!("the script returned a damaged batch: {error}"),
                )
            })?;
            let verdict = match verdict {
                Verdict::Passed => CaseVerdict::Passed,
                Verdict::Failed { expected, became } => CaseVerdict::Failed { expected, became },
            };
            Ok(CaseReport { case: case.case.clone(), verdict, log, micros })
        });
        judged.collect()
    }

    /// Cases as JSON, or as a Lua chunk that returns them.
    async fn suite(&self, name: &str, tests: &str, path: &str) -> Result<Suite, ControlError> {
        let wrong = |mistake: tarn_trial::Mistake| ControlError::invalid(path, mistake.to_string());
        // No chunk of Lua begins with a brace.
        if tests.trim_start().starts_with('{') {
            return Suite::read(tests).map_err(wrong);
        }
        let text = self.returned_by(name, tests, path).await?;
        if text.len() > SCRIPT_TESTS_BYTES_MAX {
            let message = format!("the chunk returns cases of more than {SCRIPT_TESTS_BYTES_MAX} bytes");
            return Err(ControlError::invalid(path, message));
        }
        Suite::read(&text).map_err(wrong)
    }

    /// What a Lua chunk returns, as JSON: it runs as a script of its own, under the limits of one.
    async fn returned_by(&self, name: &str, chunk: &str, path: &str) -> Result<String, ControlError> {
        // On one line before it, so that errors name its own lines.
        let source = format!("local cases = (function() {chunk}\nend)()\n{CASES_RETURNED}");
        let modules = self.modules(ScriptLanguage::Lua, name).await?;
        let compiled =
            ScriptSource { name, language: ScriptLanguage::Lua, source: &source, modules: &modules };
        let component =
            self.parts().compiler.compile(compiled).await.map_err(|error| refused_at(path, error))?;
        let record = Record { kind: Kind::Message, ..Record::default() };
        let batch = batches(&[record], &Default::default()).expect("a message has no columns to be wrong");
        let batch: Vec<Bytes> = batch.into_iter().map(Bytes::from).collect();
        let settings = settings(&[], Takes::Messages);
        let rehearsal = Rehearsal {
            name,
            component: &component,
            settings: &settings,
            batches: &batch,
            memory: ScriptMemory::Fresh,
        };
        let attempts =
            self.parts().runner.run(rehearsal).await.map_err(|failure| unusable(path, &failure))?;
        let nothing = || ControlError::invalid(path, "the chunk returns no cases");
        match attempts.into_iter().next().map(|attempt| attempt.made) {
            Some(Made::Batch(batch)) => match outcome(&batch) {
                Ok(Outcome::Messages(messages)) => {
                    messages.into_iter().next().and_then(|message| message.value).ok_or_else(nothing)
                }
                _ => Err(nothing()),
            },
            Some(Made::Rejected { line, message, .. }) => {
                Err(ControlError::invalid(path, format!("line {line}: {message}")))
            }
            Some(Made::Stopped(failure)) => Err(unusable(path, &failure)),
            None => Err(nothing()),
        }
    }
}

/// Sends what a Lua chunk of cases returned. A table without items would be an object, and says so in the words of
/// whoever wrote it.
const CASES_RETURNED: &str = r#"function onRecord()
    if type(cases) ~= "table" then
        error("the tests return a " .. type(cases) .. " value: they return a table {cases = {...}}", 0)
    end
    if type(cases.cases) == "table" and next(cases.cases) == nil then
        error("the tests have no case: cases = {} is empty", 0)
    end
    return require("json").encode(cases)
end"#;

/// What the destination of a script that is tried out takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    Rows,
    Messages,
}

/// What a script is opened with that no mirror runs: names of tables at source and destination.
pub(super) fn settings(tables: &[(String, String)], takes: Takes) -> String {
    let table =
        |(source, destination): &(String, String)| json!({"source": source, "destination": destination});
    let output = match takes {
        Takes::Rows => "rows",
        Takes::Messages => "messages",
    };
    let tables: Vec<_> = tables.iter().map(table).collect();
    json!({"mirror": "", "sourcePeer": "", "destinationPeer": "", "tables": tables, "output": output})
        .to_string()
}

/// A script that cannot be run at all.
pub(super) fn unusable(path: &str, failure: &Failure) -> ControlError {
    ControlError::invalid(path, failure.to_string())
}
