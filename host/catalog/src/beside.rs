//! Loads that go into tables beside those that people read.

use crate::database::text;
use crate::{Catalog, CatalogError};

impl Catalog {
    /// The name of the load of a mirror that goes into tables beside; `None` where its rows go to its own tables.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn beside(&self, mirror: i64) -> Result<Option<String>, CatalogError> {
        let row = sqlx::query("SELECT name FROM loads_beside WHERE mirror_id = $1")
            .bind(mirror)
            .fetch_optional(self.database().reader())
            .await
            .map_err(CatalogError::query("load beside"))?;
        row.map(|row| text(&row, 0)).transpose()
    }

    /// From now on a mirror's rows go into tables beside, by a load of this name.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn begin_beside(&self, mirror: i64, name: &str) -> Result<(), CatalogError> {
        let mut transaction = self.database().begin().await?;
        sqlx::query(
            "INSERT INTO loads_beside (mirror_id, name) VALUES ($1, $2)
             ON CONFLICT (mirror_id) DO UPDATE SET name = excluded.name",
        )
        .bind(mirror)
        .bind(name)
        .execute(&mut *transaction)
        .await
        .map_err(CatalogError::query("load beside"))?;
        transaction.commit().await.map_err(CatalogError::query("load beside"))
    }

    /// From now on a mirror's rows go to its own tables.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn end_beside(&self, mirror: i64) -> Result<(), CatalogError> {
        let mut transaction = self.database().begin().await?;
        sqlx::query("DELETE FROM loads_beside WHERE mirror_id = $1")
            .bind(mirror)
            .execute(&mut *transaction)
            .await
            .map_err(CatalogError::query("load beside"))?;
        transaction.commit().await.map_err(CatalogError::query("load beside"))
    }
}
