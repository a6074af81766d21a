//! The catalog as a whole: opening, closing, single values.

use std::path::PathBuf;
use std::sync::Arc;

use tarn_model::Secret;

use crate::database::{Database, text};
use crate::folder::Folder;
use crate::keyring::Keyring;
use crate::sealing::Sealer;
use crate::write_trials::WriteTrials;
use crate::{CatalogError, migrations};

/// Where the catalog is and what seals it.
#[derive(Clone, Debug, Default)]
pub struct CatalogOptions {
    /// Folder of the lock, the sealing key and, without `url`, the SQLite file. Made if needed.
    pub data_dir: PathBuf,
    /// A PostgreSQL database, `postgres://…`.
    pub url: Option<Secret>,
    /// The sealing key, 32 bytes of base64; without it, the key file of the data directory.
    pub key: Option<Secret>,
    /// The key before it, for what it sealed; needed around a rotation only.
    pub previous_key: Option<Secret>,
}

/// The stored truth about peers, mirrors, scripts and progress. Clones share it.
#[derive(Clone, Debug)]
pub struct Catalog {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    database: Database,
    keyring: Keyring,
    /// Whether another key than the first at hand seals.
    awaits_rotation: bool,
    folder: Folder,
    trials: WriteTrials,
}

/// The meta entry that names the key the secrets are sealed with.
pub(crate) const KEY_ID: &str = "sealing_key_id";

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
        let keys = keys(options, &folder)?;
        let first = keys.first().expect("there is a key, or one is made").id().to_owned();
        let wanted = stored_once(&database, KEY_ID, &first).await?;
        let keyring = Keyring::new(keys, &wanted)?;
        let is_finished = options.key.is_none() && folder.finish_rotation(keyring.sealing())?;
        let awaits_rotation = wanted != first && !is_finished;
        let trials = WriteTrials::default();
        Ok(Self { inner: Arc::new(Inner { database, keyring, awaits_rotation, folder, trials }) })
    }

    /// Whether the previous key still seals, so that a rotation is due: see [`Catalog::rotate`].
    pub fn awaits_rotation(&self) -> bool {
        self.inner.awaits_rotation
    }

    /// Ends open connections. A catalog that was not closed opens just as well.
    pub async fn close(&self) {
        self.inner.database.close().await;
    }

    /// Whether the database answers, and takes writes: a full disk, or a server that only reads, answers as well. One
    /// is tried for all who ask within [`WRITE_TRIAL_INTERVAL`], or [`FAILED_WRITE_TRIAL_INTERVAL`] where it failed.
    ///
    /// # Errors
    /// [`CatalogError::Query`] when it does not answer or takes none, [`CatalogError::Full`] for want of room.
    ///
    /// [`WRITE_TRIAL_INTERVAL`]: crate::config::WRITE_TRIAL_INTERVAL
    /// [`FAILED_WRITE_TRIAL_INTERVAL`]: crate::config::FAILED_WRITE_TRIAL_INTERVAL
    pub async fn ready(&self) -> Result<(), Arc<CatalogError>> {
        self.meta(KEY_ID).await?;
        self.inner.trials.outcome(self.database().probe()).await
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
        stored_once(self.database(), name, value).await
    }

    pub(crate) fn database(&self) -> &Database {
        &self.inner.database
    }

    pub(crate) fn keyring(&self) -> &Keyring {
        &self.inner.keyring
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.inner.folder
    }
}

/// Every key at hand, the one to seal a fresh catalog with first.
fn keys(options: &CatalogOptions, folder: &Folder) -> Result<Vec<Sealer>, CatalogError> {
    let mut keys = match &options.key {
        Some(key) => vec![Sealer::from_base64(key.expose(), "the settings")?],
        None => folder.keys()?,
    };
    if let Some(key) = &options.previous_key {
        keys.push(Sealer::from_base64(key.expose(), "the settings (the previous one)")?);
    }
    Ok(keys)
}

/// Stores a single value unless the name has one, and returns what is stored then.
async fn stored_once(database: &Database, name: &str, value: &str) -> Result<String, CatalogError> {
    let mut transaction = database.begin().await?;
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
