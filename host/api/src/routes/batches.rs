//! Batches of a mirror's stream.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use tarn_catalog::{BatchPage, BatchQuery};
use tarn_control::Control;
use tarn_model::CdcBatch;
use utoipa::{IntoParams, ToSchema};

use crate::answer::{Answer, Answered};
use crate::operation::{Operation, example};
use crate::request::{Input, Name, QueryInput};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/api/v1/mirrors/cdc/batches", example!("list_batches"), list)
            .about("Lists the batches of a mirror's stream, newest first unless asked otherwise.")
            .takes::<BatchesRequest>()
            .answers::<BatchList>(),
        Operation::get(
            "/api/v1/mirrors/cdc/batches/{flow_job_name}",
            example!("list_batches_by_name"),
            list_by_path,
        )
        .about("The same, by the URL.")
        .names("flow_job_name", "The mirror.")
        .asks::<BatchFilter>()
        .answers::<BatchList>(),
    ]
}

/// Which batches to list.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct BatchesRequest {
    /// The mirror; an unknown one has no batches.
    flow_job_name: String,
    /// Most batches to return; 0 or less for all.
    limit: i64,
    /// Oldest first.
    ascending: bool,
    /// Only batches before this one; 0 or less for no filter.
    before_id: i64,
    /// Only batches after this one; 0 or less for no filter. The batches right after it are returned.
    after_id: i64,
}

/// The same without the mirror.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default)]
pub(super) struct BatchFilter {
    /// Most batches to return; 0 or less for all.
    limit: i64,
    /// Oldest first.
    ascending: bool,
    /// Only batches before this one; 0 or less for no filter.
    before_id: i64,
    /// Only batches after this one; 0 or less for no filter.
    after_id: i64,
}

/// A page of batches.
#[derive(Serialize, ToSchema)]
pub(super) struct BatchList {
    /// In the order asked for.
    cdc_batches: Vec<CdcBatch>,
    /// How many there are in this answer.
    total: u32,
    /// The page that the first one falls on, from 1, in steps of the limit; 0 where all are returned.
    page: u32,
}

pub(super) async fn list(
    State(control): State<Control>,
    Input(request): Input<BatchesRequest>,
) -> Answered<BatchList> {
    let BatchesRequest { flow_job_name, limit, ascending, before_id, after_id } = request;
    answer(&control, &flow_job_name, BatchFilter { limit, ascending, before_id, after_id }).await
}

pub(super) async fn list_by_path(
    State(control): State<Control>,
    Name(name): Name,
    QueryInput(filter): QueryInput<BatchFilter>,
) -> Answered<BatchList> {
    answer(&control, &name, filter).await
}

async fn answer(control: &Control, name: &str, filter: BatchFilter) -> Answered<BatchList> {
    // 0 and less mean that there is no limit and no filter.
    let id = |id: i64| u64::try_from(id).ok().filter(|id| *id > 0);
    let limit = id(filter.limit).map(|limit| u32::try_from(limit).unwrap_or(u32::MAX));
    let query = BatchQuery {
        limit,
        ascending: filter.ascending,
        before: id(filter.before_id),
        after: id(filter.after_id),
    };
    let BatchPage { batches, skipped } = control.list_batches(name, query).await?;
    let page = limit.map_or(0, |limit| skipped / u64::from(limit) + 1);
    Ok(Answer(BatchList {
        total: u32::try_from(batches.len()).unwrap_or(u32::MAX),
        page: u32::try_from(page).unwrap_or(u32::MAX),
        cdc_batches: batches,
    }))
}
