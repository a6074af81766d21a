//! Instances for one mirror: what the loop's workers are made of.

use std::sync::Arc;

use bytes::Bytes;
use tarn_catalog::Catalog;
use tarn_model::{Failure, MirrorSpec, Peer, ScriptChain, TablePlan};
use tarn_replication::Instances;
use tarn_wasm::{DestinationInstance, LogSink, ScriptInstance, SourceInstance};

use crate::column_changes::{Beside, ColumnChanges};
use crate::config::SCRIPT_WORKERS_MAX;
use crate::guest_settings::{self, Errand};
use crate::plugins::{LoadedScript, Plugins};
use crate::records::Desk;
use crate::records::chain::Chain;
use crate::records::link::{Again, Link};
use crate::records::series::Series;
use crate::records::sieve::{Sieve, SieveParts};
use crate::schema_gate::SchemaGate;
use crate::watch::Watch;

/// Makes configured instances of a mirror's source, scripts and destination.
pub(crate) struct MirrorInstances {
    catalog: Catalog,
    id: i64,
    plugins: Plugins,
    spec: MirrorSpec,
    source_peer: Peer,
    store: Store,
    scripts: Vec<LoadedScript>,
    watch: Arc<Watch>,
    sieve: SieveParts,
    gate: SchemaGate,
    /// What the stream does to the targets' columns while loads write to them.
    column_changes: Arc<ColumnChanges>,
}

/// Where a mirror's destination is.
#[derive(Clone)]
pub(crate) struct Store {
    plugins: Plugins,
    spec: MirrorSpec,
    peer: Peer,
    /// The load that goes into tables beside; empty where the tables are the mirror's own.
    beside: String,
    /// A name of what the mirror delivers since it was made or resynced: no other one has it, of no server.
    delivery: String,
    occasion: Occasion,
}

/// When records are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Occasion {
    /// In their turn.
    Due,
    /// Long after it: they were dead letters.
    Replay,
}

impl Store {
    /// Looks up the destination of a mirror, and whether its load goes beside.
    pub(crate) async fn new(
        catalog: &Catalog,
        plugins: &Plugins,
        id: i64,
        spec: &MirrorSpec,
    ) -> Result<Self, Failure> {
        let peer = peer(catalog, &spec.destination_peer).await?;
        let beside = catalog.beside(id).await?.unwrap_or_default();
        let created_at = catalog.mirror_by_id(id).await?.map(|mirror| mirror.created_at);
        let created_ms = created_at.map_or(0, |time| time.millis());
        let delivery = delivery_name(&spec.name, id, created_ms, catalog.delivery(id).await?);
        let (plugins, spec) = (plugins.clone(), spec.clone());
        Ok(Self { plugins, spec, peer, beside, delivery, occasion: Occasion::Due })
    }

    /// The same for records that come again long after they were due.
    pub(crate) fn for_replay(self) -> Self {
        Self { occasion: Occasion::Replay, ..self }
    }

    fn settings(&self) -> String {
        let errand = Errand {
            beside: &self.beside,
            delivery: &self.delivery,
            replays: self.occasion == Occasion::Replay,
        };
        guest_settings::destination(&self.spec, &self.peer, errand)
    }

    /// The same for a load of which the catalog does not know yet.
    fn beside(&self, load: &str) -> Self {
        Self { beside: load.to_owned(), ..self.clone() }
    }

    /// Puts the tables that were loaded beside in the place of the mirror's.
    async fn replace(&self, tables: &[&str], log: Arc<dyn LogSink>) -> Result<(), Failure> {
        self.plugins.replacement(&self.peer, &self.settings(), log).await?.replace(tables).await
    }

    /// What would be done for described tables.
    pub(crate) async fn preview(
        &self,
        schema: &Bytes,
        log: Arc<dyn LogSink>,
    ) -> Result<Vec<TablePlan>, Failure> {
        previewed(&self.plugins, &self.peer, &self.settings(), schema, log).await
    }

    /// Whether it takes messages rather than rows of tables.
    pub(crate) fn is_queue(&self) -> bool {
        self.peer.config.is_queue()
    }

    /// A configured destination.
    pub(crate) async fn open(&self, log: Arc<dyn LogSink>) -> Result<DestinationInstance, Failure> {
        self.plugins.destination(&self.peer, &self.settings(), log).await
    }
}

impl MirrorInstances {
    /// Looks up the mirror's peers and loads its scripts.
    pub(crate) async fn new(
        catalog: &Catalog,
        plugins: &Plugins,
        id: i64,
        spec: &MirrorSpec,
        watch: &Arc<Watch>,
        sieve: SieveParts,
    ) -> Result<Self, Failure> {
        let store = Store::new(catalog, plugins, id, spec).await?;
        let log = Arc::clone(watch) as Arc<dyn LogSink>;
        let policy = (spec.name.as_str(), spec.schema_changes);
        Ok(Self {
            catalog: catalog.clone(),
            id,
            plugins: plugins.clone(),
            spec: spec.clone(),
            source_peer: peer(catalog, &spec.source_peer).await?,
            gate: SchemaGate::new(catalog, id, policy, store.clone(), log),
            store,
            scripts: load_scripts(catalog, plugins, spec).await?,
            watch: Arc::clone(watch),
            sieve,
            column_changes: Arc::default(),
        })
    }

    /// The mirror's scripts, in order.
    pub(crate) fn loaded_scripts(&self) -> &[LoadedScript] {
        &self.scripts
    }

    /// A source that knows of which tables the destination may lack rows.
    pub(crate) async fn source_beside(&self, loading: &[String]) -> Result<SourceInstance, Failure> {
        let settings = self.source_settings(loading).await?;
        self.plugins.source(&self.source_peer, &settings, self.log()).await
    }

    /// The mirror's scripts in as many instances as its stream shares changes out to; `None` of none.
    pub(crate) async fn stream_transform(&self) -> Result<Option<Chain<ScriptInstance>>, Failure> {
        let workers = stream_workers(&self.spec);
        self.chain(workers).await
    }

    async fn chain(&self, workers: u32) -> Result<Option<Chain<ScriptInstance>>, Failure> {
        let settings = guest_settings::script(&self.spec, &self.store.peer);
        chain(&self.plugins, &self.scripts, &settings, &self.sieve.desk, self.log(), workers).await
    }

    /// Whether the destination takes messages rather than rows of tables.
    pub(crate) fn is_queue(&self) -> bool {
        self.store.is_queue()
    }

    /// What the source is configured with. `loading` are tables that are, or are about to be, loaded beside the stream.
    pub(crate) async fn source_settings(&self, loading: &[String]) -> Result<String, Failure> {
        // An edit may have moved it since.
        let start = self.catalog.stream_start(self.id).await?;
        Ok(guest_settings::source(&self.spec, &self.store.peer, loading, start.as_ref()))
    }

    /// The destination itself, for what is not about rows.
    pub(crate) async fn store(&self) -> Result<DestinationInstance, Failure> {
        self.store.open(self.log()).await
    }

    /// Whether the destination loads tables beside those that people read.
    pub(crate) fn replaces(&self) -> bool {
        self.plugins.replaces(&self.store.peer)
    }

    /// Whether rows go into tables beside those that people read.
    pub(crate) fn is_beside(&self) -> bool {
        !self.store.beside.is_empty()
    }

    /// The destination of a load into tables beside, of which the catalog does not know yet.
    pub(crate) async fn store_beside(&self, load: &str) -> Result<DestinationInstance, Failure> {
        self.store.beside(load).open(self.log()).await
    }

    /// Puts the tables that were loaded beside in the place of the mirror's.
    pub(crate) async fn replace(&self, tables: &[&str]) -> Result<(), Failure> {
        self.store.replace(tables, self.log()).await
    }

    /// Asks before the destination's tables are changed.
    pub(crate) fn gate(&self) -> SchemaGate {
        self.gate.clone()
    }

    /// Changes of the targets' columns, for whoever makes them.
    pub(crate) fn column_changes(&self) -> Arc<ColumnChanges> {
        Arc::clone(&self.column_changes)
    }

    /// What destinations are sieved with.
    pub(crate) fn sieve(&self) -> SieveParts {
        self.sieve.clone()
    }

    fn log(&self) -> Arc<dyn LogSink> {
        Arc::clone(&self.watch) as Arc<dyn LogSink>
    }
}

impl Instances for MirrorInstances {
    type Source = SourceInstance;
    type Transform = Chain<ScriptInstance>;
    type Destination = Sieve<Beside<DestinationInstance>>;

    async fn source(&self) -> Result<SourceInstance, Failure> {
        self.source_beside(&[]).await
    }

    /// For a worker of a load: there are several of them, each with an instance.
    async fn transform(&self) -> Result<Option<Chain<ScriptInstance>>, Failure> {
        self.chain(1).await
    }

    async fn destination(&self) -> Result<Sieve<Beside<DestinationInstance>>, Failure> {
        let destination = Beside::new(self.store().await?, Arc::clone(&self.column_changes));
        Ok(Sieve::new(destination, self.sieve()))
    }
}

/// The name of a mirror's delivery. What is delivered after a resync has another one: places that a queue noted before
/// may be those of another server, or beyond where this one is now.
fn delivery_name(mirror: &str, id: i64, created_ms: i64, delivery: i64) -> String {
    match delivery {
        0 => format!("tarn.{mirror}.{id}-{created_ms}"),
        _ => format!("tarn.{mirror}.{id}-{created_ms}-{delivery}"),
    }
}

/// What a destination that is configured like this would do for described tables.
pub(crate) async fn previewed(
    plugins: &Plugins,
    peer: &Peer,
    settings: &str,
    schema: &Bytes,
    log: Arc<dyn LogSink>,
) -> Result<Vec<TablePlan>, Failure> {
    let mut destination = plugins.preview(peer, settings, log).await?;
    let told = destination.preview(schema).await?;
    serde_json::from_str(&told).map_err(|error| {
        let message =
            format!("what the destination would do is not told in the form of the contract: {error}");
        Failure::permanent("preview_unreadable", message)
            .with_hint("install a version of the plugin that fits")
    })
}

/// Loads the scripts that a mirror names, in order.
pub(crate) async fn load_scripts(
    catalog: &Catalog,
    plugins: &Plugins,
    spec: &MirrorSpec,
) -> Result<Vec<LoadedScript>, Failure> {
    let chain = ScriptChain::parse(&spec.script).map_err(|_| {
        Failure::permanent("script_unreadable", format!("{} names no scripts", spec.script))
            .with_hint("drop the mirror and create it with scripts like mask,route@2")
    })?;
    let mut scripts = Vec::new();
    for reference in chain.references() {
        scripts.push(plugins.load_script(catalog, reference).await?);
    }
    Ok(scripts)
}

/// Instances that the changes of a mirror's stream are shared out to.
pub(crate) fn stream_workers(spec: &MirrorSpec) -> u32 {
    // A mirror of before the setting was there has none.
    spec.script_workers.clamp(1, SCRIPT_WORKERS_MAX)
}

/// Scripts in so many opened instances of each; `None` of none.
pub(crate) async fn chain(
    plugins: &Plugins,
    scripts: &[LoadedScript],
    settings: &str,
    desk: &Desk,
    log: Arc<dyn LogSink>,
    workers: u32,
) -> Result<Option<Chain<ScriptInstance>>, Failure> {
    if scripts.is_empty() {
        return Ok(None);
    }
    let settings: Arc<str> = settings.into();
    let mut lanes = Vec::new();
    for _ in 0..workers {
        let mut links = Vec::new();
        for script in scripts {
            links.push(Link {
                script: plugins.script(script, &settings, Arc::clone(&log)).await?,
                name: script.name.clone(),
                version: script.version,
                again: desk.goes_on().then(|| again(plugins, script, &settings, &log)),
            });
        }
        lanes.push(Series::new(links));
    }
    Ok(Some(Chain::new(lanes, desk.keeper().cloned())))
}

/// Makes further instances of a script.
fn again(
    plugins: &Plugins,
    script: &LoadedScript,
    settings: &Arc<str>,
    log: &Arc<dyn LogSink>,
) -> Again<ScriptInstance> {
    let (plugins, script) = (plugins.clone(), script.clone());
    let (settings, log) = (Arc::clone(settings), Arc::clone(log));
    Arc::new(move |span| {
        let (plugins, script) = (plugins.clone(), script.clone());
        let (settings, log) = (Arc::clone(&settings), Arc::clone(&log));
        Box::pin(async move { plugins.script_for(&script, &settings, log, span).await })
    })
}

pub(crate) async fn peer(catalog: &Catalog, name: &str) -> Result<Peer, Failure> {
    catalog.peer(name).await?.ok_or_else(|| {
        Failure::permanent("peer_missing", format!("there is no peer {name}"))
            .with_hint("create it again, or drop the mirror")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_delivery_has_a_name_of_its_own_and_the_first_one_that_of_before_there_were_several() {
        assert_eq!(delivery_name("m", 7, 1_700, 0), "tarn.m.7-1700");
        assert_eq!(delivery_name("m", 7, 1_700, 1), "tarn.m.7-1700-1");
    }
}
