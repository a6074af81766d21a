//! Instances for one mirror: what the loop's workers are made of.

use std::sync::Arc;

use tarn_catalog::Catalog;
use tarn_model::{Failure, MirrorSpec, Peer, ScriptReference};
use tarn_replication::Instances;
use tarn_wasm::{DestinationInstance, LogSink, ScriptInstance, SourceInstance};

use crate::guest_settings;
use crate::plugins::{LoadedScript, Plugins};
use crate::watch::Watch;

/// Makes configured instances of a mirror's source, script and destination.
pub(crate) struct MirrorInstances {
    plugins: Plugins,
    spec: MirrorSpec,
    source_peer: Peer,
    destination_peer: Peer,
    script: Option<LoadedScript>,
    watch: Arc<Watch>,
}

impl MirrorInstances {
    /// Looks up the mirror's peers and loads its script.
    pub(crate) async fn new(
        catalog: &Catalog,
        plugins: &Plugins,
        spec: &MirrorSpec,
        watch: &Arc<Watch>,
    ) -> Result<Self, Failure> {
        let script = match ScriptReference::parse(&spec.script) {
            Some(reference) if !spec.script.is_empty() => {
                Some(plugins.load_script(catalog, &reference).await?)
            }
            _ => None,
        };
        Ok(Self {
            plugins: plugins.clone(),
            spec: spec.clone(),
            source_peer: peer(catalog, &spec.source_peer).await?,
            destination_peer: peer(catalog, &spec.destination_peer).await?,
            script,
            watch: Arc::clone(watch),
        })
    }

    /// The script, if the mirror has one.
    pub(crate) fn loaded_script(&self) -> Option<&LoadedScript> {
        self.script.as_ref()
    }

    /// A source that knows of which tables the destination may lack rows.
    pub(crate) async fn source_beside(&self, loading: &[String]) -> Result<SourceInstance, Failure> {
        let settings = guest_settings::source(&self.spec, loading);
        self.plugins.source(&self.source_peer, &settings, self.log()).await
    }

    /// What the source is configured with.
    pub(crate) fn source_settings(&self) -> String {
        guest_settings::source(&self.spec, &[])
    }

    fn log(&self) -> Arc<dyn LogSink> {
        Arc::clone(&self.watch) as Arc<dyn LogSink>
    }
}

impl Instances for MirrorInstances {
    type Source = SourceInstance;
    type Transform = ScriptInstance;
    type Destination = DestinationInstance;

    async fn source(&self) -> Result<SourceInstance, Failure> {
        self.source_beside(&[]).await
    }

    async fn transform(&self) -> Result<Option<ScriptInstance>, Failure> {
        let Some(script) = &self.script else { return Ok(None) };
        let settings = guest_settings::script(&self.spec);
        self.plugins.script(script, &settings, self.log()).await.map(Some)
    }

    async fn destination(&self) -> Result<DestinationInstance, Failure> {
        let settings = guest_settings::destination(&self.spec, &self.destination_peer);
        self.plugins.destination(&self.destination_peer, &settings, self.log()).await
    }
}

async fn peer(catalog: &Catalog, name: &str) -> Result<Peer, Failure> {
    catalog.peer(name).await?.ok_or_else(|| {
        Failure::permanent("peer_missing", format!("there is no peer {name}"))
            .with_hint("create it again, or drop the mirror")
    })
}
