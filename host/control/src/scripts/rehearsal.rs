//! Trying a script out on records, stored or not.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use tarn_batch::split_table_name;
use tarn_trial::{Mistake, Outcome, Record, Shown, ShownMessage, batches, given, outcome};

use super::cases::{CaseReport, Takes, settings, unusable};
use super::{ScriptUpload, checked, refused};
use crate::config::{REHEARSAL_RECORDS_DEFAULT, REHEARSAL_RECORDS_MAX};
use crate::guest_settings;
use crate::hooks::{Attempt, Made, Rehearsal, ScriptMemory, ScriptSource};
use crate::{Control, ControlError};

/// What a script is called that has no name yet.
const DRAFT: &str = "draft";

/// A script to try out.
#[derive(Clone, Debug)]
pub struct RehearsalRequest {
    /// Which one.
    pub script: RehearsalScript,
    /// On what.
    pub input: RehearsalInput,
    /// Cases to run; `None` runs those that a stored script has.
    pub tests: Option<String>,
}

/// The script that is tried out.
#[derive(Clone, Debug)]
pub enum RehearsalScript {
    /// A stored one.
    Stored {
        /// Its id.
        id: i64,
        /// Its version; `None` for the newest.
        version: Option<u32>,
    },
    /// One that is not stored, and will not be.
    Draft {
        /// What it is written in, as the client named it.
        lang: String,
        /// Its name; it may have none.
        name: String,
        /// Its code.
        source: String,
    },
}

/// What a script is tried out on.
#[derive(Clone, Debug)]
pub enum RehearsalInput {
    /// Its cases alone.
    Nothing,
    /// These records.
    Records {
        /// The records.
        records: Vec<Record>,
        /// Columns of tables by name.
        tables: BTreeMap<String, Vec<String>>,
        /// Whether the destination takes messages rather than rows.
        as_messages: AsMessages,
    },
    /// The last records of a table of a mirror.
    Recent {
        /// The mirror.
        mirror: String,
        /// The table at the source.
        table: String,
        /// How many at most; 0 for the usual number.
        limit: u32,
    },
}

/// What a destination takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AsMessages {
    /// Rows.
    #[default]
    No,
    /// Messages.
    Yes,
}

/// What a script made of everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RehearsalReport {
    /// Of the records, in their order.
    pub records: Vec<RecordReport>,
    /// Of the cases, in their order.
    pub cases: Vec<CaseReport>,
}

/// What a script made of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordReport {
    /// The record.
    pub before: Shown,
    /// What its table is called at the destination.
    pub target: String,
    /// What became of it.
    pub outcome: RecordOutcome,
    /// The last lines that the script logged.
    pub log: Vec<String>,
    /// How long the script took.
    pub micros: u32,
}

/// What became of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordOutcome {
    /// Rows that go on: one, but of components that make several.
    Rows(Vec<Shown>),
    /// Messages to a queue.
    Messages(Vec<ShownMessage>),
    /// Nothing.
    Dropped,
    /// The script could not take it.
    Failed {
        /// Why.
        message: String,
        /// The line in the script, 0 when unknown.
        line: u32,
        /// The function in the script, empty when unknown.
        function: String,
    },
}

/// Records as batches, and what the script is opened with.
struct Prepared {
    batches: Vec<Bytes>,
    settings: String,
    /// What tables are called at the destination.
    targets: BTreeMap<String, String>,
}

impl Control {
    /// Runs a script on records, and its cases. Nothing is stored.
    ///
    /// # Errors
    /// [`ControlError::PermissionDenied`] where scripts are disabled; [`ControlError::InvalidArgument`] for
    /// the records, the cases, or a script that does not compile; [`ControlError::NotFound`] for a script,
    /// mirror or table; [`ControlError::FailedPrecondition`] for a mirror that keeps no recent records;
    /// [`ControlError::Catalog`].
    pub async fn rehearse_script(&self, request: RehearsalRequest) -> Result<RehearsalReport, ControlError> {
        self.allow_scripts()?;
        let is_without_records = matches!(request.input, RehearsalInput::Nothing);
        let prepared = self.prepared_of(request.input).await?;
        let (name, component, stored_tests) = self.component_of(request.script).await?;
        let tests = request.tests.unwrap_or(stored_tests);
        if is_without_records && tests.trim().is_empty() {
            return Err(ControlError::invalid(
                "records",
                "is missing, and there are no tests to run; give records, or the tests that are kept with the script",
            ));
        }
        let cases = self.run_cases(&name, &component, &tests, "tests").await?;
        if prepared.batches.is_empty() {
            return Ok(RehearsalReport { records: Vec::new(), cases });
        }
        let rehearsal = Rehearsal {
            name: &name,
            component: &component,
            settings: &prepared.settings,
            batches: &prepared.batches,
            memory: ScriptMemory::Kept,
        };
        let attempts =
            self.parts().runner.run(rehearsal).await.map_err(|failure| unusable("script", &failure))?;
        let reports = prepared.batches.iter().zip(attempts).map(|(batch, attempt)| {
            let before = given(batch).map_err(|error| ControlError::Internal(error.to_string()))?;
            let target = prepared.targets.get(&before.source).cloned().unwrap_or_default();
            Ok(report(before, target, attempt))
        });
        Ok(RehearsalReport { records: reports.collect::<Result<_, ControlError>>()?, cases })
    }

    async fn prepared_of(&self, input: RehearsalInput) -> Result<Prepared, ControlError> {
        match input {
            RehearsalInput::Nothing => Ok(Prepared {
                batches: Vec::new(),
                settings: settings(&[], Takes::Rows),
                targets: BTreeMap::new(),
            }),
            RehearsalInput::Records { records, tables, as_messages } => {
                if records.len() > REHEARSAL_RECORDS_MAX {
                    let message = format!("has more than {REHEARSAL_RECORDS_MAX} entries");
                    return Err(ControlError::invalid("records", message));
                }
                // Many values may have to be written: not on a thread that serves requests.
                let built =
                    tokio::task::spawn_blocking(move || prepared(&records, &tables, as_messages)).await;
                let built = built.map_err(|fault| ControlError::Internal(fault.to_string()))?;
                built.map_err(|mistake| ControlError::invalid(&mistake.path, mistake.message))
            }
            RehearsalInput::Recent { mirror, table, limit } => self.recent(&mirror, &table, limit).await,
        }
    }

    async fn recent(&self, name: &str, table: &str, limit: u32) -> Result<Prepared, ControlError> {
        let missing = || ControlError::missing("records.flow_job_name", format!("there is no mirror {name}"));
        let mirror = self.catalog().mirror(name).await?.ok_or_else(missing)?;
        let spec = &mirror.spec;
        if spec.recent_records == 0 {
            let message = format!("mirror {name} keeps no recent records; set its recent_records");
            return Err(ControlError::precondition("records.flow_job_name", message));
        }
        if spec.tables.iter().all(|known| known.source != table) {
            let message = format!("mirror {name} has no table {table}");
            return Err(ControlError::missing("records.table", message));
        }
        let limit = match usize::try_from(limit).unwrap_or(REHEARSAL_RECORDS_MAX) {
            0 => REHEARSAL_RECORDS_DEFAULT,
            limit => limit.min(REHEARSAL_RECORDS_MAX),
        };
        let targets = spec.tables.iter().map(|table| (table.source.clone(), table.destination.clone()));
        let gone = || ControlError::missing("records.flow_job_name", "its destination peer is gone");
        let destination = self.catalog().peer(&spec.destination_peer).await?.ok_or_else(gone)?;
        Ok(Prepared {
            batches: self.parts().recent.last(mirror.id, table, limit),
            settings: guest_settings::script(spec, &destination),
            targets: targets.collect(),
        })
    }

    /// The script's name, its component and its stored cases.
    async fn component_of(&self, script: RehearsalScript) -> Result<(String, Vec<u8>, String), ControlError> {
        match script {
            RehearsalScript::Stored { id, version } => {
                let found = self.script_at(id, version, "script.id", "script.version").await?;
                let component = self.script_component(id, Some(found.version)).await?;
                Ok((found.name, component.bytes, found.tests))
            }
            RehearsalScript::Draft { lang, name, source } => {
                let name = if name.is_empty() { DRAFT.to_owned() } else { name };
                let upload = ScriptUpload { lang, name, source, ..ScriptUpload::default() };
                let language = checked(&upload)?;
                let ScriptUpload { name, source, .. } = upload;
                let modules = self.modules(language, &name).await?;
                let compiled = ScriptSource { name: &name, language, source: &source, modules: &modules };
                let component = self.parts().compiler.compile(compiled).await.map_err(refused)?;
                Ok((name, component, String::new()))
            }
        }
    }
}

fn prepared(
    records: &[Record],
    tables: &BTreeMap<String, Vec<String>>,
    as_messages: AsMessages,
) -> Result<Prepared, Mistake> {
    let batches: Vec<Bytes> = batches(records, tables)?.into_iter().map(Bytes::from).collect();
    let mut targets = BTreeMap::new();
    let named: BTreeSet<&str> = records
        .iter()
        .map(|record| record.source.as_str())
        .chain(tables.keys().map(String::as_str))
        .collect();
    for name in named.into_iter().filter(|name| !name.is_empty()) {
        // Left out, it is the table's own name.
        let bare = split_table_name(name).map_or_else(|| name.to_owned(), |(_, bare)| bare);
        targets.insert(name.to_owned(), bare);
    }
    let only = tables.keys().next().cloned().unwrap_or_default();
    for record in records.iter().filter(|record| !record.target.is_empty()) {
        let source = if record.source.is_empty() { &only } else { &record.source };
        targets.insert(source.clone(), record.target.clone());
    }
    let pairs: Vec<(String, String)> = targets.clone().into_iter().collect();
    let takes = match as_messages {
        AsMessages::No => Takes::Rows,
        AsMessages::Yes => Takes::Messages,
    };
    Ok(Prepared { batches, settings: settings(&pairs, takes), targets })
}

fn report(before: Shown, target: String, attempt: Attempt) -> RecordReport {
    let Attempt { made, log, micros } = attempt;
    let outcome = match made {
        Made::Batch(batch) => match outcome(&batch) {
            Ok(Outcome::Rows(rows)) => RecordOutcome::Rows(rows),
            Ok(Outcome::Messages(messages)) => RecordOutcome::Messages(messages),
            Ok(Outcome::Dropped) => RecordOutcome::Dropped,
            Err(error) => {
                let message = format!("the script returned a damaged batch: {error}");
                RecordOutcome::Failed { message, line: 0, function: String::new() }
            }
        },
        Made::Rejected { line, function, message } => RecordOutcome::Failed { message, line, function },
        Made::Stopped(failure) => {
            RecordOutcome::Failed { message: failure.to_string(), line: 0, function: String::new() }
        }
    };
    RecordReport { before, target, outcome, log, micros }
}
