//! How letters stand in the catalog's rows.

use sqlx::any::AnyRow;
use tarn_model::{DeadLetter, DeadLetterState, Enumerated as _, RecordStage, Timestamp};

use super::LetterMark;
use crate::CatalogError;
use crate::config::LOG_MESSAGE_BYTES_MAX;
use crate::database::{integer, optional_integer, small, text, unsigned};

/// A letter, of the columns that are selected for it.
pub(super) fn letter(row: &AnyRow) -> Result<DeadLetter, CatalogError> {
    let (stage, state) = (text(row, 4)?, text(row, 14)?);
    let (position, ordinal) = version(&text(row, 5)?)?;
    Ok(DeadLetter {
        id: integer(row, 0)?,
        table: text(row, 1)?,
        key: text(row, 2)?,
        kind: text(row, 3)?,
        stage: RecordStage::from_name(&stage)
            .ok_or(stage)
            .map_err(CatalogError::content("dead_letters.stage"))?,
        position,
        ordinal,
        commit_time: optional_integer(row, 6)?.map(Timestamp::from_micros),
        script: text(row, 7)?,
        script_version: small(row, 8)?,
        line: small(row, 9)?,
        function: text(row, 10)?,
        message: text(row, 11)?,
        log_lines: serde_json::from_str(&text(row, 12)?)
            .map_err(CatalogError::content("dead_letters.log_lines"))?,
        bytes: unsigned(row, 13)?,
        state: DeadLetterState::from_name(&state)
            .ok_or(state)
            .map_err(CatalogError::content("dead_letters.state"))?,
        created_at: Timestamp::from_micros(integer(row, 15)?),
        settled_at: optional_integer(row, 16)?.map(Timestamp::from_micros),
    })
}

/// A letter as short as can be: identity, keys and version.
pub(super) fn mark(row: &AnyRow) -> Result<LetterMark, CatalogError> {
    let (position, ordinal) = version(&text(row, 2)?)?;
    Ok(LetterMark { identity: text(row, 0)?, row_keys: keys(&text(row, 1)?), position, ordinal })
}

/// The keys of a letter's rows.
pub(super) fn keys(text: &str) -> Vec<String> {
    text.split(',').filter(|key| !key.is_empty()).map(str::to_owned).collect()
}

/// A version as text that sorts alike.
pub(super) fn version_text(position: u64, ordinal: u64) -> String {
    format!("{position:016x}{ordinal:016x}")
}

fn version(text: &str) -> Result<(u64, u64), CatalogError> {
    let half = |text: Option<&str>| text.and_then(|text| u64::from_str_radix(text, 16).ok());
    half(text.get(..16))
        .zip(half(text.get(16..)))
        .ok_or_else(|| text.to_owned())
        .map_err(CatalogError::content("dead_letters.version"))
}

/// Lines as one text.
pub(super) fn lines_text(lines: &[String]) -> Result<String, CatalogError> {
    serde_json::to_string(lines).map_err(CatalogError::content("dead_letters.log_lines"))
}

/// What of a text is kept.
pub(super) fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(LOG_MESSAGE_BYTES_MAX)]
}
