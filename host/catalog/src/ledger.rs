//! The snapshot's ledger: which tables load, how they are cut, what is done.

use std::collections::HashMap;

use sqlx::any::AnyRow;
use tarn_model::{Failure, TableLoad, Timestamp};
use tarn_replication::{PartitionDone, PartitionProgress, PartitionState, SnapshotLedger, TableProgress};

use crate::database::{integer, now, optional_integer, signed, small, text, unsigned};
use crate::{Catalog, CatalogError};

/// The ledger of one mirror.
#[derive(Clone, Debug)]
pub struct MirrorLedger {
    catalog: Catalog,
    mirror: i64,
}

impl Catalog {
    /// Where the load of a mirror keeps its progress. [`Catalog::begin_load`] comes first.
    pub fn ledger(&self, mirror: i64) -> MirrorLedger {
        MirrorLedger { catalog: self.clone(), mirror }
    }

    /// Stores which tables load, source and destination name each, after those already there. A table
    /// that is there keeps its progress.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn begin_load(&self, mirror: i64, tables: &[(String, String)]) -> Result<(), CatalogError> {
        let mut transaction = self.database().begin().await?;
        for (source, destination) in tables {
            sqlx::query(
                "INSERT INTO snapshot_tables (mirror_id, source_table, destination_table, ordinal, planned)
                 VALUES ($1, $2, $3, (SELECT COUNT(*) FROM snapshot_tables WHERE mirror_id = $1), 0)
                 ON CONFLICT (mirror_id, source_table) DO NOTHING",
            )
            .bind(mirror)
            .bind(source)
            .bind(destination)
            .execute(&mut *transaction)
            .await
            .map_err(CatalogError::query("snapshot tables"))?;
        }
        transaction.commit().await.map_err(CatalogError::query("snapshot tables"))
    }

    /// Forgets tables that a mirror let go of.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn forget_load(&self, mirror: i64, sources: &[String]) -> Result<(), CatalogError> {
        let mut transaction = self.database().begin().await?;
        for source in sources {
            sqlx::query("DELETE FROM snapshot_tables WHERE mirror_id = $1 AND source_table = $2")
                .bind(mirror)
                .bind(source)
                .execute(&mut *transaction)
                .await
                .map_err(CatalogError::query("snapshot tables"))?;
        }
        transaction.commit().await.map_err(CatalogError::query("snapshot tables"))
    }

    /// A number for the next point a load of the mirror reads at: greater than every earlier one.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn next_generation(&self, mirror: i64) -> Result<u32, CatalogError> {
        let mut transaction = self.database().begin().await?;
        let row =
            sqlx::query("UPDATE mirrors SET generation = generation + 1 WHERE id = $1 RETURNING generation")
                .bind(mirror)
                .fetch_one(&mut *transaction)
                .await
                .map_err(CatalogError::query("generation"))?;
        let generation = small(&row, 0)?;
        transaction.commit().await.map_err(CatalogError::query("generation"))?;
        Ok(generation)
    }

    /// Stores that a worker starts on a partition, for the mean time that people see.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn begin_partition(&self, mirror: i64, table: &str, number: u32) -> Result<(), CatalogError> {
        let mut transaction = self.database().begin().await?;
        sqlx::query(
            "UPDATE snapshot_partitions SET started_us = $1
             WHERE mirror_id = $2 AND source_table = $3 AND number = $4",
        )
        .bind(now().micros())
        .bind(mirror)
        .bind(table)
        .bind(i64::from(number))
        .execute(&mut *transaction)
        .await
        .map_err(CatalogError::query("partition"))?;
        transaction.commit().await.map_err(CatalogError::query("partition"))
    }

    /// Progress of each table's load, in the order they load in.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn loads(&self, mirror: i64) -> Result<Vec<TableLoad>, CatalogError> {
        let rows = sqlx::query(
            "SELECT t.source_table, t.destination_table, m.name, t.planned, COUNT(p.number),
                 CAST(COALESCE(SUM(p.done), 0) AS BIGINT), CAST(COALESCE(SUM(p.row_count), 0) AS BIGINT),
                 MIN(p.started_us),
                 CAST(COALESCE(SUM(CASE WHEN p.done = 1 AND p.finished_us > p.started_us
                               THEN p.finished_us - p.started_us END), 0) AS BIGINT)
             FROM snapshot_tables t
             JOIN mirrors m ON m.id = t.mirror_id
             LEFT JOIN snapshot_partitions p
                 ON p.mirror_id = t.mirror_id AND p.source_table = t.source_table
             WHERE t.mirror_id = $1
             GROUP BY t.source_table, t.destination_table, m.name, t.planned, t.ordinal
             ORDER BY t.ordinal",
        )
        .bind(mirror)
        .fetch_all(self.database().reader())
        .await
        .map_err(CatalogError::query("snapshot progress"))?;
        rows.iter().map(load).collect()
    }

    async fn read_ledger(&self, mirror: i64) -> Result<Vec<TableProgress>, CatalogError> {
        let failed = || CatalogError::query("snapshot ledger");
        let rows = sqlx::query(
            "SELECT source_table, number, plan, done, generation, horizon FROM snapshot_partitions
             WHERE mirror_id = $1 ORDER BY source_table, number",
        )
        .bind(mirror)
        .fetch_all(self.database().reader())
        .await
        .map_err(failed())?;
        let mut partitions: HashMap<String, Vec<PartitionProgress>> = HashMap::new();
        for row in &rows {
            partitions.entry(text(row, 0)?).or_default().push(partition(row)?);
        }
        let tables = sqlx::query(
            "SELECT source_table, planned FROM snapshot_tables WHERE mirror_id = $1 ORDER BY ordinal",
        )
        .bind(mirror)
        .fetch_all(self.database().reader())
        .await
        .map_err(failed())?;
        tables
            .iter()
            .map(|row| {
                let table = text(row, 0)?;
                let planned = integer(row, 1)? == 1;
                let partitions = planned.then(|| partitions.remove(&table).unwrap_or_default());
                Ok(TableProgress { table, partitions })
            })
            .collect()
    }

    async fn store_plan(&self, mirror: i64, table: &str, plan: &[String]) -> Result<(), Failure> {
        let failed = || CatalogError::query("snapshot plan");
        let mut transaction = self.database().begin().await?;
        let done = sqlx::query(
            "UPDATE snapshot_tables SET planned = 1
             WHERE mirror_id = $1 AND source_table = $2 AND planned = 0",
        )
        .bind(mirror)
        .bind(table)
        .execute(&mut *transaction)
        .await
        .map_err(failed())?;
        if done.rows_affected() == 0 {
            return Err(Failure::permanent("table_planned", "the table has a plan, or is not in the load")
                .with_table(table));
        }
        for (number, partition) in (0_i64..).zip(plan) {
            sqlx::query(
                "INSERT INTO snapshot_partitions
                     (mirror_id, source_table, number, plan, done, generation, horizon, row_count)
                 VALUES ($1, $2, $3, $4, 0, 0, '', 0)",
            )
            .bind(mirror)
            .bind(table)
            .bind(number)
            .bind(partition)
            .execute(&mut *transaction)
            .await
            .map_err(failed())?;
        }
        transaction.commit().await.map_err(failed())?;
        Ok(())
    }

    async fn store_done(&self, mirror: i64, done: &PartitionDone) -> Result<(), Failure> {
        let failed = || CatalogError::query("partition");
        let rows = signed(done.rows, "a count")?;
        let mut transaction = self.database().begin().await?;
        let stored = sqlx::query(
            "UPDATE snapshot_partitions SET done = 1, generation = $1, horizon = $2,
                 row_count = row_count + $3, finished_us = $4, started_us = COALESCE(started_us, $4)
             WHERE mirror_id = $5 AND source_table = $6 AND number = $7 AND generation <= $1",
        )
        .bind(i64::from(done.generation))
        .bind(&done.horizon)
        .bind(rows)
        .bind(now().micros())
        .bind(mirror)
        .bind(&done.table)
        .bind(i64::from(done.number))
        .execute(&mut *transaction)
        .await
        .map_err(failed())?;
        if stored.rows_affected() == 0 {
            let message = format!(
                "partition {} at generation {} is before the stored one, or not planned",
                done.number, done.generation
            );
            return Err(Failure::permanent("partition_backwards", message).with_table(&done.table));
        }
        transaction.commit().await.map_err(failed())?;
        Ok(())
    }
}

impl SnapshotLedger for MirrorLedger {
    async fn load(&self) -> Result<Vec<TableProgress>, Failure> {
        Ok(self.catalog.read_ledger(self.mirror).await?)
    }

    async fn planned(&self, table: &str, partitions: &[String]) -> Result<(), Failure> {
        self.catalog.store_plan(self.mirror, table, partitions).await
    }

    async fn done(&self, done: &PartitionDone) -> Result<(), Failure> {
        self.catalog.store_done(self.mirror, done).await
    }
}

fn partition(row: &AnyRow) -> Result<PartitionProgress, CatalogError> {
    let state = if integer(row, 3)? == 1 {
        PartitionState::Done { generation: small(row, 4)?, horizon: text(row, 5)? }
    } else {
        PartitionState::Pending
    };
    Ok(PartitionProgress { number: small(row, 1)?, partition: text(row, 2)?, state })
}

fn load(row: &AnyRow) -> Result<TableLoad, CatalogError> {
    let planned = integer(row, 3)? == 1;
    let (total, completed) = (small(row, 4)?, small(row, 5)?);
    let time_us = unsigned(row, 8)?;
    let complete = planned && completed == total;
    Ok(TableLoad {
        table_name: text(row, 1)?,
        source_table: text(row, 0)?,
        start_time: optional_integer(row, 7)?.map(Timestamp::from_micros),
        num_partitions_completed: completed,
        num_partitions_total: total,
        num_rows_synced: unsigned(row, 6)?,
        avg_time_per_partition_ms: time_us.checked_div(u64::from(completed)).unwrap_or(0) / 1000,
        fetch_completed: complete,
        consolidate_completed: complete,
        mirror_name: text(row, 2)?,
    })
}
