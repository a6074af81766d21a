//! Comparing both sides of a mirror.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use tarn_control::{Control, VerificationRequest};
use tarn_model::{Equality, RowDifference, TableVerification, Timestamp, Verification, VerificationState};
use utoipa::ToSchema;

use crate::answer::{Answer, Answered};
use crate::error::Code;
use crate::operation::{Operation, example};
use crate::request::{Id, Input};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/api/v1/mirrors/verify", example!("verify_mirror"), start)
            .about(
                "Begins to compare both sides of a mirror, row by row, while it runs. A mirror has one \
                 verification at a time.",
            )
            .takes::<VerifyRequest>()
            .answers::<VerificationStarted>()
            .refuses(&[Code::NotFound, Code::AlreadyExists, Code::FailedPrecondition]),
        Operation::get("/api/v1/mirrors/verify/{verify_id}", example!("get_verification"), read)
            .about("Reads the progress and the result of a verification. Results are kept for two months.")
            .numbers("verify_id", "The verification's id.")
            .answers::<VerificationStatus>()
            .refuses(&[Code::NotFound]),
    ]
}

/// What to verify.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct VerifyRequest {
    /// The mirror.
    flow_job_name: String,
    /// Its tables by their source; none for all.
    tables: Vec<String>,
    /// Which part of the rows to compare, told by their keys, at most 1; 0 is all of them, too.
    sample_rate: f64,
}

/// A verification that was planned.
#[derive(Serialize, ToSchema)]
pub(super) struct VerificationStarted {
    /// Its id.
    verify_id: i64,
}

pub(super) async fn start(
    State(control): State<Control>,
    Input(request): Input<VerifyRequest>,
) -> Answered<VerificationStarted> {
    let VerifyRequest { flow_job_name: mirror, tables, sample_rate } = request;
    let request = VerificationRequest { mirror, tables, sample_rate };
    Ok(Answer(VerificationStarted { verify_id: control.start_verification(&request).await? }))
}

/// A verification: how far it is, and what came of it.
#[derive(Serialize, ToSchema)]
pub(super) struct VerificationStatus {
    /// Its id.
    verify_id: i64,
    /// The mirror.
    flow_job_name: String,
    /// What it is doing.
    state: VerificationState,
    /// Why it waits, or ended early.
    message: String,
    /// What came of it, over all tables.
    verdict: Equality,
    /// Which part of the rows is compared.
    sample_rate: f64,
    /// When it was asked for.
    created_at: Timestamp,
    /// When any of this changed last.
    updated_at: Timestamp,
    /// Table by table.
    tables: Vec<VerifiedTable>,
}

/// One table of a verification.
#[derive(Serialize, ToSchema)]
struct VerifiedTable {
    /// Table at the source.
    source_table: String,
    /// Table at the destination.
    destination_table: String,
    /// What came of it.
    verdict: Equality,
    /// Parts of the table that are compared.
    num_partitions_completed: u32,
    /// All parts of it; 0 before it was cut.
    num_partitions_total: u32,
    /// Rows that were compared.
    rows_compared: u64,
    /// Those that differ.
    rows_differing: u64,
    /// Those that changed at each look, so that nothing can be said of them.
    rows_unsettled: u64,
    /// Those that cannot be compared; the notes say why.
    rows_not_comparable: u64,
    /// The first rows that differ, by their keys.
    first_differences: Vec<RowDifference>,
    /// What was not compared, and why.
    notes: Vec<String>,
}

impl From<TableVerification> for VerifiedTable {
    fn from(table: TableVerification) -> Self {
        let rows = table.rows_now();
        let (done, total) = table.partitions();
        let count = |partitions: usize| u32::try_from(partitions).unwrap_or(u32::MAX);
        Self {
            verdict: table.equality(),
            num_partitions_completed: count(done),
            num_partitions_total: count(total),
            rows_compared: rows.compared,
            rows_differing: rows.differing,
            rows_unsettled: rows.unsettled,
            rows_not_comparable: rows.not_comparable,
            source_table: table.source_table,
            destination_table: table.destination_table,
            first_differences: table.first_differences,
            notes: table.notes,
        }
    }
}

impl From<Verification> for VerificationStatus {
    fn from(verification: Verification) -> Self {
        Self {
            verify_id: verification.id,
            verdict: verification.equality(),
            state: verification.state,
            sample_rate: verification.sample_rate,
            created_at: verification.created_at,
            updated_at: verification.updated_at,
            flow_job_name: verification.name,
            message: verification.message,
            tables: verification.tables.into_iter().map(VerifiedTable::from).collect(),
        }
    }
}

pub(super) async fn read(State(control): State<Control>, Id(id): Id) -> Answered<VerificationStatus> {
    Ok(Answer(control.verification(id).await?.into()))
}
