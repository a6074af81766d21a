//! What guests return, checked and translated into what the host speaks.

use bytes::Bytes;
use tarn_batch::DecodeError;
use tarn_model::{Failure, FailureClass, Problem};
use tarn_replication::{Batch, Limits};

use crate::bindings::tarn::plugin::types;

/// A failure as the guest tells it.
pub(crate) fn failure(told: types::Failure) -> Failure {
    let class = match told.class {
        types::FailureClass::Retry => FailureClass::Retry,
        types::FailureClass::Permanent => FailureClass::Permanent,
        types::FailureClass::PositionLost => FailureClass::PositionLost,
        types::FailureClass::Record => FailureClass::Record,
    };
    Failure { class, code: told.code, message: told.message, hint: told.hint, table: told.table }
}

pub(crate) fn problems(found: Vec<types::Problem>) -> Vec<Problem> {
    found
        .into_iter()
        .map(|problem| Problem { path: problem.path, message: problem.message, hint: problem.hint })
        .collect()
}

pub(crate) fn limits(limits: Limits) -> types::Limits {
    let wait_ms = u32::try_from(limits.wait.as_millis()).unwrap_or(u32::MAX);
    types::Limits { rows_max: limits.rows_max, bytes_max: limits.bytes_max, wait_ms }
}

/// Bytes that the guest says are a batch; `None` where they are empty. Tables and the rows' envelopes are
/// read, cells are not: whoever decodes those checks them.
pub(crate) fn batch(label: &str, function: &str, bytes: Vec<u8>) -> Result<Option<Batch>, Failure> {
    if bytes.is_empty() {
        return Ok(None);
    }
    match count_rows(&bytes) {
        Ok(rows) => Ok(Some(Batch { rows, bytes: Bytes::from(bytes) })),
        Err(error) => Err(invalid(label, function, &error.to_string())),
    }
}

fn count_rows(bytes: &[u8]) -> Result<u32, DecodeError> {
    let batch = tarn_batch::Batch::parse(bytes)?;
    batch.rows().try_for_each(|row| row.map(drop))?;
    Ok(batch.row_count())
}

/// The same where the guest says how many rows there are.
pub(crate) fn counted_batch(
    label: &str,
    function: &str,
    bytes: Vec<u8>,
    rows: u32,
) -> Result<Option<Batch>, Failure> {
    let batch = batch(label, function, bytes)?;
    let found = batch.as_ref().map_or(0, |batch| batch.rows);
    if found != rows {
        return Err(invalid(label, function, &format!("it says {rows} rows and holds {found}")));
    }
    Ok(batch)
}

/// A batch that describes tables; `None` where it is empty.
pub(crate) fn schema_change(label: &str, function: &str, bytes: Vec<u8>) -> Result<Option<Bytes>, Failure> {
    Ok(batch(label, function, bytes)?.map(|batch| batch.bytes))
}

/// A batch that describes tables, and at least one.
pub(crate) fn schema(label: &str, function: &str, bytes: Vec<u8>) -> Result<Bytes, Failure> {
    let batch = schema_change(label, function, bytes)?;
    batch.ok_or_else(|| invalid(label, function, "it is empty"))
}

pub(crate) fn invalid(label: &str, function: &str, what: &str) -> Failure {
    Failure::permanent(
        "plugin_batch_invalid",
        format!("{label} returned an invalid batch from {function}: {what}"),
    )
    .with_hint("report it to whoever wrote the plugin")
}
