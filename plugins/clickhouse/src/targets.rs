//! The mirror's targets: which table goes where, and how.

use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use tarn_batch::{Table, split_table_name};
use tarn_sdk::sql::clickhouse::literal;
use tarn_sdk::{Description, DestinationConfig, DestinationTable, Failure, FailureClass};

use crate::beside;
use crate::calendar_range::CalendarRange;
use crate::client::{Client, text_rows};
use crate::config::{PLANS_MAX, TARGETS_ASKED_MAX};
use crate::ddl::Ddl;
use crate::design::Design;
use crate::evolve;
use crate::existing::Existing;
use crate::failure::of_error;
use crate::plan::{CHANGES_HINT, Plan};

/// What is known of the targets. The server is asked when a table is first needed.
#[derive(Debug)]
pub(crate) struct Targets {
    pub(crate) config: DestinationConfig,
    pub(crate) ddl: Ddl,
    range: Option<CalendarRange>,
    /// The plans of a target, by the index of its mapping: for the versions of its table that rows came in last, the oldest first.
    plans: HashMap<usize, VecDeque<Rc<Plan>>>,
    /// Targets as they were found together, or not found, each until it is needed or changed.
    looked_at: HashMap<String, Option<Existing>>,
    /// Which mapping a source's table has, by schema and name: a mirror may have ten thousand.
    places: HashMap<(String, String), usize>,
}

impl Targets {
    pub(crate) fn new(config: DestinationConfig) -> Self {
        let ddl = Ddl::new(&config);
        let mut config = config;
        if !config.beside.is_empty() {
            for table in &mut config.tables {
                table.destination = beside::name(&table.destination);
            }
        }
        let mut places = HashMap::with_capacity(config.tables.len());
        for (at, mapping) in config.tables.iter().enumerate() {
            if let Some((schema, name)) = split_table_name(&mapping.source) {
                places.entry((schema.to_owned(), name.to_owned())).or_insert(at);
            }
        }
        Self { config, ddl, range: None, plans: HashMap::new(), looked_at: HashMap::new(), places }
    }

    /// The mapping of a source's table, with its index in the settings.
    pub(crate) fn mapping(&self, table: &Table) -> Option<(usize, &DestinationTable)> {
        let at = *self.places.get(&(table.schema.clone(), table.name.clone()))?;
        Some((at, &self.config.tables[at]))
    }

    /// The targets of these tables that are there, asked for together: where most are missing, each need not be looked at.
    pub(crate) fn present<'a>(
        &self,
        client: &mut impl Client,
        tables: impl Iterator<Item = &'a Table>,
    ) -> Result<HashSet<String>, Failure> {
        let targets: Vec<&str> =
            tables.filter_map(|table| Some(self.mapping(table)?.1.destination.as_str())).collect();
        let mut present = HashSet::new();
        for targets in targets.chunks(TARGETS_ASKED_MAX) {
            let names: Vec<String> = targets.iter().map(|target| literal(target)).collect();
            let sql = format!(
                "SELECT name FROM system.tables WHERE database = currentDatabase() AND name IN ({})",
                names.join(", ")
            );
            let rows = text_rows(client, &sql).map_err(|error| of_error(error, "looking at tables"))?;
            present.extend(rows.into_iter().flatten());
        }
        Ok(present)
    }

    /// Looks at the targets of these tables together: thousands may be described at once.
    pub(crate) fn look_at<'a>(
        &mut self,
        client: &mut impl Client,
        tables: impl Iterator<Item = &'a Table>,
    ) -> Result<(), Failure> {
        let targets: Vec<&str> =
            tables.filter_map(|table| Some(self.mapping(table)?.1.destination.as_str())).collect();
        let mut looked_at = HashMap::with_capacity(targets.len());
        for targets in targets.chunks(TARGETS_ASKED_MAX) {
            let existing = Existing::find_all(client, targets);
            let mut found = existing.map_err(|error| of_error(error, "looking at tables"))?;
            for target in targets {
                looked_at.insert((*target).to_owned(), found.remove(*target));
            }
        }
        self.looked_at = looked_at;
        Ok(())
    }

    /// A target as it was [looked at](Targets::look_at), or as it is where it has changed since.
    pub(crate) fn looked_at(
        &self,
        client: &mut impl Client,
        target: &str,
    ) -> Result<Option<Existing>, Failure> {
        match self.looked_at.get(target) {
            Some(existing) => Ok(existing.clone()),
            None => self.find(client, target),
        }
    }

    /// The target of a table as it should be.
    pub(crate) fn design(&self, table: &Table) -> Result<Design, Failure> {
        let source = table.qualified_name();
        let Some((at, mapping)) = self.mapping(table) else { return Err(not_mapped(table)) };
        Design::new(&self.config, mapping, table, &mapping_path(at)).map_err(|problems| {
            let problem = problems.into_iter().next();
            let (message, hint) = problem.map(|problem| (problem.message, problem.hint)).unwrap_or_default();
            Failure::permanent("mapping_invalid", message).with_hint(hint).with_table(source)
        })
    }

    /// Which days the server knows.
    pub(crate) fn range(&mut self, client: &mut impl Client) -> Result<CalendarRange, Failure> {
        if let Some(range) = self.range {
            return Ok(range);
        }
        let answer = client.query(CalendarRange::PROBE);
        let answer = answer.map_err(|error| of_error(error, "asking the server for its range of dates"))?;
        Ok(*self.range.insert(CalendarRange::from_probe(&answer)))
    }

    /// The table that a design is of, as it is on the server.
    pub(crate) fn find(&self, client: &mut impl Client, target: &str) -> Result<Option<Existing>, Failure> {
        Existing::find(client, target).map_err(|error| of_error(error, &format!("looking at table {target}")))
    }

    /// How rows of a version of a table are written. Columns that a script added are made where they are
    /// missing.
    pub(crate) fn plan(&mut self, client: &mut impl Client, table: &Table) -> Result<Rc<Plan>, Failure> {
        // They are no part of the schema that the target was prepared for.
        if self.known(table).is_none() && table.columns.iter().any(|column| column.attribute < 0) {
            let target = self.design(table)?.target;
            // A table that is gone is not made anew.
            if self.find(client, &target)?.is_some() {
                let description = Description::from(table.clone());
                evolve::evolve(self, client, &[description])?;
            }
        }
        self.plan_as_is(client, table)
    }

    /// How rows of a version of a table would be written to the target as it is.
    pub(crate) fn plan_as_is(
        &mut self,
        client: &mut impl Client,
        table: &Table,
    ) -> Result<Rc<Plan>, Failure> {
        if let Some(plan) = self.known(table) {
            return Ok(Rc::clone(plan));
        }
        let mut design = self.design(table)?;
        let range = self.range(client)?;
        let existing = match self.looked_at.remove(&design.target).flatten() {
            Some(existing) => Some(existing),
            None => self.find(client, &design.target)?,
        };
        let Some(existing) = existing else {
            return Err(target_missing(&design.target, table));
        };
        // A load may meet names that the stream, which brings them, has not come to yet, and the other way round.
        // Which column is meant is told by its number.
        for column in &mut design.columns {
            let names = existing.holders(column);
            match existing.holder_of(&names, &table.columns[column.source].data_type, range) {
                Some(name) => {
                    column.beside =
                        names.iter().filter(|other| **other != name).map(|&other| other.to_owned()).collect();
                    name.clone_into(&mut column.name);
                }
                None => {
                    let hint = format!(
                        "{CHANGES_HINT}; if it was dropped or renamed here, bring it back by its name, or resync the mirror"
                    );
                    return Err(column_missing(&design.target, table, &column.name).with_hint(hint));
                }
            }
        }
        let Some((at, _)) = self.mapping(table) else { return Err(not_mapped(table)) };
        let plans = self.plans.entry(at).or_default();
        let plan = Rc::new(Plan::new(&design, &existing, table, range, plans.back().map(Rc::as_ref))?);
        if plans.len() >= PLANS_MAX {
            plans.pop_front();
        }
        plans.push_back(Rc::clone(&plan));
        Ok(plan)
    }

    /// The failure of a row; or, where the target has other types than its plan was made with, that of a plan to be made anew:
    /// the stream may have widened a column that a load beside it writes.
    pub(crate) fn failure_of_row(
        &mut self,
        client: &mut impl Client,
        plan: &Plan,
        failure: Failure,
    ) -> Failure {
        if failure.class != FailureClass::Record {
            return failure;
        }
        match self.find(client, &plan.target) {
            Ok(Some(existing)) if !plan.is_of(&existing) => {
                self.forget(&plan.target);
                Failure::retry("target_changed_meanwhile", failure.message).with_table(failure.table)
            }
            _ => failure,
        }
    }

    /// The plan for this version of a table, if its rows came lately.
    fn known(&self, table: &Table) -> Option<&Rc<Plan>> {
        let (at, _) = self.mapping(table)?;
        self.plans.get(&at)?.iter().rev().find(|plan| plan.table == *table)
    }

    /// The server's table changed: it is looked at again.
    pub(crate) fn forget(&mut self, target: &str) {
        self.plans.retain(|_, plans| plans.iter().all(|plan| plan.target != target));
        self.looked_at.remove(target);
    }

    /// The source's table of a mapping changed: how its rows are written is found anew.
    pub(crate) fn forget_plan(&mut self, at: usize) {
        self.plans.remove(&at);
    }
}

/// The failure of rows of a table that the mirror lacks.
fn not_mapped(table: &Table) -> Failure {
    let source = table.qualified_name();
    Failure::permanent("table_not_mapped", format!("rows of {source} arrived, which the mirror does not map"))
        .with_table(source)
}

/// The failure of a table whose target is gone.
pub(crate) fn target_missing(target: &str, table: &Table) -> Failure {
    Failure::permanent("target_missing", format!("table {target} is not there"))
        .with_hint("it was dropped or renamed: bring it back and resume, or resync the mirror")
        .with_table(table.qualified_name())
}

/// The failure of a target that had a column and has it no more: a new one would have none of its values.
pub(crate) fn column_missing(target: &str, table: &Table, column: &str) -> Failure {
    Failure::permanent("target_incompatible", format!("table {target}: column {column} is missing"))
        .with_hint(
            "it was dropped or renamed: bring it back by its name and resume, or resync the mirror to have its values again",
        )
        .with_table(table.qualified_name())
}

/// A mapping's path in the API.
pub(crate) fn mapping_path(at: usize) -> String {
    format!("table_mappings[{at}]")
}
