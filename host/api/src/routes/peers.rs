//! Peers.

mod draft;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use tarn_control::{Control, PeerComparison, PeerCreation, PeerOutcome, is_destination, is_source};
use tarn_model::{ClickHouseConfig, Peer, PeerConfig, PeerKind, PostgresConfig};

use self::draft::draft;
use crate::answer::{Answer, Answered, Nothing};
use crate::error::{ApiError, Code};
use crate::request::{Body, Input, Name};

#[derive(Default, Deserialize)]
#[serde(default)]
struct CreateRequest {
    allow_update: bool,
    disable_validation: bool,
}

/// How an operation on a peer went: its failure is a successful answer.
#[derive(Serialize)]
pub(super) struct Outcome {
    status: &'static str,
    message: String,
}

impl Outcome {
    fn new(outcome: PeerOutcome, good: &'static str, bad: &'static str) -> Self {
        match outcome {
            PeerOutcome::Good => Self { status: good, message: String::new() },
            PeerOutcome::Bad(message) => Self { status: bad, message },
        }
    }
}

pub(super) async fn create(State(control): State<Control>, body: Body) -> Answered<Outcome> {
    let CreateRequest { allow_update, disable_validation } = body.read()?;
    let outcome = match draft(&body)? {
        Ok(peer) => control.create_peer(peer, PeerCreation { allow_update, disable_validation }).await?,
        Err(message) => PeerOutcome::Bad(message),
    };
    Ok(Answer(Outcome::new(outcome, "CREATED", "FAILED")))
}

pub(super) async fn validate(State(control): State<Control>, body: Body) -> Answered<Outcome> {
    let outcome = match draft(&body)? {
        Ok(peer) => control.validate_peer(peer).await?,
        Err(message) => PeerOutcome::Bad(message),
    };
    Ok(Answer(Outcome::new(outcome, "VALID", "INVALID")))
}

/// How a peer differs from the stored one of its name.
#[derive(Serialize)]
pub(super) struct Comparison {
    exists: bool,
    differences: Vec<Difference>,
}

/// A field that differs; of a secret both sides are masks.
#[derive(Serialize)]
struct Difference {
    field: String,
    stored: String,
    given: String,
}

/// For clients that keep a setup as code: whether it is what the server has, secrets included.
pub(super) async fn compare(State(control): State<Control>, body: Body) -> Answered<Comparison> {
    let peer = draft(&body)?.map_err(|message| ApiError::new(Code::InvalidArgument, message))?;
    let PeerComparison { exists, differences } = control.compare_peer(peer).await?;
    let differences = differences.into_iter().map(|difference| Difference {
        field: difference.field,
        stored: difference.stored,
        given: difference.given,
    });
    Ok(Answer(Comparison { exists, differences: differences.collect() }))
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct DropRequest {
    peer_name: String,
}

pub(super) async fn remove(
    State(control): State<Control>,
    Input(request): Input<DropRequest>,
) -> Answered<Nothing> {
    control.drop_peer(&request.peer_name).await?;
    Ok(Answer(Nothing {}))
}

#[derive(Clone, Serialize)]
struct Item {
    name: String,
    r#type: PeerKind,
}

#[derive(Serialize)]
pub(super) struct List {
    items: Vec<Item>,
    source_items: Vec<Item>,
    destination_items: Vec<Item>,
}

pub(super) async fn list(State(control): State<Control>) -> Answered<List> {
    let peers = control.list_peers().await?;
    let items: Vec<_> = peers.into_iter().map(|(name, kind)| Item { name, r#type: kind }).collect();
    let of = |fits: fn(PeerKind) -> bool| items.iter().filter(|item| fits(item.r#type)).cloned().collect();
    Ok(Answer(List { source_items: of(is_source), destination_items: of(is_destination), items }))
}

/// A peer with the settings of its kind under that kind's key.
#[derive(Serialize)]
struct Shown {
    name: String,
    r#type: PeerKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    postgres_config: Option<PostgresConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clickhouse_config: Option<ClickHouseConfig>,
}

impl From<Peer> for Shown {
    fn from(peer: Peer) -> Self {
        let kind = peer.config.kind();
        let (postgres_config, clickhouse_config) = match peer.config {
            PeerConfig::Postgres(config) => (Some(config), None),
            PeerConfig::Clickhouse(config) => (None, Some(config)),
        };
        Self { name: peer.name, r#type: kind, postgres_config, clickhouse_config }
    }
}

#[derive(Serialize)]
pub(super) struct Info {
    peer: Shown,
    version: String,
}

pub(super) async fn info(State(control): State<Control>, Name(name): Name) -> Answered<Info> {
    let info = control.peer_info(&name).await?;
    Ok(Answer(Info { peer: info.peer.into(), version: info.version }))
}

#[derive(Serialize)]
pub(super) struct Kind {
    peer_type: PeerKind,
}

pub(super) async fn kind(State(control): State<Control>, Name(name): Name) -> Answered<Kind> {
    Ok(Answer(Kind { peer_type: control.peer_kind(&name).await? }))
}
