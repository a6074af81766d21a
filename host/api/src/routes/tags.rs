//! Tags of mirrors.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use tarn_control::Control;
use tarn_model::MirrorTag;
use utoipa::ToSchema;

use crate::answer::{Answer, Answered};
use crate::error::Code;
use crate::operation::{Operation, example};
use crate::request::{Input, Name};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/api/v1/flows/tags", example!("replace_tags"), replace)
            .about("Gives a mirror these tags in place of all it has.")
            .takes::<TagsRequest>()
            .answers::<Tagged>()
            .refuses(&[Code::NotFound]),
        Operation::get("/api/v1/flows/tags/{flow_name}", example!("list_tags"), list)
            .about("Lists the tags of a mirror.")
            .names("flow_name", "The mirror.")
            .answers::<TagList>()
            .refuses(&[Code::NotFound]),
    ]
}

/// The tags of a mirror, all of them.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct TagsRequest {
    /// The mirror.
    flow_name: String,
    /// At most 100, each key once.
    tags: Vec<MirrorTag>,
}

/// The mirror that has the tags now.
#[derive(Serialize, ToSchema)]
pub(super) struct Tagged {
    /// Its name.
    flow_name: String,
}

pub(super) async fn replace(
    State(control): State<Control>,
    Input(request): Input<TagsRequest>,
) -> Answered<Tagged> {
    control.replace_tags(&request.flow_name, &request.tags).await?;
    Ok(Answer(Tagged { flow_name: request.flow_name }))
}

/// The tags of a mirror.
#[derive(Serialize, ToSchema)]
pub(super) struct TagList {
    /// The mirror.
    flow_name: String,
    /// In the order they were given.
    tags: Vec<MirrorTag>,
}

pub(super) async fn list(State(control): State<Control>, Name(flow_name): Name) -> Answered<TagList> {
    let tags = control.tags(&flow_name).await?;
    Ok(Answer(TagList { flow_name, tags }))
}
