//! Which delivery of a mirror is under way: each time that everything is to be delivered anew, another one begins.
//!
//! A queue keeps the place of what it was given. That place says nothing once the mirror begins anew, for the source
//! may be another server by then, or one that went back; so the next delivery is told from the one before by its number.

use crate::database::integer;
use crate::{Catalog, CatalogError};

impl Catalog {
    /// The number of the delivery that is under way, from 0; 0 also where there is no such mirror.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn delivery(&self, mirror: i64) -> Result<i64, CatalogError> {
        let row = sqlx::query("SELECT delivery FROM mirrors WHERE id = $1")
            .bind(mirror)
            .fetch_optional(self.database().reader())
            .await
            .map_err(CatalogError::query("delivery"))?;
        row.map_or(Ok(0), |row| integer(&row, 0))
    }

    /// From now on another delivery is under way. Durable when it returns.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn begin_delivery(&self, mirror: i64) -> Result<(), CatalogError> {
        let mut transaction = self.database().begin().await?;
        sqlx::query("UPDATE mirrors SET delivery = delivery + 1 WHERE id = $1")
            .bind(mirror)
            .execute(&mut *transaction)
            .await
            .map_err(CatalogError::query("delivery"))?;
        transaction.commit().await.map_err(CatalogError::query("delivery"))
    }
}
