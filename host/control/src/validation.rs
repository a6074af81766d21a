//! Looking at both sides of a mirror with its own connectors.

use std::sync::Arc;
use std::time::Duration;

use tarn_model::{Failure, Problem, TablePlan};
use tarn_wasm::NoLog;
use tokio::time::timeout;

use crate::config::{VALIDATION_DEADLINE, VALIDATION_DEADLINE_MAX, VALIDATION_DEADLINE_OF_TABLE};
use crate::guest_settings::{self, Errand};
use crate::hooks::{Pending, Purpose, Validation, Validator};
use crate::instances::previewed;
use crate::plugins::Plugins;

/// What the path of a problem with a table begins with.
const TABLES: &str = "table_mappings";

/// Asks the connectors.
#[derive(Clone, Debug)]
pub struct ConnectorValidator {
    plugins: Plugins,
}

impl ConnectorValidator {
    /// A validator over these connectors.
    pub fn new(plugins: Plugins) -> Self {
        Self { plugins }
    }

    async fn look(&self, validation: Validation<'_>) -> Result<Vec<Problem>, Failure> {
        let Validation { spec, source, destination, purpose } = validation;
        let log = Arc::new(NoLog);
        let settings = guest_settings::source(spec, destination, &[], None);
        let mut source =
            self.plugins.source(source, &settings, log.clone()).await.map_err(at("source_name"))?;
        let mut problems = source.validate().await.map_err(at("source_name"))?;
        let settings = guest_settings::destination(spec, destination, Errand::default());
        let mut target =
            self.plugins.destination(destination, &settings, log).await.map_err(at("destination_name"))?;
        // Where a table cannot be described, the source has said why.
        match source.schema().await {
            Ok(schema) => {
                problems.extend(target.validate(&schema).await.map_err(at("destination_name"))?);
            }
            Err(failure) if problems.is_empty() => return Err(at("source_name")(failure)),
            Err(_) => {}
        }
        if purpose == Purpose::AddTables {
            // Slot and publication are the mirror's own, and there.
            problems.retain(|problem| problem.path.starts_with(TABLES));
        }
        Ok(problems)
    }

    async fn look_ahead(&self, validation: Validation<'_>) -> Result<Vec<TablePlan>, Failure> {
        let Validation { spec, source, destination, .. } = validation;
        if destination.config.is_queue() {
            return Ok(Vec::new()); // it has no columns
        }
        let log = Arc::new(NoLog);
        let settings = guest_settings::source(spec, destination, &[], None);
        let mut source =
            self.plugins.source(source, &settings, log.clone()).await.map_err(at("source_name"))?;
        let schema = source.schema().await.map_err(at("source_name"))?;
        let settings = guest_settings::destination(spec, destination, Errand::default());
        previewed(&self.plugins, destination, &settings, &schema, log).await.map_err(at("destination_name"))
    }
}

/// How long a look at so many tables may take.
fn deadline(validation: &Validation<'_>) -> Duration {
    let tables = u32::try_from(validation.spec.tables.len()).unwrap_or(u32::MAX);
    let deadline = VALIDATION_DEADLINE + VALIDATION_DEADLINE_OF_TABLE.saturating_mul(tables);
    deadline.min(VALIDATION_DEADLINE_MAX)
}

impl Validator for ConnectorValidator {
    fn validate<'a>(&'a self, validation: Validation<'a>) -> Pending<'a, Vec<Problem>> {
        Box::pin(async move {
            let deadline = deadline(&validation);
            match timeout(deadline, self.look(validation)).await {
                Ok(Ok(problems)) => problems,
                Ok(Err(failure)) => vec![Problem::new(failure.table, failure.message, failure.hint)],
                Err(_) => vec![Problem::new(
                    "connection_configs",
                    format!("source and destination did not answer within {} s", deadline.as_secs()),
                    "see whether both can be reached, then try again",
                )],
            }
        })
    }

    fn plan<'a>(&'a self, validation: Validation<'a>) -> Pending<'a, Result<Vec<TablePlan>, Failure>> {
        Box::pin(async move {
            let deadline = deadline(&validation);
            timeout(deadline, self.look_ahead(validation)).await.unwrap_or_else(|_| {
                let message =
                    format!("source and destination did not answer within {} s", deadline.as_secs());
                Err(Failure::retry("validation_deadline", message).with_table("connection_configs"))
            })
        })
    }
}

/// The failure with the field it concerns in place of a table.
fn at(path: &'static str) -> impl Fn(Failure) -> Failure {
    move |failure| if failure.table.is_empty() { failure.with_table(path) } else { failure }
}
