//! Checkpoints: where each stream restarts. A guard in the update keeps the sequence from going back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tarn_model::{Failure, Position};
use tarn_replication::{Checkpoint, Checkpoints, Resume};

use crate::database::{now, signed, text, unsigned};
use crate::{Catalog, CatalogError, batches, staged};

/// The checkpoints of one mirror.
#[derive(Clone, Debug)]
pub struct MirrorCheckpoints {
    catalog: Catalog,
    mirror: i64,
}

impl Catalog {
    /// Where the loop of a mirror stores its checkpoints. [`Catalog::begin_stream`] comes first.
    pub fn checkpoints(&self, mirror: i64) -> MirrorCheckpoints {
        MirrorCheckpoints { catalog: self.clone(), mirror }
    }

    /// Stores where the source's setup said the stream starts. A setup that is repeated after a crash
    /// replaces it; once there is a checkpoint, it stays and only the start is replaced.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn begin_stream(&self, mirror: i64, start: &Position) -> Result<(), CatalogError> {
        let mut transaction = self.database().begin().await?;
        sqlx::query(
            "INSERT INTO checkpoints (mirror_id, start_position, position, sequence, updated_us)
             VALUES ($1, $2, $2, 0, $3)
             ON CONFLICT (mirror_id) DO UPDATE SET start_position = excluded.start_position,
                 position = CASE WHEN checkpoints.sequence = 0 THEN excluded.position
                     ELSE checkpoints.position END,
                 updated_us = excluded.updated_us",
        )
        .bind(mirror)
        .bind(STANDARD.encode(start.as_bytes()))
        .bind(now().micros())
        .execute(&mut *transaction)
        .await
        .map_err(CatalogError::query("start of a stream"))?;
        transaction.commit().await.map_err(CatalogError::query("start of a stream"))
    }

    /// Stores a later start for the loads of a mirror that streams already: rows of tables added by an
    /// edit are older than it. The stream's own position stays.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn move_load_start(&self, mirror: i64, start: &Position) -> Result<(), CatalogError> {
        let mut transaction = self.database().begin().await?;
        sqlx::query("UPDATE checkpoints SET start_position = $1, updated_us = $2 WHERE mirror_id = $3")
            .bind(STANDARD.encode(start.as_bytes()))
            .bind(now().micros())
            .bind(mirror)
            .execute(&mut *transaction)
            .await
            .map_err(CatalogError::query("start of a load"))?;
        transaction.commit().await.map_err(CatalogError::query("start of a load"))
    }

    /// Forgets where the stream of a mirror is and what of its load is done: both begin anew.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn forget_progress(&self, mirror: i64) -> Result<(), CatalogError> {
        let mut transaction = self.database().begin().await?;
        for statement in [
            "DELETE FROM checkpoints WHERE mirror_id = $1",
            "DELETE FROM snapshot_tables WHERE mirror_id = $1",
        ] {
            sqlx::query(statement)
                .bind(mirror)
                .execute(&mut *transaction)
                .await
                .map_err(CatalogError::query("progress of a mirror"))?;
        }
        staged::clear(&mut transaction, mirror).await?;
        transaction.commit().await.map_err(CatalogError::query("progress of a mirror"))
    }

    /// Stores the sequence of the latest point that rows of the mirror were read at. Until the stream has
    /// passed it, the destination may lack rows that the stream changes.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn set_load_point(&self, mirror: i64, sequence: u64) -> Result<(), CatalogError> {
        let mut transaction = self.database().begin().await?;
        sqlx::query("UPDATE checkpoints SET loaded_sequence = $1 WHERE mirror_id = $2")
            .bind(signed(sequence, "a sequence")?)
            .bind(mirror)
            .execute(&mut *transaction)
            .await
            .map_err(CatalogError::query("point of a load"))?;
        transaction.commit().await.map_err(CatalogError::query("point of a load"))
    }

    /// The sequence of the latest point that rows of the mirror were read at; 0 where the stream started
    /// right at it.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn load_point(&self, mirror: i64) -> Result<u64, CatalogError> {
        let row = sqlx::query("SELECT loaded_sequence FROM checkpoints WHERE mirror_id = $1")
            .bind(mirror)
            .fetch_optional(self.database().reader())
            .await
            .map_err(CatalogError::query("point of a load"))?;
        row.map_or(Ok(0), |row| unsigned(&row, 0))
    }

    /// Where the stream of a mirror started; `None` before its setup.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn stream_start(&self, mirror: i64) -> Result<Option<Position>, CatalogError> {
        let row = sqlx::query("SELECT start_position FROM checkpoints WHERE mirror_id = $1")
            .bind(mirror)
            .fetch_optional(self.database().reader())
            .await
            .map_err(CatalogError::query("start of a stream"))?;
        row.map(|row| position(&text(&row, 0)?)).transpose()
    }

    /// What a run of the stream goes on from; `None` before its setup.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn resume(&self, mirror: i64) -> Result<Option<Resume>, CatalogError> {
        let row = sqlx::query(
            "SELECT position, sequence, (SELECT COALESCE(MAX(batch_id), 0) FROM cdc_batches
                 WHERE mirror_id = $1 AND ended_us IS NOT NULL)
             FROM checkpoints WHERE mirror_id = $1",
        )
        .bind(mirror)
        .fetch_optional(self.database().reader())
        .await
        .map_err(CatalogError::query("checkpoint"))?;
        row.map(|row| {
            Ok(Resume {
                position: position(&text(&row, 0)?)?,
                sequence: unsigned(&row, 1)?,
                batch: unsigned(&row, 2)?,
            })
        })
        .transpose()
    }

    async fn save_checkpoint(&self, mirror: i64, checkpoint: &Checkpoint) -> Result<(), Failure> {
        let failed = || CatalogError::query("checkpoint");
        let sequence = signed(checkpoint.sequence, "a sequence")?;
        let mut transaction = self.database().begin().await?;
        let done = sqlx::query(
            "UPDATE checkpoints SET position = $1, sequence = $2, updated_us = $3
             WHERE mirror_id = $4 AND sequence <= $2",
        )
        .bind(STANDARD.encode(checkpoint.position.as_bytes()))
        .bind(sequence)
        .bind(now().micros())
        .bind(mirror)
        .execute(&mut *transaction)
        .await
        .map_err(failed())?;
        if done.rows_affected() == 0 {
            return Err(Failure::permanent(
                "checkpoint_backwards",
                format!(
                    "the checkpoint at {} is before the stored one, or the mirror is gone",
                    checkpoint.sequence
                ),
            )
            .with_hint("make sure that only one tarn runs this mirror"));
        }
        batches::store_ended(&mut transaction, mirror, &checkpoint.batches).await?;
        transaction.commit().await.map_err(failed())?;
        Ok(())
    }
}

impl Checkpoints for MirrorCheckpoints {
    async fn save(&mut self, checkpoint: &Checkpoint) -> Result<(), Failure> {
        self.catalog.save_checkpoint(self.mirror, checkpoint).await
    }
}

fn position(base64: &str) -> Result<Position, CatalogError> {
    let bytes = STANDARD.decode(base64).map_err(CatalogError::content("checkpoints.position"))?;
    Ok(Position::new(bytes))
}
