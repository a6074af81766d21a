//! Batches of a mirror's stream.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use tarn_catalog::{BatchPage, BatchQuery};
use tarn_control::Control;
use tarn_model::CdcBatch;

use crate::answer::{Answer, Answered};
use crate::request::{Input, Name, QueryInput};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Request {
    flow_job_name: String,
    limit: i64,
    ascending: bool,
    before_id: i64,
    after_id: i64,
}

#[derive(Serialize)]
pub(super) struct List {
    cdc_batches: Vec<CdcBatch>,
    total: u32,
    page: u32,
}

pub(super) async fn list(State(control): State<Control>, Input(request): Input<Request>) -> Answered<List> {
    answer(&control, request).await
}

pub(super) async fn list_by_path(
    State(control): State<Control>,
    Name(name): Name,
    QueryInput(request): QueryInput<Request>,
) -> Answered<List> {
    answer(&control, Request { flow_job_name: name, ..request }).await
}

async fn answer(control: &Control, request: Request) -> Answered<List> {
    // 0 and less mean that there is no limit and no filter.
    let id = |id: i64| u64::try_from(id).ok().filter(|id| *id > 0);
    let limit = id(request.limit).map(|limit| u32::try_from(limit).unwrap_or(u32::MAX));
    let query = BatchQuery {
        limit,
        ascending: request.ascending,
        before: id(request.before_id),
        after: id(request.after_id),
    };
    let BatchPage { batches, skipped } = control.list_batches(&request.flow_job_name, query).await?;
    let page = limit.map_or(0, |limit| skipped / u64::from(limit) + 1);
    Ok(Answer(List {
        total: u32::try_from(batches.len()).unwrap_or(u32::MAX),
        page: u32::try_from(page).unwrap_or(u32::MAX),
        cdc_batches: batches,
    }))
}
