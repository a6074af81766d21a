//! Peers. Their settings are sealed whole; the kind is outside the seal, for lists.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use sqlx::{Any, Transaction};
use tarn_model::{Enumerated as _, Peer, PeerConfig, PeerKind, Secret};

use crate::database::{integer, now, text};
use crate::{Catalog, CatalogError};

/// What storing a peer did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerStored {
    /// It is stored.
    Done,
    /// The stored peer of the name is not the one that the caller saw; nothing changed.
    Changed,
    /// These mirrors use the peer, so that its kind stays; nothing changed.
    InUse(Vec<String>),
}

/// What dropping a peer did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerDropped {
    /// It is gone.
    Done,
    /// There was none.
    Unknown,
    /// These mirrors use it; nothing changed.
    InUse(Vec<String>),
}

/// The sealed text: the settings as they are shown, and the secrets by path.
#[derive(Serialize, Deserialize)]
struct Sealed {
    config: PeerConfig,
    secrets: BTreeMap<String, String>,
}

impl Catalog {
    /// Stores a peer in place of the one that the caller `saw` under its name, or as a new one where it saw
    /// none. A peer is made of what was stored before: what others stored meanwhile must not be lost in it.
    ///
    /// # Errors
    /// [`CatalogError`]; also when the seal of the stored one does not open.
    pub async fn store_peer(&self, peer: &Peer, saw: Option<&Peer>) -> Result<PeerStored, CatalogError> {
        let failed = || CatalogError::query("peer");
        let mut transaction = self.database().begin().await?;
        // Holds the row, as a mirror that is created does.
        let held = sqlx::query("UPDATE peers SET updated_us = updated_us WHERE name = $1 RETURNING sealed")
            .bind(&peer.name)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(failed())?;
        let stored = held.map(|row| self.unseal(&peer.name, &text(&row, 0)?)).transpose()?;
        if stored.as_ref() != saw {
            return Ok(PeerStored::Changed);
        }
        if stored.is_some_and(|stored| stored.config.kind() != peer.config.kind()) {
            let users = users(&mut transaction, &peer.name).await?;
            if !users.is_empty() {
                return Ok(PeerStored::InUse(users));
            }
        }
        let statement = match saw {
            Some(_) => "UPDATE peers SET kind = $2, sealed = $3, updated_us = $4 WHERE name = $1",
            None => {
                "INSERT INTO peers (name, kind, sealed, created_us, updated_us) VALUES ($1, $2, $3, $4, $4)
                 ON CONFLICT (name) DO NOTHING"
            }
        };
        let done = sqlx::query(statement)
            .bind(&peer.name)
            .bind(peer.config.kind().name())
            .bind(self.seal(peer)?)
            .bind(now().micros())
            .execute(&mut *transaction)
            .await
            .map_err(failed())?;
        transaction.commit().await.map_err(failed())?;
        Ok(if done.rows_affected() == 0 { PeerStored::Changed } else { PeerStored::Done })
    }

    /// A peer with its secrets.
    ///
    /// # Errors
    /// [`CatalogError`]; also when the seal does not open.
    pub async fn peer(&self, name: &str) -> Result<Option<Peer>, CatalogError> {
        let row = sqlx::query("SELECT sealed FROM peers WHERE name = $1")
            .bind(name)
            .fetch_optional(self.database().reader())
            .await
            .map_err(CatalogError::query("peer"))?;
        row.map(|row| self.unseal(name, &text(&row, 0)?)).transpose()
    }

    /// Name and kind of every peer, by name.
    ///
    /// # Errors
    /// [`CatalogError::Query`].
    pub async fn peers(&self) -> Result<Vec<(String, PeerKind)>, CatalogError> {
        let rows = sqlx::query("SELECT name, kind FROM peers ORDER BY name")
            .fetch_all(self.database().reader())
            .await
            .map_err(CatalogError::query("peer list"))?;
        rows.iter().map(name_and_kind).collect()
    }

    /// A peer's kind, without opening its seal.
    ///
    /// # Errors
    /// [`CatalogError::Query`].
    pub async fn peer_kind(&self, name: &str) -> Result<Option<PeerKind>, CatalogError> {
        let row = sqlx::query("SELECT name, kind FROM peers WHERE name = $1")
            .bind(name)
            .fetch_optional(self.database().reader())
            .await
            .map_err(CatalogError::query("peer"))?;
        Ok(row.map(|row| name_and_kind(&row)).transpose()?.map(|(_, kind)| kind))
    }

    /// When each peer was last changed, in microseconds since 1970, by name.
    ///
    /// # Errors
    /// [`CatalogError::Query`].
    pub async fn peer_changes(&self) -> Result<HashMap<String, i64>, CatalogError> {
        let rows = sqlx::query("SELECT name, updated_us FROM peers")
            .fetch_all(self.database().reader())
            .await
            .map_err(CatalogError::query("peer list"))?;
        rows.iter().map(|row| Ok((text(row, 0)?, integer(row, 1)?))).collect()
    }

    /// Removes a peer that no mirror uses.
    ///
    /// # Errors
    /// [`CatalogError::Query`].
    pub async fn drop_peer(&self, name: &str) -> Result<PeerDropped, CatalogError> {
        let failed = || CatalogError::query("drop of a peer");
        let mut transaction = self.database().begin().await?;
        // Holds the row first: a mirror that is created at the same time waits, or is seen below.
        let held = sqlx::query("UPDATE peers SET updated_us = updated_us WHERE name = $1")
            .bind(name)
            .execute(&mut *transaction)
            .await
            .map_err(failed())?;
        if held.rows_affected() == 0 {
            return Ok(PeerDropped::Unknown);
        }
        let users = users(&mut transaction, name).await?;
        if !users.is_empty() {
            return Ok(PeerDropped::InUse(users));
        }
        sqlx::query("DELETE FROM peers WHERE name = $1")
            .bind(name)
            .execute(&mut *transaction)
            .await
            .map_err(failed())?;
        transaction.commit().await.map_err(failed())?;
        Ok(PeerDropped::Done)
    }

    fn seal(&self, peer: &Peer) -> Result<String, CatalogError> {
        let secrets = peer.config.secrets();
        let sealed = Sealed {
            config: peer.config.clone(),
            secrets: secrets.iter().map(|(path, secret)| ((*path).into(), secret.expose().into())).collect(),
        };
        let json = serde_json::to_string(&sealed).map_err(CatalogError::content("peers.sealed"))?;
        Ok(self.keyring().seal("peers", &peer.name, &json))
    }

    fn unseal(&self, name: &str, sealed: &str) -> Result<Peer, CatalogError> {
        let json = self.keyring().open("peers", name, sealed)?;
        let Sealed { mut config, secrets } =
            serde_json::from_str(&json).map_err(CatalogError::content("peers.sealed"))?;
        for (path, secret) in config.secrets_mut() {
            *secret = Secret::new(secrets.get(path).map_or("", String::as_str));
        }
        Ok(Peer { name: name.into(), config })
    }
}

/// Mirrors that use the peer of that name.
async fn users(transaction: &mut Transaction<'static, Any>, name: &str) -> Result<Vec<String>, CatalogError> {
    let rows = sqlx::query(
        "SELECT name FROM mirrors WHERE (source_peer = $1 OR destination_peer = $1)
             AND state <> 'STATUS_TERMINATED' ORDER BY name",
    )
    .bind(name)
    .fetch_all(&mut **transaction)
    .await
    .map_err(CatalogError::query("users of a peer"))?;
    rows.iter().map(|row| text(row, 0)).collect()
}

fn name_and_kind(row: &AnyRow) -> Result<(String, PeerKind), CatalogError> {
    let kind = text(row, 1)?;
    let known = PeerKind::from_name(&kind);
    let kind = known.ok_or(kind).map_err(CatalogError::content("peers.kind"))?;
    Ok((text(row, 0)?, kind))
}
