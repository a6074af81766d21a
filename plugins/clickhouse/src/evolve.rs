//! Making targets, and bringing their columns to what the source has.
//!
//! [`preview`] tells what would be done, and [`prepare`] and [`evolve`] do what it tells: the one is made of the
//! other. What cannot be done is a failure with a remedy, before any row of the new form is written.

use tarn_sdk::{Description, Failure, PlanStep, StepKind, TablePlan, log};

use crate::beside;
use crate::client::Client;
use crate::evolution::Evolution;
use crate::existing::Existing;
use crate::failure::{of_alteration_error, of_error};
use crate::nested;
use crate::targets::{Targets, target_missing};

/// What becomes of a target that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// It is made.
    Made,
    /// It was there when the mirror was set up: a new one would have a part of the rows only.
    Refused,
}

/// Makes the target of each table where it is missing, and changes its columns where they differ.
pub(crate) fn prepare(
    targets: &mut Targets,
    client: &mut impl Client,
    schema: &[Description],
) -> Result<(), Failure> {
    carry_out(targets, client, schema, Missing::Made)
}

/// Changes the columns of each table's target where they differ.
pub(crate) fn evolve(
    targets: &mut Targets,
    client: &mut impl Client,
    schema: &[Description],
) -> Result<(), Failure> {
    carry_out(targets, client, schema, Missing::Refused)
}

/// What would be done, table by table.
pub(crate) fn preview(
    targets: &mut Targets,
    client: &mut impl Client,
    schema: &[Description],
) -> Result<Vec<TablePlan>, Failure> {
    targets.look_at(client, schema.iter().map(|description| &description.table))?;
    let mut plans = Vec::new();
    for description in schema {
        let Some((_, mapping)) = targets.mapping(&description.table) else { continue };
        let (table, target) = (description.table.qualified_name(), mapping.destination.clone());
        let (steps, refused, hint) = match steps(targets, client, description, Missing::Made) {
            Ok(steps) => (steps, String::new(), String::new()),
            Err(failure) if failure.class == tarn_sdk::FailureClass::Permanent => {
                (Vec::new(), failure.message, failure.hint)
            }
            Err(failure) => return Err(failure),
        };
        plans.push(TablePlan { table, target, steps, refused, hint });
    }
    Ok(plans)
}

fn carry_out(
    targets: &mut Targets,
    client: &mut impl Client,
    schema: &[Description],
    missing: Missing,
) -> Result<(), Failure> {
    targets.look_at(client, schema.iter().map(|description| &description.table))?;
    for description in schema {
        let table = &description.table;
        let Some((at, mapping)) = targets.mapping(table) else { continue };
        let target = mapping.destination.clone();
        let steps = steps(targets, client, description, missing)?;
        targets.forget_plan(at);
        for step in steps.iter().filter(|step| !step.warning.is_empty()) {
            log::warn(&format!("table {target}: {}", step.warning));
        }
        let statements = steps.into_iter().flat_map(|step| step.statements);
        for sql in targets.ddl.additions_joined(&target, statements) {
            targets.forget(&target);
            log::info(&format!("table {target}: {sql}"));
            client.query(&sql).map_err(|error| {
                of_alteration_error(error, &format!("preparing table {target}"))
                    .with_table(table.qualified_name())
            })?;
        }
    }
    Ok(())
}

/// What brings one target to what its table is.
fn steps(
    targets: &mut Targets,
    client: &mut impl Client,
    description: &Description,
    missing: Missing,
) -> Result<Vec<PlanStep>, Failure> {
    let design = targets.design(&description.table)?;
    let range = targets.range(client)?;
    let Some(existing) = targets.looked_at(client, &design.target)? else {
        if missing == Missing::Refused {
            return Err(target_missing(&design.target, &description.table));
        }
        if let Some((message, hint)) = nested::clash_of(&design, &description.table) {
            return Err(Failure::permanent("mapping_invalid", message)
                .with_hint(hint)
                .with_table(description.table.qualified_name()));
        }
        return Ok(vec![PlanStep {
            kind: StepKind::Create,
            column: String::new(),
            source: String::new(),
            detail: "the table is made".to_owned(),
            statements: vec![targets.ddl.create(&design)],
            warning: String::new(),
        }]);
    };
    refuse_foreign(targets, &design.target, &existing)?;
    let changes =
        Evolution::new(description, &design, &existing, range, &targets.config.usual_types).changes()?;
    let steps = changes.into_iter().map(|change| change.step(&targets.ddl, client, &design.target));
    steps.collect::<Result<_, _>>().map_err(|error| {
        of_error(error, &format!("preparing table {}", design.target))
            .with_table(description.table.qualified_name())
    })
}

/// A table that has the name of one beside and is of no load is someone else's: its rows would be taken for loaded
/// ones.
fn refuse_foreign(targets: &Targets, target: &str, existing: &Existing) -> Result<(), Failure> {
    let load = &targets.config.beside;
    if load.is_empty() || beside::is_of(existing.comment(), load) {
        return Ok(());
    }
    let message = format!("table {target} is in the way of the load, which would make one of this name");
    Err(Failure::permanent("target_in_the_way", message)
        .with_hint("rename or drop it, then resume the mirror"))
}
