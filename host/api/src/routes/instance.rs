//! The server itself.

use axum::extract::State;
use serde::Serialize;
use tarn_control::{Control, InstanceInfo};
use tarn_model::{Edition, StagingBucket};

use crate::answer::{Answer, Answered};
use crate::error::{ApiError, Code};

#[derive(Serialize)]
pub(super) struct Health {
    status: &'static str,
}

/// The process lives.
pub(super) async fn alive() -> Answer<Health> {
    Answer(Health { status: "ok" })
}

/// Requests can be served.
pub(super) async fn ready(State(control): State<Control>) -> Answered<Health> {
    match control.ready().await {
        Ok(()) => Ok(Answer(Health { status: "ready" })),
        Err(error) => {
            tracing::warn!(error = error.chain(), "not ready");
            Err(ApiError::new(Code::Unavailable, "the catalog does not answer"))
        }
    }
}

#[derive(Serialize)]
pub(super) struct Version {
    version: String,
}

pub(super) async fn version(State(control): State<Control>) -> Answer<Version> {
    Answer(Version { version: control.settings().version.clone() })
}

#[derive(Serialize)]
pub(super) struct Info {
    status: &'static str,
    edition: Edition,
    scripts_enabled: bool,
    /// Whose bucket a destination's batches are staged in.
    staging_bucket: StagingBucket,
    version: String,
    connectors: Vec<Connector>,
}

#[derive(Serialize)]
struct Connector {
    name: String,
    version: String,
    kind: String,
    capabilities: Vec<String>,
}

pub(super) async fn info(State(control): State<Control>) -> Answer<Info> {
    let InstanceInfo { allowance, version, connectors } = control.instance_info();
    let connectors = connectors.into_iter().map(|connector| Connector {
        name: connector.name,
        version: connector.version,
        kind: connector.kind,
        capabilities: connector.capabilities,
    });
    Answer(Info {
        status: "INSTANCE_STATUS_READY",
        edition: allowance.edition(),
        scripts_enabled: allowance.scripts(),
        staging_bucket: allowance.staging_bucket(),
        version,
        connectors: connectors.collect(),
    })
}
