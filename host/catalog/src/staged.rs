//! What waits in stages.
//!
//! The content of an entry is in a file or an object of a bucket; that it waits is said here. A put that ends late and
//! an object that comes back are nobody's then: their line is missing, and cannot be written any more once a later life
//! of the stage has begun. What is missing there while its line is here is a gap that is told of, never passed over.

use sqlx::any::AnyRow;
use sqlx::{Any, Transaction};
use tarn_model::{Secret, StageStanding, Timestamp};

use crate::database::{integer, now, signed, text, unsigned};
use crate::{Catalog, CatalogError};

/// The table, as keys are sealed for its rows.
pub(crate) const TABLE: &str = "staged_entries";

/// An entry that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedEntry {
    /// Its place in the order.
    pub number: u64,
    /// Where it is: empty for the data folder, else a bucket.
    pub place: String,
    /// What its file or object is called.
    pub name: String,
    /// Everything up to this sequence came before it.
    pub after: u64,
    /// Size of the file or object.
    pub bytes: u64,
    /// SHA-256 of it; empty of an entry from before there were digests.
    pub digest: String,
    /// What opens it; `None` of one in the clear.
    pub key: Option<Secret>,
}

/// A mirror's stage, at the beginning of a life of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageLife {
    /// Its number: an earlier life changes nothing any more.
    pub epoch: u64,
    /// What waits, in order.
    pub entries: Vec<StagedEntry>,
}

impl Catalog {
    /// Begins a life of a mirror's stage, and ends those before.
    ///
    /// # Errors
    /// [`CatalogError`]; also where the seal of a key does not open.
    pub async fn begin_stage(&self, mirror: i64) -> Result<StageLife, CatalogError> {
        let mut transaction = self.database().begin().await?;
        let epoch = next_epoch(&mut transaction, mirror).await?;
        let rows = sqlx::query(ENTRIES)
            .bind(mirror)
            .fetch_all(&mut *transaction)
            .await
            .map_err(CatalogError::query("stage of a mirror"))?;
        transaction.commit().await.map_err(CatalogError::query("stage of a mirror"))?;
        let entries = rows.iter().map(|row| self.entry(mirror, row)).collect::<Result<_, _>>()?;
        Ok(StageLife { epoch, entries })
    }

    /// What waits in a mirror's stage, in order.
    ///
    /// # Errors
    /// [`CatalogError`]; also where the seal of a key does not open.
    pub async fn staged(&self, mirror: i64) -> Result<Vec<StagedEntry>, CatalogError> {
        let rows = sqlx::query(ENTRIES)
            .bind(mirror)
            .fetch_all(self.database().reader())
            .await
            .map_err(CatalogError::query("stage of a mirror"))?;
        rows.iter().map(|row| self.entry(mirror, row)).collect()
    }

    /// The latest life of a mirror's stage, 0 before the first, and the names of all that waits. An object with an
    /// earlier life in its name that is not among them is nobody's for ever.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn stage_names(&self, mirror: i64) -> Result<(u64, Vec<String>), CatalogError> {
        let failed = || CatalogError::query("stage of a mirror");
        let life = sqlx::query("SELECT epoch FROM stages WHERE mirror_id = $1")
            .bind(mirror)
            .fetch_optional(self.database().reader())
            .await
            .map_err(failed())?;
        let epoch = life.map_or(Ok(0), |row| unsigned(&row, 0))?;
        // Read after the life: what it, or an earlier one, has put by then is among them.
        let rows = sqlx::query("SELECT name FROM staged_entries WHERE mirror_id = $1")
            .bind(mirror)
            .fetch_all(self.database().reader())
            .await
            .map_err(failed())?;
        Ok((epoch, rows.iter().map(|row| text(row, 0)).collect::<Result<_, _>>()?))
    }

    /// The sequence after which something waits, if anything does.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn staged_after(&self, mirror: i64) -> Result<Option<u64>, CatalogError> {
        let row = sqlx::query(
            "SELECT after_sequence FROM staged_entries WHERE mirror_id = $1 ORDER BY number LIMIT 1",
        )
        .bind(mirror)
        .fetch_optional(self.database().reader())
        .await
        .map_err(CatalogError::query("stage of a mirror"))?;
        row.map(|row| unsigned(&row, 0)).transpose()
    }

    /// How much waits, by mirror; mirrors of which nothing does are left out.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn stage_standings(&self) -> Result<Vec<(i64, StageStanding)>, CatalogError> {
        let rows = sqlx::query(
            "SELECT mirror_id, COUNT(*), CAST(SUM(bytes) AS BIGINT), MIN(staged_us) FROM staged_entries
             GROUP BY mirror_id ORDER BY mirror_id",
        )
        .fetch_all(self.database().reader())
        .await
        .map_err(CatalogError::query("stages"))?;
        rows.iter()
            .map(|row| {
                let standing = StageStanding {
                    entries: unsigned(row, 1)?,
                    bytes: unsigned(row, 2)?,
                    oldest_at: Some(Timestamp::from_micros(integer(row, 3)?)),
                    ..StageStanding::default()
                };
                Ok((integer(row, 0)?, standing))
            })
            .collect()
    }

    /// Adds an entry, or replaces that of its number: what is in it is acknowledged by this. False where a later life
    /// has begun.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn add_staged(
        &self,
        mirror: i64,
        epoch: u64,
        entry: &StagedEntry,
    ) -> Result<bool, CatalogError> {
        let mut transaction = self.database().begin().await?;
        if !holds(&mut transaction, mirror, epoch).await? {
            return Ok(false);
        }
        self.insert_staged(&mut transaction, mirror, entry).await?;
        transaction.commit().await.map_err(CatalogError::query("stage of a mirror"))?;
        Ok(true)
    }

    /// Forgets an entry, and what opens it. False where a later life has begun.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn remove_staged(&self, mirror: i64, epoch: u64, number: u64) -> Result<bool, CatalogError> {
        let mut transaction = self.database().begin().await?;
        if !holds(&mut transaction, mirror, epoch).await? {
            return Ok(false);
        }
        sqlx::query("DELETE FROM staged_entries WHERE mirror_id = $1 AND number = $2")
            .bind(mirror)
            .bind(signed(number, "a number")?)
            .execute(&mut *transaction)
            .await
            .map_err(CatalogError::query("stage of a mirror"))?;
        transaction.commit().await.map_err(CatalogError::query("stage of a mirror"))?;
        Ok(true)
    }

    /// Forgets everything that waits, and ends the stage's life. What waited comes back.
    ///
    /// # Errors
    /// [`CatalogError`]; also where the seal of a key does not open.
    pub async fn forget_staged(&self, mirror: i64) -> Result<Vec<StagedEntry>, CatalogError> {
        let waiting = self.staged(mirror).await?;
        let mut transaction = self.database().begin().await?;
        clear(&mut transaction, mirror).await?;
        transaction.commit().await.map_err(CatalogError::query("stage of a mirror"))?;
        Ok(waiting)
    }

    /// Whether an earlier version put rows of a mirror aside that are not taken over yet.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn has_unlisted_stage(&self, mirror: i64) -> Result<bool, CatalogError> {
        let row = sqlx::query("SELECT mirror_id FROM staged_mirrors WHERE mirror_id = $1")
            .bind(mirror)
            .fetch_optional(self.database().reader())
            .await
            .map_err(CatalogError::query("stage of a mirror"))?;
        Ok(row.is_some())
    }

    /// Notes what an earlier version noted: that rows of a mirror are in files that no list names.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn leave_unlisted(&self, mirror: i64) -> Result<(), CatalogError> {
        let mut transaction = self.database().begin().await?;
        sqlx::query("INSERT INTO staged_mirrors (mirror_id) VALUES ($1) ON CONFLICT (mirror_id) DO NOTHING")
            .bind(mirror)
            .execute(&mut *transaction)
            .await
            .map_err(CatalogError::query("stage of a mirror"))?;
        transaction.commit().await.map_err(CatalogError::query("stage of a mirror"))
    }

    /// Takes over what an earlier version put aside.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn list_stage(&self, mirror: i64, entries: &[StagedEntry]) -> Result<(), CatalogError> {
        let mut transaction = self.database().begin().await?;
        for entry in entries {
            self.insert_staged(&mut transaction, mirror, entry).await?;
        }
        sqlx::query("DELETE FROM staged_mirrors WHERE mirror_id = $1")
            .bind(mirror)
            .execute(&mut *transaction)
            .await
            .map_err(CatalogError::query("stage of a mirror"))?;
        transaction.commit().await.map_err(CatalogError::query("stage of a mirror"))
    }

    async fn insert_staged(
        &self,
        transaction: &mut Transaction<'static, Any>,
        mirror: i64,
        entry: &StagedEntry,
    ) -> Result<(), CatalogError> {
        let key = entry.key.as_ref();
        let sealed = key.map(|key| self.keyring().seal(TABLE, &seal_name(mirror, &entry.name), key.expose()));
        sqlx::query(
            "INSERT INTO staged_entries (mirror_id, number, place, name, after_sequence, bytes, digest, sealed_key,
                 staged_us)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             ON CONFLICT (mirror_id, number) DO UPDATE SET place = excluded.place, name = excluded.name,
                 after_sequence = excluded.after_sequence, bytes = excluded.bytes, digest = excluded.digest,
                 sealed_key = excluded.sealed_key, staged_us = excluded.staged_us",
        )
        .bind(mirror)
        .bind(signed(entry.number, "a number")?)
        .bind(&entry.place)
        .bind(&entry.name)
        .bind(signed(entry.after, "a sequence")?)
        .bind(signed(entry.bytes, "a size")?)
        .bind(&entry.digest)
        .bind(sealed.unwrap_or_default())
        .bind(now().micros())
        .execute(&mut **transaction)
        .await
        .map_err(CatalogError::query("stage of a mirror"))?;
        Ok(())
    }

    fn entry(&self, mirror: i64, row: &AnyRow) -> Result<StagedEntry, CatalogError> {
        let (name, sealed) = (text(row, 2)?, text(row, 6)?);
        let key = match sealed.as_str() {
            "" => None,
            sealed => Some(Secret::new(self.keyring().open(TABLE, &seal_name(mirror, &name), sealed)?)),
        };
        Ok(StagedEntry {
            number: unsigned(row, 0)?,
            place: text(row, 1)?,
            name,
            after: unsigned(row, 3)?,
            bytes: unsigned(row, 4)?,
            digest: text(row, 5)?,
            key,
        })
    }
}

const ENTRIES: &str =
    "SELECT number, place, name, after_sequence, bytes, digest, sealed_key FROM staged_entries
     WHERE mirror_id = $1 ORDER BY number";

/// What a key is sealed for; a rotation has the same.
fn seal_name(mirror: i64, name: &str) -> String {
    format!("{mirror}/{name}")
}

/// Whether this life is the latest; no other begins until the transaction ends.
async fn holds(
    transaction: &mut Transaction<'static, Any>,
    mirror: i64,
    epoch: u64,
) -> Result<bool, CatalogError> {
    let held = sqlx::query("UPDATE stages SET epoch = epoch WHERE mirror_id = $1 AND epoch = $2")
        .bind(mirror)
        .bind(signed(epoch, "a life")?)
        .execute(&mut **transaction)
        .await
        .map_err(CatalogError::query("stage of a mirror"))?;
    Ok(held.rows_affected() == 1)
}

async fn next_epoch(transaction: &mut Transaction<'static, Any>, mirror: i64) -> Result<u64, CatalogError> {
    let row = sqlx::query(
        "INSERT INTO stages (mirror_id, epoch) VALUES ($1, 1)
         ON CONFLICT (mirror_id) DO UPDATE SET epoch = stages.epoch + 1 RETURNING epoch",
    )
    .bind(mirror)
    .fetch_one(&mut **transaction)
    .await
    .map_err(CatalogError::query("stage of a mirror"))?;
    unsigned(&row, 0)
}

/// Forgets what waits in a mirror's stage, and ends its life.
pub(crate) async fn clear(
    transaction: &mut Transaction<'static, Any>,
    mirror: i64,
) -> Result<(), CatalogError> {
    next_epoch(transaction, mirror).await?;
    for statement in
        ["DELETE FROM staged_entries WHERE mirror_id = $1", "DELETE FROM staged_mirrors WHERE mirror_id = $1"]
    {
        sqlx::query(statement)
            .bind(mirror)
            .execute(&mut **transaction)
            .await
            .map_err(CatalogError::query("stage of a mirror"))?;
    }
    Ok(())
}
