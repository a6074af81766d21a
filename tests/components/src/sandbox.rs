//! What the tests share: a sandbox, the bad guest, and a log that remembers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tarn_model::Failure;
use tarn_replication::{Changes, Limits as ReadLimits, Source};
pub(crate) use tarn_test_modules::MISBEHAVING;
use tarn_wasm::{
    Capabilities, Component, Level, Limits, LogSink, Manifest, Runtime, RuntimeConfig, SourceInstance,
};
use tokio::sync::OnceCell;

/// What the bad guest is granted.
pub(crate) fn manifest() -> Manifest {
    Manifest::parse(
        r#"
        manifest = 1
        name = "misbehaving"
        version = "0.1.0"
        kinds = ["source"]
        capabilities = ["log", "clock", "clickhouse"]
        "#,
    )
    .expect("valid manifest")
}

pub(crate) fn runtime() -> Runtime {
    Runtime::new(RuntimeConfig { instances_max: 16, ..RuntimeConfig::default() }).expect("sandbox")
}

/// A sandbox with the bad guest loaded, made once for all tests.
pub(crate) async fn loaded() -> &'static (Runtime, Component) {
    static LOADED: OnceCell<(Runtime, Component)> = OnceCell::const_new();
    LOADED
        .get_or_init(|| async {
            let runtime = runtime();
            let component = runtime.load(&manifest(), MISBEHAVING).await.expect("bad guest");
            (runtime, component)
        })
        .await
}

/// Limits that are reached in no time and leave room for a good call.
pub(crate) fn tight() -> Limits {
    Limits {
        run_time_max: Duration::from_millis(300),
        memory_bytes_max: 32 << 20,
        output_bytes_max: 1 << 20,
        host_calls_max: 1_000_000,
        log_lines_max: 50,
    }
}

/// A configured instance that will do the misdeed when it is read.
pub(crate) async fn instance(misdeed: &str, capabilities: Capabilities, limits: Limits) -> SourceInstance {
    let (runtime, component) = loaded().await;
    let mut source = runtime.source(component, capabilities, limits).await.expect("instance");
    source.configure(&format!(r#"{{"mirror":"{misdeed}"}}"#)).await.expect("configured");
    source
}

pub(crate) async fn read(source: &mut SourceInstance) -> Result<Changes, Failure> {
    source.read(ReadLimits { rows_max: 100, bytes_max: 1 << 20, wait: Duration::ZERO }).await
}

/// Reads once from a new instance.
pub(crate) async fn commit(misdeed: &str, limits: Limits) -> Result<Changes, Failure> {
    read(&mut instance(misdeed, Capabilities::none(), limits).await).await
}

/// A log that keeps its lines.
#[derive(Default)]
pub(crate) struct Lines(Mutex<Vec<(Level, String)>>);

impl LogSink for Lines {
    fn write(&self, level: Level, line: &str) {
        self.0.lock().expect("lines").push((level, line.to_owned()));
    }
}

impl Lines {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn all(&self) -> Vec<(Level, String)> {
        self.0.lock().expect("lines").clone()
    }
}
