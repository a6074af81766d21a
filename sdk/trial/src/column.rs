//! Columns as people write them: `price numeric(12,2)`, `id bigint key`, `"odd name" text[]`.

use tarn_batch::{Column, Type};

use crate::Mistake;

/// Types that have no form of their own: their values are the server's text.
const OTHERS: &[&str] = &[
    "bit",
    "box",
    "cidr",
    "circle",
    "citext",
    "geography",
    "geometry",
    "hstore",
    "inet",
    "line",
    "ltree",
    "macaddr",
    "macaddr8",
    "money",
    "name",
    "path",
    "pg_lsn",
    "point",
    "polygon",
    "tsvector",
    "varbit",
    "vector",
    "xml",
];

/// Reads a column: its name, its type, and `key` for one of the key. Its place in the key and its number
/// are the caller's to set.
///
/// # Errors
/// A [`Mistake`] without a path.
pub fn column(said: &str) -> Result<Column, Mistake> {
    let wrong = || {
        let message = "expected a column, such as \"id bigint key\" or \"price numeric(12,2)\"";
        Mistake::new("", message)
    };
    let (name, rest) = match said.trim().strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').ok_or_else(wrong)?,
        None => said.trim().split_once(' ').ok_or_else(wrong)?,
    };
    let (rest, is_key) = match rest.trim().strip_suffix("key") {
        Some(before) if before.ends_with(' ') => (before.trim(), true),
        _ => (rest.trim(), false),
    };
    if name.is_empty() || rest.is_empty() {
        return Err(wrong());
    }
    let data_type =
        data_type(rest).ok_or_else(|| Mistake::new("", format!("there is no type called {rest}")))?;
    Ok(Column {
        name: name.to_owned(),
        data_type,
        type_name: rest.to_owned(),
        nullable: !is_key,
        key: u16::from(is_key),
        attribute: 0,
    })
}

/// The type of a name that PostgreSQL has for it.
fn data_type(name: &str) -> Option<Type> {
    if let Some(element) = name.strip_suffix("[]") {
        // However many brackets it is written with, PostgreSQL has one type of arrays.
        return Some(data_type(element.trim_end_matches("[]"))?.array());
    }
    let (base, modifiers) = match name.split_once('(') {
        Some((base, rest)) => (base.trim(), Some(rest.split_once(')')?)),
        None => (name, None),
    };
    let whole = modifiers.map_or_else(|| base.to_owned(), |(_, after)| format!("{base}{after}"));
    Some(match whole.to_ascii_lowercase().as_str() {
        "boolean" | "bool" => Type::Bool,
        "smallint" | "int2" => Type::Int2,
        "integer" | "int" | "int4" => Type::Int4,
        "bigint" | "int8" => Type::Int8,
        "real" | "float4" => Type::Float4,
        "double precision" | "float8" => Type::Float8,
        "numeric" | "decimal" => numeric(modifiers.map(|(inside, _)| inside))?,
        "text" | "varchar" | "character varying" | "char" | "character" | "bpchar" => Type::Text,
        "bytea" => Type::Bytes,
        "date" => Type::Date,
        "time" | "time without time zone" => Type::Time,
        "timetz" | "time with time zone" => Type::TimeTz,
        "timestamp" | "timestamp without time zone" => Type::Timestamp,
        "timestamptz" | "timestamp with time zone" => Type::TimestampTz,
        "interval" => Type::Interval,
        "uuid" => Type::Uuid,
        "json" | "jsonb" => Type::Json,
        "enum" => Type::Enum,
        other if OTHERS.contains(&other) => Type::Other,
        _ => return None,
    })
}

fn numeric(modifiers: Option<&str>) -> Option<Type> {
    let Some(modifiers) = modifiers else { return Some(Type::Numeric { precision: 0, scale: 0 }) };
    let (precision, scale) = modifiers.split_once(',').unwrap_or((modifiers, "0"));
    let precision = precision.trim().parse().ok().filter(|precision| (1..=1_000).contains(precision))?;
    let scale = scale.trim().parse().ok().filter(|scale| (-1_000..=1_000).contains(scale))?;
    Some(Type::Numeric { precision, scale })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_a_name_a_type_and_may_be_of_the_key() {
        let cases = [
            ("id bigint key", "id", Type::Int8, 1),
            ("price numeric(12, 2)", "price", Type::Numeric { precision: 12, scale: 2 }, 0),
            ("total numeric", "total", Type::Numeric { precision: 0, scale: 0 }, 0),
            ("count numeric(8)", "count", Type::Numeric { precision: 8, scale: 0 }, 0),
            ("\"odd name\" text[][]", "odd name", Type::Text.array(), 0),
            ("at timestamp(3) with time zone", "at", Type::TimestampTz, 0),
            ("name character varying(20) key", "name", Type::Text, 1),
            ("key text", "key", Type::Text, 0),
            ("ratio double precision", "ratio", Type::Float8, 0),
            ("from inet", "from", Type::Other, 0),
        ];
        for (said, name, data_type, key) in cases {
            let column = column(said).unwrap_or_else(|mistake| panic!("{said}: {mistake}"));
            assert_eq!(
                (column.name.as_str(), &column.data_type, column.key),
                (name, &data_type, key),
                "{said}"
            );
        }
    }

    #[test]
    fn what_is_no_column_is_told_from_what_is_no_type() {
        for said in ["", "id", "\"id bigint", "  ", "id  "] {
            assert!(column(said).expect_err(said).message.starts_with("expected a column"), "{said}");
        }
        for said in ["id bigimt", "n numeric(0,2)", "n numeric(2", "a b c"] {
            assert!(column(said).expect_err(said).message.starts_with("there is no type"), "{said}");
        }
    }
}
