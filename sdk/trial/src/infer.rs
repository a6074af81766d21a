//! The columns of a table whose types nobody gave, from the values that its records have.

use std::collections::HashMap;

use tarn_batch::{Column, Type};

use crate::config::COLUMNS_MAX;
use crate::record::{Kind, Record, number};
use crate::{Json, Mistake};

/// The column that is the key where no record says another one.
const USUAL_KEY: &str = "id";

/// Columns in the order in which the records have them. A whole number of 64 bits is a bigint, another
/// number a numeric, one with an exponent a double precision, a truth value a boolean, a text a text, a
/// list or an object a jsonb, and a column without any value a text.
pub(crate) fn columns(records: &[(usize, &Record)]) -> Result<Vec<Column>, Mistake> {
    let mut found: Vec<(String, Option<Type>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (at, record) in records {
        for (image, row) in [("new", &record.new), ("old", &record.old)] {
            let Some(Json::Object(fields)) = row else { continue };
            for (name, value) in fields {
                let of_value = of_value(value);
                let Some(place) = places.get(name.as_str()) else {
                    if found.len() == COLUMNS_MAX {
                        let message = format!("there are more than {COLUMNS_MAX} columns");
                        return Err(Mistake::new(format!("records[{at}].{image}"), message));
                    }
                    places.insert(name, found.len());
                    found.push((name.clone(), of_value));
                    continue;
                };
                let (_, known) = &mut found[*place];
                *known = merged(known.take(), of_value).map_err(|()| {
                    let message = "has values of several types; say its type in tables";
                    Mistake::new(format!("records[{at}].{image}.{name}"), message)
                })?;
            }
        }
    }
    let key = key(records, &found);
    let column = |(name, data_type): (String, Option<Type>)| {
        let data_type = data_type.unwrap_or(Type::Text);
        let is_key = key.contains(&name);
        let type_name = type_name(&data_type).to_owned();
        Column { name, data_type, type_name, nullable: !is_key, key: u16::from(is_key), attribute: 0 }
    };
    let mut columns: Vec<Column> = found.into_iter().map(column).collect();
    number(&mut columns);
    Ok(columns)
}

/// The columns of a row before a change that has fewer than the table are its key.
fn key(records: &[(usize, &Record)], found: &[(String, Option<Type>)]) -> Vec<String> {
    for (_, record) in records.iter().filter(|(_, record)| matches!(record.kind, Kind::Update | Kind::Delete))
    {
        if let Some(Json::Object(fields)) = &record.old
            && fields.len() < found.len()
        {
            return fields.iter().map(|(name, _)| name.clone()).collect();
        }
    }
    found.iter().filter(|(name, _)| name == USUAL_KEY).map(|(name, _)| name.clone()).collect()
}

fn of_value(value: &Json) -> Option<Type> {
    Some(match value {
        Json::Null => return None,
        Json::Bool(_) => Type::Bool,
        Json::Number(digits) if digits.parse::<i64>().is_ok() => Type::Int8,
        Json::Number(digits) if digits.contains(['e', 'E']) => Type::Float8,
        Json::Number(_) => Type::Numeric { precision: 0, scale: 0 },
        Json::Text(_) => Type::Text,
        Json::List(_) | Json::Object(_) => Type::Json,
    })
}

/// The type that holds both values; none is of every type.
fn merged(one: Option<Type>, other: Option<Type>) -> Result<Option<Type>, ()> {
    let (one, other) = match (one, other) {
        (Some(one), Some(other)) => (one, other),
        (one, other) => return Ok(one.or(other)),
    };
    let rank = |data_type: &Type| match data_type {
        Type::Int8 => Some(0),
        Type::Numeric { .. } => Some(1),
        Type::Float8 => Some(2),
        _ => None,
    };
    match (rank(&one), rank(&other)) {
        _ if one == other => Ok(Some(one)),
        (Some(of_one), Some(of_other)) => Ok(Some(if of_one > of_other { one } else { other })),
        _ => Err(()),
    }
}

fn type_name(data_type: &Type) -> &'static str {
    match data_type {
        Type::Bool => "boolean",
        Type::Int8 => "bigint",
        Type::Float8 => "double precision",
        Type::Numeric { .. } => "numeric",
        Type::Json => "jsonb",
        _ => "text",
    }
}
