//! Changes of columns that a person approves before a destination's tables are changed.
//!
//! ```text
//!   a description of columns → its plan → nothing to run, or approved ──> the destination takes it, the approval goes
//!                                  └───── not approved: kept with its digest, and the mirror fails (schema_change_waits)
//! ```
//!
//! The destination tells the plan from its tables as they are, so that what an attempt that was cut off has done is no
//! part of it any more: an approval covers what is left. Anything else that would be run is asked for anew.

use std::sync::Arc;

use bytes::Bytes;
use tarn_catalog::Catalog;
use tarn_model::{Failure, SchemaChangePolicy, StepKind, TablePlan};
use tarn_replication::{Ack, Batch, Destination, PartState};
use tarn_wasm::LogSink;

use crate::column_changes::{Change, ColumnChanges, moved};
use crate::described::table_names;
use crate::instances::Store;

/// The code of a mirror's failure while a change waits for approval.
pub(crate) const WAITS: &str = "schema_change_waits";

/// Asks before tables of one mirror are changed, if the mirror's policy says so.
#[derive(Clone)]
pub(crate) struct SchemaGate {
    catalog: Catalog,
    mirror: i64,
    name: String,
    policy: SchemaChangePolicy,
    store: Store,
    log: Arc<dyn LogSink>,
}

impl SchemaGate {
    pub(crate) fn new(
        catalog: &Catalog,
        mirror: i64,
        (name, policy): (&str, SchemaChangePolicy),
        store: Store,
        log: Arc<dyn LogSink>,
    ) -> Self {
        Self { catalog: catalog.clone(), mirror, name: name.to_owned(), policy, store, log }
    }

    /// Lets described tables through whose changes are approved, and returns their names: they are to be forgotten once
    /// the changes are made. A table that is to be made anew changes nothing that anybody reads.
    ///
    /// # Errors
    /// `schema_change_waits`, with the first change that is not approved; all of them are kept.
    pub(crate) async fn pass(&self, schema: &Bytes) -> Result<Vec<String>, Failure> {
        if self.policy == SchemaChangePolicy::Apply {
            return Ok(Vec::new());
        }
        let plans = self.store.preview(schema, Arc::clone(&self.log)).await?;
        let known = self.catalog.schema_changes(self.mirror).await?;
        let mut passed = Vec::new();
        let mut waiting: Vec<(&TablePlan, String)> = Vec::new();
        for plan in &plans {
            let change = known.iter().find(|change| change.plan.table == plan.table);
            let approved = change.is_some_and(|change| change.approved && plan.is_covered_by(&change.plan));
            if approved || plan.statements().next().is_none() || makes(plan) {
                passed.extend(change.map(|change| change.plan.table.clone()));
            } else {
                waiting.push((plan, self.catalog.keep_schema_change(self.mirror, plan).await?));
            }
        }
        match waiting.as_slice() {
            [] => Ok(passed),
            [(plan, digest), others @ ..] => Err(self.waits(plan, digest, others.len())),
        }
    }

    /// Counts a change of described tables, for the loads that write to them.
    async fn begin(&self, changes: &Arc<ColumnChanges>, schema: &Bytes) -> Result<Change, Failure> {
        let tables = table_names(schema)?;
        if self.store.is_queue() {
            // It has no columns.
            return Ok(changes.begin(tables, &[]));
        }
        let plans = match changes.is_plan_wanted(&tables) {
            // A destination need not tell, and one that is in trouble says so when it is to do it.
            true => self.store.preview(schema, Arc::clone(&self.log)).await.unwrap_or_default(),
            false => Vec::new(),
        };
        let moved = moved(&tables, &plans);
        Ok(changes.begin(tables, &moved))
    }

    /// Forgets changes that are made.
    pub(crate) async fn made(&self, tables: &[String]) -> Result<(), Failure> {
        for table in tables {
            self.catalog.forget_schema_change(self.mirror, table).await?;
        }
        Ok(())
    }

    fn waits(&self, plan: &TablePlan, digest: &str, others: usize) -> Failure {
        let TablePlan { table, target, .. } = plan;
        let statements: Vec<_> = plan.statements().collect();
        let others = match others {
            0 => String::new(),
            others => format!("; changes of {others} more tables wait, too"),
        };
        let warnings: Vec<_> = plan.steps.iter().map(|step| step.warning.as_str()).collect();
        let warnings: String = warnings
            .into_iter()
            .filter(|text| !text.is_empty())
            .map(|text| format!(". Note: {text}"))
            .collect();
        let message = format!(
            "columns of {table} changed at the source, and the change of table {target} waits for approval ({digest}): \
             {}. It would run: {}{others}{warnings}",
            plan.changes(),
            statements.join("; ")
        );
        let hint = format!(
            "`tarn mirror plan {name}` shows it; take it by `tarn mirror approve {name}`, or have the table stay as it is by \
             `tarn mirror refuse {name}` (POST mirrors/approve_schema_change, mirrors/refuse_schema_change). Meanwhile the \
             source keeps its log",
            name = self.name
        );
        Failure::permanent(WAITS, message).with_hint(hint).with_table(table)
    }
}

fn makes(plan: &TablePlan) -> bool {
    plan.steps.iter().any(|step| step.kind == StepKind::Create)
}

/// A destination whose tables are changed when that is approved, and whose changes are counted.
pub(crate) struct Gated<D> {
    destination: D,
    gate: SchemaGate,
    changes: Arc<ColumnChanges>,
}

impl<D> Gated<D> {
    pub(crate) fn new(destination: D, gate: SchemaGate, changes: Arc<ColumnChanges>) -> Self {
        Self { destination, gate, changes }
    }
}

impl<D: Destination> Destination for Gated<D> {
    async fn write(&mut self, batches: Vec<Batch>) -> Result<Ack, Failure> {
        self.destination.write(batches).await
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        self.destination.flush().await
    }

    async fn evolve(&mut self, schema: Bytes) -> Result<(), Failure> {
        let passed = self.gate.pass(&schema).await?;
        let changes = Arc::clone(&self.changes);
        let turn = changes.turn().await;
        let change = self.gate.begin(&changes, &schema).await?;
        self.destination.evolve(schema).await?;
        change.made();
        drop(turn);
        self.gate.made(&passed).await
    }

    async fn begin_part(&mut self, part: &str) -> Result<PartState, Failure> {
        self.destination.begin_part(part).await
    }

    async fn end_part(&mut self) -> Result<(), Failure> {
        self.destination.end_part().await
    }
}
