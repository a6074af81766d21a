//! The resources' front door: what the API calls.

use std::sync::Arc;

use tarn_catalog::Catalog;
use tarn_model::{Allowance, LogLevel};
use tokio::sync::watch;

use crate::hooks::{Inspector, PeerProbe, Replayer, ScriptCompiler, ScriptRunner, Validator};
use crate::latency::Latencies;
use crate::plugins::ConnectorSummary;
use crate::progress::Progress;
use crate::recent::RecentRecords;
use crate::records::book::Books;
use crate::retries::Retries;
use crate::slot_watch::SlotHealths;
use crate::stage::Stages;

/// What an operator decided.
#[derive(Clone, Debug)]
pub struct ControlSettings {
    /// What the edition and its switches allow.
    pub allowance: Allowance,
    /// The server's own version.
    pub version: String,
}

/// What the resources work with.
pub struct ControlParts {
    /// The stored truth.
    pub catalog: Catalog,
    /// Looks at source and destination.
    pub validator: Arc<dyn Validator>,
    /// Opens connections to peers.
    pub probe: Arc<dyn PeerProbe>,
    /// Asks stores what is in them.
    pub inspector: Arc<dyn Inspector>,
    /// Compiles scripts.
    pub compiler: Arc<dyn ScriptCompiler>,
    /// The installed connectors.
    pub connectors: Vec<ConnectorSummary>,
    /// Runs dead letters through their mirrors again.
    pub replayer: Arc<dyn Replayer>,
    /// Rows of partitions under way.
    pub progress: Progress,
    /// How long changes take.
    pub latencies: Latencies,
    /// Where rows wait for a destination that is away.
    pub stages: Stages,
    /// What is remembered of dead letters.
    pub books: Books,
    /// Runs scripts that are tried out.
    pub runner: Arc<dyn ScriptRunner>,
    /// Records that scripts are tried out on.
    pub recent: RecentRecords,
}

/// Peers, mirrors, scripts, batches and logs, with their rules. Clones share it.
#[derive(Clone)]
pub struct Control {
    inner: Arc<Inner>,
}

struct Inner {
    parts: ControlParts,
    settings: ControlSettings,
    changes: watch::Sender<u64>,
    slot_healths: SlotHealths,
    retries: Retries,
}

impl Control {
    /// Puts the parts together. Nothing runs yet.
    pub fn new(parts: ControlParts, settings: ControlSettings) -> Self {
        let (changes, _) = watch::channel(0);
        let (slot_healths, retries) = (SlotHealths::default(), Retries::default());
        Self { inner: Arc::new(Inner { parts, settings, changes, slot_healths, retries }) }
    }

    /// Changes whenever a request, a peer or a script was stored: for the supervisor.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    /// Whether requests can be served.
    ///
    /// # Errors
    /// The catalog does not answer, or cannot be written.
    pub async fn ready(&self) -> Result<(), Arc<tarn_catalog::CatalogError>> {
        self.catalog().ready().await
    }

    /// The catalog.
    pub fn catalog(&self) -> &Catalog {
        &self.parts().catalog
    }

    pub(crate) fn parts(&self) -> &ControlParts {
        &self.inner.parts
    }

    /// What the operator decided.
    pub fn settings(&self) -> &ControlSettings {
        &self.inner.settings
    }

    /// How the mirrors' slots are.
    pub(crate) fn slot_healths(&self) -> &SlotHealths {
        &self.inner.slot_healths
    }

    /// What fails of the mirrors and is tried again.
    pub(crate) fn retries(&self) -> &Retries {
        &self.inner.retries
    }

    /// Tells the supervisor that there is something to look at.
    pub(crate) fn wake(&self) {
        self.inner.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Writes to a mirror's log what a person asked for. The request is stored by then: a catalog that
    /// fails just now costs the line, not the request.
    pub(crate) async fn note(&self, mirror: &str, message: &str) {
        tracing::info!(mirror, "{message}");
        if let Err(error) = self.catalog().log(mirror, &[(LogLevel::Info, message.to_owned())]).await {
            tracing::warn!(mirror, error = error.chain(), "a line of the mirror's log could not be stored");
        }
    }
}
