//! Peers.

mod draft;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use tarn_control::{Control, PeerComparison, PeerCreation, PeerOutcome, is_destination, is_source};
use tarn_model::{ClickHouseConfig, KafkaConfig, Peer, PeerConfig, PeerKind, PostgresConfig};
use utoipa::ToSchema;

use self::draft::{Draft, peer_of};
use crate::answer::{Answer, Answered, Nothing};
use crate::error::{ApiError, Code};
use crate::operation::{Operation, example};
use crate::request::{Body, Input, Name};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/api/v1/peers/create", example!("create_peer"), create)
            .about("Creates a peer, or updates one, after a real connection. A failure is in the answer.")
            .takes::<CreatePeerRequest>()
            .answers::<PeerOutcomeBody>(),
        Operation::post("/api/v1/peers/validate", example!("validate_peer"), validate)
            .about("Says whether a peer could be created, and stores nothing. A failure is in the answer.")
            .takes::<ValidatePeerRequest>()
            .answers::<PeerOutcomeBody>(),
        Operation::post("/api/v1/peers/compare", example!("compare_peer"), compare)
            .about("Says how a peer differs from the stored one of its name, secrets included, and stores nothing.")
            .takes::<ComparePeerRequest>()
            .answers::<PeerComparisonBody>()
            .refuses(&[Code::InvalidArgument]),
        Operation::post("/api/v1/peers/drop", example!("drop_peer"), remove)
            .about("Removes a peer that no mirror uses.")
            .takes::<DropPeerRequest>()
            .answers::<Nothing>()
            .refuses(&[Code::NotFound, Code::FailedPrecondition]),
        Operation::get("/api/v1/peers/list", example!("list_peers"), list)
            .about("Lists the peers, and what each can be in a mirror.")
            .answers::<PeerList>(),
        Operation::get("/api/v1/peers/info/{peer_name}", example!("get_peer"), info)
            .about("Reads a peer, its secrets masked, and its store's version.")
            .names("peer_name", "The peer.")
            .answers::<PeerInfoBody>()
            .refuses(&[Code::NotFound]),
        Operation::get("/api/v1/peers/type/{peer_name}", example!("get_peer_type"), kind)
            .about("Tells a peer's kind.")
            .names("peer_name", "The peer.")
            .answers::<PeerType>()
            .refuses(&[Code::NotFound]),
    ]
}

/// A peer to create.
#[derive(Deserialize, ToSchema)]
struct CreatePeerRequest {
    /// The peer.
    #[schema(value_type = Draft, required)]
    peer: Option<Draft>,
    /// Replace a peer of the name.
    #[serde(default)]
    allow_update: bool,
    /// Store it without opening a connection.
    #[serde(default)]
    disable_validation: bool,
}

/// How an operation on a peer went: its failure is a successful answer.
#[derive(Serialize, ToSchema)]
#[schema(as = PeerOutcome)]
pub(super) struct PeerOutcomeBody {
    /// CREATED or FAILED; of a validation, VALID or INVALID.
    #[schema(value_type = String)]
    status: &'static str,
    /// Why not; empty on success.
    message: String,
}

impl PeerOutcomeBody {
    fn new(outcome: PeerOutcome, good: &'static str, bad: &'static str) -> Self {
        match outcome {
            PeerOutcome::Good => Self { status: good, message: String::new() },
            PeerOutcome::Bad(message) => Self { status: bad, message },
        }
    }
}

pub(super) async fn create(State(control): State<Control>, body: Body) -> Answered<PeerOutcomeBody> {
    let CreatePeerRequest { peer, allow_update, disable_validation } = body.read()?;
    let outcome = match peer_of(peer, &body)? {
        Ok(peer) => control.create_peer(peer, PeerCreation { allow_update, disable_validation }).await?,
        Err(message) => PeerOutcome::Bad(message),
    };
    Ok(Answer(PeerOutcomeBody::new(outcome, "CREATED", "FAILED")))
}

/// A peer to validate.
#[derive(Deserialize, ToSchema)]
struct ValidatePeerRequest {
    /// The peer.
    #[schema(value_type = Draft, required)]
    peer: Option<Draft>,
}

pub(super) async fn validate(State(control): State<Control>, body: Body) -> Answered<PeerOutcomeBody> {
    let ValidatePeerRequest { peer } = body.read()?;
    let outcome = match peer_of(peer, &body)? {
        Ok(peer) => control.validate_peer(peer).await?,
        Err(message) => PeerOutcome::Bad(message),
    };
    Ok(Answer(PeerOutcomeBody::new(outcome, "VALID", "INVALID")))
}

/// A peer to compare.
#[derive(Deserialize, ToSchema)]
struct ComparePeerRequest {
    /// The peer.
    #[schema(value_type = Draft, required)]
    peer: Option<Draft>,
}

/// How a peer differs from the stored one of its name.
#[derive(Serialize, ToSchema)]
#[schema(as = PeerComparison)]
pub(super) struct PeerComparisonBody {
    /// Whether there is one.
    exists: bool,
    /// The fields that differ.
    differences: Vec<PeerDifference>,
}

/// A field that differs; of a secret both sides are masks.
#[derive(Serialize, ToSchema)]
struct PeerDifference {
    /// Its name.
    field: String,
    /// What is stored.
    stored: String,
    /// What was sent.
    given: String,
}

/// For clients that keep a setup as code: whether it is what the server has, secrets included.
pub(super) async fn compare(State(control): State<Control>, body: Body) -> Answered<PeerComparisonBody> {
    let ComparePeerRequest { peer } = body.read()?;
    let peer = peer_of(peer, &body)?.map_err(|message| ApiError::new(Code::InvalidArgument, message))?;
    let PeerComparison { exists, differences } = control.compare_peer(peer).await?;
    let differences = differences.into_iter().map(|difference| PeerDifference {
        field: difference.field,
        stored: difference.stored,
        given: difference.given,
    });
    Ok(Answer(PeerComparisonBody { exists, differences: differences.collect() }))
}

/// A peer to drop.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct DropPeerRequest {
    /// The peer.
    peer_name: String,
}

pub(super) async fn remove(
    State(control): State<Control>,
    Input(request): Input<DropPeerRequest>,
) -> Answered<Nothing> {
    control.drop_peer(&request.peer_name).await?;
    Ok(Answer(Nothing {}))
}

/// A peer in a list.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = PeerListItem)]
struct Item {
    /// Its name.
    name: String,
    /// Its kind.
    r#type: PeerKind,
}

/// Peers by name.
#[derive(Serialize, ToSchema)]
pub(super) struct PeerList {
    /// All of them.
    items: Vec<Item>,
    /// Those that records can come from.
    source_items: Vec<Item>,
    /// Those that records can go to.
    destination_items: Vec<Item>,
}

pub(super) async fn list(State(control): State<Control>) -> Answered<PeerList> {
    let peers = control.list_peers().await?;
    let items: Vec<_> = peers.into_iter().map(|(name, kind)| Item { name, r#type: kind }).collect();
    let of = |fits: fn(PeerKind) -> bool| items.iter().filter(|item| fits(item.r#type)).cloned().collect();
    Ok(Answer(PeerList { source_items: of(is_source), destination_items: of(is_destination), items }))
}

/// A peer with the settings of its kind under that kind's key.
#[derive(Serialize, ToSchema)]
#[schema(as = Peer)]
struct Shown {
    /// Its name.
    name: String,
    /// Its kind.
    r#type: PeerKind,
    /// The settings of a PostgreSQL peer.
    #[serde(skip_serializing_if = "Option::is_none")]
    postgres_config: Option<PostgresConfig>,
    /// The settings of a ClickHouse peer.
    #[serde(skip_serializing_if = "Option::is_none")]
    clickhouse_config: Option<ClickHouseConfig>,
    /// The settings of a Kafka peer.
    #[serde(skip_serializing_if = "Option::is_none")]
    kafka_config: Option<KafkaConfig>,
}

impl From<Peer> for Shown {
    fn from(peer: Peer) -> Self {
        let kind = peer.config.kind();
        let shown = Self {
            name: peer.name,
            r#type: kind,
            postgres_config: None,
            clickhouse_config: None,
            kafka_config: None,
        };
        match peer.config {
            PeerConfig::Postgres(config) => Self { postgres_config: Some(config), ..shown },
            PeerConfig::Clickhouse(config) => Self { clickhouse_config: Some(config), ..shown },
            PeerConfig::Kafka(config) => Self { kafka_config: Some(config), ..shown },
        }
    }
}

/// A peer as it is shown.
#[derive(Serialize, ToSchema)]
#[schema(as = PeerInfo)]
pub(super) struct PeerInfoBody {
    /// The peer; its secrets read as `********`.
    peer: Shown,
    /// The store's version as it gives it; empty when it cannot be asked.
    version: String,
}

pub(super) async fn info(State(control): State<Control>, Name(name): Name) -> Answered<PeerInfoBody> {
    let info = control.peer_info(&name).await?;
    Ok(Answer(PeerInfoBody { peer: info.peer.into(), version: info.version }))
}

/// A peer's kind.
#[derive(Serialize, ToSchema)]
pub(super) struct PeerType {
    /// Its name.
    peer_type: PeerKind,
}

pub(super) async fn kind(State(control): State<Control>, Name(name): Name) -> Answered<PeerType> {
    Ok(Answer(PeerType { peer_type: control.peer_kind(&name).await? }))
}
