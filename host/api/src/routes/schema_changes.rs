//! Changes of columns that mirrors stop at.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use tarn_control::{Approval, Control};
use tarn_model::{SchemaChange, TablePlan, Timestamp};
use utoipa::ToSchema;

use crate::answer::{Answer, Answered};
use crate::error::Code;
use crate::operation::{Operation, example};
use crate::request::{Input, Name};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get(
            "/api/v1/mirrors/schema_changes/{flow_job_name}",
            example!("list_schema_changes"),
            list,
        )
        .about("Lists the changes of columns that a mirror stopped at, with what would be done.")
        .names("flow_job_name", "The mirror.")
        .answers::<SchemaChanges>()
        .refuses(&[Code::NotFound]),
        Operation::post("/api/v1/mirrors/approve_schema_change", example!("approve_schema_change"), approve)
            .about("Approves a change of columns; the mirror goes on once no other one waits.")
            .takes::<ApprovalRequest>()
            .answers::<Approved>()
            .refuses(&[Code::NotFound, Code::FailedPrecondition]),
        Operation::post("/api/v1/mirrors/refuse_schema_change", example!("refuse_schema_change"), refuse)
            .about(
                "Refuses a change of columns: new ones are left out of the mirror from here on, renamed ones keep their \
                 names at the destination, and the mirror goes on. Other types cannot be refused.",
            )
            .takes::<ApprovalRequest>()
            .answers::<Approved>()
            .refuses(&[Code::NotFound, Code::FailedPrecondition]),
    ]
}

/// Changes of columns of a mirror.
#[derive(Serialize, ToSchema)]
pub(super) struct SchemaChanges {
    /// By table, at most one of each.
    changes: Vec<Item>,
}

/// A change of columns that a mirror stopped at.
#[derive(Serialize, ToSchema)]
#[schema(as = SchemaChange)]
struct Item {
    /// Tells it from every other one of the mirror: what is approved.
    digest: String,
    /// Whether it is approved, and not made yet.
    approved: bool,
    /// When the mirror came to it.
    noticed_at: Timestamp,
    /// What would be done.
    plan: TablePlan,
}

impl From<SchemaChange> for Item {
    fn from(change: SchemaChange) -> Self {
        let SchemaChange { digest, plan, approved, noticed_at } = change;
        Self { digest, approved, noticed_at, plan }
    }
}

pub(super) async fn list(
    State(control): State<Control>,
    Name(flow_job_name): Name,
) -> Answered<SchemaChanges> {
    let changes = control.schema_changes(&flow_job_name).await?;
    Ok(Answer(SchemaChanges { changes: changes.into_iter().map(Item::from).collect() }))
}

/// A change to approve, or to refuse.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct ApprovalRequest {
    /// The mirror.
    flow_job_name: String,
    /// The change, by its digest.
    digest: String,
}

/// What came of an approval, or of a refusal.
#[derive(Serialize, ToSchema)]
pub(super) struct Approved {
    /// The change.
    change: Item,
    /// Changes of the mirror that wait still.
    waiting: u64,
    /// Whether the mirror goes on.
    resumed: bool,
}

impl From<Approval> for Approved {
    fn from(approval: Approval) -> Self {
        let Approval { change, waiting, resumed } = approval;
        Self { change: change.into(), waiting, resumed }
    }
}

pub(super) async fn approve(
    State(control): State<Control>,
    Input(request): Input<ApprovalRequest>,
) -> Answered<Approved> {
    let approval = control.approve_schema_change(&request.flow_job_name, &request.digest).await?;
    Ok(Answer(approval.into()))
}

pub(super) async fn refuse(
    State(control): State<Control>,
    Input(request): Input<ApprovalRequest>,
) -> Answered<Approved> {
    let refusal = control.refuse_schema_change(&request.flow_job_name, &request.digest).await?;
    Ok(Answer(refusal.into()))
}
