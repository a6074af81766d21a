//! Columns that are left out by their names, and change these.

use tarn_batch::{Column, Table};
use tarn_sdk::Failure;

use crate::catalog::{CatalogColumn, CatalogTable};
use crate::mark::columns::MarkedColumns;
use crate::rewrite;
use crate::settings::MappedTable;

const CODE: &str = "excluded_column_gone";

/// Refuses a table that is about to be taken in where a name that is left out is not there: nothing tells which number is left out,
/// and the column may have another name since somebody asked for that.
///
/// # Errors
/// `excluded_column_gone`.
pub(crate) fn require_known(mapping: &MappedTable, catalog: &CatalogTable) -> Result<(), Failure> {
    let is_there = |name: &&String| catalog.columns.iter().any(|column| column.name == **name);
    let Some(name) = mapping.exclude.iter().find(|name| !is_there(name)) else { return Ok(()) };
    let table = mapping.name.to_string();
    Err(Failure::permanent(CODE, format!("{name}, which is left out, is not there: it may have another name by now"))
        .with_hint(format!(
            "where it has, leave that out as well, by `tarn mirror edit … --exclude {table}:…`; then, and where it was dropped, \
             `tarn mirror edit … --forget-excluded {table}:{name}`"
        ))
        .with_table(table))
}

/// Refuses columns that are left out under another name, for nobody asked for their values: those whose numbers say so, and, where
/// a name that is left out is gone and no number is known for it, those that were not delivered before.
///
/// # Errors
/// `excluded_column_gone`.
pub(crate) fn require_there(
    mapping: &MappedTable,
    catalog: &CatalogTable,
    marked: &MarkedColumns,
    table: &Table,
) -> Result<(), Failure> {
    if mapping.exclude.is_empty() {
        return Ok(());
    }
    // One that is left out only since then was delivered under the name that is.
    let was_wanted = |number: i32| {
        marked.delivered.contains(number)
            && !mapping.exclude.iter().any(|name| marked.names.allow(number, name) == Some(true))
    };
    let new = table.columns.iter().filter(|column| !was_wanted(column.attribute));
    let (renamed, other): (Vec<&Column>, Vec<&Column>) =
        new.partition(|column| marked.excluded.contains(column.attribute));
    let is_gone = |name: &&String| !catalog.columns.iter().any(|column| column.name == **name);
    let is_untold = |name: &&String| is_gone(name) && !marked.excluded.know(name);
    let untold: Vec<&str> = mapping.exclude.iter().filter(is_untold).map(String::as_str).collect();
    if let Some(column) = renamed.first() {
        let was_called = |name: &&String| marked.excluded.allow(column.attribute, name) == Some(true);
        let name = mapping.exclude.iter().find(was_called).map_or("a column", String::as_str);
        let message = format!("{name}, which is left out, is called {} by now", column.name);
        return Err(gone(mapping, message, &column.name, name));
    }
    if untold.is_empty() || other.is_empty() || marked.delivered.is_empty() {
        return Ok(());
    }
    let other: Vec<&str> = other.into_iter().map(|column| column.name.as_str()).collect();
    let message = format!(
        "{}, which is left out, is not there any more, and {} is new: it may be the same column",
        untold.join(", "),
        other.join(", ")
    );
    Err(gone(mapping, message, &other.join(","), &untold.join(",")))
}

/// When somebody looked, and a later moment: every transaction with a smaller number than the first had ended, and none with as great
/// a number as the second has begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Since {
    pub(crate) horizon: u64,
    pub(crate) next: u64,
}

/// Refuses a table of which nobody had noted which column a name that is left out was, where another column may be that one by now:
/// both the one that has the name and another were defined anew since.
///
/// # Errors
/// `excluded_column_gone`.
pub(crate) fn require_untouched(
    mapping: &MappedTable,
    catalog: &CatalogTable,
    marked: &MarkedColumns,
    since: Since,
) -> Result<(), Failure> {
    let Since { horizon, next } = since;
    let is_new = |column: &&CatalogColumn| rewrite::is_between(column.defined_by, horizon, next);
    let names = catalog.columns.iter().filter(is_new).map(|column| column.name.as_str());
    let (left_out, other): (Vec<&str>, Vec<&str>) =
        names.partition(|name| mapping.exclude.iter().any(|excluded| excluded == name));
    let left_out: Vec<&str> = left_out.into_iter().filter(|name| !marked.excluded.know(name)).collect();
    if horizon == 0 || left_out.is_empty() || other.is_empty() {
        return Ok(());
    }
    let message = format!(
        "{}, which is left out, and {} were changed since the earlier version of the plugin ran, which did not note the columns' \
         numbers: they may have exchanged their names",
        left_out.join(", "),
        other.join(", ")
    );
    let (table, new) = (mapping.name.to_string(), other.join(","));
    Err(Failure::permanent(CODE, message)
        .with_hint(format!(
            "where they have not, resync the mirror; where they have, leave {new} out as well, by `tarn mirror edit … --exclude \
             {table}:{new}`"
        ))
        .with_table(table))
}

fn gone(mapping: &MappedTable, message: String, new: &str, gone: &str) -> Failure {
    let table = mapping.name.to_string();
    Failure::permanent(CODE, message)
        .with_hint(format!(
            "leave {new} out as well, by `tarn mirror edit … --exclude {table}:{new}`; or have it delivered, by `tarn mirror edit … \
             --forget-excluded {table}:{gone}`"
        ))
        .with_table(table)
}

#[cfg(test)]
mod tests {
    use tarn_batch::Type;

    use super::*;
    use crate::catalog::fixture;
    use crate::table_name::TableName;

    /// The message where columns by name and number come, some of them are left out, and of those some are known by number. 1 and 3
    /// were delivered, as `id` and `a`.
    fn told(exclude: &[&str], known: &[(i32, &str)], columns: &[(&str, i32)]) -> Option<String> {
        let mapping = MappedTable {
            index: 0,
            name: TableName::new("public", "t"),
            exclude: exclude.iter().map(|&name| name.to_owned()).collect(),
            loading: false,
            lacks_rows: false,
        };
        let catalog = fixture::table(columns.iter().map(|(name, number)| fixture::column(*number, name)));
        let replicated =
            columns.iter().filter(|(name, _)| !exclude.contains(name)).map(|(name, number)| Column {
                name: (*name).to_owned(),
                data_type: Type::Text,
                type_name: "text".to_owned(),
                nullable: true,
                key: 0,
                attribute: *number,
            });
        let (schema, name, columns) = ("public".to_owned(), "t".to_owned(), replicated.collect());
        let table = Table { id: 1, schema, name, version: 1, columns };
        let marked = MarkedColumns {
            delivered: [1, 3].into_iter().collect(),
            names: [(1, "id"), (3, "a")].into_iter().collect(),
            excluded: known.iter().copied().collect(),
            ..MarkedColumns::default()
        };
        require_there(&mapping, &catalog, &marked, &table).err().map(|failure| failure.message)
    }

    #[test]
    fn a_column_that_is_left_out_is_told_by_its_number() {
        let told = |columns: &[(&str, i32)]| told(&["secret"], &[(2, "secret")], columns);
        assert_eq!(told(&[("id", 1), ("secret", 2), ("a", 3), ("b", 4)]), None);
        assert_eq!(told(&[("id", 1), ("a", 3), ("b", 4)]), None, "it was dropped");
        let renamed = |to: &str| Some(format!("secret, which is left out, is called {to} by now"));
        assert_eq!(told(&[("id", 1), ("open", 2), ("a", 3)]), renamed("open"));
        // Another one has its name.
        assert_eq!(told(&[("id", 1), ("open", 2), ("a", 3), ("secret", 4)]), renamed("open"));
        assert_eq!(told(&[("id", 1), ("a", 2), ("secret", 3)]), renamed("a"));
    }

    #[test]
    fn a_column_that_may_be_one_that_is_left_out_is_refused_where_no_number_is_known() {
        let told = |columns: &[(&str, i32)]| told(&["b", "secret"], &[(5, "b")], columns);
        assert_eq!(told(&[("id", 1), ("a", 3), ("b", 5)]), None, "it was dropped");
        let may_be = Some(
            "secret, which is left out, is not there any more, and c is new: it may be the same column"
                .to_owned(),
        );
        assert_eq!(told(&[("id", 1), ("a", 3), ("c", 4), ("b", 5)]), may_be);
    }

    #[test]
    fn a_column_that_is_left_out_only_since_it_was_delivered_is_told_where_it_is_renamed() {
        let told = told(&["a"], &[(3, "a")], &[("id", 1), ("c", 3)]);
        assert_eq!(told.as_deref(), Some("a, which is left out, is called c by now"));
    }
}
