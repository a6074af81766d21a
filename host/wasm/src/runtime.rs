//! The sandbox as the rest of the host sees it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use tarn_model::Failure;
use wasmtime::Engine;

use crate::binary;
use crate::cache::{Cache, Key};
use crate::capability::Capabilities;
use crate::comparison::ComparisonInstance;
use crate::component::{Component, Origin};
use crate::config::{CACHE_BYTES_MAX, Limits, RuntimeConfig};
use crate::destination::DestinationInstance;
use crate::engine;
use crate::error::LoadError;
use crate::inspection::InspectionInstance;
use crate::interface::Surface;
use crate::lookup::LookupInstance;
use crate::manifest::Manifest;
use crate::preview::PreviewInstance;
use crate::replacement::ReplacementInstance;
use crate::script::ScriptInstance;
use crate::source::SourceInstance;
use crate::ticker::Ticker;

/// Loads components and makes instances of them. Cloning shares it. Its clock ends with the last clone
/// and the last instance.
#[derive(Clone, Debug)]
pub struct Runtime(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    engine: Engine,
    cache: Option<Cache>,
    spool_dir: Option<Arc<Path>>,
    /// Shared with every instance, which it outlives.
    ticker: Arc<Ticker>,
}

/// Why the sandbox cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The machine cannot run it as configured: address space, processor, or memory are missing.
    #[error("the sandbox for plugins cannot be set up")]
    Engine(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The folder for compiled components cannot be used.
    #[error("the folder for compiled plugins, {path}, cannot be used")]
    Cache {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The folder for bytes put aside cannot be made.
    #[error("the folder for bytes that plugins put aside, {path}, cannot be made")]
    Spool {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The thread that bounds run time cannot be started.
    #[error("the thread that interrupts plugins cannot be started")]
    Ticker(#[source] std::io::Error),
}

impl Runtime {
    /// Sets up the sandbox: reserves the pool, opens the cache, starts the clock.
    ///
    /// # Errors
    /// A [`StartError`]; the service cannot run without its plugins.
    pub fn new(config: RuntimeConfig) -> Result<Self, StartError> {
        let engine = engine::build(config.instances_max)
            .map_err(|error| StartError::Engine(error.into_boxed_dyn_error()))?;
        let cache = match config.cache_dir {
            Some(path) => Some(
                Cache::open(path.clone(), CACHE_BYTES_MAX)
                    .map_err(|source| StartError::Cache { path, source })?,
            ),
            None => None,
        };
        if let Some(path) = &config.spool_dir {
            let made = std::fs::create_dir_all(path);
            made.map_err(|source| StartError::Spool { path: path.clone(), source })?;
        }
        let spool_dir = config.spool_dir.map(Arc::from);
        let ticker = Ticker::start(engine.clone()).map_err(StartError::Ticker)?;
        Ok(Self(Arc::new(Shared { engine, cache, spool_dir, ticker: Arc::new(ticker) })))
    }

    /// Checks, compiles and links a component or a core module under its manifest. Compiling takes a
    /// second of every core once; the runtime's threads are not blocked.
    ///
    /// # Errors
    /// A [`LoadError`] that names the plugin and what is wrong with it.
    pub async fn load(&self, manifest: &Manifest, bytes: impl Into<Bytes>) -> Result<Component, LoadError> {
        let (shared, manifest, bytes) = (Arc::clone(&self.0), manifest.clone(), bytes.into());
        let plugin = manifest.name.clone();
        let loaded = tokio::task::spawn_blocking(move || shared.load(&manifest, &bytes)).await;
        loaded.map_err(|source| LoadError::GivenUp { plugin, source })?
    }

    /// A new instance of a source.
    ///
    /// # Errors
    /// A failure of the guest's start, or that there is no room for another instance.
    pub async fn source(
        &self,
        component: &Component,
        mut capabilities: Capabilities,
        limits: Limits,
    ) -> Result<SourceInstance, Failure> {
        capabilities.spool.clone_from(&self.0.spool_dir);
        SourceInstance::new(component, capabilities, limits).await
    }

    /// A new instance of a destination.
    ///
    /// # Errors
    /// As for [`Self::source`].
    pub async fn destination(
        &self,
        component: &Component,
        capabilities: Capabilities,
        limits: Limits,
    ) -> Result<DestinationInstance, Failure> {
        DestinationInstance::new(component, capabilities, limits).await
    }

    /// A new instance of a script.
    ///
    /// # Errors
    /// As for [`Self::source`].
    pub async fn script(
        &self,
        component: &Component,
        capabilities: Capabilities,
        limits: Limits,
    ) -> Result<ScriptInstance, Failure> {
        ScriptInstance::new(component, capabilities, limits).await
    }

    /// A new instance to ask about a store.
    ///
    /// # Errors
    /// As for [`Self::source`], or that the component answers no questions.
    pub async fn inspection(
        &self,
        component: &Component,
        capabilities: Capabilities,
        limits: Limits,
    ) -> Result<InspectionInstance, Failure> {
        InspectionInstance::new(component, capabilities, limits).await
    }

    /// A new instance of a source that reads rows by key.
    ///
    /// # Errors
    /// As for [`Self::source`], or that the component reads none.
    pub async fn lookup(
        &self,
        component: &Component,
        capabilities: Capabilities,
        limits: Limits,
    ) -> Result<LookupInstance, Failure> {
        LookupInstance::new(component, capabilities, limits).await
    }

    /// A new instance of a destination that compares.
    ///
    /// # Errors
    /// As for [`Self::source`], or that the component compares nothing.
    pub async fn comparison(
        &self,
        component: &Component,
        capabilities: Capabilities,
        limits: Limits,
    ) -> Result<ComparisonInstance, Failure> {
        ComparisonInstance::new(component, capabilities, limits).await
    }

    /// A new instance of a destination that puts tables loaded beside in their place.
    ///
    /// # Errors
    /// As for [`Self::source`], or that the component does no such thing.
    pub async fn replacement(
        &self,
        component: &Component,
        capabilities: Capabilities,
        limits: Limits,
    ) -> Result<ReplacementInstance, Failure> {
        ReplacementInstance::new(component, capabilities, limits).await
    }

    /// A new instance of a destination that tells what it would do to its tables.
    ///
    /// # Errors
    /// As for [`Self::source`], or that the component does no such thing.
    pub async fn preview(
        &self,
        component: &Component,
        capabilities: Capabilities,
        limits: Limits,
    ) -> Result<PreviewInstance, Failure> {
        PreviewInstance::new(component, capabilities, limits).await
    }
}

impl Shared {
    fn load(&self, manifest: &Manifest, bytes: &[u8]) -> Result<Component, LoadError> {
        let component = binary::component_of(&self.engine, &manifest.name, bytes)?;
        let surface = Surface::read(manifest, &component)?;
        let not_compiled = |error: wasmtime::Error| LoadError::Compile {
            plugin: manifest.name.clone(),
            source: error.into_boxed_dyn_error(),
        };
        let (compiled, origin) = self.compiled(&manifest.name, &component).map_err(not_compiled)?;
        Component::link(&self.engine, Arc::clone(&self.ticker), manifest, &compiled, &surface, origin)
            .map_err(not_compiled)
    }

    /// The machine code of a component, kept or new.
    fn compiled(
        &self,
        plugin: &str,
        component: &[u8],
    ) -> wasmtime::Result<(wasmtime::component::Component, Origin)> {
        let key = self.cache.as_ref().map(|cache| (cache, Key::new(&self.engine, component)));
        if let Some((cache, key)) = &key
            && let Some(compiled) = cache.get(key).and_then(|code| self.deserialized(&code))
        {
            return Ok((compiled, Origin::Cached));
        }
        let began = Instant::now();
        let compiled = wasmtime::component::Component::new(&self.engine, component)?;
        tracing::info!(plugin, took = ?began.elapsed(), "compiled");
        if let Some((cache, key)) = &key {
            cache.put(key, &compiled.serialize()?);
        }
        Ok((compiled, Origin::Compiled))
    }

    #[expect(unsafe_code, reason = "compiled code can only be trusted, not checked: cache.rs says why it is")]
    fn deserialized(&self, code: &[u8]) -> Option<wasmtime::component::Component> {
        // SAFETY: the bytes are what `serialize` gave for this engine's settings: their digest matched, and
        // nobody but this service's user writes to the folder they are from (see the module `cache`).
        let compiled = unsafe { wasmtime::component::Component::deserialize(&self.engine, code) };
        compiled
            .inspect_err(
                |error| tracing::warn!(%error, "a compiled component does not fit and is compiled again"),
            )
            .ok()
    }
}
