//! Making targets, and bringing their columns to what the source has.
//!
//! Only what keeps every stored value is done: columns are added, widened and renamed. A column that
//! left the source stays; one whose name went to another column is kept aside (B091). What cannot be
//! done is a failure with a remedy, before any row of the new form is written. Everything is decided from
//! the table as it is, so that the same change may come twice, and an earlier one again.

use tarn_batch::Table;
use tarn_sdk::{Description, Failure, Fill, log};

use crate::beside;
use crate::calendar_range::CalendarRange;
use crate::client::{Client, Error};
use crate::design::{Design, DesignColumn};
use crate::encoder::Encoder;
use crate::existing::Existing;
use crate::failure::{of_alteration_error, of_error};
use crate::filling::Filling;
use crate::origin::Origin;
use crate::target_type::TargetType;
use crate::targets::Targets;
use crate::widening::widens;

/// One statement's worth of change.
#[derive(Debug, PartialEq)]
enum Change {
    Rename { from: String, to: String },
    Add { column: DesignColumn, filling: Option<Filling> },
    Modify { name: String, data_type: TargetType },
}

/// Makes the target of each table where it is missing, and changes its columns where they differ.
pub(crate) fn evolve(
    targets: &mut Targets,
    client: &mut impl Client,
    schema: &[Description],
) -> Result<(), Failure> {
    let present = targets.present(client, schema.iter().map(|description| &description.table))?;
    for description in schema {
        let table = &description.table;
        if targets.mapping(table).is_none() {
            continue;
        }
        let design = targets.design(table)?;
        let range = targets.range(client)?;
        let doing = format!("preparing table {}", design.target);
        let failed = |error| of_error(error, &doing).with_table(table.qualified_name());
        let altered = |error| of_alteration_error(error, &doing).with_table(table.qualified_name());
        let existing = match present.contains(&design.target) {
            true => targets.find(client, &design.target)?,
            false => None,
        };
        let statements = match existing {
            None => vec![targets.ddl.create(&design)],
            Some(existing) => {
                refuse_foreign(targets, &design.target, &existing)?;
                let changes = Evolution::new(description, &design, &existing, range).changes()?;
                let statements =
                    changes.iter().map(|change| statement(targets, client, &design.target, change));
                statements.collect::<Result<_, _>>().map_err(failed)?
            }
        };
        for sql in statements {
            log::info(&format!("{doing}: {sql}"));
            client.query(&sql).map_err(altered)?;
        }
        targets.forget(&design.target);
    }
    Ok(())
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

fn statement(
    targets: &Targets,
    client: &mut impl Client,
    target: &str,
    change: &Change,
) -> Result<String, Error> {
    Ok(match change {
        Change::Rename { from, to } => targets.ddl.rename_column(target, from, to),
        Change::Add { column, filling: None } => targets.ddl.add_column(target, column, None),
        Change::Add { column, filling: Some(filling) } => {
            let expression = filling.confirmed(client, &column.data_type)?;
            if expression.is_none() {
                warn_of_unfilled(target, &column.name);
            }
            targets.ddl.add_column(target, column, expression)
        }
        Change::Modify { name, data_type } => targets.ddl.modify_column(target, name, data_type),
    })
}

fn warn_of_unfilled(target: &str, column: &str) {
    log::warn(&format!(
        "table {target}: the source holds a value in column {column} of rows from before it, which cannot be given \
         as the column's default here; they show NULL until they change. Resync the mirror, or edit the table out of \
         it and add it again, to have the value in them"
    ));
}

/// The way from a table as it is to its design.
struct Evolution<'a> {
    table: &'a Table,
    fills: &'a [Fill],
    design: &'a Design,
    existing: &'a Existing,
    range: CalendarRange,
    /// The table's columns as the changes so far leave them.
    columns: Vec<Present<'a>>,
    changes: Vec<Change>,
}

/// A column that is there.
struct Present<'a> {
    name: String,
    /// Its name before the changes.
    found_as: &'a str,
    origin: Option<Origin>,
}

impl<'a> Evolution<'a> {
    fn new(
        description: &'a Description,
        design: &'a Design,
        existing: &'a Existing,
        range: CalendarRange,
    ) -> Self {
        let Description { table, fills } = description;
        let present =
            |(name, origin): (&'a str, _)| Present { name: name.to_owned(), found_as: name, origin };
        let columns = existing.origins().map(present).collect();
        Self { table, fills, design, existing, range, columns, changes: Vec::new() }
    }

    fn changes(mut self) -> Result<Vec<Change>, Failure> {
        // A table of someone else's is not touched.
        if let Some((difference, hint)) = self.existing.own_differences(self.design).into_iter().next() {
            let message = format!("table {} is there, and {difference}", self.design.target);
            return Err(Failure::permanent("target_incompatible", message)
                .with_hint(hint)
                .with_table(self.table.qualified_name()));
        }
        for column in &self.design.columns {
            self.make_way(column)?;
            match self.found(column) {
                Some(at) => {
                    let found_as = self.columns[at].found_as;
                    self.rename(at, &column.name)?;
                    self.retype(column, self.existing.type_of(found_as))?;
                }
                None => self.add(column)?,
            }
        }
        Ok(self.changes)
    }

    /// Puts a column aside that has the name of this one and holds another one of the source's.
    fn make_way(&mut self, column: &DesignColumn) -> Result<(), Failure> {
        let Some(wanted) = column.origin else { return Ok(()) };
        let other = |present: &Present<'_>| {
            present
                .origin
                .filter(|origin| present.name == column.name && origin.is_beside(wanted) && *origin != wanted)
        };
        let found = self.columns.iter().enumerate().find_map(|(at, present)| Some((at, other(present)?)));
        match found {
            Some((at, origin)) => self.rename(at, &origin.aside(&column.name)),
            None => Ok(()),
        }
    }

    /// The column that holds this one: by the source's number, else by name.
    fn found(&self, column: &DesignColumn) -> Option<usize> {
        let by_origin = |present: &Present<'_>| present.origin.is_some() && present.origin == column.origin;
        self.columns
            .iter()
            .position(by_origin)
            .or_else(|| self.columns.iter().position(|present| present.name == column.name))
    }

    fn rename(&mut self, at: usize, name: &str) -> Result<(), Failure> {
        let from = self.columns[at].name.clone();
        if from == name {
            return Ok(());
        }
        if self.existing.is_sorting_key(self.columns[at].found_as) {
            return Err(
                self.refused(&from, "is part of the sorting key, whose columns ClickHouse does not rename")
            );
        }
        if self.columns.iter().any(|present| present.name == name) {
            return Err(self.refused(&from, &format!("would be a second {name}")));
        }
        name.clone_into(&mut self.columns[at].name);
        self.changes.push(Change::Rename { from, to: name.to_owned() });
        Ok(())
    }

    /// A new column shows what the source holds in the rows that are there already. Where that is not known it
    /// is NULL, for anything else would be made up.
    fn add(&mut self, column: &DesignColumn) -> Result<(), Failure> {
        if self.table.columns[column.source].key > 0 {
            let message = "became part of the key, which a table cannot be sorted by later";
            return Err(self.refused(&column.name, message));
        }
        let data_type = column.data_type.clone().nullable();
        let source = &self.table.columns[column.source].data_type;
        let fill = self.fills.iter().find(|fill| fill.column == column.source);
        let filling = fill.and_then(|fill| Filling::new(source, &data_type, &fill.value, self.range));
        if fill.is_some() && filling.is_none() {
            warn_of_unfilled(&self.design.target, &column.name);
        } else if fill.is_none() && !column.data_type.is_nullable() {
            log::warn(&format!(
                "table {}: column {} is NOT NULL at the source; rows written before show NULL until they change",
                self.design.target, column.name
            ));
        }
        let column = DesignColumn { data_type, ..column.clone() };
        self.changes.push(Change::Add { column, filling });
        Ok(())
    }

    /// Lets a column hold what the source's holds now.
    fn retype(&mut self, column: &DesignColumn, found: Option<&TargetType>) -> Result<(), Failure> {
        let source = &self.table.columns[column.source];
        let Some(found) = found else {
            return Err(self.refused(&column.name, "has a type or default that rows cannot go to"));
        };
        let (holds, held) = (found.value_type(), column.data_type.value_type());
        let encodes = Encoder::new(&source.data_type, found, self.range).is_some();
        // Where rows can go as it is, it is widened only if the source's type is the wider one.
        let is_wide = encodes && !widens(holds, held);
        if !is_wide && !widens(holds, held) {
            let message = format!("is {found} and would have to be {}", column.data_type);
            return Err(self.refused(&column.name, &message));
        }
        if source.key > 0 && !is_wide {
            let message = "is part of the sorting key, whose type ClickHouse does not change";
            return Err(self.refused(&column.name, message));
        }
        let value_type = if is_wide { found.clone() } else { column.data_type.clone() };
        let nullable = column.data_type.is_nullable() || found.is_nullable();
        let data_type = if nullable { value_type.nullable() } else { value_type };
        if data_type != *found {
            self.changes.push(Change::Modify { name: column.name.clone(), data_type });
        }
        Ok(())
    }

    fn refused(&self, column: &str, message: &str) -> Failure {
        let message = format!("table {}: column {column} {message}", self.design.target);
        Failure::permanent("column_change_unsupported", message)
            .with_hint("resync the table, or change its target by hand and resume")
            .with_table(self.table.qualified_name())
    }
}
