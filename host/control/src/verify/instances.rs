//! Instances that read and compare, and write nothing.

use std::sync::Arc;

use tarn_catalog::Catalog;
use tarn_model::{Failure, MirrorSpec, Peer};
use tarn_wasm::{ComparisonInstance, LogSink, LookupInstance, ScriptInstance, SourceInstance};

use crate::guest_settings::{self, Errand};
use crate::instances::{load_scripts, peer};
use crate::plugins::{LoadedScript, Plugins};
use crate::records::chain::Chain;
use crate::records::link::Link;
use crate::records::series::Series;
use crate::watch::Watch;

/// Makes configured instances for the verification of a mirror.
pub(super) struct Instances {
    plugins: Plugins,
    spec: MirrorSpec,
    source_peer: Peer,
    destination_peer: Peer,
    scripts: Vec<LoadedScript>,
    watch: Arc<Watch>,
}

impl Instances {
    /// Looks up the mirror's peers and loads its scripts.
    pub(super) async fn new(
        catalog: &Catalog,
        plugins: &Plugins,
        spec: &MirrorSpec,
        watch: &Arc<Watch>,
    ) -> Result<Self, Failure> {
        Ok(Self {
            plugins: plugins.clone(),
            spec: spec.clone(),
            source_peer: peer(catalog, &spec.source_peer).await?,
            destination_peer: peer(catalog, &spec.destination_peer).await?,
            scripts: load_scripts(catalog, plugins, spec).await?,
            watch: Arc::clone(watch),
        })
    }

    /// A source that holds points and cuts tables.
    pub(super) async fn source(&self) -> Result<SourceInstance, Failure> {
        let settings = guest_settings::source(&self.spec, &self.destination_peer, &[], None);
        self.plugins.source(&self.source_peer, &settings, self.log()).await
    }

    /// A source that reads partitions and single rows.
    pub(super) async fn lookup(&self) -> Result<LookupInstance, Failure> {
        let settings = guest_settings::source(&self.spec, &self.destination_peer, &[], None);
        self.plugins.lookup(&self.source_peer, &settings, self.log()).await
    }

    /// A destination that compares rows with what it holds.
    pub(super) async fn comparison(&self) -> Result<ComparisonInstance, Failure> {
        let settings = guest_settings::destination(&self.spec, &self.destination_peer, Errand::default());
        self.plugins.comparison(&self.destination_peer, &settings, self.log()).await
    }

    /// The mirror's scripts, if it has any. No letters are kept of what they reject: that is for those who write.
    pub(super) async fn scripts(&self) -> Result<Option<Chain<ScriptInstance>>, Failure> {
        let settings = guest_settings::script(&self.spec, &self.destination_peer);
        let mut links = Vec::with_capacity(self.scripts.len());
        for script in &self.scripts {
            links.push(Link {
                script: self.plugins.script(script, &settings, self.log()).await?,
                name: script.name.clone(),
                version: script.version,
                again: None,
            });
        }
        Ok((!links.is_empty()).then(|| Chain::new(vec![Series::new(links)], None)))
    }

    fn log(&self) -> Arc<dyn LogSink> {
        Arc::clone(&self.watch) as Arc<dyn LogSink>
    }
}
