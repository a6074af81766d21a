//! Rows as the mirror's script leaves them.

use bytes::Bytes;
use tarn_batch::{BatchWriter, DecodeError};
use tarn_model::Failure;
use tarn_replication::{Batch, Transform as _};
use tarn_wasm::ScriptInstance;

use super::keys;
use crate::records::chain::Chain;

/// The mirror's scripts, if it has any, as one.
pub(super) struct Script(Option<Chain<ScriptInstance>>);

/// Rows that went through the script.
pub(super) struct Scripted {
    /// What the destination should hold.
    pub(super) rows: Batch,
    /// Rows that the script failed at.
    pub(super) rejected: u64,
    /// Whether all of them have keys that went into it.
    pub(super) keeps_keys: bool,
    /// Whether each row came out as one.
    one_by_one: bool,
}

impl Script {
    pub(super) fn new(chain: Option<Chain<ScriptInstance>>) -> Self {
        Self(chain)
    }

    /// Sends rows through it.
    pub(super) async fn apply(&mut self, read: &Batch) -> Result<Scripted, Failure> {
        let Some(script) = &mut self.0 else {
            return Ok(Scripted { rows: read.clone(), rejected: 0, keeps_keys: true, one_by_one: true });
        };
        let done = script.apply(read.clone()).await?;
        let rejected = u64::try_from(done.rejected.len()).unwrap_or(u64::MAX);
        let one_by_one = done.dropped == 0 && rejected == 0 && done.batch.rows == read.rows;
        let keeps_keys = done.batch.rows == 0 || keeps_keys(read, &done.batch).map_err(damaged)?;
        Ok(Scripted { rows: done.batch, rejected, keeps_keys, one_by_one })
    }

    /// For each row that came out, which of those that were read it came from. Where their numbers differ, each
    /// row goes through once more by itself.
    pub(super) async fn origins(&mut self, read: &Batch, scripted: &Scripted) -> Result<Vec<usize>, Failure> {
        let script = match &mut self.0 {
            Some(script) if !scripted.one_by_one => script,
            _ => return Ok((0..read.rows as usize).collect()),
        };
        let mut origins = Vec::with_capacity(scripted.rows.rows as usize);
        for (at, single) in singles(read).map_err(damaged)?.into_iter().enumerate() {
            let rows = script.apply(single).await?.batch.rows;
            origins.extend(std::iter::repeat_n(at, rows as usize));
        }
        if origins.len() != scripted.rows.rows as usize {
            let message = "the script makes other rows of a batch than of its rows one by one";
            return Err(Failure::permanent("script_not_comparable", message)
                .with_hint("a script whose result depends on earlier rows cannot be verified"));
        }
        Ok(origins)
    }
}

fn keeps_keys(read: &Batch, scripted: &Batch) -> Result<bool, DecodeError> {
    keys::kept(&tarn_batch::Batch::parse(&read.bytes)?, &tarn_batch::Batch::parse(&scripted.bytes)?)
}

/// Each row as a batch of its own.
fn singles(read: &Batch) -> Result<Vec<Batch>, DecodeError> {
    let batch = tarn_batch::Batch::parse(&read.bytes)?;
    batch
        .rows()
        .map(|row| {
            let row = row?;
            let mut writer = BatchWriter::with_capacity(row.raw().len());
            let table = writer.add_table(batch.table(&row));
            writer.append_row(&row, table);
            Ok(Batch { bytes: Bytes::from(writer.finish()), rows: 1 })
        })
        .collect()
}

/// The failure of a batch that cannot be read.
pub(super) fn damaged(error: DecodeError) -> Failure {
    Failure::permanent("batch_damaged", format!("rows to compare cannot be read: {error}"))
}
