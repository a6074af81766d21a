//! Sealing everything anew under another key.
//!
//! With a key file the steps are: write the new key beside it, durably; seal every secret anew and name the
//! new key in the catalog, in one transaction; move the new key into the place of the old one. Before the
//! transaction the old key serves, after it the new one, and both files are read at every start, so that a
//! crash between any two steps loses nothing: the next start finds the key that the catalog names, and
//! finishes the move. With a key of the settings there is only the transaction.

use sqlx::{Any, Transaction};

use crate::catalog::{CatalogOptions, KEY_ID};
use crate::database::text;
use crate::sealing::Sealer;
use crate::{Catalog, CatalogError, dead_letters, staged};

/// Every table with its sealed column and the column that names its rows.
const SEALED: [SealedColumn; 3] = [
    SealedColumn {
        table: "peers",
        select: "SELECT name, sealed, name FROM peers ORDER BY name",
        update: "UPDATE peers SET sealed = $1 WHERE name = $2",
    },
    SealedColumn {
        table: dead_letters::TABLE,
        select:
            "SELECT CAST(mirror_id AS TEXT) || '/' || identity, record, CAST(id AS TEXT) FROM dead_letters
                 WHERE record <> '' ORDER BY id",
        update: "UPDATE dead_letters SET record = $1 WHERE id = CAST($2 AS BIGINT)",
    },
    // What waits in a folder or a bucket stays as it is: only the keys to it are sealed anew.
    SealedColumn {
        table: staged::TABLE,
        select:
            "SELECT CAST(mirror_id AS TEXT) || '/' || name, sealed_key, CAST(mirror_id AS TEXT) || '/' || name
                 FROM staged_entries WHERE sealed_key <> '' ORDER BY mirror_id, number",
        update: "UPDATE staged_entries SET sealed_key = $1 WHERE CAST(mirror_id AS TEXT) || '/' || name = $2",
    },
];

struct SealedColumn {
    table: &'static str,
    /// The name that a value is sealed for, the value, and what finds its row.
    select: &'static str,
    update: &'static str,
}

/// What a rotation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Values that were sealed anew.
    pub resealed: u64,
    /// Id of the key that sealed before.
    pub old_key: String,
    /// Id of the key that seals now.
    pub new_key: String,
}

impl Catalog {
    /// Seals every secret anew: under the key of the options, or, where they name none, under a new one that
    /// takes the key file's place. The key that sealed so far is the options' previous one, or that of the
    /// file. Nobody else may use the catalog meanwhile; of servers on the same data directory it makes sure.
    ///
    /// # Errors
    /// [`CatalogError`]; in particular [`CatalogError::InUse`], [`CatalogError::KeyMissing`] when the key that
    /// sealed is not at hand, and [`CatalogError::SameKey`]. Nothing changed then.
    pub async fn rotate(options: &CatalogOptions) -> Result<Rotation, CatalogError> {
        let catalog = Self::open(options).await?;
        let old_key = catalog.keyring().sealing().id().to_owned();
        let target = match &options.key {
            Some(key) => Sealer::from_base64(key.expose(), "the settings")?,
            None => catalog.folder().next_key()?,
        };
        if target.id() == old_key {
            return Err(CatalogError::SameKey { id: old_key });
        }
        let resealed = catalog.reseal(&target).await?;
        if options.key.is_none() {
            catalog.folder().adopt_next_key()?;
        }
        // What was sealed with the old key shall not lie in free pages.
        catalog.database().scrub().await?;
        catalog.close().await;
        Ok(Rotation { resealed, old_key, new_key: target.id().to_owned() })
    }

    /// Seals everything anew and names the key, in one transaction.
    async fn reseal(&self, target: &Sealer) -> Result<u64, CatalogError> {
        let failed = || CatalogError::query("rotation");
        let mut transaction = self.database().begin().await?;
        let mut resealed = 0;
        for column in SEALED {
            resealed += self.reseal_column(&mut transaction, &column, target).await?;
        }
        sqlx::query("UPDATE meta SET value = $1 WHERE name = $2")
            .bind(target.id())
            .bind(KEY_ID)
            .execute(&mut *transaction)
            .await
            .map_err(failed())?;
        transaction.commit().await.map_err(failed())?;
        Ok(resealed)
    }

    async fn reseal_column(
        &self,
        transaction: &mut Transaction<'static, Any>,
        column: &SealedColumn,
        target: &Sealer,
    ) -> Result<u64, CatalogError> {
        let failed = || CatalogError::query("rotation");
        let rows = sqlx::query(column.select).fetch_all(&mut **transaction).await.map_err(failed())?;
        for row in &rows {
            let (name, sealed, place) = (text(row, 0)?, text(row, 1)?, text(row, 2)?);
            let opened = self.keyring().open(column.table, &name, &sealed)?;
            sqlx::query(column.update)
                .bind(target.seal(column.table, &name, &opened))
                .bind(&place)
                .execute(&mut **transaction)
                .await
                .map_err(failed())?;
        }
        Ok(rows.len() as u64)
    }
}
