//! A key's columns as text: how keys are told to the source and come back from there.

use tarn_batch::Type;
use tarn_sdk::Failure;
use tarn_sdk::sql::clickhouse::{ident, literal};

use crate::plan::{Plan, PlannedColumn};
use crate::read_back::Wanted;
use crate::target_type::TargetType;

/// The key's columns by their sources, in the source's order; the plan has them in that of the sorting key.
pub(super) fn source_order(plan: &Plan) -> Vec<usize> {
    plan.table.key_columns()
}

/// An expression that is a stored value's text, as the source reads it.
pub(super) fn expression(source: &Type, column: &PlannedColumn) -> String {
    let name = ident(&column.name);
    let text = match (source, column.data_type.value_type()) {
        (Type::Bytes, _) => format!(r"concat('\\x', lower(hex({name})))"),
        (_, TargetType::DateTime { .. } | TargetType::DateTime64 { .. }) => {
            format!("toString(toTimeZone({name}, 'UTC'))")
        }
        _ => format!("toString({name})"),
    };
    format!("CAST({text}, 'String')")
}

/// A key from the texts of its columns in the source's order, as a tuple in the order of the sorting key.
pub(super) fn wanted(plan: &Plan, key: &[String]) -> Result<Wanted, Failure> {
    values(plan, key).map(|values| Wanted::of_literal(format!("({})", values.join(", "))))
}

/// The columns of a key, each as an expression of its column's type, in the order of the sorting key.
pub(super) fn values(plan: &Plan, key: &[String]) -> Result<Vec<String>, Failure> {
    let order = source_order(plan);
    if key.len() != order.len() {
        let message = format!("a key of {} columns, not {}", key.len(), order.len());
        return Err(Failure::permanent("key_invalid", message).with_table(plan.table.qualified_name()));
    }
    let value = |source: &usize| {
        let at = order.iter().position(|other| other == source).expect("both are the key");
        let column = plan.column(*source)?;
        Some(value(&plan.table.columns[*source].data_type, column, &key[at]))
    };
    Ok(plan.key.iter().filter_map(value).collect())
}

/// A text as an expression of its column's type. Both the server's own texts and the source's are read.
fn value(source: &Type, column: &PlannedColumn, text: &str) -> String {
    let (text, type_text) = match (source, column.data_type.value_type()) {
        (Type::Bytes, _) => {
            let digits = text.strip_prefix(r"\x").unwrap_or(text);
            return format!(
                "CAST(unhex({}), {})",
                literal(digits),
                literal(&column.data_type.value_type().to_string())
            );
        }
        (Type::Bool, TargetType::Int(_) | TargetType::UInt(_)) => {
            let digit = if matches!(text, "t" | "true" | "1") { "1" } else { "0" };
            (digit, column.data_type.value_type().to_string())
        }
        // It has no other digits than zeros after the point.
        (Type::Numeric { .. }, TargetType::Int(_) | TargetType::UInt(_)) => {
            (text.split('.').next().unwrap_or_default(), column.data_type.value_type().to_string())
        }
        (Type::Float4 | Type::Float8, TargetType::Float32 | TargetType::Float64) if text == "-0" => {
            // In a key zero has no sign.
            ("0", column.data_type.value_type().to_string())
        }
        (Type::Timestamp | Type::TimestampTz, TargetType::DateTime { .. }) => {
            (text.trim_end_matches("+00"), "DateTime('UTC')".to_owned())
        }
        (Type::Timestamp | Type::TimestampTz, TargetType::DateTime64 { precision, .. }) => {
            (text.trim_end_matches("+00"), format!("DateTime64({precision}, 'UTC')"))
        }
        _ => (text, column.data_type.value_type().to_string()),
    };
    format!("CAST({}, {})", literal(text), literal(&type_text))
}
