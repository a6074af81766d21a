//! Columns that a script adds to its tables: declared where it begins, and assigned like any other.

use tarn_batch::{Column, Table, Type};

use crate::config::ADDED_COLUMNS_MAX;

/// A column that a script declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// The qualified name of its table.
    table: String,
    column: Column,
}

/// Adds a column to those that a script declared: the qualified name of its table, its own, and its type as
/// PostgreSQL names it.
///
/// # Errors
/// Why it cannot be declared, for the script's author.
pub fn declare(all: &mut Vec<Added>, table: String, name: String, type_name: String) -> Result<(), String> {
    let Some((data_type, type_name)) = data_type(&type_name) else {
        return Err(format!(
            "there is no type \"{type_name}\" for a column: name one as PostgreSQL does, such as text, bigint, \
             numeric(12,2) or timestamptz"
        ));
    };
    if all.iter().any(|other| other.table == table && other.column.name == name) {
        return Err(format!("the column {name} is declared twice"));
    }
    if all.len() == ADDED_COLUMNS_MAX {
        return Err(format!("a script declares at most {ADDED_COLUMNS_MAX} columns"));
    }
    let attribute = number(&name);
    if let Some(other) = all.iter().find(|other| other.table == table && other.column.attribute == attribute)
    {
        return Err(format!("{name} and {} cannot both be added to a table: rename one", other.column.name));
    }
    all.push(Added {
        table,
        column: Column { attribute, name, data_type, type_name, nullable: true, key: 0 },
    });
    Ok(())
}

/// A type by any of its names in PostgreSQL, and the name that Tarn uses.
fn data_type(name: &str) -> Option<(Type, String)> {
    let name = name.trim().to_ascii_lowercase().split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(element) = name.strip_suffix("[]") {
        let (element, name) = data_type(element)?;
        return (!matches!(element, Type::Array(_))).then(|| (element.array(), format!("{name}[]")));
    }
    let (bare, modifiers) = without_modifiers(&name)?;
    let plain = |data_type, name: &str| Some((data_type, name.to_owned()));
    match (&*bare, modifiers) {
        ("numeric" | "decimal" | "dec", Some(modifiers)) => {
            let (precision, scale) = modifiers.split_once(',').unwrap_or((modifiers, "0"));
            let (precision, scale) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
            let fits = (1..=1_000).contains(&precision) && (-1_000..=1_000).contains(&scale);
            fits.then(|| (Type::Numeric { precision, scale }, format!("numeric({precision},{scale})")))
        }
        // Lengths and digits of seconds are not checked: the script says what it assigns.
        ("varchar" | "character varying", _) => plain(Type::Text, "text"),
        ("time" | "time without time zone", _) => plain(Type::Time, "time"),
        ("timetz" | "time with time zone", _) => plain(Type::TimeTz, "timetz"),
        ("timestamp" | "timestamp without time zone", _) => plain(Type::Timestamp, "timestamp"),
        ("timestamptz" | "timestamp with time zone", _) => plain(Type::TimestampTz, "timestamptz"),
        (_, Some(_)) => None,
        ("boolean" | "bool", None) => plain(Type::Bool, "boolean"),
        ("smallint" | "int2", None) => plain(Type::Int2, "smallint"),
        ("integer" | "int" | "int4", None) => plain(Type::Int4, "integer"),
        ("bigint" | "int8", None) => plain(Type::Int8, "bigint"),
        ("real" | "float4", None) => plain(Type::Float4, "real"),
        ("double precision" | "float8" | "float", None) => plain(Type::Float8, "double precision"),
        ("numeric" | "decimal" | "dec", None) => plain(Type::Numeric { precision: 0, scale: 0 }, "numeric"),
        ("text", None) => plain(Type::Text, "text"),
        ("bytea", None) => plain(Type::Bytes, "bytea"),
        ("date", None) => plain(Type::Date, "date"),
        ("interval", None) => plain(Type::Interval, "interval"),
        ("uuid", None) => plain(Type::Uuid, "uuid"),
        (name @ ("json" | "jsonb"), None) => plain(Type::Json, name),
        _ => None,
    }
}

/// A name without what is in parentheses, which may stand in its middle: `timestamp(3) with time zone`.
fn without_modifiers(name: &str) -> Option<(String, Option<&str>)> {
    let Some((before, rest)) = name.split_once('(') else { return Some((name.to_owned(), None)) };
    let (modifiers, after) = rest.split_once(')')?;
    let numbers = modifiers.split(',').map(|number| number.trim().parse::<i16>());
    if numbers.into_iter().any(|number| number.is_err()) {
        return None;
    }
    Some((format!("{} {}", before.trim_end(), after.trim_start()).trim_end().to_owned(), Some(modifiers)))
}

/// The number of a column that a source did not number: negative, and the same for the same name.
fn number(name: &str) -> i32 {
    -((hash(name.as_bytes()) & 0x3fff_ffff) as i32) - 1
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// A table with the columns that a script adds to it. One that the source has by now is the source's.
pub fn extend(table: &Table, added: &[Added]) -> Table {
    let mut extended = table.clone();
    let source = table.qualified_name();
    for Added { column, .. } in added.iter().filter(|added| added.table == source) {
        if table.columns.iter().all(|own| own.name != column.name) {
            extended.columns.push(column.clone());
            // Other columns are another version.
            let what = format!("{} {}", column.name, column.type_name);
            extended.version = extended.version.wrapping_mul(31).wrapping_add(hash(what.as_bytes()));
        }
    }
    extended
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{data_type, declare, number};

    #[test]
    fn columns_of_one_number_are_not_added_to_one_table() {
        let mut seen = HashMap::new();
        let names = (0..1_000_000).map(|at| format!("c{at}"));
        let mut pairs = names.filter_map(|name| Some((seen.insert(number(&name), name.clone())?, name)));
        let (one, other) = pairs.next().expect("30 bits, so many names");
        let mut all = Vec::new();
        let mut add = |table: &str, name: &str| declare(&mut all, table.into(), name.into(), "text".into());
        add("public.t", &one).expect("the first");
        add("public.other", &other).expect("of another table");
        let refused = add("public.t", &other).expect_err("the same number");
        assert_eq!(refused, format!("{other} and {one} cannot both be added to a table: rename one"));
    }

    #[test]
    fn types_go_by_all_their_names() {
        for (name, known) in [
            ("int", "integer"),
            ("INT8", "bigint"),
            ("Bool", "boolean"),
            ("decimal(10,2)", "numeric(10,2)"),
            ("numeric(5)", "numeric(5,0)"),
            ("float8", "double precision"),
            ("double  precision", "double precision"),
            ("varchar(20)", "text"),
            ("character varying(20)", "text"),
            ("timestamp with time zone", "timestamptz"),
            ("timestamp(3) with time zone", "timestamptz"),
            ("timestamp(3)", "timestamp"),
            ("time (3) without time zone", "time"),
            ("int4[]", "integer[]"),
            ("jsonb", "jsonb"),
        ] {
            assert_eq!(data_type(name).expect(name).1, known, "{name}");
        }
        for name in ["", "money", "text(5)", "numeric(0,2)", "timestamp(x)", "int4[][]", "varchar(20"] {
            assert_eq!(data_type(name), None, "{name}");
        }
    }
}
