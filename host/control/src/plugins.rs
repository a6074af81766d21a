//! The connectors this process has, and instances of them bound to peers.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use tarn_catalog::Catalog;
use tarn_model::{ClickHouseConfig, Failure, KafkaConfig, Peer, PeerConfig, ScriptLimits, ScriptReference};
use tarn_wasm::{
    Capabilities, ComparisonInstance, Component, DestinationInstance, InspectionInstance, Limits, LoadError,
    LogSink, LookupInstance, Manifest, ManifestError, NoLog, PreviewInstance, ReplacementInstance, Runtime,
    ScriptInstance, SourceInstance,
};

use crate::records::link::Span;

const MIB: usize = 1 << 20;

/// A plugin as the binary carries it.
#[derive(Clone, Copy, Debug)]
pub struct BundledPlugin {
    /// Its `plugin.toml`.
    pub manifest: &'static str,
    /// The component, or the core module of one.
    pub component: &'static [u8],
}

/// What [`Plugins::load`] takes.
#[derive(Clone, Copy, Debug)]
pub struct Bundle {
    /// The PostgreSQL source.
    pub postgres: BundledPlugin,
    /// The ClickHouse destination.
    pub clickhouse: BundledPlugin,
    /// The Kafka destination.
    pub kafka: BundledPlugin,
    /// The Lua runtime that scripts are compiled into.
    pub script_lua: BundledPlugin,
    /// The JavaScript runtime, as the Lua one.
    pub script_javascript: BundledPlugin,
}

/// The core modules that scripts are compiled into.
#[derive(Clone, Copy, Debug)]
pub struct ScriptRuntimes {
    /// The Lua runtime.
    pub lua: &'static [u8],
    /// The JavaScript runtime.
    pub javascript: &'static [u8],
}

/// Why the connectors cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PluginsError {
    /// A manifest is wrong.
    #[error("a bundled plugin's manifest cannot be used")]
    Manifest(#[from] ManifestError),
    /// A component does not load.
    #[error("a bundled plugin cannot be loaded")]
    Load(#[from] LoadError),
}

/// The loaded connectors. Clones share them.
#[derive(Clone, Debug)]
pub struct Plugins {
    runtime: Runtime,
    postgres: Component,
    clickhouse: Component,
    kafka: Component,
    script_runtimes: ScriptRuntimes,
    script_limits: Limits,
    script_record_time: Duration,
    summaries: Arc<[ConnectorSummary]>,
}

/// A connector as people see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConnectorSummary {
    /// Its name.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// `source`, `destination` or `script`.
    pub kind: String,
    /// What it is granted.
    pub capabilities: Vec<String>,
}

impl Plugins {
    /// Loads what the binary carries.
    ///
    /// # Errors
    /// [`PluginsError`]; the process cannot work without them.
    pub async fn load(runtime: Runtime, bundle: Bundle) -> Result<Self, PluginsError> {
        let manifests = [
            Manifest::parse(bundle.postgres.manifest)?,
            Manifest::parse(bundle.clickhouse.manifest)?,
            Manifest::parse(bundle.kafka.manifest)?,
            Manifest::parse(bundle.script_lua.manifest)?,
            Manifest::parse(bundle.script_javascript.manifest)?,
        ];
        let postgres = runtime.load(&manifests[0], bundle.postgres.component).await?;
        let clickhouse = runtime.load(&manifests[1], bundle.clickhouse.component).await?;
        let kafka = runtime.load(&manifests[2], bundle.kafka.component).await?;
        let summaries = manifests.iter().map(summary).collect();
        let script_limits = Limits::script();
        Ok(Self {
            runtime,
            postgres,
            clickhouse,
            kafka,
            script_runtimes: ScriptRuntimes {
                lua: bundle.script_lua.component,
                javascript: bundle.script_javascript.component,
            },
            script_limits,
            script_record_time: script_limits.run_time_max,
            summaries,
        })
    }

    /// The same with other bounds for scripts.
    #[must_use]
    pub fn with_script_limits(mut self, limits: ScriptLimits) -> Self {
        self.script_record_time = Duration::from_millis(limits.record_ms.into());
        self.script_limits = Limits {
            run_time_max: Duration::from_millis(limits.batch_ms.into()),
            memory_bytes_max: limits.memory_mib as usize * MIB,
            output_bytes_max: limits.output_mib as usize * MIB,
            log_lines_max: limits.log_lines,
            ..Limits::script()
        };
        self
    }

    /// The connectors, for people.
    pub fn summaries(&self) -> &[ConnectorSummary] {
        &self.summaries
    }

    /// The core modules that scripts are compiled into.
    pub fn script_runtimes(&self) -> ScriptRuntimes {
        self.script_runtimes
    }

    /// A configured source of a peer.
    ///
    /// # Errors
    /// The peer's kind has no source, or the guest's own failure.
    pub async fn source(
        &self,
        peer: &Peer,
        settings: &str,
        log: Arc<dyn LogSink>,
    ) -> Result<SourceInstance, Failure> {
        let PeerConfig::Postgres(config) = &peer.config else {
            return Err(no_connector(peer, "source"));
        };
        let capabilities = Capabilities::postgres(log, tarn_postgres::Client::new(config.clone()));
        let mut source = self.runtime.source(&self.postgres, capabilities, Limits::connector()).await?;
        source.configure(settings).await?;
        Ok(source)
    }

    /// A configured destination of a peer.
    ///
    /// # Errors
    /// The peer's kind has no destination, its settings cannot be used, or the guest's own failure.
    pub async fn destination(
        &self,
        peer: &Peer,
        settings: &str,
        log: Arc<dyn LogSink>,
    ) -> Result<DestinationInstance, Failure> {
        let (component, capabilities) = match &peer.config {
            PeerConfig::Clickhouse(config) => {
                (&self.clickhouse, Capabilities::clickhouse(log, clickhouse_client(peer, config)?))
            }
            PeerConfig::Kafka(config) => (&self.kafka, Capabilities::kafka(log, kafka_client(peer, config)?)),
            PeerConfig::Postgres(_) => return Err(no_connector(peer, "destination")),
        };
        let mut destination = self.runtime.destination(component, capabilities, Limits::connector()).await?;
        destination.configure(settings).await?;
        Ok(destination)
    }

    /// A configured source of a peer whose rows can be read by key.
    ///
    /// # Errors
    /// As for [`Self::source`], or that its connector reads no rows by key.
    pub async fn lookup(
        &self,
        peer: &Peer,
        settings: &str,
        log: Arc<dyn LogSink>,
    ) -> Result<LookupInstance, Failure> {
        let PeerConfig::Postgres(config) = &peer.config else {
            return Err(no_connector(peer, "source"));
        };
        let capabilities = Capabilities::postgres(log, tarn_postgres::Client::new(config.clone()));
        let mut source = self.runtime.lookup(&self.postgres, capabilities, Limits::connector()).await?;
        source.configure(settings).await?;
        Ok(source)
    }

    /// A configured destination of a peer that compares rows with what it holds.
    ///
    /// # Errors
    /// As for [`Self::destination`], or that its connector compares nothing.
    pub async fn comparison(
        &self,
        peer: &Peer,
        settings: &str,
        log: Arc<dyn LogSink>,
    ) -> Result<ComparisonInstance, Failure> {
        let PeerConfig::Clickhouse(config) = &peer.config else {
            return Err(no_connector(peer, "destination"));
        };
        let capabilities = Capabilities::clickhouse(log, clickhouse_client(peer, config)?);
        let mut destination =
            self.runtime.comparison(&self.clickhouse, capabilities, Limits::connector()).await?;
        destination.configure(settings).await?;
        Ok(destination)
    }

    /// Whether a peer's destination loads tables beside those that people read.
    pub fn replaces(&self, peer: &Peer) -> bool {
        matches!(peer.config, PeerConfig::Clickhouse(_)) && self.clickhouse.replaces()
    }

    /// A configured destination of a peer that puts tables loaded beside in their place.
    ///
    /// # Errors
    /// As for [`Self::destination`], or that its connector does no such thing.
    pub async fn replacement(
        &self,
        peer: &Peer,
        settings: &str,
        log: Arc<dyn LogSink>,
    ) -> Result<ReplacementInstance, Failure> {
        let PeerConfig::Clickhouse(config) = &peer.config else {
            return Err(no_connector(peer, "destination"));
        };
        let capabilities = Capabilities::clickhouse(log, clickhouse_client(peer, config)?);
        let mut destination =
            self.runtime.replacement(&self.clickhouse, capabilities, Limits::connector()).await?;
        destination.configure(settings).await?;
        Ok(destination)
    }

    /// A configured destination of a peer that tells what it would do to its tables.
    ///
    /// # Errors
    /// As for [`Self::destination`], or that its connector does no such thing.
    pub async fn preview(
        &self,
        peer: &Peer,
        settings: &str,
        log: Arc<dyn LogSink>,
    ) -> Result<PreviewInstance, Failure> {
        let PeerConfig::Clickhouse(config) = &peer.config else {
            return Err(no_connector(peer, "destination whose tables have columns"));
        };
        let capabilities = Capabilities::clickhouse(log, clickhouse_client(peer, config)?);
        let mut destination =
            self.runtime.preview(&self.clickhouse, capabilities, Limits::connector()).await?;
        destination.configure(settings).await?;
        Ok(destination)
    }

    /// An instance that questions about a peer's store are put to. It belongs to no mirror, and so logs
    /// nowhere.
    ///
    /// # Errors
    /// The peer's settings cannot be used, or its connector answers no questions.
    pub async fn inspection(&self, peer: &Peer) -> Result<InspectionInstance, Failure> {
        let log = Arc::new(NoLog);
        let (component, capabilities) = match &peer.config {
            PeerConfig::Postgres(config) => {
                let client = tarn_postgres::Client::new(config.clone());
                (&self.postgres, Capabilities::postgres(log, client))
            }
            PeerConfig::Clickhouse(config) => {
                (&self.clickhouse, Capabilities::clickhouse(log, clickhouse_client(peer, config)?))
            }
            PeerConfig::Kafka(config) => (&self.kafka, Capabilities::kafka(log, kafka_client(peer, config)?)),
        };
        self.runtime.inspection(component, capabilities, Limits::connector()).await
    }

    /// The component of a stored script, with the version it is of.
    ///
    /// # Errors
    /// There is no such script or version, or its component does not load.
    pub async fn load_script(
        &self,
        catalog: &Catalog,
        reference: &ScriptReference,
    ) -> Result<LoadedScript, Failure> {
        let missing = || {
            Failure::permanent("script_missing", format!("there is no script {}", reference.name))
                .with_hint("upload it again, or drop the mirror")
        };
        let script = catalog.script(reference).await?.ok_or_else(missing)?;
        let bytes = catalog.component(&script.digest).await?.ok_or_else(missing)?;
        let manifest = Manifest::script(&script.name);
        let component = self.runtime.load(&manifest, bytes).await?;
        Ok(LoadedScript { name: script.name, version: script.version, digest: script.digest, component })
    }

    /// The component of a script that no mirror runs, and that may not be stored.
    ///
    /// # Errors
    /// It does not load.
    pub(crate) async fn load_component(&self, name: &str, component: Bytes) -> Result<LoadedScript, Failure> {
        let component = self.runtime.load(&Manifest::script(name), component).await?;
        Ok(LoadedScript { name: name.to_owned(), version: 0, digest: String::new(), component })
    }

    /// An opened instance of a script.
    ///
    /// # Errors
    /// The guest's own failure.
    pub async fn script(
        &self,
        script: &LoadedScript,
        settings: &str,
        log: Arc<dyn LogSink>,
    ) -> Result<ScriptInstance, Failure> {
        self.script_for(script, settings, log, Span::Batch).await
    }

    /// An opened instance of a script that may run so long at a time.
    pub(crate) async fn script_for(
        &self,
        script: &LoadedScript,
        settings: &str,
        log: Arc<dyn LogSink>,
        span: Span,
    ) -> Result<ScriptInstance, Failure> {
        let capabilities = Capabilities::log(log);
        let limits = match span {
            Span::Batch => self.script_limits,
            Span::Record => Limits { run_time_max: self.script_record_time, ..self.script_limits },
        };
        let mut instance = self.runtime.script(&script.component, capabilities, limits).await?;
        instance.open(settings).await?;
        Ok(instance)
    }
}

/// A script ready to make instances of.
#[derive(Clone, Debug)]
pub struct LoadedScript {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// The digest of its component.
    pub digest: String,
    component: Component,
}

fn clickhouse_client(peer: &Peer, config: &ClickHouseConfig) -> Result<tarn_clickhouse::Client, Failure> {
    tarn_clickhouse::Client::new(config).map_err(|error| {
        let message = format!("the settings of peer {} cannot be used: {error}", peer.name);
        Failure::permanent("peer_settings", message).with_hint("correct the peer with allow_update")
    })
}

fn kafka_client(peer: &Peer, config: &KafkaConfig) -> Result<tarn_kafka::Client, Failure> {
    tarn_kafka::Client::new(config).map_err(|error| {
        let message = format!("the settings of peer {} cannot be used: {error}", peer.name);
        Failure::permanent("peer_settings", message).with_hint("correct the peer with allow_update")
    })
}

fn summary(manifest: &Manifest) -> ConnectorSummary {
    let kinds: Vec<_> = manifest.kinds.iter().map(|kind| kind.name()).collect();
    ConnectorSummary {
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        kind: kinds.join(","),
        capabilities: manifest.capabilities.iter().map(|capability| capability.name().to_owned()).collect(),
    }
}

fn no_connector(peer: &Peer, role: &str) -> Failure {
    let message = format!("no installed connector serves peer {} as a {role}", peer.name);
    Failure::permanent("connector_missing", message)
        .with_hint("sources are PostgreSQL peers, destinations ClickHouse and Kafka peers")
}
