//! Columns, before a mirror maps any.

use std::collections::HashSet;

use tarn_batch::Type;
use tarn_sdk::Failure;
use tarn_sdk::inspection::ColumnInfo;
use tarn_sdk::sql::postgres::literal;

use super::ask;
use crate::catalog::{self, Identity};
use crate::peer::{Peer, text};
use crate::side::Side;
use crate::table_name::TableName;
use crate::type_catalog::{ColumnType, Types};

/// The columns of a table in its own order.
pub(super) fn of_table<P: Peer>(
    side: &mut Side<P>,
    schema: &str,
    name: &str,
) -> Result<Vec<ColumnInfo>, Failure> {
    let name = TableName::new(schema, name);
    let table = catalog::tables_named(side, [&name])?.remove(&name).ok_or_else(|| {
        Failure::permanent("table_missing", format!("there is no table {name}"))
            .with_hint("names are case-sensitive")
            .with_table(name.to_string())
    })?;
    let primary = primary_key(side, table.oid)?;
    let by_key = matches!(table.identity, Identity::Default | Identity::Index);
    let mut types = Types::default();
    types.look_up(side, table.columns.iter().map(|column| (column.type_oid, column.type_modifier)))?;
    let columns = table.columns.into_iter().map(|column| {
        let known = types.get((column.type_oid, column.type_modifier));
        ColumnInfo {
            r#type: known.name.clone(),
            qkind: kind(known),
            is_key: primary.contains(&column.name),
            is_replica_identity: by_key && column.key != 0,
            name: column.name,
        }
    });
    Ok(columns.collect())
}

fn primary_key<P: Peer>(side: &mut Side<P>, oid: u32) -> Result<HashSet<String>, Failure> {
    let rows = ask(
        side,
        &format!(
            "SELECT a.attname FROM pg_catalog.pg_index i
             CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k (attnum, place)
             JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
             WHERE i.indrelid = {}::oid AND i.indisprimary AND k.place <= i.indnkeyatts",
            literal(&oid.to_string())
        ),
    )?;
    rows.iter().map(|row| Ok(text(row, 0)?.to_owned())).collect()
}

/// The type in the words that clients of the API share. They have none for most arrays of rare types,
/// which they read as arrays of texts.
fn kind(column: &ColumnType) -> String {
    match &column.data_type {
        Type::Array(element) => match scalar(element, &column.name) {
            "bytes" | "time" | "timetz" => "array_string".to_owned(),
            element => format!("array_{element}"),
        },
        other => scalar(other, &column.name).to_owned(),
    }
}

fn scalar(data_type: &Type, name: &str) -> &'static str {
    match data_type {
        Type::Bool => "bool",
        Type::Int2 => "int16",
        Type::Int4 => "int32",
        Type::Int8 => "int64",
        Type::Float4 => "float32",
        Type::Float8 => "float64",
        Type::Numeric { .. } => "numeric",
        Type::Bytes => "bytes",
        Type::Date => "date",
        Type::Time => "time",
        Type::TimeTz => "timetz",
        Type::Timestamp => "timestamp",
        Type::TimestampTz => "timestamptz",
        Type::Interval => "interval",
        Type::Uuid => "uuid",
        Type::Json if name.starts_with("jsonb") => "jsonb",
        Type::Json => "json",
        Type::Enum => "enum",
        Type::Text | Type::Other | Type::Array(_) => "string",
    }
}
