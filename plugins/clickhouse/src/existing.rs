//! A target as it is on the server.

use std::collections::HashMap;

use tarn_batch::{Table, Type};
use tarn_sdk::DestinationConfig;

use crate::calendar_range::CalendarRange;
use crate::client::{Client, Error, text_rows};
use crate::ddl::is_one_of;
use crate::design::{Design, DesignColumn, Engine, OwnColumns};
use crate::encoder::{Encoder, holds_every};
use crate::origin::Origin;
use crate::target_type::TargetType;
use crate::widening::widens;

/// A table's engine and columns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Existing {
    engine: String,
    /// The engine with its arguments.
    engine_full: String,
    sorting_key: String,
    comment: String,
    columns: Vec<ExistingColumn>,
}

#[derive(Debug, Clone, PartialEq)]
struct ExistingColumn {
    name: String,
    type_text: String,
    /// `None` for types that rows cannot go to.
    data_type: Option<TargetType>,
    /// `DEFAULT`, `MATERIALIZED`, `ALIAS` or `EPHEMERAL`; empty for none.
    default_kind: String,
    is_partition_key: bool,
    origin: Option<Origin>,
}

impl Existing {
    /// Asks the server; `None` when there is no such table.
    pub(crate) fn find(client: &mut impl Client, target: &str) -> Result<Option<Self>, Error> {
        Ok(Self::find_all(client, &[target])?.remove(target))
    }

    /// The same of several tables at once: those that are there, by their names.
    pub(crate) fn find_all(
        client: &mut impl Client,
        targets: &[&str],
    ) -> Result<HashMap<String, Self>, Error> {
        let sql = format!(
            "SELECT name, engine, engine_full, sorting_key, comment FROM system.tables WHERE {}",
            is_one_of("name", targets)
        );
        let mut found = HashMap::with_capacity(targets.len());
        for row in text_rows(client, &sql)? {
            let [name, engine, engine_full, sorting_key, comment] =
                <[String; 5]>::try_from(row).map_err(|_| unreadable("five columns were asked for"))?;
            found.insert(name, Self { engine, engine_full, sorting_key, comment, columns: Vec::new() });
        }
        if found.is_empty() {
            return Ok(found);
        }
        let sql = format!(
            "SELECT table, name, type, default_kind, comment, toString(is_in_partition_key) FROM system.columns \
             WHERE {} ORDER BY table, position",
            is_one_of("table", targets)
        );
        for row in text_rows(client, &sql)? {
            let [table, name, type_text, default_kind, comment, is_partition_key] =
                <[String; 6]>::try_from(row).map_err(|_| unreadable("six columns were asked for"))?;
            let origin = Origin::parse(&comment);
            let data_type = TargetType::parse(&type_text);
            let is_partition_key = is_partition_key == "1";
            // One that was made in between is looked at another time.
            if let Some(existing) = found.get_mut(&table) {
                let column =
                    ExistingColumn { name, type_text, data_type, default_kind, is_partition_key, origin };
                existing.columns.push(column);
            }
        }
        Ok(found)
    }

    /// Whether a column is part of the sorting key.
    pub(crate) fn is_sorting_key(&self, name: &str) -> bool {
        key_columns(&self.sorting_key).iter().any(|column| column == name)
    }

    /// The table's comment.
    pub(crate) fn comment(&self) -> &str {
        &self.comment
    }

    /// Its columns' names, each with the source's column that it holds.
    pub(crate) fn origins(&self) -> impl Iterator<Item = (&str, Option<Origin>)> {
        self.columns.iter().map(|column| (column.name.as_str(), column.origin))
    }

    /// Whether rows without a column show a value.
    pub(crate) fn has_default(&self, name: &str) -> bool {
        self.column(name).is_some_and(|column| column.default_kind == "DEFAULT")
    }

    /// Whether the table is partitioned by a column.
    pub(crate) fn is_partition_key(&self, name: &str) -> bool {
        self.column(name).is_some_and(|column| column.is_partition_key)
    }

    /// The columns that hold values of this one of the source's, the oldest first: several where its type became one that
    /// the column before could not hold. Those of its number, else the one of its name that holds no other.
    pub(crate) fn holders(&self, column: &DesignColumn) -> Vec<&str> {
        let by_origin = |found: &&ExistingColumn| found.origin.is_some() && found.origin == column.origin;
        let names: Vec<&str> =
            self.columns.iter().filter(by_origin).map(|found| found.name.as_str()).collect();
        if !names.is_empty() {
            return names;
        }
        let holds_other = |found: &ExistingColumn| {
            found
                .origin
                .zip(column.origin)
                .is_some_and(|(origin, wanted)| origin.is_beside(wanted) && origin != wanted)
        };
        let by_name = self.column(&column.name).filter(|found| !holds_other(found));
        by_name.map(|found| found.name.as_str()).into_iter().collect()
    }

    /// Which of these columns rows with values of a type go to: the newest that holds every one of them, else the newest that
    /// may hold one, else the newest.
    pub(crate) fn holder_of<'n>(
        &self,
        names: &[&'n str],
        source: &Type,
        range: CalendarRange,
    ) -> Option<&'n str> {
        let newest = |holds: &dyn Fn(&TargetType) -> bool| {
            names.iter().rev().find(|name| self.type_of(name).is_some_and(holds))
        };
        newest(&|found| holds_every(source, found))
            .or_else(|| newest(&|found| Encoder::new(source, found, range).is_some()))
            .or(names.last())
            .copied()
    }

    /// Whether a column holds arrays, of any form.
    pub(crate) fn is_array(&self, name: &str) -> bool {
        ["Array(", "Map("].iter().any(|form| self.type_text(name).starts_with(form))
    }

    /// Whether a dot in a column's name makes it a part of a Nested.
    pub(crate) fn has_nested(&self) -> bool {
        !self.engine_full.contains("share_nested_offsets = 0")
    }

    /// Whether it has a column.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.column(name).is_some()
    }

    /// The type of a column, as the server calls it; nothing for one that is not there.
    pub(crate) fn type_text(&self, name: &str) -> &str {
        self.column(name).map_or("", |column| &column.type_text)
    }

    /// The type of a column that rows can go to.
    pub(crate) fn type_of(&self, name: &str) -> Option<&TargetType> {
        self.column(name).filter(|column| column.keeps())?.data_type.as_ref()
    }

    fn column(&self, name: &str) -> Option<&ExistingColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Whether a mirror made it: it has the columns that every target has.
    pub(crate) fn is_a_target(&self, config: &DestinationConfig) -> bool {
        OwnColumns::new(config).types().iter().all(|(name, _)| self.has(name))
    }

    /// What keeps rows of the source from going here, each with its remedy. A column of the source
    /// that is missing is none: it is added.
    pub(crate) fn differences(
        &self,
        design: &Design,
        table: &Table,
        range: CalendarRange,
    ) -> Vec<(String, String)> {
        let mut differences = self.engine_differences(design);
        if !self.is_table() {
            return differences;
        }
        differences.extend(self.own_differences(design));
        for column in &design.columns {
            differences.extend(self.column_difference(column, table, range));
        }
        differences
    }

    /// What keeps it from being any mirror's target.
    pub(crate) fn own_differences(&self, design: &Design) -> Vec<(String, String)> {
        let mut differences = Vec::new();
        let own = design.own.types();
        for (name, wanted) in &own {
            let name = *name;
            // The zone decides how a moment is shown, not which it is.
            let microseconds =
                |found: &TargetType| matches!(found, TargetType::DateTime64 { precision: 6, .. });
            let fits = |found: &TargetType| found == wanted || microseconds(found) && microseconds(wanted);
            match (self.column(name), self.type_of(name)) {
                (None, _) => differences.push((
                    format!("column {name} is missing"),
                    format!("add {name} {wanted} to the table, or name another destination table"),
                )),
                (Some(_), Some(found)) if fits(found) => {}
                (Some(column), _) => differences.push((
                    format!("column {name} is {}, not {wanted}", column.type_text),
                    format!("make it {wanted}, or name another destination table"),
                )),
            }
        }
        differences
    }

    fn column_difference(
        &self,
        column: &DesignColumn,
        table: &Table,
        range: CalendarRange,
    ) -> Option<(String, String)> {
        let found = self.column(&column.name)?;
        let source = &table.columns[column.source];
        let remedy = format!("make it {}, or name another destination table", column.data_type);
        if !found.keeps() {
            return Some((
                format!(
                    "column {} is {}: what is written there is not kept",
                    column.name, found.default_kind
                ),
                format!(
                    "make it an ordinary column, {}, or give the source's another destination_name",
                    column.data_type
                ),
            ));
        }
        let holds = self
            .type_of(&column.name)
            .filter(|found| Encoder::new(&source.data_type, found, range).is_some());
        match holds {
            None => Some((
                format!(
                    "column {} is {}, which does not hold {} exactly",
                    column.name, found.type_text, source.type_name
                ),
                remedy,
            )),
            Some(holds) if source.key > 0 && widens(holds.value_type(), column.data_type.value_type()) => {
                Some((
                    format!(
                        "key column {} is {}, which is narrower than the source's",
                        column.name, found.type_text
                    ),
                    remedy,
                ))
            }
            // B188: a NULL must not become a default. Arrays have no NULL; a value decides there.
            Some(holds)
                if column.data_type.is_nullable() && !holds.is_nullable() && holds.can_be_nullable() =>
            {
                Some((
                    format!("column {} is {}, and the source's may be NULL", column.name, found.type_text),
                    remedy,
                ))
            }
            Some(_) => None,
        }
    }

    /// Whether rows can be inserted into it and are kept, sorted, by itself, or are dropped on purpose.
    fn is_table(&self) -> bool {
        self.engine.ends_with("MergeTree") || self.engine == "Null"
    }

    fn engine_differences(&self, design: &Design) -> Vec<(String, String)> {
        let mut differences = Vec::new();
        let other = "or name another destination table";
        let own = &design.own;
        // Replicated and shared forms do the same. Others of the family add up, collapse or coalesce rows.
        let family = ["Replicated", "Shared"].iter().find_map(|form| self.engine.strip_prefix(form));
        match (design.engine, family.unwrap_or(&self.engine)) {
            (Engine::Null, "Null") => return differences,
            (Engine::MergeTree, "MergeTree") => return differences,
            (Engine::ReplacingMergeTree, "ReplacingMergeTree") => {
                let wanted = format!("{}, {})", own.version, own.deleted);
                if !self.engine_full.replace('`', "").contains(&wanted) {
                    differences.push((
                        format!("its engine is {}", self.engine_full),
                        format!("make it with ReplacingMergeTree({}, {}), {other}", own.version, own.deleted),
                    ));
                }
            }
            (engine, found) => {
                let hint = match found {
                    "View" | "MaterializedView" | "WindowView" => {
                        format!("drop the view, {other}; a view may read from the mirror's table")
                    }
                    "Dictionary" => {
                        format!("drop the dictionary, {other}; one may read from the mirror's table")
                    }
                    "Distributed" => {
                        "name the table that it distributes, on each of the cluster's servers".to_owned()
                    }
                    _ => format!("make it with {engine:?}, {other}"),
                };
                differences.push((format!("its engine is {}, not {engine:?}", self.engine), hint));
            }
        }
        let wanted: Vec<_> = design.sorting_key.iter().map(|&at| design.columns[at].name.as_str()).collect();
        let mut found = key_columns(&self.sorting_key);
        let shown = wanted.join(", ");
        let mut sorted = wanted;
        sorted.sort_unstable();
        found.sort_unstable();
        if differences.is_empty() && sorted != found {
            differences.push((
                format!("it is sorted by {}, not by the source's key ({shown})", self.sorting_key),
                format!("make it with ORDER BY ({shown}), {other}; where the source's key has changed, a resync makes it so"),
            ));
        }
        differences
    }
}

impl ExistingColumn {
    /// Whether what is written there stays as it was written.
    fn keeps(&self) -> bool {
        !matches!(self.default_kind.as_str(), "MATERIALIZED" | "ALIAS" | "EPHEMERAL")
    }
}

/// The columns of a sorting key's text: backquoted where the server thinks they need it, in brackets
/// where they were made so.
fn key_columns(sorting_key: &str) -> Vec<String> {
    let bare = sorting_key.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let sorting_key = bare.unwrap_or(sorting_key);
    let mut columns = vec![String::new()];
    let mut quoted = false;
    let mut characters = sorting_key.chars();
    while let Some(character) = characters.next() {
        let last = columns.last_mut().expect("there is always one");
        match character {
            '`' => quoted = !quoted,
            '\\' if quoted => last.extend(characters.next()),
            ',' if !quoted => columns.push(String::new()),
            ' ' if !quoted => {}
            other => last.push(other),
        }
    }
    columns
}

fn unreadable(why: &str) -> Error {
    Error { code: 0, message: format!("the server's answer is not readable: {why}") }
}
