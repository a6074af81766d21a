//! Rows against what the target holds of their keys.

use std::rc::Rc;

use tarn_batch::{Batch, Op, Row, Table};
use tarn_sdk::{Compared, ComparisonOutcome as Outcome, Failure, Finding};

use super::hash::hash;
use super::{DOING, QUIETLY, commit_of, until};
use crate::client::Client;
use crate::config::COMPARED_KEYS_MAX;
use crate::plan::{Image, Plan, RowError};
use crate::read_back::{Earlier, Key, Purpose, ReadBack, Wanted};
use crate::target_type::TargetType;
use crate::targets::Targets;

/// Compares rows, all of them inserts, with what the targets hold as of a sequence.
pub(crate) fn compare(
    targets: &mut Targets,
    client: &mut impl Client,
    rows: &[u8],
    sequence: u64,
    hash_max: u64,
) -> Result<Compared, Failure> {
    let batch = Batch::parse(rows)?;
    let mut compared = Compared { hashes: Vec::new(), findings: Vec::new(), uncompared: Vec::new() };
    let mut of_tables: Vec<Vec<Candidate<'_>>> = batch.tables().iter().map(|_| Vec::new()).collect();
    let mut plans: Vec<Option<Rc<Plan>>> = batch.tables().iter().map(|_| None).collect();
    for (at, row) in batch.rows().enumerate() {
        let row = row?;
        if row.op() != Op::Insert {
            let message = "only rows as a load reads them can be compared";
            return Err(Failure::permanent("rows_not_comparable", message));
        }
        let table = usize::from(row.table_index().0);
        let plan = match &plans[table] {
            Some(plan) => Rc::clone(plan),
            None => {
                let plan = super::plan(targets, client, batch.table(&row))?;
                Rc::clone(plans[table].insert(plan))
            }
        };
        let at = u32::try_from(at).expect("a batch counts its rows in 32 bits");
        let mut key = Vec::new();
        match plan.write_key(&row, Image::After, &mut key) {
            Ok(()) => {
                let hash = hash(&key);
                compared.hashes.push(hash);
                if hash <= hash_max {
                    of_tables[table].push(Candidate { at, row, key });
                }
            }
            Err(error) => {
                compared.hashes.push(0);
                compared.findings.push(unwritable(&plan, &row, at, error)?);
            }
        }
    }
    for (plan, candidates) in plans.iter().zip(&of_tables) {
        let Some(plan) = plan else { continue };
        let forms = Forms::of(plan);
        compared.uncompared.extend(forms.other.iter().map(|&source| column_name(plan, source)));
        let work = Work { plan, columns: &forms.same, sequence };
        work.compare(client, candidates, &mut compared.findings)?;
    }
    Ok(compared)
}

/// A row to compare, and its key as the target holds it.
struct Candidate<'a> {
    at: u32,
    row: Row<'a>,
    key: Key,
}

/// The columns beside the key by the form that the target holds their values in.
struct Forms {
    /// As they were written.
    same: Vec<usize>,
    /// In one of the server's own: JSON, which it takes apart.
    other: Vec<usize>,
}

impl Forms {
    fn of(plan: &Plan) -> Self {
        let Table { columns, .. } = &plan.table;
        let written = (0..columns.len()).filter(|source| !plan.key.contains(source));
        let (same, other) = written
            .filter_map(|source| plan.column(source).map(|column| (source, column)))
            .partition::<Vec<_>, _>(|(_, column)| {
            !matches!(column.data_type.value_type(), TargetType::Json(_))
        });
        let sources = |columns: Vec<(usize, _)>| columns.into_iter().map(|(source, _)| source).collect();
        Self { same: sources(same), other: sources(other) }
    }
}

/// The comparison of one table's rows.
struct Work<'a> {
    plan: &'a Plan,
    columns: &'a [usize],
    sequence: u64,
}

impl Work<'_> {
    fn compare(
        &self,
        client: &mut impl Client,
        candidates: &[Candidate<'_>],
        findings: &mut Vec<Finding>,
    ) -> Result<(), Failure> {
        let wanted = self.wanted(candidates.iter())?;
        let held = ReadBack { until: Some(until(self.sequence)), ..self.read_back(self.columns) }
            .read(client, &wanted)?;
        let mut unlike = Vec::new();
        for candidate in candidates {
            match self.difference(candidate, held.get(&candidate.key)) {
                Ok(None) => {}
                Ok(Some(difference)) => unlike.push((candidate, difference)),
                Err(error) => findings.push(unwritable(self.plan, &candidate.row, candidate.at, error)?),
            }
        }
        if unlike.is_empty() {
            return Ok(());
        }
        let wanted = self.wanted(unlike.iter().map(|(candidate, _)| *candidate))?;
        let latest = self.read_back(self.columns).read(client, &wanted)?;
        for (candidate, difference) in unlike {
            let latest = latest.get(&candidate.key);
            let commit = latest.map_or(0, |latest| commit_of(latest.version));
            let at = candidate.at;
            if commit <= self.sequence {
                let (outcome, columns) = match difference {
                    Difference::Missing => (Outcome::Missing, Vec::new()),
                    Difference::Columns(columns) => (Outcome::Differs, columns),
                };
                findings.push(Finding { at, outcome, columns, commit });
                continue;
            }
            // The right row may be forgotten; if the later one is equal, that is as good.
            let difference = self
                .difference(candidate, latest)
                .map_err(|error| self.plan.row_failure(&candidate.row, error))?;
            let columns = match difference {
                None => continue,
                Some(Difference::Missing) => Vec::new(),
                Some(Difference::Columns(columns)) => columns,
            };
            findings.push(Finding { at, outcome: Outcome::Later, columns, commit });
        }
        Ok(())
    }

    fn read_back<'s>(&'s self, columns: &'s [usize]) -> ReadBack<'s> {
        ReadBack {
            plan: self.plan,
            columns,
            until: None,
            keys_max: COMPARED_KEYS_MAX,
            bytes_max: usize::MAX,
            doing: DOING,
            settings: QUIETLY,
            purpose: Purpose::Looking,
        }
    }

    fn wanted<'c>(
        &self,
        candidates: impl Iterator<Item = &'c Candidate<'c>>,
    ) -> Result<Vec<Wanted>, Failure> {
        candidates
            .map(|candidate| {
                Wanted::new(self.plan, &candidate.row, Image::After)
                    .map_err(|error| self.plan.row_failure(&candidate.row, error))
            })
            .collect()
    }

    /// How a row differs from the one that the target holds; `None` where it does not.
    fn difference(
        &self,
        candidate: &Candidate<'_>,
        held: Option<&Earlier>,
    ) -> Result<Option<Difference>, RowError> {
        let held = held.filter(|held| !held.deleted);
        let mut wanted = self.columns.iter().copied().zip(0..).peekable();
        let mut differing = Vec::new();
        let mut written = Vec::new();
        for (source, cell) in candidate.row.after().enumerate() {
            let cell = cell?;
            let Some((_, at)) = wanted.next_if(|(next, _)| *next == source) else { continue };
            let Some(column) = self.plan.column(source) else { continue };
            written.clear();
            column.write(source, cell, &mut written)?;
            if held.is_some_and(|held| *held.values[at] != *written) {
                differing.push(column.name.clone());
            }
        }
        Ok(match held {
            None => Some(Difference::Missing),
            Some(_) if differing.is_empty() => None,
            Some(_) => Some(Difference::Columns(differing)),
        })
    }
}

/// What is not as it should be.
enum Difference {
    /// There is no row, or a deleted one.
    Missing,
    /// These of the target's columns hold other values.
    Columns(Vec<String>),
}

/// The finding of a row that cannot be stored. A damaged batch is a failure.
fn unwritable(plan: &Plan, row: &Row<'_>, at: u32, error: RowError) -> Result<Finding, Failure> {
    match error {
        RowError::Fault { column, .. } => Ok(Finding {
            at,
            outcome: Outcome::Unwritable,
            columns: vec![column_name(plan, column)],
            commit: 0,
        }),
        error => Err(plan.row_failure(row, error)),
    }
}

fn column_name(plan: &Plan, source: usize) -> String {
    let planned = plan.column(source).map(|column| column.name.clone());
    planned.unwrap_or_else(|| plan.table.columns[source].name.clone())
}
