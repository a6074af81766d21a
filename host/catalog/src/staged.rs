//! Mirrors whose rows wait in the stage.
//!
//! A stage is files of a data folder, which may be lost apart from the catalog. What waited there is confirmed to the
//! source, so that a mirror that went on without it would have a gap.

use crate::{Catalog, CatalogError};

impl Catalog {
    /// Whether rows of a mirror have to be in its stage.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn is_staged(&self, mirror: i64) -> Result<bool, CatalogError> {
        let row = sqlx::query("SELECT mirror_id FROM staged_mirrors WHERE mirror_id = $1")
            .bind(mirror)
            .fetch_optional(self.database().reader())
            .await
            .map_err(CatalogError::query("stage of a mirror"))?;
        Ok(row.is_some())
    }

    /// Notes whether rows of a mirror have to be in its stage: after the first is there, and before the last goes.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn set_staged(&self, mirror: i64, staged: bool) -> Result<(), CatalogError> {
        let statement = if staged {
            "INSERT INTO staged_mirrors (mirror_id) VALUES ($1) ON CONFLICT (mirror_id) DO NOTHING"
        } else {
            "DELETE FROM staged_mirrors WHERE mirror_id = $1"
        };
        let mut transaction = self.database().begin().await?;
        sqlx::query(statement)
            .bind(mirror)
            .execute(&mut *transaction)
            .await
            .map_err(CatalogError::query("stage of a mirror"))?;
        transaction.commit().await.map_err(CatalogError::query("stage of a mirror"))
    }
}
