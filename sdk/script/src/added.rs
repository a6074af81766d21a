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
    let Some(data_type) = data_type(&type_name) else {
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
    all.push(Added {
        table,
        column: Column { attribute, name, data_type, type_name, nullable: true, key: 0 },
    });
    Ok(())
}

/// A type by its name in PostgreSQL.
fn data_type(name: &str) -> Option<Type> {
    if let Some(element) = name.strip_suffix("[]") {
        return data_type(element).filter(|element| !matches!(element, Type::Array(_))).map(Type::array);
    }
    if let Some(modifiers) = name.strip_prefix("numeric(").and_then(|rest| rest.strip_suffix(')')) {
        let (precision, scale) = modifiers.split_once(',').unwrap_or((modifiers, "0"));
        let (precision, scale) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
        let fits = (1..=1_000).contains(&precision) && (-1_000..=1_000).contains(&scale);
        return fits.then_some(Type::Numeric { precision, scale });
    }
    Some(match name {
        "boolean" => Type::Bool,
        "smallint" => Type::Int2,
        "integer" => Type::Int4,
        "bigint" => Type::Int8,
        "real" => Type::Float4,
        "double precision" => Type::Float8,
        "numeric" => Type::Numeric { precision: 0, scale: 0 },
        "text" => Type::Text,
        "bytea" => Type::Bytes,
        "date" => Type::Date,
        "time" => Type::Time,
        "timetz" => Type::TimeTz,
        "timestamp" => Type::Timestamp,
        "timestamptz" => Type::TimestampTz,
        "interval" => Type::Interval,
        "uuid" => Type::Uuid,
        "json" | "jsonb" => Type::Json,
        _ => return None,
    })
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
