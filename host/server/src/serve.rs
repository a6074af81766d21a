//! The service's whole life: build, run, drain under a deadline.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tarn_api::{Credentials, Limits, ServerTls};
use tarn_catalog::{Catalog, CatalogError};
use tarn_control::{
    Books, Bundle, BundledPlugin, ComponentCompiler, ConnectorInspector, ConnectorValidator, Control,
    ControlParts, ControlSettings, DriverProbe, Journal, Latencies, LetterReplayer, Plugins, PluginsError,
    PoolRunner, Progress, RecentRecords, SlotWatcher, StageSettings, StageSweeper, Stages, Supervisor,
    Verifier,
};
use tarn_model::chain;
use tarn_object_store::BucketSettings;
use tarn_wasm::{Runtime, RuntimeConfig, StartError};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::certificate::{self, CertificateError};
use crate::config::{CATALOG_CLOSE_DEADLINE, SHUTDOWN_DEADLINE};
use crate::password::{self, PasswordError};
use crate::settings::Settings;

/// Folder of compiled components within the data folder.
const CACHE_FOLDER: &str = "compiled";

/// Folder of what waits for destinations within the data folder.
const STAGE_FOLDER: &str = "stage";

/// Folder of what sources put aside within the data folder. Its files have no names: it looks empty.
const SPOOL_FOLDER: &str = "spool";

/// Why the service cannot start or go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The catalog cannot be used.
    #[error("{}", chain(.0))]
    Catalog(#[from] CatalogError),
    /// The sandbox cannot be set up.
    #[error("{}", chain(.0))]
    Sandbox(#[from] StartError),
    /// The connectors cannot be loaded.
    #[error("{}", chain(.0))]
    Plugins(#[from] PluginsError),
    /// There is no password to ask for.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// The certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The authorities of the stage's bucket cannot be read.
    #[error("stage_s3_root_ca ({}) cannot be read: {source}", path.display())]
    Authorities {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; set TARN_LISTEN to another address")]
    Listen {
        /// Which one.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The operating system gives no signals.
    #[error("cannot wait for signals: {0}")]
    Signals(#[source] io::Error),
    /// A part that should run for as long as the process ended.
    #[error("the {0} ended by itself; the log says why")]
    Ended(&'static str),
}

/// A running service. Its tasks end with [`Server::shutdown`].
pub struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    /// API, supervisor, verifier, slot watcher, stage sweeper and journal, each giving its name.
    tasks: JoinSet<&'static str>,
    catalog: Catalog,
}

impl Server {
    /// Builds everything and starts to serve and to run mirrors.
    ///
    /// # Errors
    /// [`ServeError`]; nothing runs then.
    pub async fn start(settings: Settings, without_password: bool) -> Result<Self, ServeError> {
        let tls = settings.tls.as_ref();
        let tls = tls.map(|files| certificate::load(&files.certificate, &files.private_key)).transpose()?;
        let stage_bucket = stage_bucket(&settings)?;
        let catalog = Catalog::open(&settings.catalog_options()).await?;
        if catalog.awaits_rotation() {
            tracing::warn!(
                "the previous key still seals the secrets; stop the server and run `tarn secrets rotate`"
            );
        }
        let credentials = password::credentials(&settings, &catalog, without_password).await?;
        let listener = listen(settings.listen).await?;
        let address = listener
            .local_addr()
            .map_err(|source| ServeError::Listen { address: settings.listen, source })?;
        let cache_dir = Some(settings.data_dir.join(CACHE_FOLDER));
        let spool_dir = Some(settings.data_dir.join(SPOOL_FOLDER));
        let runtime = Runtime::new(RuntimeConfig { cache_dir, spool_dir, ..RuntimeConfig::default() })?;
        let plugins = Plugins::load(runtime, bundle()).await?;
        let plugins = plugins.with_script_limits(settings.allowance.script_limits());
        let books = Books::default();

        let stages = Stages::new(StageSettings {
            folder: settings.data_dir.join(STAGE_FOLDER),
            bytes_max: settings.stage_bytes_max,
            sealing: settings.stage_sealing,
            owner: settings.allowance.staging_bucket(),
            bucket: stage_bucket,
        });
        let (journal, writer) = Journal::new(catalog.clone());
        let control = Control::new(
            ControlParts {
                catalog: catalog.clone(),
                validator: Arc::new(ConnectorValidator::new(plugins.clone())),
                probe: Arc::new(DriverProbe),
                inspector: Arc::new(ConnectorInspector::new(plugins.clone())),
                compiler: Arc::new(ComponentCompiler::new(&plugins)),
                connectors: plugins.summaries().to_vec(),
                replayer: Arc::new(LetterReplayer::new(&catalog, &plugins, &books, &stages)),
                progress: Progress::default(),
                latencies: Latencies::default(),
                stages,
                books,
                runner: Arc::new(PoolRunner::new(plugins.clone())),
                recent: RecentRecords::default(),
            },
            ControlSettings { allowance: settings.allowance, version: env!("CARGO_PKG_VERSION").to_owned() },
        );
        let sweeper = StageSweeper::new(&control);
        let slots = SlotWatcher::new(&control, journal.clone());
        let verifier = Verifier::new(&control, plugins.clone(), journal.clone());
        let supervisor = Supervisor::new(&control, plugins, journal);
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(named("API", serve_api(listener, control, credentials, tls, stop.clone())));
        tasks.spawn(named("supervisor", supervisor.run(stop.clone())));
        tasks.spawn(named("verifier", verifier.run(stop.clone())));
        tasks.spawn(named("slot watcher", slots.run(stop.clone())));
        tasks.spawn(named("stage sweeper", sweeper.run(stop.clone())));
        tasks.spawn(named("journal", writer.run()));
        Ok(Self { address, stop, tasks, catalog })
    }

    /// Where the API listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until a part ends that should not: without it the process would only look alive.
    async fn ended(&mut self) -> &'static str {
        match self.tasks.join_next().await {
            Some(Ok(name)) => name,
            Some(Err(fault)) => {
                tracing::error!(%fault, "a part of the server ended");
                "server"
            }
            None => "server",
        }
    }

    /// Ends the API and the runs; their log ends when the last of them did. What is not over by the
    /// deadline is dropped: nothing depends on an orderly end.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        let all = async {
            while let Some(ended) = self.tasks.join_next().await {
                if let Err(fault) = ended {
                    tracing::warn!(%fault, "a part of the server did not end in order");
                }
            }
        };
        if timeout(SHUTDOWN_DEADLINE, all).await.is_err() {
            let seconds = SHUTDOWN_DEADLINE.as_secs_f64();
            tracing::warn!(seconds, "parts of the server did not end in time and are dropped");
        }
        self.tasks.shutdown().await;
        if timeout(CATALOG_CLOSE_DEADLINE, self.catalog.close()).await.is_err() {
            tracing::warn!("the catalog was still in use; it opens just as well");
        }
    }
}

/// Serves until SIGTERM or SIGINT, then drains.
///
/// # Errors
/// [`ServeError`] when the service cannot start, or when a part of it ended by itself.
pub async fn run(settings: Settings, without_password: bool) -> Result<(), ServeError> {
    let mut signals = Signals::new()?;
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    // Starting takes some seconds while components are compiled. What was begun by then is dropped, which
    // leaves nothing that the next start would stumble over.
    let mut server = tokio::select! {
        started = Server::start(settings, without_password) => started?,
        () = signals.wait() => {
            tracing::info!("stopped before it served");
            return Ok(());
        }
    };
    tracing::info!(address = %server.address(), scheme, version = env!("CARGO_PKG_VERSION"), "tarn serves");
    let outcome = tokio::select! {
        () = signals.wait() => Ok(()),
        part = server.ended() => Err(ServeError::Ended(part)), // cancel safe
    };
    tracing::info!("stopping: what is under way is finished first");
    server.shutdown().await;
    tracing::info!("stopped");
    outcome
}

struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> Result<Self, ServeError> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate()).map_err(ServeError::Signals)?,
            interrupt: signal(SignalKind::interrupt()).map_err(ServeError::Signals)?,
        })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// The service's own bucket, with the authorities of its file.
fn stage_bucket(settings: &Settings) -> Result<Option<BucketSettings>, ServeError> {
    let Some(mut bucket) = settings.stage_bucket.clone() else { return Ok(None) };
    if let Some(path) = &settings.stage_root_ca {
        bucket.root_ca = std::fs::read_to_string(path)
            .map_err(|source| ServeError::Authorities { path: path.clone(), source })?;
    }
    Ok(Some(bucket))
}

async fn listen(address: SocketAddr) -> Result<TcpListener, ServeError> {
    TcpListener::bind(address).await.map_err(|source| ServeError::Listen { address, source })
}

async fn serve_api(
    listener: TcpListener,
    control: Control,
    credentials: Credentials,
    tls: Option<ServerTls>,
    stop: CancellationToken,
) {
    let limits = Limits::default();
    let router = tarn_api::router(control, &credentials, &limits);
    tarn_api::serve(listener, router, tls, limits, stop).await;
}

/// A task that gives its name when it ends.
async fn named(name: &'static str, task: impl Future<Output = ()>) -> &'static str {
    task.await;
    name
}

fn bundle() -> Bundle {
    let plugin = |manifest, component| BundledPlugin { manifest, component };
    Bundle {
        postgres: plugin(tarn_bundle::POSTGRES_MANIFEST, tarn_bundle::POSTGRES),
        clickhouse: plugin(tarn_bundle::CLICKHOUSE_MANIFEST, tarn_bundle::CLICKHOUSE),
        kafka: plugin(tarn_bundle::KAFKA_MANIFEST, tarn_bundle::KAFKA),
        script_lua: plugin(tarn_bundle::SCRIPT_LUA_MANIFEST, tarn_bundle::SCRIPT_LUA),
        script_javascript: plugin(tarn_bundle::SCRIPT_JAVASCRIPT_MANIFEST, tarn_bundle::SCRIPT_JAVASCRIPT),
    }
}
