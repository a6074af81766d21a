//! Comparisons of both sides of mirrors: their progress and results.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sqlx::Row as _;
use sqlx::any::AnyRow;
use tarn_model::{Enumerated as _, TableVerification, Timestamp, Verification, VerificationState};

use crate::config::VERIFICATION_DAYS_MAX;
use crate::database::{integer, next, now, text};
use crate::{Catalog, CatalogError};

/// What planning a verification did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerificationPlanned {
    /// It is stored under this number.
    Done(i64),
    /// The mirror has one that is not at its end.
    Busy(i64),
}

/// A query of the columns that `verification` reads.
macro_rules! select_verifications {
    ($rest:literal) => {
        concat!(
            "SELECT id, mirror_id, name, state, message, sample_rate, tables, created_us, updated_us \
             FROM verifications ",
            $rest
        )
    };
}

const DAY_US: i64 = 86_400_000_000;

impl Catalog {
    /// Stores a verification that is to begin. Results that are old by now go.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn plan_verification(
        &self,
        mirror: i64,
        name: &str,
        sample_rate: f64,
        tables: &[TableVerification],
    ) -> Result<VerificationPlanned, CatalogError> {
        let failed = || CatalogError::query("plan of a verification");
        let now = now();
        let mut transaction = self.database().begin().await?;
        sqlx::query("DELETE FROM verifications WHERE ended = 1 AND updated_us < $1")
            .bind(now.micros() - VERIFICATION_DAYS_MAX * DAY_US)
            .execute(&mut *transaction)
            .await
            .map_err(failed())?;
        let id = next(&mut transaction, "verifications", 1).await?;
        let done = sqlx::query(
            "INSERT INTO verifications (id, mirror_id, name, state, message, sample_rate, tables, created_us,
                 updated_us, ended)
             VALUES ($1, $2, $3, $4, '', $5, $6, $7, $7, 0)
             ON CONFLICT DO NOTHING",
        )
        .bind(id)
        .bind(mirror)
        .bind(name)
        .bind(VerificationState::Planned.name())
        .bind(sample_rate)
        .bind(json(tables)?)
        .bind(now.micros())
        .execute(&mut *transaction)
        .await
        .map_err(failed())?;
        if done.rows_affected() == 0 {
            let row = sqlx::query("SELECT id FROM verifications WHERE mirror_id = $1 AND ended = 0")
                .bind(mirror)
                .fetch_one(&mut *transaction)
                .await
                .map_err(failed())?;
            return Ok(VerificationPlanned::Busy(integer(&row, 0)?));
        }
        transaction.commit().await.map_err(failed())?;
        Ok(VerificationPlanned::Done(id))
    }

    /// A verification.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn verification(&self, id: i64) -> Result<Option<Verification>, CatalogError> {
        let row = sqlx::query(select_verifications!("WHERE id = $1"))
            .bind(id)
            .fetch_optional(self.database().reader())
            .await
            .map_err(CatalogError::query("verification"))?;
        row.map(|row| verification(&row)).transpose()
    }

    /// Those that are not at their end, the oldest first.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn verifications_under_way(&self) -> Result<Vec<Verification>, CatalogError> {
        let rows = sqlx::query(select_verifications!("WHERE ended = 0 ORDER BY id"))
            .fetch_all(self.database().reader())
            .await
            .map_err(CatalogError::query("verifications"))?;
        rows.iter().map(verification).collect()
    }

    /// Stores where a verification is. One at its end stays as it is.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn note_verification(
        &self,
        id: i64,
        state: VerificationState,
        message: &str,
    ) -> Result<(), CatalogError> {
        let failed = || CatalogError::query("state of a verification");
        let mut transaction = self.database().begin().await?;
        sqlx::query(
            "UPDATE verifications SET state = $1, message = $2, ended = $3, updated_us = $4
             WHERE id = $5 AND ended = 0",
        )
        .bind(state.name())
        .bind(message.replace('\0', "\u{fffd}"))
        .bind(i64::from(state.is_ended()))
        .bind(now().micros())
        .bind(id)
        .execute(&mut *transaction)
        .await
        .map_err(failed())?;
        if state.is_ended() {
            sqlx::query("DELETE FROM verification_digests WHERE verification_id = $1")
                .bind(id)
                .execute(&mut *transaction)
                .await
                .map_err(failed())?;
        }
        transaction.commit().await.map_err(failed())
    }

    /// Stores the progress of a verification's tables, and with it, in one transaction, what the source's
    /// rows of one of them add up to by now.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn save_verification(
        &self,
        id: i64,
        tables: &[TableVerification],
        digest: Option<(&str, &[u8])>,
    ) -> Result<(), CatalogError> {
        let failed = || CatalogError::query("progress of a verification");
        let mut transaction = self.database().begin().await?;
        sqlx::query("UPDATE verifications SET tables = $1, updated_us = $2 WHERE id = $3 AND ended = 0")
            .bind(json(tables)?)
            .bind(now().micros())
            .bind(id)
            .execute(&mut *transaction)
            .await
            .map_err(failed())?;
        if let Some((table, digest)) = digest {
            sqlx::query(
                "INSERT INTO verification_digests (verification_id, source_table, digest) VALUES ($1, $2, $3)
                 ON CONFLICT (verification_id, source_table) DO UPDATE SET digest = excluded.digest",
            )
            .bind(id)
            .bind(table)
            .bind(STANDARD.encode(digest))
            .execute(&mut *transaction)
            .await
            .map_err(failed())?;
        }
        transaction.commit().await.map_err(failed())
    }

    /// What the source's rows of a table add up to, as it was stored last.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn verification_digest(&self, id: i64, table: &str) -> Result<Option<Vec<u8>>, CatalogError> {
        let row = sqlx::query(
            "SELECT digest FROM verification_digests WHERE verification_id = $1 AND source_table = $2",
        )
        .bind(id)
        .bind(table)
        .fetch_optional(self.database().reader())
        .await
        .map_err(CatalogError::query("digest of a verification"))?;
        let decoded = |row: AnyRow| {
            STANDARD.decode(text(&row, 0)?).map_err(CatalogError::content("verification_digests.digest"))
        };
        row.map(decoded).transpose()
    }
}

fn json(tables: &[TableVerification]) -> Result<String, CatalogError> {
    // A key may hold any text; NUL is none for PostgreSQL.
    let text = serde_json::to_string(tables).map_err(CatalogError::content("verifications.tables"))?;
    Ok(text.replace("\\u0000", "\\ufffd"))
}

fn verification(row: &AnyRow) -> Result<Verification, CatalogError> {
    let state = text(row, 3)?;
    let known = VerificationState::from_name(&state);
    let tables = text(row, 6)?;
    Ok(Verification {
        id: integer(row, 0)?,
        mirror: integer(row, 1)?,
        name: text(row, 2)?,
        state: known.ok_or(state).map_err(CatalogError::content("verifications.state"))?,
        message: text(row, 4)?,
        sample_rate: row.try_get(5).map_err(CatalogError::query("row"))?,
        tables: serde_json::from_str(&tables).map_err(CatalogError::content("verifications.tables"))?,
        created_at: Timestamp::from_micros(integer(row, 7)?),
        updated_at: Timestamp::from_micros(integer(row, 8)?),
    })
}
