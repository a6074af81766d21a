//! Scripts, their versions, and the components they were compiled into.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sqlx::any::AnyRow;
use sqlx::{Any, Transaction};
use tarn_model::{Enumerated as _, Script, ScriptLanguage, ScriptReference, Timestamp};

use crate::database::{integer, next, now, small, text};
use crate::digest::sha256;
use crate::mirrors::names_of;
use crate::{Catalog, CatalogError};

/// A script to store, compiled.
#[derive(Clone, Debug)]
pub struct NewScript {
    /// Its unique name.
    pub name: String,
    /// What it is written in.
    pub language: ScriptLanguage,
    /// Its code.
    pub source: String,
    /// The component it was compiled into.
    pub component: Vec<u8>,
    /// Its cases; empty without any.
    pub tests: String,
    /// The user who stores it; empty where the login has no name.
    pub created_by: String,
    /// The older version whose code and cases it takes up again.
    pub rolled_back_from: Option<u32>,
    /// The version that was the newest when it was made; `None` where that does not matter.
    pub follows: Option<u32>,
}

/// What storing a script did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptStored {
    /// It is stored under this id.
    Done(i64),
    /// Another script has the name.
    NameTaken,
    /// There is no script of the id.
    Unknown,
    /// Its mirrors know it by its name, which may not change while they do.
    NameInUse,
    /// Another version than [`NewScript::follows`] is the newest by now.
    Overtaken,
}

/// What deleting a script did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptDropped {
    /// It is gone.
    Done,
    /// There was none.
    Unknown,
    /// These mirrors use it; nothing changed.
    InUse(Vec<String>),
}

/// A query of the columns that `script` reads; the version is the newest where `$2` is 0.
macro_rules! select_scripts {
    ($rest:literal) => {
        concat!(
            "SELECT s.id, s.name, v.language, v.source, v.version, v.digest, v.created_us, v.tests, v.created_by, \
             v.rolled_back_from FROM scripts s JOIN script_versions v ON v.script_id = s.id ",
            $rest
        )
    };
}

impl Catalog {
    /// Stores a script: a new one without `id`, else a new version of that one.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn store_script(
        &self,
        id: Option<i64>,
        script: &NewScript,
    ) -> Result<ScriptStored, CatalogError> {
        let failed = || CatalogError::query("script");
        let mut transaction = self.database().begin().await?;
        let stored = match id {
            None => insert(&mut transaction, script).await?,
            Some(id) => update(&mut transaction, id, script).await?,
        };
        if matches!(stored, ScriptStored::Done(_)) {
            transaction.commit().await.map_err(failed())?;
        }
        Ok(stored)
    }

    /// Every script at its newest version, by id; or the one of that id.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn scripts(&self, id: Option<i64>) -> Result<Vec<Script>, CatalogError> {
        let rows = sqlx::query(select_scripts!(
            "AND v.version = s.version WHERE ($1 = -1 OR s.id = $1) ORDER BY s.id"
        ))
        .bind(id.unwrap_or(-1))
        .fetch_all(self.database().reader())
        .await
        .map_err(CatalogError::query("script list"))?;
        rows.iter().map(script).collect()
    }

    /// All versions of a script, newest first.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn script_versions(&self, id: i64) -> Result<Vec<Script>, CatalogError> {
        let rows = sqlx::query(select_scripts!("WHERE s.id = $1 ORDER BY v.version DESC"))
            .bind(id)
            .fetch_all(self.database().reader())
            .await
            .map_err(CatalogError::query("script versions"))?;
        rows.iter().map(script).collect()
    }

    /// A script at one of its versions.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn script_version(&self, id: i64, version: u32) -> Result<Option<Script>, CatalogError> {
        let row = sqlx::query(select_scripts!("WHERE s.id = $1 AND v.version = $2"))
            .bind(id)
            .bind(i64::from(version))
            .fetch_optional(self.database().reader())
            .await
            .map_err(CatalogError::query("script version"))?;
        row.as_ref().map(script).transpose()
    }

    /// The script a mirror names, at the pinned version or the newest.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn script(&self, reference: &ScriptReference) -> Result<Option<Script>, CatalogError> {
        let row = sqlx::query(select_scripts!(
            "WHERE s.name = $1 AND ((v.version = s.version AND $2 = 0) OR v.version = $2)"
        ))
        .bind(&reference.name)
        .bind(i64::from(reference.version.unwrap_or(0)))
        .fetch_optional(self.database().reader())
        .await
        .map_err(CatalogError::query("script"))?;
        row.map(|row| script(&row)).transpose()
    }

    /// The component of a digest.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn component(&self, digest: &str) -> Result<Option<Vec<u8>>, CatalogError> {
        let row = sqlx::query("SELECT bytes FROM components WHERE digest = $1")
            .bind(digest)
            .fetch_optional(self.database().reader())
            .await
            .map_err(CatalogError::query("component"))?;
        row.map(|row| STANDARD.decode(text(&row, 0)?).map_err(CatalogError::content("components.bytes")))
            .transpose()
    }

    /// Removes a script that no mirror uses, with its versions.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn drop_script(&self, id: i64) -> Result<ScriptDropped, CatalogError> {
        let failed = || CatalogError::query("drop of a script");
        let mut transaction = self.database().begin().await?;
        // Holds the row first: a mirror that is created at the same time waits, or is seen below.
        let row = sqlx::query("UPDATE scripts SET version = version WHERE id = $1 RETURNING name")
            .bind(id)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(failed())?;
        let Some(row) = row else { return Ok(ScriptDropped::Unknown) };
        let users = users(&mut transaction, &text(&row, 0)?).await?;
        if !users.is_empty() {
            return Ok(ScriptDropped::InUse(users));
        }
        for statement in [
            "DELETE FROM scripts WHERE id = $1",
            "DELETE FROM components WHERE $1 >= 0 AND digest NOT IN (SELECT digest FROM script_versions)",
        ] {
            sqlx::query(statement).bind(id).execute(&mut *transaction).await.map_err(failed())?;
        }
        transaction.commit().await.map_err(failed())?;
        Ok(ScriptDropped::Done)
    }
}

async fn insert(
    transaction: &mut Transaction<'static, Any>,
    script: &NewScript,
) -> Result<ScriptStored, CatalogError> {
    let id = next(transaction, "scripts", 1).await?;
    let done = sqlx::query(
        "INSERT INTO scripts (id, name, language, version, created_us) VALUES ($1, $2, $3, 1, $4)
         ON CONFLICT (name) DO NOTHING",
    )
    .bind(id)
    .bind(&script.name)
    .bind(script.language.name())
    .bind(now().micros())
    .execute(&mut **transaction)
    .await
    .map_err(CatalogError::query("script"))?;
    if done.rows_affected() == 0 {
        return Ok(ScriptStored::NameTaken);
    }
    insert_version(transaction, id, 1, script).await?;
    Ok(ScriptStored::Done(id))
}

async fn update(
    transaction: &mut Transaction<'static, Any>,
    id: i64,
    script: &NewScript,
) -> Result<ScriptStored, CatalogError> {
    let failed = || CatalogError::query("script");
    let row = sqlx::query("UPDATE scripts SET version = version + 1 WHERE id = $1 RETURNING version, name")
        .bind(id)
        .fetch_optional(&mut **transaction)
        .await
        .map_err(failed())?;
    let Some(row) = row else { return Ok(ScriptStored::Unknown) };
    let (version, old_name) = (integer(&row, 0)?, text(&row, 1)?);
    if script.follows.is_some_and(|before| i64::from(before) + 1 != version) {
        return Ok(ScriptStored::Overtaken);
    }
    if old_name != script.name {
        let other = sqlx::query("SELECT id FROM scripts WHERE name = $1")
            .bind(&script.name)
            .fetch_optional(&mut **transaction)
            .await
            .map_err(failed())?;
        if other.is_some() {
            return Ok(ScriptStored::NameTaken);
        }
        if !users(transaction, &old_name).await?.is_empty() {
            return Ok(ScriptStored::NameInUse);
        }
    }
    sqlx::query("UPDATE scripts SET name = $1, language = $2 WHERE id = $3")
        .bind(&script.name)
        .bind(script.language.name())
        .bind(id)
        .execute(&mut **transaction)
        .await
        .map_err(failed())?;
    insert_version(transaction, id, version, script).await?;
    Ok(ScriptStored::Done(id))
}

async fn insert_version(
    transaction: &mut Transaction<'static, Any>,
    id: i64,
    version: i64,
    script: &NewScript,
) -> Result<(), CatalogError> {
    let digest = sha256(&script.component);
    sqlx::query(
        "INSERT INTO components (digest, bytes, created_us) VALUES ($1, $2, $3)
         ON CONFLICT (digest) DO NOTHING",
    )
    .bind(&digest)
    .bind(STANDARD.encode(&script.component))
    .bind(now().micros())
    .execute(&mut **transaction)
    .await
    .map_err(CatalogError::query("component"))?;
    sqlx::query(
        "INSERT INTO script_versions (script_id, version, language, source, digest, created_us, tests, created_by,
             rolled_back_from)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(id)
    .bind(version)
    .bind(script.language.name())
    .bind(&script.source)
    .bind(&digest)
    .bind(now().micros())
    .bind(&script.tests)
    .bind(&script.created_by)
    .bind(i64::from(script.rolled_back_from.unwrap_or(0)))
    .execute(&mut **transaction)
    .await
    .map_err(CatalogError::query("script version"))?;
    Ok(())
}

/// Mirrors that use the script of that name.
async fn users(transaction: &mut Transaction<'static, Any>, name: &str) -> Result<Vec<String>, CatalogError> {
    let rows = sqlx::query(
        "SELECT name, script FROM mirrors WHERE script <> '' AND state <> 'STATUS_TERMINATED' ORDER BY name",
    )
    .fetch_all(&mut **transaction)
    .await
    .map_err(CatalogError::query("users of a script"))?;
    let mut users = Vec::new();
    for row in &rows {
        if names_of(&text(row, 1)?).any(|used| used == name) {
            users.push(text(row, 0)?);
        }
    }
    Ok(users)
}

fn script(row: &AnyRow) -> Result<Script, CatalogError> {
    let language = text(row, 2)?;
    let known = ScriptLanguage::from_name(&language);
    Ok(Script {
        id: integer(row, 0)?,
        name: text(row, 1)?,
        language: known.ok_or(language).map_err(CatalogError::content("scripts.language"))?,
        source: text(row, 3)?,
        version: small(row, 4)?,
        digest: text(row, 5)?,
        created_at: Timestamp::from_micros(integer(row, 6)?),
        tests: text(row, 7)?,
        created_by: text(row, 8)?,
        rolled_back_from: Some(small(row, 9)?).filter(|version| *version > 0),
    })
}
