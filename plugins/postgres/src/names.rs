//! What relations and their columns are called now.
//!
//! A transaction that reads at an earlier point sees the catalog's entries of then. The names in its statements are those
//! of now all the same, so that a name may be another relation's or column's than the entries say. These questions are
//! answered as of now, wherever they are asked, by number.

use tarn_sdk::postgres::{Error, Row};
use tarn_sdk::sql::postgres::literal;

use crate::table_name::TableName;

/// SQLSTATE of a column that does not exist, and of a table.
const UNDEFINED_COLUMN: &str = "42703";
const UNDEFINED_TABLE: &str = "42P01";

/// Whether a statement named what is not there, or is called otherwise by now.
pub(crate) fn is_undefined(error: &Error) -> bool {
    [UNDEFINED_COLUMN, UNDEFINED_TABLE].contains(&error.sqlstate.as_str())
}

/// The server's list of schema, name and column's name, by a relation's number and a column's (0 for the relation itself).
fn identified(relation: &str, column: &str) -> String {
    format!(
        "(pg_catalog.pg_identify_object_as_address('pg_catalog.pg_class'::pg_catalog.regclass, {relation}, {column})).object_names"
    )
}

/// The name of a relation with rows of its own; nothing where it is gone.
pub(crate) fn of_relation(
    read: impl FnOnce(&str) -> Result<Vec<Row>, Error>,
    oid: u32,
) -> Result<Option<TableName>, Error> {
    // Of one that is gone PostgreSQL 13 must not be asked.
    let names = identified(&format!("'{oid}'::oid"), "0");
    let is_there = format!("pg_catalog.pg_relation_filenode('{oid}'::oid) IS NOT NULL");
    let row = read(&format!(
        "SELECT n.names[1], n.names[2] FROM (SELECT CASE WHEN {is_there} THEN {names} END AS names) AS n"
    ))?
    .pop();
    let name = |mut row: Row| Some(TableName::new(row.get_mut(0)?.take()?, row.get_mut(1)?.take()?));
    Ok(row.and_then(name))
}

/// The names of columns, in their order; nothing where the relation is gone.
pub(crate) fn of_columns(
    read: impl FnOnce(&str) -> Result<Vec<Row>, Error>,
    oid: u32,
    columns: &[i32],
) -> Result<Option<Vec<String>>, Error> {
    let names = identified(&format!("'{oid}'::oid"), "c.number");
    let columns: Vec<String> = columns.iter().map(i32::to_string).collect();
    let rows = read(&format!(
        "SELECT ({names})[3] FROM pg_catalog.unnest('{{{}}}'::int[]) WITH ORDINALITY AS c (number, place) ORDER BY place",
        columns.join(",")
    ))?;
    Ok(rows.into_iter().map(|row| row.into_iter().next().flatten()).collect())
}

/// A condition: whether a relation and columns of it are called so.
pub(crate) fn are<'a>(oid: u32, name: &TableName, columns: impl Iterator<Item = (i32, &'a str)>) -> String {
    let columns: Vec<String> =
        columns.map(|(number, name)| format!("({number}, {})", literal(name))).collect();
    format!(
        "(SELECT coalesce(bool_and({} = ARRAY[{}, {}, c.name]), false) FROM (VALUES {}) AS c (number, name))",
        identified(&format!("'{oid}'::oid"), "c.number"),
        literal(&name.schema),
        literal(&name.name),
        columns.join(", ")
    )
}
