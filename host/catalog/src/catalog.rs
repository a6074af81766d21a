//! The catalog as a whole: opening, closing, single values.

use std::path::PathBuf;
use std::sync::Arc;

use tarn_model::Secret;

use crate::database::{Database, text};
use crate::folder::Folder;
use crate::sealing::Sealer;
use crate::{CatalogError, migrations};

/// Where the catalog is and what seals it.
#[derive(Clone, Debug)]
pub struct CatalogOptions {
    /// Folder of the lock, the sealing key and, without `url`, the SQLite file. Made if needed.
    pub data_dir: PathBuf,
    /// A PostgreSQL database, `postgres://…`.
    pub url: Option<Secret>,
    /// The sealing key, 32 bytes of base64; without it, the key file of the data directory.
    pub key: Option<Secret>,
}

/// The stored truth about peers, mirrors, scripts and progress. Clones share it.
#[derive(Clone, Debug)]
pub struct Catalog {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    database: Database,
    sealer: Sealer,
    _folder: Folder,
}

/// The meta entry that names the key the secrets are sealed with.
const KEY_ID: &str = "sealing_key_id";

impl Catalog {
    /// Takes the data directory, opens the database and brings it to the newest form.
    ///
    /// # Errors
    /// [`CatalogError`]: the directory is in use or not usable, the database cannot be opened or is of
    /// a newer form, or the secrets in it were sealed with another key.
    pub async fn open(options: &CatalogOptions) -> Result<Self, CatalogError> {
        let folder = Folder::open(&options.data_dir).await?;
        let database = match &options.url {
            Some(url) => Database::postgres(url).await?,
            None => Database::sqlite(&folder.database()?).await?,
        };
        migrations::apply(&database).await?;
        let sealer = match &options.key {
            Some(key) => Sealer::from_base64(key.expose(), "the settings")?,
            None => {
                let (text, origin) = folder.key()?;
                Sealer::from_base64(&text, &origin)?
            }
        };
        let catalog = Self { inner: Arc::new(Inner { database, sealer, _folder: folder }) };
        catalog.check_key().await?;
        Ok(catalog)
    }

    /// Ends open connections. A catalog that was not closed opens just as well.
    pub async fn close(&self) {
        self.inner.database.close().await;
    }

    /// Whether the database answers.
    ///
    /// # Errors
    /// [`CatalogError::Query`] when it does not.
    pub async fn ping(&self) -> Result<(), CatalogError> {
        self.meta(KEY_ID).await.map(|_| ())
    }

    /// A single value by name.
    ///
    /// # Errors
    /// [`CatalogError::Query`].
    pub async fn meta(&self, name: &str) -> Result<Option<String>, CatalogError> {
        let row = sqlx::query("SELECT value FROM meta WHERE name = $1")
            .bind(name)
            .fetch_optional(self.database().reader())
            .await
            .map_err(CatalogError::query("meta entry"))?;
        row.map(|row| text(&row, 0)).transpose()
    }

    /// Stores a single value unless the name has one, and returns what is stored then.
    ///
    /// # Errors
    /// [`CatalogError::Query`].
    pub async fn meta_once(&self, name: &str, value: &str) -> Result<String, CatalogError> {
        let mut transaction = self.database().begin().await?;
        sqlx::query("INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING")
            .bind(name)
            .bind(value)
            .execute(&mut *transaction)
            .await
            .map_err(CatalogError::query("meta entry"))?;
        let row = sqlx::query("SELECT value FROM meta WHERE name = $1")
            .bind(name)
            .fetch_one(&mut *transaction)
            .await
            .map_err(CatalogError::query("meta entry"))?;
        let stored = text(&row, 0)?;
        transaction.commit().await.map_err(CatalogError::query("meta entry"))?;
        Ok(stored)
    }

    pub(crate) fn database(&self) -> &Database {
        &self.inner.database
    }

    pub(crate) fn sealer(&self) -> &Sealer {
        &self.inner.sealer
    }

    /// Refuses at start what would otherwise fail at the first use of a peer.
    async fn check_key(&self) -> Result<(), CatalogError> {
        let given = self.sealer().id().to_owned();
        let wanted = self.meta_once(KEY_ID, &given).await?;
        if wanted == given { Ok(()) } else { Err(CatalogError::KeyMissing { wanted, given }) }
    }
}
