//! Making targets, and bringing their columns to what the source has.
//!
//! Only what keeps every stored value is done: columns are added, widened and renamed. A column that
//! left the source stays; one that was dropped and made anew under its name is kept aside (B091). What
//! cannot be done is a failure with a remedy, before any row of the new form is written.

mod widening;

use tarn_batch::{Column, Table};
use tarn_sdk::{Failure, log};

use crate::calendar_range::CalendarRange;
use crate::client::Client;
use crate::design::{Design, DesignColumn};
use crate::encoder::Encoder;
use crate::existing::Existing;
use crate::failure::of_error;
use crate::target_type::TargetType;
use crate::targets::Targets;
use widening::widens;

/// One statement's worth of change.
#[derive(Debug, PartialEq)]
enum Change {
    Rename { from: String, to: String },
    Add { name: String, data_type: TargetType },
    Modify { name: String, data_type: TargetType },
}

/// Makes the target of each table where it is missing, and changes its columns where they differ.
pub(crate) fn evolve(
    targets: &mut Targets,
    client: &mut impl Client,
    schema: Vec<Table>,
) -> Result<(), Failure> {
    for table in schema {
        if targets.mapping(&table.qualified_name()).is_none() {
            continue;
        }
        let design = targets.design(&table)?;
        let range = targets.range(client)?;
        let statements = match targets.find(client, &design.target)? {
            None => vec![targets.ddl.create(&design)],
            Some(existing) => {
                // A table of someone else's is not touched.
                if let Some((difference, hint)) = existing.own_differences(&design).into_iter().next() {
                    let message = format!("table {} is there, and {difference}", design.target);
                    return Err(Failure::permanent("target_incompatible", message)
                        .with_hint(hint)
                        .with_table(table.qualified_name()));
                }
                let previous =
                    targets.previous(&table).and_then(|table| Some((table, targets.design(table).ok()?)));
                let previous = previous.as_ref().map(|(table, design)| Named { table, design });
                let wanted = Named { table: &table, design: &design };
                let changes = changes(&wanted, previous.as_ref(), &existing, range)?;
                changes.iter().map(|change| statement(targets, &design.target, change)).collect()
            }
        };
        for sql in statements {
            let doing = format!("preparing table {}", design.target);
            log::info(&format!("{doing}: {sql}"));
            client.query(&sql).map_err(|error| of_error(error, &doing).with_table(table.qualified_name()))?;
        }
        targets.forget(&design.target);
        targets.evolved(table);
    }
    Ok(())
}

fn statement(targets: &Targets, target: &str, change: &Change) -> String {
    match change {
        Change::Rename { from, to } => targets.ddl.rename_column(target, from, to),
        Change::Add { name, data_type } => targets.ddl.add_column(target, name, data_type),
        Change::Modify { name, data_type } => targets.ddl.modify_column(target, name, data_type),
    }
}

/// A version of a table and the design it has.
struct Named<'a> {
    table: &'a Table,
    design: &'a Design,
}

impl Named<'_> {
    fn source(&self, column: &DesignColumn) -> &Column {
        &self.table.columns[column.source]
    }

    fn by_attribute(&self, attribute: i32) -> Option<&DesignColumn> {
        // 0 is no number of a column.
        self.design.columns.iter().find(|column| attribute != 0 && self.source(column).attribute == attribute)
    }

    fn by_name(&self, name: &str) -> Option<&DesignColumn> {
        self.design.columns.iter().find(|column| column.name == name)
    }

    fn refused(&self, column: &str, message: &str) -> Failure {
        let message = format!("table {}: column {column} {message}", self.design.target);
        Failure::permanent("column_change_unsupported", message)
            .with_hint("resync the table, or change its target by hand and resume")
            .with_table(self.table.qualified_name())
    }
}

fn changes(
    wanted: &Named<'_>,
    previous: Option<&Named<'_>>,
    existing: &Existing,
    range: CalendarRange,
) -> Result<Vec<Change>, Failure> {
    let mut changes = Vec::new();
    for column in &wanted.design.columns {
        let source = wanted.source(column);
        let there = existing.has(&column.name);
        if let Some(previous) = previous {
            let same = previous.by_attribute(source.attribute);
            if !there
                && let Some(old) =
                    same.filter(|old| existing.has(&old.name) && wanted.by_name(&old.name).is_none())
            {
                if source.key > 0 {
                    return Err(wanted.refused(&old.name, "is part of the sorting key and was renamed"));
                }
                changes.push(Change::Rename { from: old.name.clone(), to: column.name.clone() });
                changes.extend(retyped(wanted, column, existing.type_of(&old.name), range)?);
                continue;
            }
            let replaced = previous.by_name(&column.name).map(|old| previous.source(old).attribute);
            if there && let Some(old) = replaced.filter(|&old| old != source.attribute) {
                changes.extend(replaced_column(wanted, column, old, existing)?);
                continue;
            }
        }
        if there {
            changes.extend(retyped(wanted, column, existing.type_of(&column.name), range)?);
        } else {
            changes.push(added(wanted, column)?);
        }
    }
    Ok(changes)
}

/// A new column has NULL in the rows that are there already: what the source shows in them (its
/// default) is not known here, and anything but NULL would be made up.
fn added(wanted: &Named<'_>, column: &DesignColumn) -> Result<Change, Failure> {
    if wanted.source(column).key > 0 {
        return Err(
            wanted.refused(&column.name, "became part of the key, which a table cannot be sorted by later")
        );
    }
    if !column.data_type.is_nullable() {
        log::warn(&format!(
            "table {}: column {} is NOT NULL at the source; rows written before show NULL until they change",
            wanted.design.target, column.name
        ));
    }
    Ok(Change::Add { name: column.name.clone(), data_type: column.data_type.clone().nullable() })
}

/// The column of this name is another one than before: the old one's values go aside under a name of
/// their own.
fn replaced_column(
    wanted: &Named<'_>,
    column: &DesignColumn,
    old_attribute: i32,
    existing: &Existing,
) -> Result<Vec<Change>, Failure> {
    let aside = format!("{}_dropped_{old_attribute}", column.name);
    if existing.has(&aside) {
        return Ok(Vec::new());
    }
    let add = added(wanted, column)?;
    Ok(vec![Change::Rename { from: column.name.clone(), to: aside }, add])
}

/// The change that lets a column hold what the source's now holds; none where it does already.
fn retyped(
    wanted: &Named<'_>,
    column: &DesignColumn,
    found: Option<&TargetType>,
    range: CalendarRange,
) -> Result<Option<Change>, Failure> {
    let source = wanted.source(column);
    let Some(found) = found else {
        return Err(wanted.refused(&column.name, "has a type or default that rows cannot go to"));
    };
    let (holds, held) = (found.value_type(), column.data_type.value_type());
    let encodes = Encoder::new(&source.data_type, found, range).is_some();
    let type_is_wide = encodes && (holds == held || widens(held, holds) || !widens(holds, held));
    if !type_is_wide && !widens(holds, held) {
        let message = format!("is {found} and would have to be {}", column.data_type);
        return Err(wanted.refused(&column.name, &message));
    }
    if source.key > 0 && !type_is_wide {
        return Err(
            wanted.refused(&column.name, "is part of the sorting key, whose type ClickHouse does not change")
        );
    }
    let value_type = if type_is_wide { found.clone() } else { column.data_type.clone() };
    let data_type = match column.data_type.is_nullable() || found.is_nullable() {
        true => value_type.nullable(),
        false => value_type,
    };
    Ok((data_type != *found).then(|| Change::Modify { name: column.name.clone(), data_type }))
}
