//! How many rows a mirror's stream wrote when: by minute from its batches, by hour for months.

use sqlx::{Any, Transaction};
use tarn_model::Timestamp;

use crate::config::HOURS_PER_MIRROR_MAX;
use crate::database::{integer, signed, unsigned};
use crate::{Catalog, CatalogError};

/// How finely rows are told apart by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// By the minute, as far back as batches are kept.
    Minute,
    /// By the hour, for more than two years.
    Hour,
}

impl TimeUnit {
    fn micros(self) -> i64 {
        match self {
            Self::Minute => 60_000_000,
            Self::Hour => HOUR_MICROS,
        }
    }
}

const HOUR_MICROS: i64 = 3_600_000_000;

impl Catalog {
    /// Rows of batches that began at `from` or later, each unit of time with its beginning, oldest first.
    /// Units without rows are left out.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn written_since(
        &self,
        mirror: i64,
        from: Timestamp,
        unit: TimeUnit,
    ) -> Result<Vec<(Timestamp, u64)>, CatalogError> {
        let statement = match unit {
            TimeUnit::Minute => {
                "SELECT started_us / 60000000, CAST(SUM(num_rows) AS BIGINT) FROM cdc_batches
                 WHERE mirror_id = $1 AND started_us / 60000000 >= $2
                 GROUP BY started_us / 60000000 ORDER BY 1"
            }
            TimeUnit::Hour => {
                "SELECT hour, row_count FROM written_hours WHERE mirror_id = $1 AND hour >= $2 ORDER BY hour"
            }
        };
        let rows = sqlx::query(statement)
            .bind(mirror)
            .bind(from.micros().div_euclid(unit.micros()))
            .fetch_all(self.database().reader())
            .await
            .map_err(CatalogError::query("history of a mirror"))?;
        rows.iter()
            .map(|row| Ok((Timestamp::from_micros(integer(row, 0)? * unit.micros()), unsigned(row, 1)?)))
            .collect()
    }
}

/// Adds the rows of a batch to the hour it began in.
pub(crate) async fn add(
    transaction: &mut Transaction<'static, Any>,
    mirror: i64,
    started: Timestamp,
    rows: u64,
) -> Result<(), CatalogError> {
    sqlx::query(
        "INSERT INTO written_hours (mirror_id, hour, row_count) VALUES ($1, $2, $3)
         ON CONFLICT (mirror_id, hour) DO UPDATE SET
             row_count = written_hours.row_count + excluded.row_count",
    )
    .bind(mirror)
    .bind(started.micros().div_euclid(HOUR_MICROS))
    .bind(signed(rows, "a count")?)
    .execute(&mut **transaction)
    .await
    .map_err(CatalogError::query("history of a mirror"))?;
    Ok(())
}

/// Removes the hours that nobody looks back to from a batch's.
pub(crate) async fn trim(
    transaction: &mut Transaction<'static, Any>,
    mirror: i64,
    newest: Timestamp,
) -> Result<(), CatalogError> {
    sqlx::query("DELETE FROM written_hours WHERE mirror_id = $1 AND hour < $2")
        .bind(mirror)
        .bind(newest.micros().div_euclid(HOUR_MICROS) - HOURS_PER_MIRROR_MAX)
        .execute(&mut **transaction)
        .await
        .map_err(CatalogError::query("history of a mirror"))?;
    Ok(())
}
