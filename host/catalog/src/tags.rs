//! What people note on mirrors.

use tarn_model::MirrorTag;

use crate::database::{signed, text};
use crate::{Catalog, CatalogError};

impl Catalog {
    /// The tags of a mirror, in the order they were given.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn tags(&self, mirror: i64) -> Result<Vec<MirrorTag>, CatalogError> {
        let rows = sqlx::query("SELECT tag, value FROM mirror_tags WHERE mirror_id = $1 ORDER BY ordinal")
            .bind(mirror)
            .fetch_all(self.database().reader())
            .await
            .map_err(CatalogError::query("tags of a mirror"))?;
        rows.iter().map(|row| Ok(MirrorTag { key: text(row, 0)?, value: text(row, 1)? })).collect()
    }

    /// Gives a mirror these tags in place of all it has. No two of them have one key.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn replace_tags(&self, mirror: i64, tags: &[MirrorTag]) -> Result<(), CatalogError> {
        let failed = || CatalogError::query("tags of a mirror");
        let mut transaction = self.database().begin().await?;
        sqlx::query("DELETE FROM mirror_tags WHERE mirror_id = $1")
            .bind(mirror)
            .execute(&mut *transaction)
            .await
            .map_err(failed())?;
        for (ordinal, tag) in (0_u64..).zip(tags) {
            sqlx::query("INSERT INTO mirror_tags (mirror_id, tag, value, ordinal) VALUES ($1, $2, $3, $4)")
                .bind(mirror)
                .bind(&tag.key)
                .bind(&tag.value)
                .bind(signed(ordinal, "a count")?)
                .execute(&mut *transaction)
                .await
                .map_err(failed())?;
        }
        transaction.commit().await.map_err(failed())
    }
}
