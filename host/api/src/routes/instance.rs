//! The server itself.

use axum::extract::State;
use serde::Serialize;
use tarn_control::{Control, InstanceInfo};
use tarn_model::{Edition, StagingBucket};
use utoipa::ToSchema;

use crate::answer::{Answer, Answered};
use crate::error::Code;
use crate::operation::{Operation, example};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/healthz", example!("is_alive"), alive)
            .about("Answers while the process lives.")
            .open()
            .answers::<Health>(),
        Operation::get("/readyz", example!("is_ready"), ready)
            .about("Answers with success while requests can be served: while the catalog answers, and can be written.")
            .open()
            .answers::<Health>()
            .refuses(&[Code::Unavailable]),
        Operation::get("/api/v1/version", example!("get_version"), version)
            .about("Tells the server's version.")
            .answers::<Version>(),
        Operation::get("/api/v1/instance/info", example!("get_instance_info"), info)
            .about("Tells what the server is and what its edition allows.")
            .answers::<Info>(),
    ]
}

/// How the server is.
#[derive(Serialize, ToSchema)]
pub(super) struct Health {
    /// `ok`, or `ready`.
    #[schema(value_type = String)]
    status: &'static str,
}

/// The process lives.
pub(super) async fn alive() -> Answer<Health> {
    Answer(Health { status: "ok" })
}

/// Requests can be served.
pub(super) async fn ready(State(control): State<Control>) -> Answered<Health> {
    control.ready().await?;
    Ok(Answer(Health { status: "ready" }))
}

/// The server's version.
#[derive(Serialize, ToSchema)]
pub(super) struct Version {
    /// As `major.minor.patch`.
    version: String,
}

pub(super) async fn version(State(control): State<Control>) -> Answer<Version> {
    Answer(Version { version: control.settings().version.clone() })
}

/// The server.
#[derive(Serialize, ToSchema)]
#[schema(as = InstanceInfo)]
pub(super) struct Info {
    /// `INSTANCE_STATUS_READY`.
    #[schema(value_type = String)]
    status: &'static str,
    /// The edition it runs as.
    edition: Edition,
    /// Whether scripts may be uploaded and used.
    scripts_enabled: bool,
    /// Whose bucket a destination's batches are staged in.
    staging_bucket: StagingBucket,
    /// Its version.
    version: String,
    /// The installed connectors.
    connectors: Vec<Connector>,
}

/// An installed connector.
#[derive(Serialize, ToSchema)]
struct Connector {
    /// Its name.
    name: String,
    /// Its own version.
    version: String,
    /// `source`, `destination` or `script`.
    kind: String,
    /// What it is granted.
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
