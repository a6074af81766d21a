//! A key's value in a statement, so that ClickHouse's index finds it.

use tarn_batch::value::{read_f32, read_f64};
use tarn_batch::{DecodeError, Type};

use crate::target_type::TargetType;
use crate::value_literal;

/// Appends an expression that equals the value as the target holds it in a key.
pub(crate) fn push(
    sql: &mut String,
    source: &Type,
    target: &TargetType,
    value: &[u8],
) -> Result<(), DecodeError> {
    let is_zero = match source {
        Type::Float4 => read_f32(value)? == 0.0,
        Type::Float8 => read_f64(value)? == 0.0,
        _ => false,
    };
    if is_zero && matches!(target, TargetType::Float32 | TargetType::Float64) {
        // In a key zero has no sign.
        sql.push('0');
        return Ok(());
    }
    value_literal::push(sql, source, target, value)
}
