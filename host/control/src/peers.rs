//! Peers: created with a real connection, shown without secrets, dropped when unused.

mod comparison;

use tarn_catalog::{PeerDropped, PeerStored};
use tarn_model::{MASK, Peer, PeerKind, Problem, peer_name_problem};
use tokio::time::timeout;

pub use self::comparison::{PeerComparison, PeerDifference};
use crate::config::{PEER_ATTEMPTS_MAX, PEER_VERSION_DEADLINE};
use crate::error::one_line;
use crate::{Control, ControlError};

/// How to create a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerCreation {
    /// Replace a peer of the name.
    pub allow_update: bool,
    /// Store it without opening a connection.
    pub disable_validation: bool,
}

/// How creating or validating a peer went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerOutcome {
    /// It is stored, or would be.
    Good,
    /// Why not, for a person.
    Bad(String),
}

/// A peer as it is shown.
#[derive(Clone, Debug)]
pub struct PeerInfo {
    /// The peer; its secrets serialise as the mask.
    pub peer: Peer,
    /// The store's version text; empty when it cannot be asked.
    pub version: String,
}

impl Control {
    /// Creates or updates a peer, after a real connection to it.
    ///
    /// # Errors
    /// [`ControlError::Catalog`]. Everything a person can mend is in the outcome.
    pub async fn create_peer(&self, peer: Peer, creation: PeerCreation) -> Result<PeerOutcome, ControlError> {
        for _ in 0..PEER_ATTEMPTS_MAX {
            if let Some(outcome) = self.try_to_create(peer.clone(), creation).await? {
                return Ok(outcome);
            }
        }
        Ok(PeerOutcome::Bad(format!("peer {} kept changing while it was connected to; try again", peer.name)))
    }

    /// One attempt; `None` when another request changed the peer while it was connected to.
    async fn try_to_create(
        &self,
        mut peer: Peer,
        creation: PeerCreation,
    ) -> Result<Option<PeerOutcome>, ControlError> {
        let stored = match self.prepare(&mut peer).await? {
            Ok(stored) => stored,
            Err(problems) => return Ok(Some(PeerOutcome::Bad(one_line(&problems)))),
        };
        if stored.is_some() && !creation.allow_update {
            let name = &peer.name;
            let message = format!("a peer named {name} already exists; set allow_update to change it");
            return Ok(Some(PeerOutcome::Bad(message)));
        }
        if let Some(stored) = &stored
            && stored.config.kind() != peer.config.kind()
        {
            let users = self.mirrors_of(&peer.name).await?;
            if !users.is_empty() {
                return Ok(Some(kind_is_fixed(&peer, &users)));
            }
        }
        if !creation.disable_validation
            && let bad @ PeerOutcome::Bad(_) = self.probed(&peer).await
        {
            return Ok(Some(bad));
        }
        if stored.as_ref() == Some(&peer) {
            // Storing it would restart the mirrors that use it.
            return Ok(Some(PeerOutcome::Good));
        }
        Ok(match self.catalog().store_peer(&peer, stored.as_ref()).await? {
            PeerStored::Done => {
                tracing::info!(peer = peer.name, kind = %peer.config.kind(), "stored a peer");
                self.wake();
                Some(PeerOutcome::Good)
            }
            PeerStored::InUse(users) => Some(kind_is_fixed(&peer, &users)),
            PeerStored::Changed => None,
        })
    }

    /// Says whether a peer could be created, storing nothing.
    ///
    /// # Errors
    /// [`ControlError::Catalog`].
    pub async fn validate_peer(&self, mut peer: Peer) -> Result<PeerOutcome, ControlError> {
        if let Err(problems) = self.prepare(&mut peer).await? {
            return Ok(PeerOutcome::Bad(one_line(&problems)));
        }
        Ok(self.probed(&peer).await)
    }

    /// Connects to a peer's store, and to its bucket.
    async fn probed(&self, peer: &Peer) -> PeerOutcome {
        let probe = &self.parts().probe;
        if let Err(failure) = probe.version(peer).await {
            return PeerOutcome::Bad(format!("cannot connect to peer {}: {failure}", peer.name));
        }
        match probe.staging(peer).await {
            Ok(()) => PeerOutcome::Good,
            Err(failure) => {
                PeerOutcome::Bad(format!("cannot stage in the bucket of peer {}: {failure}", peer.name))
            }
        }
    }

    /// A peer with the version its store gives just now.
    ///
    /// # Errors
    /// [`ControlError::NotFound`], [`ControlError::Catalog`].
    pub async fn peer_info(&self, name: &str) -> Result<PeerInfo, ControlError> {
        let peer = self.catalog().peer(name).await?.ok_or_else(|| unknown_peer("peer_name", name))?;
        let version = match timeout(PEER_VERSION_DEADLINE, self.parts().probe.version(&peer)).await {
            Ok(Ok(version)) => version,
            Ok(Err(failure)) => {
                tracing::warn!(peer = name, %failure, "the peer's version could not be read");
                String::new()
            }
            Err(_) => String::new(),
        };
        Ok(PeerInfo { peer, version })
    }

    /// A peer's kind.
    ///
    /// # Errors
    /// [`ControlError::NotFound`], [`ControlError::Catalog`].
    pub async fn peer_kind(&self, name: &str) -> Result<PeerKind, ControlError> {
        self.catalog().peer_kind(name).await?.ok_or_else(|| unknown_peer("peer_name", name))
    }

    /// Every peer's name and kind, by name.
    ///
    /// # Errors
    /// [`ControlError::Catalog`].
    pub async fn list_peers(&self) -> Result<Vec<(String, PeerKind)>, ControlError> {
        Ok(self.catalog().peers().await?)
    }

    /// Removes a peer that no mirror uses.
    ///
    /// # Errors
    /// [`ControlError::InvalidArgument`] without a name, [`ControlError::NotFound`],
    /// [`ControlError::FailedPrecondition`] naming the mirrors, [`ControlError::Catalog`].
    pub async fn drop_peer(&self, name: &str) -> Result<(), ControlError> {
        if name.is_empty() {
            return Err(ControlError::invalid("peer_name", "is missing"));
        }
        match self.catalog().drop_peer(name).await? {
            PeerDropped::Done => {
                tracing::info!(peer = name, "dropped a peer");
                Ok(())
            }
            PeerDropped::Unknown => Err(unknown_peer("peer_name", name)),
            PeerDropped::InUse(mirrors) => {
                let message = format!("peer {name} is used by {}; drop them first", mirrors.join(", "));
                Err(ControlError::precondition("peer_name", message))
            }
        }
    }

    /// Fills in what a client left open or masked, and finds what is wrong whatever the store says. The
    /// stored peer of the name comes back.
    async fn prepare(&self, peer: &mut Peer) -> Result<Result<Option<Peer>, Vec<Problem>>, ControlError> {
        let mut problems = Vec::new();
        if let Some(problem) = peer_name_problem(&peer.name) {
            problems.push(Problem::new("peer.name", problem, ""));
        }
        peer.config.fill_defaults();
        let key = config_key(peer.config.kind());
        let within = |mut problem: Problem| {
            problem.path = format!("peer.{key}.{}", problem.path);
            problem
        };
        problems.extend(peer.config.problems().into_iter().map(within));
        if !problems.is_empty() {
            return Ok(Err(problems));
        }
        let ignored = self.settings().allowance.strike_ignored(&mut peer.config);
        if !ignored.is_empty() {
            let fields = ignored.join(", ");
            tracing::warn!(
                peer = peer.name,
                fields,
                "the edition stages in its own bucket; the peer's is ignored"
            );
        }
        let stored = self.catalog().peer(&peer.name).await?;
        if let Some(stored) = &stored {
            peer.config.keep_masked(&stored.config);
        }
        let masks = peer.config.secrets().into_iter().filter(|(_, secret)| secret.is_mask());
        let problems: Vec<_> = masks.map(|(path, _)| within(stands_for_nothing(path))).collect();
        Ok(if problems.is_empty() { Ok(stored) } else { Err(problems) })
    }

    /// Names of the mirrors that use a peer.
    async fn mirrors_of(&self, peer: &str) -> Result<Vec<String>, ControlError> {
        let mirrors = self.catalog().mirrors().await?.mirrors.into_iter();
        let using = mirrors.filter(|m| m.spec.source_peer == peer || m.spec.destination_peer == peer);
        Ok(using.map(|mirror| mirror.spec.name).collect())
    }
}

/// The key that a kind's settings are sent under.
pub fn config_key(kind: PeerKind) -> &'static str {
    match kind {
        PeerKind::BigQuery => "bigquery_config",
        PeerKind::Snowflake => "snowflake_config",
        PeerKind::Mongo => "mongo_config",
        PeerKind::Postgres | PeerKind::CockroachDb => "postgres_config",
        PeerKind::S3 => "s3_config",
        PeerKind::SqlServer => "sqlserver_config",
        PeerKind::MySql => "mysql_config",
        PeerKind::ClickHouse => "clickhouse_config",
        PeerKind::Kafka => "kafka_config",
        PeerKind::PubSub => "pubsub_config",
        PeerKind::EventHubs => "eventhub_group_config",
        PeerKind::Elasticsearch => "elasticsearch_config",
        PeerKind::Plugin => "plugin_config",
    }
}

pub(crate) fn unknown_peer(path: &str, name: &str) -> ControlError {
    ControlError::missing(path, format!("there is no peer {name}"))
}

fn stands_for_nothing(path: &str) -> Problem {
    let message = format!("is {MASK}, which stands for a stored secret, and there is none");
    Problem::new(path, message, "send the secret itself")
}

fn kind_is_fixed(peer: &Peer, users: &[String]) -> PeerOutcome {
    let Peer { name, config } = peer;
    let users = users.join(", ");
    PeerOutcome::Bad(format!(
        "peer {name} is used by {users}; it cannot become one of kind {} now",
        config.kind()
    ))
}
