//! Batches and counts: what the streams wrote.

use sqlx::any::AnyRow;
use sqlx::{Any, Transaction};
use tarn_model::{CdcBatch, Failure, RowCounts, Timestamp};
use tarn_replication::BatchRecord;

use crate::config::{BATCH_TRIM_EVERY, BATCHES_PER_MIRROR_MAX};
use crate::database::{integer, now, optional_integer, signed, text, unsigned};
use crate::{Catalog, CatalogError, history};

/// Which batches to list. Batches are counted from 1; no bound is no filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchQuery {
    /// Most batches to return; `None` for all.
    pub limit: Option<u32>,
    /// Oldest first.
    pub ascending: bool,
    /// Only batches before this one.
    pub before: Option<u64>,
    /// Only batches after this one.
    pub after: Option<u64>,
}

/// A page of batches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchPage {
    /// In the order asked for.
    pub batches: Vec<CdcBatch>,
    /// How many batches of the mirror come before the first one in that order, over all pages.
    pub skipped: u64,
}

impl Catalog {
    /// Stores that a batch got its first row: it is listed without an end until a checkpoint ends it.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn begin_batch(&self, mirror: i64, number: u64, start: u64) -> Result<(), CatalogError> {
        let mut transaction = self.database().begin().await?;
        sqlx::query(
            "INSERT INTO cdc_batches (mirror_id, batch_id, start_lsn, end_lsn, num_rows, started_us)
             VALUES ($1, $2, $3, $3, 0, $4)
             ON CONFLICT (mirror_id, batch_id) DO UPDATE SET start_lsn = excluded.start_lsn,
                 end_lsn = excluded.end_lsn, started_us = excluded.started_us
             WHERE cdc_batches.ended_us IS NULL",
        )
        .bind(mirror)
        .bind(signed(number, "a batch number")?)
        .bind(signed(start, "a sequence")?)
        .bind(now().micros())
        .execute(&mut *transaction)
        .await
        .map_err(CatalogError::query("batch"))?;
        transaction.commit().await.map_err(CatalogError::query("batch"))
    }

    /// Batches of a mirror. With `after` the batches right after it, else the ones nearest before
    /// `before`, else those at the beginning of the order asked for.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn batches(&self, mirror: i64, query: BatchQuery) -> Result<BatchPage, CatalogError> {
        let failed = || CatalogError::query("batch list");
        let from_oldest = match (query.before, query.after) {
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (None, None) | (Some(_), Some(_)) => query.ascending,
        };
        let statement = if from_oldest {
            "SELECT batch_id, start_lsn, end_lsn, num_rows, started_us, ended_us FROM cdc_batches
             WHERE mirror_id = $1 AND batch_id < $2 AND batch_id > $3 ORDER BY batch_id LIMIT $4"
        } else {
            "SELECT batch_id, start_lsn, end_lsn, num_rows, started_us, ended_us FROM cdc_batches
             WHERE mirror_id = $1 AND batch_id < $2 AND batch_id > $3 ORDER BY batch_id DESC LIMIT $4"
        };
        let bound = |id: Option<u64>, none: i64| id.map_or(none, |id| i64::try_from(id).unwrap_or(i64::MAX));
        let rows = sqlx::query(statement)
            .bind(mirror)
            .bind(bound(query.before, i64::MAX))
            .bind(bound(query.after, -1))
            .bind(query.limit.map_or(i64::MAX, i64::from))
            .fetch_all(self.database().reader())
            .await
            .map_err(failed())?;
        let mut batches = rows.iter().map(batch).collect::<Result<Vec<_>, _>>()?;
        if from_oldest != query.ascending {
            batches.reverse();
        }
        let Some(first) = batches.first() else { return Ok(BatchPage::default()) };
        let statement = if query.ascending {
            "SELECT COUNT(*) FROM cdc_batches WHERE mirror_id = $1 AND batch_id < $2"
        } else {
            "SELECT COUNT(*) FROM cdc_batches WHERE mirror_id = $1 AND batch_id > $2"
        };
        let row = sqlx::query(statement)
            .bind(mirror)
            .bind(signed(first.batch_id, "a batch number")?)
            .fetch_one(self.database().reader())
            .await
            .map_err(failed())?;
        Ok(BatchPage { skipped: unsigned(&row, 0)?, batches })
    }

    /// Adds to the counts of tables, by the destination's name.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn count_rows(&self, mirror: i64, counts: &[(String, RowCounts)]) -> Result<(), CatalogError> {
        let mut transaction = self.database().begin().await?;
        for (table, counts) in counts {
            sqlx::query(
                "INSERT INTO table_counts (mirror_id, table_name, inserts, updates, deletes)
                 VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT (mirror_id, table_name) DO UPDATE SET
                     inserts = table_counts.inserts + excluded.inserts,
                     updates = table_counts.updates + excluded.updates,
                     deletes = table_counts.deletes + excluded.deletes",
            )
            .bind(mirror)
            .bind(table)
            .bind(signed(counts.inserts_count, "a count")?)
            .bind(signed(counts.updates_count, "a count")?)
            .bind(signed(counts.deletes_count, "a count")?)
            .execute(&mut *transaction)
            .await
            .map_err(CatalogError::query("row counts"))?;
        }
        transaction.commit().await.map_err(CatalogError::query("row counts"))
    }

    /// The counts of a mirror's tables, by name.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn row_counts(&self, mirror: i64) -> Result<Vec<(String, RowCounts)>, CatalogError> {
        let rows = sqlx::query(
            "SELECT table_name, inserts, updates, deletes FROM table_counts WHERE mirror_id = $1
             ORDER BY table_name",
        )
        .bind(mirror)
        .fetch_all(self.database().reader())
        .await
        .map_err(CatalogError::query("row counts"))?;
        rows.iter()
            .map(|row| {
                let (inserts, updates, deletes) = (unsigned(row, 1)?, unsigned(row, 2)?, unsigned(row, 3)?);
                let counts = RowCounts {
                    total_count: inserts + updates + deletes,
                    inserts_count: inserts,
                    updates_count: updates,
                    deletes_count: deletes,
                };
                Ok((text(row, 0)?, counts))
            })
            .collect()
    }
}

/// Stores batches that ended, in the checkpoint's transaction, and adds up the mirror's rows.
pub(crate) async fn store_ended(
    transaction: &mut Transaction<'static, Any>,
    mirror: i64,
    batches: &[BatchRecord],
) -> Result<(), Failure> {
    let Some(first) = batches.first() else { return Ok(()) };
    let failed = || CatalogError::query("batch");
    let row = sqlx::query(
        "SELECT COALESCE(MAX(batch_id), 0) FROM cdc_batches WHERE mirror_id = $1 AND ended_us IS NOT NULL",
    )
    .bind(mirror)
    .fetch_one(&mut **transaction)
    .await
    .map_err(failed())?;
    let last = unsigned(&row, 0)?;
    if first.number <= last {
        return Err(Failure::permanent(
            "batch_not_new",
            format!("batch {} ended before; the last one is {last}", first.number),
        )
        .with_hint("make sure that only one tarn runs this mirror"));
    }
    let mut rows = 0;
    for batch in batches {
        rows += signed(batch.rows, "a count")?;
        upsert_ended(transaction, mirror, batch).await?;
        let started = Timestamp::from(batch.started);
        history::add(transaction, mirror, started, batch.rows).await?;
        if batch.number.is_multiple_of(BATCH_TRIM_EVERY) {
            trim(transaction, mirror, batch.number).await?;
            history::trim(transaction, mirror, started).await?;
        }
    }
    sqlx::query("UPDATE mirrors SET rows_synced = rows_synced + $1 WHERE id = $2")
        .bind(rows)
        .bind(mirror)
        .execute(&mut **transaction)
        .await
        .map_err(failed())?;
    Ok(())
}

async fn upsert_ended(
    transaction: &mut Transaction<'static, Any>,
    mirror: i64,
    batch: &BatchRecord,
) -> Result<(), CatalogError> {
    sqlx::query(
        "INSERT INTO cdc_batches (mirror_id, batch_id, start_lsn, end_lsn, num_rows, started_us, ended_us)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (mirror_id, batch_id) DO UPDATE SET start_lsn = excluded.start_lsn,
             end_lsn = excluded.end_lsn, num_rows = excluded.num_rows, started_us = excluded.started_us,
             ended_us = excluded.ended_us",
    )
    .bind(mirror)
    .bind(signed(batch.number, "a batch number")?)
    .bind(signed(batch.first_sequence, "a sequence")?)
    .bind(signed(batch.last_sequence, "a sequence")?)
    .bind(signed(batch.rows, "a count")?)
    .bind(Timestamp::from(batch.started).micros())
    .bind(Timestamp::from(batch.ended).micros())
    .execute(&mut **transaction)
    .await
    .map_err(CatalogError::query("batch"))?;
    Ok(())
}

async fn trim(
    transaction: &mut Transaction<'static, Any>,
    mirror: i64,
    newest: u64,
) -> Result<(), CatalogError> {
    sqlx::query("DELETE FROM cdc_batches WHERE mirror_id = $1 AND batch_id <= $2")
        .bind(mirror)
        .bind(signed(newest.saturating_sub(BATCHES_PER_MIRROR_MAX), "a batch number")?)
        .execute(&mut **transaction)
        .await
        .map_err(CatalogError::query("batch"))?;
    Ok(())
}

fn batch(row: &AnyRow) -> Result<CdcBatch, CatalogError> {
    Ok(CdcBatch {
        batch_id: unsigned(row, 0)?,
        start_lsn: unsigned(row, 1)?,
        end_lsn: unsigned(row, 2)?,
        num_rows: unsigned(row, 3)?,
        start_time: Timestamp::from_micros(integer(row, 4)?),
        end_time: optional_integer(row, 5)?.map(Timestamp::from_micros),
    })
}
