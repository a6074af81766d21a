//! Lists of mirrors.

use axum::extract::State;
use serde::Serialize;
use tarn_control::{Control, MirrorItem};
use tarn_model::{MirrorState, PeerKind, RetriedFailure};
use utoipa::ToSchema;

use crate::answer::{Answer, Answered};
use crate::operation::{Operation, example};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/v1/mirrors/list", example!("list_mirrors"), list)
            .about("Lists the mirrors that are not dropped.")
            .answers::<MirrorList>(),
        Operation::get("/api/v1/mirrors/names", example!("list_mirror_names"), names)
            .about("Lists the names of all mirrors that the log speaks of, dropped ones included.")
            .answers::<MirrorNames>(),
    ]
}

/// Mirrors.
#[derive(Serialize, ToSchema)]
pub(super) struct MirrorList {
    /// In the order they were created.
    mirrors: Vec<Item>,
}

/// A mirror in a list.
#[derive(Serialize, ToSchema)]
#[schema(as = MirrorListItem)]
struct Item {
    /// Tells it from an earlier mirror of the same name.
    id: i64,
    /// The id of its work.
    workflow_id: String,
    /// Its name.
    name: String,
    /// Peer that records come from.
    source_name: String,
    /// That peer's kind.
    source_type: Option<PeerKind>,
    /// Peer that records go to.
    destination_name: String,
    /// That peer's kind.
    destination_type: Option<PeerKind>,
    /// Milliseconds since 1970, as clients of this route read it.
    created_at: f64,
    /// Whether it streams changes.
    is_cdc: bool,
    /// What it is doing.
    status: MirrorState,
    /// What fails just now and is tried again, in any state; `null` while nothing does.
    retrying: Option<RetriedFailure>,
}

impl From<MirrorItem> for Item {
    #[expect(clippy::cast_precision_loss, reason = "milliseconds are exact in a double until year 287,396")]
    fn from(item: MirrorItem) -> Self {
        let MirrorItem { mirror, source_kind, destination_kind, retrying } = item;
        Self {
            id: mirror.id,
            workflow_id: mirror.workflow_id(),
            created_at: mirror.created_at.millis() as f64,
            is_cdc: true,
            status: mirror.state,
            retrying,
            source_type: source_kind,
            destination_type: destination_kind,
            name: mirror.spec.name,
            source_name: mirror.spec.source_peer,
            destination_name: mirror.spec.destination_peer,
        }
    }
}

pub(super) async fn list(State(control): State<Control>) -> Answered<MirrorList> {
    let mirrors = control.list_mirrors().await?;
    Ok(Answer(MirrorList { mirrors: mirrors.into_iter().map(Item::from).collect() }))
}

/// Names of mirrors.
#[derive(Serialize, ToSchema)]
pub(super) struct MirrorNames {
    /// By name.
    names: Vec<String>,
}

pub(super) async fn names(State(control): State<Control>) -> Answered<MirrorNames> {
    Ok(Answer(MirrorNames { names: control.mirror_names().await? }))
}
